"""A running site with two dozen codecs on it, for the tests with a browser."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from support.server.board import make_submission
from support.web.site import running_site

from codec_superb.metrics.table import CATEGORIES
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import ensure_builtin
from codec_superb.server.settings import Settings

FAMILIES = {
    "opus": (6.0, 12.0, 24.0, 64.0), "mp3": (32.0, 64.0, 128.0), "codec2": (0.7, 1.2, 3.2), "lc3": (16.0, 32.0),
    "encodec": (1.5, 3.0, 6.0, 12.0),
}  # fmt: skip


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve sixteen codecs of five families on SQLite; yield the address."""
    folder = tmp_path_factory.mktemp("site")
    settings = Settings(
        database=f"sqlite:///{folder / 'board.sqlite'}",
        storage=folder / "storage",
        secret_key="x" * 40,
        default_source="runs",
    )
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        ensure_builtin(session)
        for number, (family, rates) in enumerate(FAMILIES.items()):
            for rate in rates:
                score = dict.fromkeys(CATEGORIES, min(0.96, 0.58 + 0.06 * math.log2(2 * rate) - 0.01 * number))
                status = "verified" if rate == rates[0] else "self-reported"
                make_submission(
                    session, f"{family}_{rate:g}k".replace(".", "_"), rate, score, status, card={"family": family}
                )  # fmt: skip
        for loss in (5, 20):
            under = parse_condition(f"loss:{loss}")
            score = dict.fromkeys(CATEGORIES, 0.6 - 0.004 * loss)
            make_submission(session, "opus_6k", 6.0, score, card={"family": "opus"}, condition=under)
    database.close()
    with running_site(settings) as address:
        yield address
