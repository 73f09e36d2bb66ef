"""Submissions in parts: parts come first, wait within bounds, and are published all together or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import delete, select, update
from support.pipeline.submissions import rewrite
from support.server.ingest import UPLOADS, ZIP, Service, drawn, in_parts, running

from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.schema import MOST_PARTS, SUBMISSION_NAME
from codec_superb.pipeline.submission.schema import Submission as Document
from codec_superb.server.database.models import Result, StagedPart, Submission, now
from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest import fork_server
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.outcome import Checked
from codec_superb.server.settings import Settings
from codec_superb.server.storage import submission_files
from codec_superb.server.storage.submission_files import STAGED_FOR, remove_orphans, submission_path

PARTS = "/api/v1/parts"


def put(service: Service, sha256: str, data: bytes, account: str = "ann") -> Response:
    """Send a part."""
    return service.client.put(f"{PARTS}/{sha256}", content=data, headers=ZIP | service.account(account))


def put_all(service: Service, parts: Mapping[str, Path]) -> None:
    """Send all parts."""
    for sha256, part in parts.items():
        assert put(service, sha256, part.read_bytes()).status_code == 201


def waiting(service: Service, account: str = "ann") -> list[str]:
    """List the parts that wait."""
    answer = service.client.get(PARTS, headers=service.account(account)).json()
    return [part["sha256"] for part in answer["parts"]]


def numbers(service: Service, identity: str) -> list[tuple[object, ...]]:
    """Return all figures of a submission."""
    columns = [column for column in Result.__table__.columns if column.name not in {"id", "submission_id"}]
    with service.database.transaction() as session:
        rows = session.execute(select(*columns).where(Result.submission_id == identity).order_by("category", "dataset"))
        return [tuple(row) for row in rows]


def test_parts_become_what_one_file_becomes(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures, blocks and counts are those of the same rows in one file; what is downloaded passes its check.

    The check in parts, which may take minutes, keeps no file of others waiting.
    """
    one = service.send(drawn("opus_16k")).json()
    manifest, parts = in_parts(tmp_path / "run", "opus_16k")
    assert len(parts) == 3
    put_all(service, parts)
    assert put(service, *_first(parts)).status_code == 200
    assert sorted(waiting(service)) == sorted(parts)
    examine, others = Checker.check, []

    def beside(self: Checker, *given: Any, **named: Any) -> Checked:
        if named.get("parts"):
            others.append(service.send(drawn("beside_16k", seed=7), account="bob").status_code)
        return examine(self, *given, **named)

    with monkeypatch.context() as changed:
        changed.setattr(Checker, "check", beside)
        answer = service.send(manifest)
    assert (answer.status_code, others) == (201, [201]), answer.text
    found = answer.json()
    assert numbers(service, found["id"]) == numbers(service, one["id"])
    assert waiting(service) == []
    service.stored()
    assert service.send(manifest).status_code == 200
    file = tmp_path / "down.zip"
    file.write_bytes(service.client.get(f"{UPLOADS}/{found['id']}/file").content)
    for number in (1, 2, 3):
        answer = service.client.get(f"{UPLOADS}/{found['id']}/parts/{number}")
        assert f"-v{found['version']}.part-000{number}-of-0003.zip" in answer.headers["content-disposition"]
        (tmp_path / f"down.part-000{number}-of-0003.zip").write_bytes(answer.content)
    assert check(file).ok
    assert service.client.get(f"{UPLOADS}/{found['id']}/parts/4").status_code == 404
    page = service.client.get(f"/submissions/{found['id']}").text
    assert all(sha256 in page and f"/parts/{number}" in page for number, sha256 in enumerate(parts, start=1))
    rows = service.client.get(f"{UPLOADS}/{found['id']}/clips").json()
    assert rows == service.client.get(f"{UPLOADS}/{one['id']}/clips").json() | {"submission": found["id"]}


def edit(members: dict[str, bytes], change: Callable[[dict[str, Any]], None]) -> None:
    """Change the document, and make its hashes right."""
    document = json.loads(members[SUBMISSION_NAME])
    change(document)
    members[SUBMISSION_NAME] = Document.model_validate_json(json.dumps(document)).seal().to_json()


def _first(parts: Mapping[str, Path]) -> tuple[str, bytes]:
    sha256, part = next(iter(parts.items()))
    return sha256, part.read_bytes()


