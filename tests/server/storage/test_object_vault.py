"""Accepted files in an object store: a real S3 server on loopback (moto), and the promises of the folder."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient
from support.limits import limit
from support.server.ingest import UPLOADS, ZIP, categories, drawn, in_parts, register, token_of, whole_submissions
from support.server.people import bearer
from support.server.postgres import PostgresServer

from codec_superb.server.app import create_app
from codec_superb.server.database.models import CheckJob, StagedPart, now
from codec_superb.server.database.session import Database
from codec_superb.server.errors import OperationError, Unavailable
from codec_superb.server.ingest import queue
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import restore_backup
from codec_superb.server.settings import Settings
from codec_superb.server.storage.binding import FOREIGN, fault_of_vault
from codec_superb.server.storage.submission_files import STAGED_FOR, ready_to_send, remove_orphans
from codec_superb.server.storage.vault import vault_of
from codec_superb.server.storage.vault_layout import MARK

PARTS = "/api/v1/parts"


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """Run an S3 server with a bucket, behind a proxy that makes faults."""
    pytest.importorskip("obstore")
    support = pytest.importorskip("support.objects.s3")
    with support.s3_server() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        server.bucket = "board"
        server.put("")
        yield server


@pytest.fixture
def settings(postgres: PostgresServer, tmp_path: Path, s3: Any) -> Iterator[Settings]:
    """Give a database, a folder of the first machine, and a place in the store of this test."""
    with postgres.database() as url:
        settings = Settings(
            database=url, storage=tmp_path / "first", secret_key="x" * 40, vault=f"{s3.url}/{tmp_path.name}"
        )
        database = Database(url)
        register(database, "mini", categories())
        database.close()
        yield settings


def objects(settings: Settings, *, marks: bool = False) -> list[str]:
    """List the files in the store, or the marks of accepted ones; not the objects of the probe and its identity."""
    from obstore.store import from_url

    store = from_url(str(settings.vault), client_options={"allow_http": True})
    found = (entry["path"] for page in store.list() for entry in page if "/" in entry["path"])
    return sorted(path for path in found if path.endswith(MARK) == marks)


@pytest.mark.slow
def test_two_machines_without_a_shared_folder(settings: Settings, tmp_path: Path) -> None:
    """One receives, the other checks, each reads the file; a backup has it, a restore puts it into another store."""
    far = settings.model_copy(update={"storage": tmp_path / "second"})
    data = drawn("far_16k", seed=5, samples=1)
    with ExitStack() as stack:
        receives = stack.enter_context(TestClient(create_app(settings.model_copy(update={"check_workers": 0}))))
        checks = stack.enter_context(TestClient(create_app(far)))
        database = Database(settings.database_url)
        stack.callback(database.close)
        sent = receives.post(UPLOADS, content=data, headers=ZIP | bearer(token_of(database, "ann")))
        assert sent.status_code == 201, sent.text
        with database.transaction() as session:
            (job,) = session.query(CheckJob).all()
        assert objects(settings) == [f"submissions/{job.file_sha256}.zip"]
        for client in (receives, checks):
            assert client.get(f"{UPLOADS}/{sent.json()['id']}/file").content == data
            assert client.get(f"{UPLOADS}/{sent.json()['id']}/samples/0/reference.ogg").status_code == 200
            assert client.get("/readyz").json() == {"status": "ready"}
        refused = receives.post(UPLOADS, content=b"no zip", headers=ZIP | bearer(token_of(database, "ann")))
        assert refused.status_code == 422
        for machine in (settings, far):
            assert list(machine.incoming.iterdir()) == []
        assert len(objects(settings)) == 1
    backup = make_backup(settings.model_copy(update={"storage": tmp_path / "third"}), tmp_path / "backup.zip").path
    other = settings.model_copy(update={"storage": tmp_path / "fourth", "vault": f"{settings.vault}-again"})
    trial = far.model_copy(update={"storage": tmp_path / "trial", "database": f"sqlite:///{tmp_path / 'trial.sqlite'}"})
    with pytest.raises(OperationError, match="another one's files; for a trial unset CODEC_SUPERB_SERVER_VAULT"):
        restore_backup(trial, backup)
    assert fault_of_vault(far, database) is None  # the board that runs still has them
    restore_backup(other, backup, replace=True)
    assert objects(other) == [f"submissions/{job.file_sha256}.zip"]
    assert fault_of_vault(other, database) is None
    assert fault_of_vault(far, database) is FOREIGN
    database.close()


def test_parts_go_to_the_store_and_are_one_submission(settings: Settings, tmp_path: Path, s3: Any) -> None:
    """One that was cut off is sent again to another machine; accepted parts are marked and stay, others go.

    The machine that checks keeps fewer copies than there are parts; an object that is another file stops a backup by
    its name until the file comes again.
    """
    from support.objects.s3 import Fault

    manifest, parts = in_parts(tmp_path / "run", "near_16k")
    _, others = in_parts(tmp_path / "other", "else_16k", seed=2)
    first, second, third = parts
    unwanted, forgotten, _ = others
    far = settings.model_copy(update={"storage": tmp_path / "second", "vault_copies": 1})
    whole = [*parts, sha256(manifest).hexdigest()]
    database = Database(settings.database_url)
    ann, bob = (bearer(token_of(database, name)) for name in ("ann", "bob"))
    with ExitStack() as stack:
        receives = stack.enter_context(TestClient(create_app(settings.model_copy(update={"check_workers": 0}))))
        checks = stack.enter_context(TestClient(create_app(far)))

        def put(client: TestClient, name: str, who: dict[str, str] = ann) -> int:
            content = (parts | others)[name].read_bytes()
            return client.put(f"{PARTS}/{name}", content=content, headers=ZIP | who).status_code

        def waiting(client: TestClient) -> set[str]:
            return {part["sha256"] for part in client.get(PARTS, headers=ann).json()["parts"]}

        assert put(receives, first) == 201
        s3.faults.append(Fault("403", second))  # its row is there and its object is not, as behind a kill
        assert put(receives, second) == 503
        s3.faults.clear()
        assert waiting(receives) == waiting(checks) == {first}
        assert receives.post(UPLOADS, content=manifest, headers=ZIP | ann).status_code == 409
        assert [put(checks, name) for name in (second, third, unwanted, forgotten)] == [200, 201, 201, 201]
        assert receives.delete(f"{PARTS}/{unwanted}", headers=ann).status_code == 204
        assert waiting(receives) == {*parts, forgotten}
        assert objects(settings) == sorted(f"submissions/{name}.zip" for name in (*parts, forgotten))
        assert objects(settings, marks=True) == []
        sent = receives.post(UPLOADS, content=manifest, headers=ZIP | ann)
        assert sent.status_code == 201, sent.text
        marks, deadline = sorted(f"submissions/{name}{MARK}" for name in whole), time.monotonic() + 30
        while objects(settings, marks=True) != marks:  # they come behind the commit, for which the sender waits
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for machine, client in ((settings, receives), (far, checks)):
            for copy in machine.files.iterdir():
                copy.unlink()  # what is read comes from the store
            page = f"{UPLOADS}/{sent.json()['id']}"
            assert client.get(f"{page}/file").content == manifest
            for number, part in enumerate(parts.values(), start=1):
                assert client.get(f"{page}/parts/{number}").content == part.read_bytes()
        assert whole_submissions(database, far) == whole[-1:]
        s3.put(f"{tmp_path.name}/submissions/{whole[-1]}.zip", b"another file")
        for copy in far.files.iterdir():
            copy.unlink()
        with pytest.raises(OperationError, match=f"missing or changed .*{whole[-1]} of submission"):
            make_backup(far, tmp_path / "backup.zip")
        assert checks.post(UPLOADS, content=manifest, headers=ZIP | ann).status_code == 200
        for copy in far.files.iterdir():
            copy.unlink()
        assert make_backup(far, tmp_path / "backup.zip").manifest.files.keys() == {*whole}
        # somebody else's copy of an accepted part goes, the part does not
        assert put(checks, first, bob) == 201
        assert checks.delete(f"{PARTS}/{first}", headers=bob).status_code == 204
        assert remove_orphans(far, database, older_than=-5) == 0
        with database.transaction(write=True) as session:
            session.execute(update(StagedPart).values(received=now() - STAGED_FOR - timedelta(seconds=1)))
        assert remove_orphans(far, database, older_than=-5) == 1
        assert objects(settings) == sorted(f"submissions/{name}.zip" for name in whole)
    database.close()


def test_an_object_is_written_once_and_compared(settings: Settings, tmp_path: Path) -> None:
    """A second file of a name changes nothing; one that is not its name is no use; orphans go, copies are few."""
    small = settings.model_copy(update={"vault_copies": 150})
    small.files.mkdir(parents=True)
    small.incoming.mkdir()
    vault = vault_of(small)
    database = Database(settings.database_url)
    assert fault_of_vault(small, database) is None
    contents = [bytes([letter]) * 100 for letter in b"abc"]
    names = [sha256(content).hexdigest() for content in contents]
    for content, name in zip(contents, names, strict=True):
        for given in (content, b"another"):
            path = tmp_path / "received"
            path.write_bytes(given)
            vault.keep(path, name)
            (small.files / f"{name}.zip").unlink()
    for content, name in zip(contents, names, strict=True):
        assert vault.fetch(name).read_bytes() == content
    assert len(list(small.files.iterdir())) == 1
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"something else")
    vault.keep(wrong, "0" * 64)
    (small.files / f"{'0' * 64}.zip").unlink()
    with pytest.raises(Unavailable, match="not the file"):
        vault.fetch("0" * 64)
    assert not vault.fetch("1" * 64).exists()
    owner, there = vault.owner(), objects(settings)
    vault.bind("another database")
    assert remove_orphans(small, database, older_than=-5) == 0
    assert objects(settings) == there
    vault.bind(owner)
    assert remove_orphans(small, database) == 0
    assert remove_orphans(small, database, older_than=-5) == 4
    database.close()
    assert sorted(objects(settings)) == sorted(f"quarantine/{name}.zip" for name in [*names, "0" * 64])
    (small.files / f"{names[0]}.zip").unlink(missing_ok=True)
    assert vault.fetch(names[0]).read_bytes() == contents[0]
    assert vault.has(names[1])
    assert len([name for name in objects(settings) if name.startswith("submissions/")]) == 2


def test_what_a_killed_process_left_to_wait_goes(settings: Settings) -> None:
    """An old object without a check goes with its file; one that is young, or whose check is queued, stays."""
    settings.files.mkdir(parents=True)
    settings.incoming.mkdir()
    database, vault = Database(settings.database_url), vault_of(settings)
    names = ["1" * 32, "2" * 32]
    for name in names:
        with (settings.incoming / name).open("xb") as file:
            file.write(b"waits")
        vault.leave(settings.incoming / name)
        (settings.incoming / name).unlink()  # on the machine that was killed, and is gone
    with database.transaction(write=True) as session:
        queue.enqueue(session, names[0], sender="a", account_id=None, sha256="0" * 64)
    assert remove_orphans(settings, database) == 0
    assert objects(settings) == [f"incoming/{name}" for name in names]
    assert remove_orphans(settings, database, older_than=-5) == 1
    assert objects(settings) == [f"incoming/{names[0]}"]
    taken = settings.incoming / names[0]
    with pytest.raises(Unavailable, match="no fault of its sender"):  # as where it was cut short
        vault.take(taken, "0" * 64)
    assert not taken.exists()
    vault.take(taken, sha256(b"waits").hexdigest())
    assert taken.read_bytes() == b"waits"
    database.close()


def test_copies_of_what_is_only_ever_received_are_bounded(settings: Settings, tmp_path: Path) -> None:
    """A machine that checks files and reads none again keeps the newest copies within its bound, not one of each.

    Where its disk has less free than the service keeps, only the copy that is asked for stays; a limit is told as one.
    """
    small = settings.model_copy(update={"vault_copies": 250})
    small.files.mkdir(parents=True)
    for letter in b"abcd":
        path = tmp_path / "received"
        path.write_bytes(bytes([letter]) * 100)
        vault_of(small).keep(path, sha256(path.read_bytes()).hexdigest())
    assert (small.files / f"{sha256(b'd' * 100).hexdigest()}.zip").exists()
    assert len(list(small.files.iterdir())) == 2
    assert len(objects(small)) == 4
    # where more than half of what is kept free is there, who was just given a copy still finds it
    low = small.model_copy(update={"free_bytes": shutil.disk_usage(small.files).free * 4 // 3, "vault_copies": 10**6})
    a, b, c, d = (sha256(bytes([letter]) * 100).hexdigest() for letter in b"abcd")
    os.utime(small.files / f"{c}.zip", (0, 0))
    assert all(vault_of(low).fetch(name).exists() for name in (a, b))
    assert {path.stem for path in small.files.iterdir()} == {a, b, d}
    full = small.model_copy(update={"free_bytes": 10**18})
    begun = small.files / ".another.zip.00c0dec0"
    begun.touch()
    read = vault_of(full).fetch(c)
    assert {*full.files.iterdir()} == {read, begun}
    begun.unlink()
    with limit(resource.RLIMIT_FSIZE, 10), pytest.raises(Unavailable, match="File too large"), ready_to_send():
        vault_of(full).fetch(b)
    assert list(full.files.iterdir()) == [read]


def test_a_store_that_does_not_answer(settings: Settings, s3: Any) -> None:
    """The service starts and says that it is not ready; an upload is answered 503, leaves nothing, and works later."""
    from support.objects.s3 import Fault

    database = Database(settings.database_url)
    headers = ZIP | bearer(token_of(database, "ann"))
    s3.faults.append(Fault("gone"))
    with TestClient(create_app(settings)) as client:
        assert [entry["path"] for entry in client.get("/readyz").json()["problems"]] == ["vault"]
        sent = client.post(UPLOADS, content=drawn("lost_16k"), headers=headers)
        assert (sent.status_code, list(settings.incoming.iterdir())) == (503, [])
        s3.faults.clear()
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.post(UPLOADS, content=drawn("lost_16k"), headers=headers).status_code == 201
    lost = settings.model_copy(update={"vault": "s3://no-such-bucket/board"})
    with TestClient(create_app(lost)) as client:
        assert [entry["path"] for entry in client.get("/readyz").json()["problems"]] == ["vault"]
    database.close()
