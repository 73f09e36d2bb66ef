"""What SQLAlchemy learns of a kind of database is learnt once for all engines of a test process.

A dialect asks its first connection for versions and types, and an engine compiles each statement when it first meets
it: with an engine of its own for each test that is a tenth of the time of a test with a service.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url

from codec_superb.server.database import session


@contextmanager
def shared_dialects() -> Iterator[None]:
    """Give engines of the service the dialect and the compiled statements of the first that connected."""
    first: dict[str, Engine] = {}

    def create(url: str, **options: Any) -> Engine:
        kind = make_url(url).get_backend_name()
        engine = create_engine(url, _initialize=kind not in first, **options)
        if kind in first:
            engine.dialect, engine._compiled_cache = first[kind].dialect, first[kind]._compiled_cache
        else:
            # behind SQLAlchemy's own listener, which initialises the dialect
            event.listen(engine, "connect", lambda *_: first.setdefault(kind, engine), once=True)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_engine", create)
        yield
