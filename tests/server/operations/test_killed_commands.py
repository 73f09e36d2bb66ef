"""A decision and a backup that are killed, wherever: whole or absent, done by the next try, and nothing is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import func, select
from support.profile import amount, some
from support.server.board import make_submission
from support.server.killed import DIED, Run, dying
from support.server.rows import fill_tables

from codec_superb.server.database.models import AuditEntry, BoardChange, Revision, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.operations.restore import verify_backup
from codec_superb.server.settings import Settings

DECISIONS = {
    "accept": ("withdrawn", "self-reported"), "verify": ("held", "verified"), "withdraw": ("verified", "withdrawn"),
}  # fmt: skip
"""Status before and after."""


def _state(database: Database, submission: str) -> tuple[str, int, int, int]:
    """Read the status, and count decisions, changes of the board and its revision."""
    with database.transaction() as session:
        decided = select(func.count()).select_from(AuditEntry).where(AuditEntry.action == "submission.decided")
        changes = session.scalar(select(func.count()).select_from(BoardChange)) or 0
        status = session.get_one(Submission, submission).status
        return status, session.scalar(decided) or 0, changes, session.scalars(select(Revision.number)).one()


@pytest.fixture
def run(settings: Settings, tmp_path: Path) -> Iterator[Run]:
    """Give what runs commands on this board and has them die."""
    settings.files.mkdir(parents=True)
    where = ["--database", settings.database_url, "--storage", str(settings.storage)]
    with dying(tmp_path) as started:
        yield lambda step, arguments: started(step, [*arguments, *where])


@pytest.mark.sample(1, among="commands that are killed")
@pytest.mark.parametrize("decision", some(DECISIONS, 1))
def test_a_decision_is_whole_or_absent(run: Run, database: Database, settings: Settings, decision: str) -> None:
    """Status, audit log, revision and change of the board come together, and what is absent is decided again."""
    before, after = DECISIONS[decision]
    numbers = count()

    def decide(step: int) -> int:
        with database.transaction(write=True) as session:
            made = make_submission(session, f"killed_{next(numbers)}k", 3.0, owner="bob", status=before)
            (settings.files / f"{session.get_one(Submission, made).file_sha256}.zip").touch()
        arguments = ["admin", "submissions", decision, made, "--reason", "why"]
        status, *counts = _state(database, made)
        decided = (after, *(each + 1 for each in counts))
        code, steps = run(step, arguments)
        assert code == (DIED if step else 0)
        if (found := _state(database, made)) != decided:
            assert (bool(step), found) == (True, (status, *counts))
            assert run(0, arguments)[0] == 0
        assert _state(database, made) == decided
        return steps

    decide(0)  # the first also makes what a storage folder has
    steps = decide(0)
    for step in Random(1).sample(range(steps // 2, steps + 1), amount(2, 12)):
        decide(step)
    assert list(settings.incoming.iterdir()) == []


@pytest.mark.sample(1, among="commands that are killed")
def test_a_backup_is_whole_or_absent(run: Run, database: Database, settings: Settings, tmp_path: Path) -> None:
    """What has its name is whole, and what else it left goes with the next one."""
    with database.transaction(write=True) as session:
        fill_tables(session, settings.files)
    target = tmp_path / "backups"
    arguments = ["admin", "backup", str(target)]
    code, steps = run(0, arguments)
    assert code == 0
    named = set(target.iterdir())
    for step in [*Random(1).sample(range(1, steps), amount(2, 20)), steps]:
        assert run(step, arguments) == (DIED, step)
        for left in set(target.iterdir()) - named:
            if left.name.startswith("leaderboard-"):
                verify_backup(left)
                named.add(left)
            else:
                os.utime(left, (0, 0))
    assert run(0, arguments)[0] == 0
    assert all(path.name.startswith("leaderboard-") and verify_backup(path) for path in target.iterdir())