def test_nothing_is_stored_before_all_parts_are_here(service: Service, tmp_path: Path) -> None:
    """The answer names the parts that lack; those of another account do not count, nor those that only it can see."""
    manifest, parts = in_parts(tmp_path, "early_16k")
    sha256, data = _first(parts)
    assert put(service, sha256, data).status_code == 201
    for other, part in list(parts.items())[1:]:
        assert put(service, other, part.read_bytes(), account="bob").status_code == 201
    answer = service.send(manifest)
    assert answer.status_code == 409
    assert "part 2, 3 is not here" in answer.json()["detail"]
    with service.database.transaction() as session:
        assert session.scalars(select(Submission).where(Submission.submitter == "early_16k")).first() is None
    put_all(service, dict(list(parts.items())[1:]))
    identity = service.send(manifest).json()["id"]
    assert service.client.delete(f"{PARTS}/{list(parts)[1]}", headers=service.account("bob")).status_code == 204
    service.stored()  # the same bytes are the submission's by now
    with service.database.transaction(write=True) as session:
        session.get_one(Submission, identity).status = "held"
    (tmp_path / "own.zip").write_bytes(manifest)
    own = rewrite(
        tmp_path / "own.zip", lambda members: edit(members, lambda document: document["submitter"].update(name="Bob"))
    )
    told = service.send(own.getvalue(), account="bob")
    assert (told.status_code, "part 1, 2 is not here" in told.json()["detail"]) == (409, True)
    with service.database.transaction(write=True) as session:
        session.get_one(Submission, identity).status = "self-reported"


def test_who_may_send_what(service: Service, tmp_path: Path) -> None:
    """A part needs a token and its own hash; one with other bytes, or a wrong name, leaves nothing."""
    _, parts = in_parts(tmp_path, "whose_16k")
    sha256, data = _first(parts)
    assert service.client.put(f"{PARTS}/{sha256}", content=data, headers=ZIP).status_code == 401
    assert service.client.get(PARTS).status_code == 401
    assert put(service, sha256, data[:-1]).status_code == 400
    assert put(service, sha256.upper(), data).status_code == 400
    assert service.client.delete(f"{PARTS}/{sha256}", headers=service.account("ann")).status_code == 404
    assert sha256 not in waiting(service)
    assert not submission_path(service.settings, sha256).exists()


def test_a_part_that_is_none_has_the_whole_refused(service: Service, tmp_path: Path) -> None:
    """A file that the document names and that holds something else is a problem like those of a file."""
    manifest, parts = in_parts(tmp_path, "faulty_16k")
    other = drawn("faulty_16k")
    place = tmp_path / "faulty_16k.zip"

    def change(document: dict[str, Any]) -> None:
        document["parts"][1] |= {"sha256": hashlib.sha256(other).hexdigest(), "size": len(other)}

    place.write_bytes(manifest)
    edited = rewrite(place, lambda members: edit(members, change)).getvalue()
    put_all(service, parts)
    assert put(service, hashlib.sha256(other).hexdigest(), other).status_code == 201
    (problem,) = service.problems(edited)
    assert "part 2 of 3: expected part.json, clips.parquet, got 'submission.json'" in problem["got"]

    def name_one_twice(members: dict[str, bytes]) -> None:
        document = json.loads(members[SUBMISSION_NAME])
        document["parts"][1] = document["parts"][0]
        members[SUBMISSION_NAME] = json.dumps(document).encode()

    (problem,) = service.problems(rewrite(place, name_one_twice).getvalue())  # before any is read
    assert (problem["path"], "each part once" in problem["expected"]) == (f"{SUBMISSION_NAME}: parts", True)


def test_a_check_takes_as_many_parts_as_a_submission_may_have() -> None:
    """The program that forks imports nothing of the package: its number is the same."""
    assert fork_server.MOST_PARTS == MOST_PARTS


