"""A forged, a cherry-picked and a padded submission beside an honest one, from upload to board."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.pipeline.stats import known_clips
from support.pipeline.verified import packed, raised
from support.server.ingest import Service, service_on
from support.timing import wait_for

from codec_superb.cli.verification.handlers import HANDLERS
from codec_superb.cli.verification.worker import Context, work
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue
from codec_superb.server.database.models import Submission
from codec_superb.server.verification.jobs import enqueue

UNDEFINED = MetricValue(status="undefined", reason="nothing is there")


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """Run the service on each kind of database."""
    yield from service_on(request, tmp_path)


def changed(run: RunFolder, out: Path, change: Callable[[list[ClipRow]], list[ClipRow]]) -> bytes:
    """Pack the run with other rows: every hash and aggregate follows."""
    copy, info = RunFolder(out / "mini"), run.info()
    copy.write_info(info)
    copy.write_rows(change(list(run.rows())), list(info.metrics))
    return packed(copy, out / "a.zip").read_bytes()


def run_again(service: Service, *identities: str) -> None:
    """Let the board's worker run submissions of this machine's catalogue again."""
    with service.database.transaction(write=True) as session:
        for identity in identities:
            enqueue(session, identity, "verify", clips=0)
    context = Context(service.database, service.settings, "cpu", 1)
    assert work(context, HANDLERS, once=True) == len(identities)


@pytest.mark.slow
def test_fiction_is_held_or_refused(service: Service, run: RunFolder, tmp_path: Path) -> None:
    """One clip made better is held once it is run again, chosen and stretched clips are refused; the truth stays."""
    state, rows = run.info().dataset.manifest_hash, list(run.rows())
    service.know("mini", known_clips(rows), state)

    honest = service.send(packed(run, tmp_path / "honest.zip").read_bytes(), account="ann").json()
    assert honest["status"] == "self-reported"
    better = raised("mel", -0.05)
    data = changed(run, tmp_path / "forged", lambda own: [better(own[0]), *own[1:]])
    run_again(service, honest["id"])
    forged = service.send(data, account="mallory").json()
    assert forged["status"] == "self-reported"  # consistent, and nobody knows yet
    run_again(service, forged["id"])

    def padded(row: ClipRow) -> ClipRow:
        return row.model_copy(update={"samples": 10 * (row.samples or 0)})

    def chosen(row: ClipRow) -> ClipRow:
        return row.model_copy(update={"metrics": row.metrics | {"mel": UNDEFINED}})

    for name, change, place in (("padded", padded, ": samples"), ("chosen", chosen, ": mel_status")):
        data = changed(run, tmp_path / name, lambda own, change=change: [*map(change, own[:3]), *own[3:]])  # type: ignore[misc]
        answer = service.send(data, account="mallory")
        assert answer.status_code == 422, answer.text
        assert any(problem["path"].endswith(place) for problem in answer.json()["problems"])

    with service.database.transaction() as session:
        found = session.get_one(Submission, forged["id"])
        assert (found.status, found.decided_by) == ("held", "the board")
        assert "mel" in (found.reason or "")

    def shown() -> list[tuple[str, str]]:
        found = service.client.get("/api/v1/leaderboard?category=speech").json()["rows"]
        return [(row["submission"], row["source"]) for row in found]

    # the service looks for what the worker changed, which stands for another process
    wait_for(lambda: shown() == [(honest["id"], "verified")], "the truth alone is on the board")
