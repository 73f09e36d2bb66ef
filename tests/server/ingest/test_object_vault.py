"""Accepted files in an object store: a real S3 server on loopback (moto), and the promises of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.server.ingest import UPLOADS, ZIP, categories, drawn, register, token_of
from support.server.people import bearer
from support.server.postgres import PostgresServer

from codec_superb.server.app import create_app
from codec_superb.server.database.models import CheckJob
from codec_superb.server.database.session import Database
from codec_superb.server.errors import Unavailable
from codec_superb.server.operations.backup import make_backup
from codec_superb.server.operations.restore import restore_backup
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import remove_orphans
from codec_superb.server.storage.vault import vault_of

BUCKET = "board"


@pytest.fixture(scope="module")
def _store() -> Iterator[None]:
    """Run an S3 server with a bucket; the environment says where."""
    s3fs, moto = pytest.importorskip("s3fs"), pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        server.start()
        host, port = server.get_host_and_port()
        named = {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test", "DEFAULT_REGION": "us-east-1"}
        for name, value in {**named, "ENDPOINT_URL": f"http://{host}:{port}"}.items():
            patch.setenv(f"AWS_{name}", value)
        try:
            s3fs.S3FileSystem(skip_instance_cache=True).mkdir(BUCKET)
            yield
        finally:
            server.stop()


@pytest.fixture
def settings(postgres: PostgresServer, tmp_path: Path, _store: None) -> Iterator[Settings]:
    """Give a database, a folder of the first machine, and a place in the store of this test."""
    with postgres.database() as url:
        settings = Settings(
            database=url, storage=tmp_path / "first", secret_key="x" * 40, vault=f"s3://{BUCKET}/{tmp_path.name}"
        )
        database = Database(url)
        register(database, "mini", categories())
        database.close()
        yield settings


def objects(settings: Settings) -> list[str]:
    """List what lies in the store, without the object of the probe."""
    import s3fs

    fs, root = s3fs.S3FileSystem(skip_instance_cache=True), str(settings.vault).removeprefix("s3://")
    return sorted(path.removeprefix(f"{root}/") for path in fs.find(root) if not path.endswith("/ready"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of moto and botocore
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
    restore_backup(other, backup, replace=True)
    assert objects(other) == [f"submissions/{job.file_sha256}.zip"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_object_is_written_once_and_compared(settings: Settings, tmp_path: Path) -> None:
    """A second file of a name changes nothing; one that is not its name is no use; orphans go, copies are few."""
    from hashlib import sha256

    small = settings.model_copy(update={"vault_copies": 150})
    small.files.mkdir(parents=True)
    small.incoming.mkdir()
    vault = vault_of(small)
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
    database = Database(settings.database_url)
    assert remove_orphans(small, database) == 0
    assert remove_orphans(small, database, older_than=-5) == 4
    database.close()
    assert objects(settings) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_store_that_refuses(settings: Settings) -> None:
    """Where nothing can be written, as without a bucket, the service says that it is not ready, and takes no upload."""
    lost = settings.model_copy(update={"vault": "s3://no-such-bucket/board", "storage": settings.storage / "lost"})
    database = Database(settings.database_url)
    with TestClient(create_app(lost)) as client:
        assert [entry["path"] for entry in client.get("/readyz").json()["problems"]] == ["vault"]
        sent = client.post(UPLOADS, content=drawn("lost_16k"), headers=ZIP | bearer(token_of(database, "ann")))
        assert (sent.status_code, list(lost.incoming.iterdir())) == (503, [])
    database.close()
