"""Who sends files that take long to be checked: others come in between, and the time counts."""

from __future__ import annotations

from contextlib import closing

import anyio
import pytest
from support.coroutines import run
from support.server.ingest import drawn, running
from support.server.people import ON_SQLITE

from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest import checker
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.people import rate_counters
from codec_superb.server.settings import Settings


@ON_SQLITE
@pytest.mark.parametrize("workers", [1, 2])
def test_one_sender_with_many_files_leaves_a_worker_or_a_turn(settings: Settings, workers: int) -> None:
    """Of eight files at once those of one token wait for each other, in front of the queue and not in it."""
    order: list[str] = []

    async def checked(made: Checker, who: str) -> None:
        async with made.slot(who):
            order.append(who)
            await anyio.sleep(0.01)

    async def all_at_once() -> None:
        with closing(Checker(settings.model_copy(update={"check_workers": workers}))) as made:
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(checked, made, "mallory")
                await anyio.sleep(0.002)
                tasks.start_soon(checked, made, "ann")
            async with made.slot("bob"):
                assert set(made._turns) == {"bob"}

    run(all_at_once)
    assert sorted(order) == ["ann"] + ["mallory"] * 8
    assert order.index("ann") == 1


@ON_SQLITE
def test_a_file_that_waits_too_long_leaves_its_turn(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to come again, and the next one of its sender can be checked."""
    monkeypatch.setattr(checker, "SLOT_TIMEOUT_S", 0.01)

    async def twice() -> None:
        with closing(Checker(settings.model_copy(update={"check_seconds": 0.0}))) as made:
            async with made.slot("mallory"):
                for who in ("mallory", "ann"):
                    with pytest.raises(Unavailable):
                        async with made.slot(who):
                            pass
            for who in ("mallory", "ann"):
                async with made.slot(who):
                    pass

    run(twice)


@ON_SQLITE
def test_long_checks_count_as_several_uploads(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can take the longest time allowed; sixty of them an hour would leave the worker to nobody else."""
    monkeypatch.setattr(rate_counters, "SECONDS_OF_AN_UPLOAD", 0.001)
    with running(settings.model_copy(update={"uploads_per_hour": 5})) as service:
        assert service.send(drawn("mine_6k")).status_code == 201
        assert service.send(drawn("mine_9k", seed=2)).status_code == 429
        assert service.send(drawn("hers_9k", seed=2), account="bob").status_code == 201