def test_an_account_fills_no_disk(tmp_path: Path, migrated_sqlite: Path) -> None:
    """Its parts have a bound together, which discarding and time give back; what a submission has is kept."""
    manifest, parts = in_parts(tmp_path / "run", "bound_16k")
    sizes = [part.stat().st_size for part in parts.values()]
    database = tmp_path / "leaderboard.sqlite"
    database.write_bytes(migrated_sqlite.read_bytes())
    settings = Settings(
        database=f"sqlite:///{database}", storage=tmp_path / "storage", secret_key="x" * 40,
        staged_limit=sum(sizes) - 1,
    )  # fmt: skip
    with running(settings) as service:
        first, second, third = parts
        assert put(service, first, parts[first].read_bytes()).status_code == 201
        assert put(service, second, parts[second].read_bytes()).status_code == 201
        answer = put(service, third, parts[third].read_bytes())
        assert answer.status_code == 413
        assert "wait for their submission" in answer.json()["detail"]
        assert not submission_path(settings, third).exists()
        assert put(service, third, parts[third].read_bytes(), account="bob").status_code == 201
        assert service.client.delete(f"{PARTS}/{first}", headers=service.account("ann")).status_code == 204
        assert not submission_path(settings, first).exists()
        remove_orphans(settings, service.database, older_than=-1)
        assert sorted(waiting(service) + waiting(service, "bob")) == sorted([second, third])
        assert all(submission_path(settings, sha256).exists() for sha256 in (second, third))
        with service.database.transaction(write=True) as session:
            session.execute(update(StagedPart).values(received=now() - STAGED_FOR - timedelta(seconds=1)))
        put_all(service, {first: parts[first]})
        remove_orphans(settings, service.database, older_than=-1)
        assert waiting(service) == [first]
        assert {path.name for path in settings.files.iterdir()} == {f"{first}.zip"}
        assert service.send(manifest).status_code == 409
        submission_path(settings, first).unlink()
        assert waiting(service) == [first]  # the store is not asked
        assert (service.send(manifest).status_code, waiting(service)) == (409, [])
        assert put(service, first, parts[first].read_bytes()).status_code == 200
        assert waiting(service) == [first]


@pytest.mark.parametrize("how", ["discarded", "expired", "killed"])
def test_a_part_that_goes_during_the_check_leaves_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The sender is told, also where the removal is killed between file and row, and what describes them is gone."""
    manifest, parts = in_parts(tmp_path, f"{how}_16k")
    put_all(service, parts)
    examine, sweep = Checker.check, submission_files._sweep

    def killed(*given: Any) -> int:
        sweep(*given)
        raise Unavailable("this process was killed behind its last file")

    def gone(self: Checker, *given: Any, **named: Any) -> Checked:
        found = examine(self, *given, **named)
        if named.get("parts"):
            with service.database.transaction(write=True) as session:
                if how == "discarded":
                    session.execute(delete(StagedPart))
                session.execute(update(StagedPart).values(received=now() - STAGED_FOR - timedelta(seconds=1)))
            remove_orphans(service.settings, service.database, older_than=-1)
        return found

    with monkeypatch.context() as changed:
        changed.setattr(Checker, "check", gone)
        if how == "killed":
            changed.setattr(submission_files, "_sweep", killed)
        answer = service.send(manifest)
    assert (answer.status_code, "is not here" in answer.json()["detail"], waiting(service)) == (409, True, [])
    assert not submission_path(service.settings, hashlib.sha256(manifest).hexdigest()).exists()
    assert all(put(service, sha256, part.read_bytes()).is_success for sha256, part in parts.items())
    assert service.send(manifest).status_code == 201


def test_accepted_parts_outlive_an_older_database(tmp_path: Path, migrated_sqlite: Path) -> None:
    """One in which they wait, and have expired: they are set aside; another board's database touches none of them."""
    manifest, parts = in_parts(tmp_path / "run", "outlive_16k")
    own, other = (tmp_path / name for name in ("own.sqlite", "other.sqlite"))
    for file in (own, other):
        shutil.copy(migrated_sqlite, file)

    def board(file: Path) -> Settings:
        return Settings(database=f"sqlite:///{file}", storage=tmp_path / "storage", secret_key="x" * 40)

    with running(board(own)) as service:
        put_all(service, parts)
        with closing(sqlite3.connect(own)) as now_there, closing(sqlite3.connect(tmp_path / "dump")) as dump:
            now_there.backup(dump)
        identity = service.send(manifest).json()["id"]
        lost = submission_path(service.settings, next(iter(parts)))
        lost.rename(tmp_path / "lost")
        assert service.client.get(f"{UPLOADS}/{identity}/parts/1").status_code == 503
        (tmp_path / "lost").rename(lost)
    with running(board(other)) as service:
        for sha256, part in parts.items():
            assert put(service, sha256, part.read_bytes()).status_code == 503
            assert service.client.delete(f"{PARTS}/{sha256}", headers=service.account("ann")).status_code == 404
        assert service.send(drawn("elsewhere_16k")).status_code == 503
        remove_orphans(service.settings, service.database, older_than=-1)
        assert all(submission_path(service.settings, sha256).exists() for sha256 in parts)
    own.unlink()
    shutil.copy(tmp_path / "dump", own)
    with running(board(own)) as service:
        with service.database.transaction(write=True) as session:
            session.execute(update(StagedPart).values(received=now() - STAGED_FOR - timedelta(seconds=1)))
        assert remove_orphans(service.settings, service.database, older_than=-1) == len(parts) + 1
        assert {path.name for path in (tmp_path / "storage" / "quarantine").iterdir()} >= {f"{of}.zip" for of in parts}
