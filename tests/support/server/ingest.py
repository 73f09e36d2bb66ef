"""Submission files to send, a service to send them to, and a look at what it stored."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer
from starlette.testclient import TestClient
from support.pipeline.stats import card, draw_rows, with_audio, write_run
from support.pipeline.stats import sha as manifest_hash
from support.server.databases import database_of_kind
from support.server.postgres import PostgresServer

from codec_superb.metrics.table import Category
from codec_superb.pipeline.conditions.record import Condition
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.parts.writing import files_of
from codec_superb.pipeline.submission.schema import CLIPS_NAME, Submitter
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.pipeline.tables.rows import ClipRow
from codec_superb.server.app import create_app
from codec_superb.server.board.repository import counted_submissions
from codec_superb.server.database.models import Account, ClipBlock, Submission, SubmissionPart, Token
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import DatasetFacts, add
from codec_superb.server.names.catalogue import cards
from codec_superb.server.people.access import secret_hash
from codec_superb.server.settings import Settings
from codec_superb.server.storage.submission_files import submission_path
from codec_superb.server.submissions.repository import under_conditions

CLIPS = 12
UPLOADS = "/api/v1/submissions"
ZIP = {"content-type": "application/zip"}
WRONG_TOKENS = 4
"""Wrong tokens of one beginning that an address may send in an hour to a place of several processes."""
Clips = Mapping[str, Category] | Mapping[str, KnownClip]


def facts(clips: Clips) -> dict[str, KnownClip]:
    """Complete what is known of clips: of some the category alone."""
    return {name: clip if isinstance(clip, KnownClip) else KnownClip(clip) for name, clip in clips.items()}


def categories(clips: int = CLIPS, dataset: str = "mini") -> dict[str, Category]:
    """Clips of the dataset that drawn rows are of."""
    return {row.clip: row.category for row in draw_rows(0, clips, dataset=dataset)}


def make_file(
    rows: Sequence[ClipRow], folder: Path, *, codec: str = "opus_16k", samples: int = 0, contact: str | None = None,
    about: dict[str, Any] | None = None, condition: Condition | None = None, sender: str = "Ann", **card_fields: Any,
) -> bytes:  # fmt: skip
    """Pack rows of one dataset; ``sender`` is in the file's words, ``about`` replaces what the run says of its dataset.

    A codec of the catalogue has the catalogue's card, as the service wants it.
    """
    folder.mkdir(exist_ok=True)
    listed = cards()[codec].model_dump(exclude={"name"}) if codec in cards() else {}
    run = write_run(folder, rows, card=card(codec, **(listed | card_fields)), condition=condition, **(about or {}))
    dataset = with_audio(run, rows, folder / "audio") if samples else None
    datasets = {dataset.name: dataset} if dataset else None
    submitter = Submitter(name=sender, contact=contact)
    return pack([run], folder / "out.zip", submitter=submitter, samples=samples, datasets=datasets).read_bytes()


@lru_cache
def drawn(codec: str = "opus_16k", seed: int = 1, clips: int = CLIPS, samples: int = 0) -> bytes:
    """Pack drawn rows of the whole dataset ``mini``."""
    with TemporaryDirectory() as folder:
        return make_file(draw_rows(seed, clips), Path(folder), codec=codec, samples=samples)


def changed_members(data: bytes, **members: bytes) -> bytes:
    """Replace members of a zip; ``document`` and ``rows`` name them."""
    names = {"document": "submission.json", "rows": CLIPS_NAME}
    out = io.BytesIO()
    replaced = {names[name]: content for name, content in members.items()}
    write_archive(out, read_archive(io.BytesIO(data)) | replaced)
    return out.getvalue()


@dataclass(frozen=True)
class Service:
    """A running application and what belongs to it."""

    client: TestClient
    database: Database
    settings: Settings

    def account(self, name: str, scopes: Sequence[str] = ("submit",)) -> dict[str, str]:
        """Make an account with a token, unless there is one; return the header that carries the token."""
        return {"authorization": f"Bearer {token_of(self.database, name, scopes)}"}

    def send(self, data: bytes, *, account: str | None = "ann") -> Response:
        """Send a file as the body; the board shows it when this returns."""
        token = {} if account is None else self.account(account)
        answer = self.client.post(UPLOADS, content=data, headers=ZIP | token)
        # on PostgreSQL the sender may be told its end before the thread that checked has read the board anew
        self.client.app.state.board.refresh()  # type: ignore[attr-defined]  # of the application itself
        return answer

    def problems(self, data: bytes) -> list[dict[str, str]]:
        """Send a file that must be refused; return its problems."""
        answer = self.send(data)
        assert answer.status_code == 422, answer.text
        problems: list[dict[str, str]] = answer.json()["problems"]
        assert problems
        for problem in problems:
            assert set(problem) == {"path", "expected", "got", "how_to_fix"}
            assert all(problem.values())
        return problems

    def know(self, name: str, clips: Clips, digest: str | None = None) -> None:
        """Register a dataset's state."""
        register(self.database, name, clips, digest)

    def stored(self) -> list[str]:
        """Expect that every submission is whole (row, file and blocks agree); return the hashes of their files."""
        return whole_submissions(self.database, self.settings)


def token_of(database: Database, name: str, scopes: Sequence[str] = ("submit",)) -> str:
    """Make an account with a token, unless there is one; return the token's secret."""
    secret = f"secret-of-{name}-for-{'-'.join(scopes)}"
    hashed = secret_hash(secret)
    with database.transaction(write=True) as session:
        account = session.scalars(select(Account).where(Account.name == name)).one_or_none() or Account(name=name)
        session.add(account)
        session.flush()
        if session.scalars(select(Token).where(Token.secret_sha256 == hashed)).one_or_none() is None:
            session.add(Token(account_id=account.id, prefix="test", secret_sha256=hashed, scopes=list(scopes)))
    return secret


def register(database: Database, name: str, clips: Clips, digest: str | None = None) -> None:
    """Register a dataset's state in a database."""
    known = KnownDataset(digest or manifest_hash(name), facts(clips))
    with database.transaction(write=True) as session:
        add(session, DatasetFacts(name, name.title(), "CC0-1.0", known))


def whole_submissions(database: Database, settings: Settings) -> list[str]:
    """Expect of every submission that its file has its hash and its blocks have its rows."""
    with database.transaction() as session:
        found = session.scalars(select(Submission).options(undefer(Submission.document))).all()
        for submission in found:
            path = submission_path(settings, submission.file_sha256)
            assert hashlib.sha256(path.read_bytes()).hexdigest() == submission.file_sha256
            statement = select(ClipBlock).where(ClipBlock.submission_id == submission.id)
            blocks = session.scalars(statement.options(undefer(ClipBlock.data))).all()
            rows = [row for block in blocks for row in open_table(io.BytesIO(block.data), own=True)]
            assert sorted(rows, key=_place) == sorted(_packed_rows(session, settings, submission), key=_place)
            assert len(rows) == submission.clips
            assert submission.results
        return [submission.file_sha256 for submission in found]


def _packed_rows(session: Session, settings: Settings, submission: Submission) -> list[ClipRow]:
    """Read the rows of a submission's file, or of its parts."""
    wanted = select(SubmissionPart.sha256).where(SubmissionPart.submission_id == submission.id)
    parts = session.scalars(wanted.order_by(SubmissionPart.number)).all()
    assert parts == [part["sha256"] for part in submission.document.get("parts", ())]
    members = [read_archive(submission_path(settings, sha256), part=True) for sha256 in parts]
    members = members or [read_archive(submission_path(settings, submission.file_sha256))]
    # a stranger's tasks stay there
    return [row for found in members for row in open_table(io.BytesIO(found[CLIPS_NAME]), leave=True)]


def standing(service: Service, codec: str, condition: str = "") -> str:
    """Return the submission that stands for a codec: of clean ones on its page, as the board counts it."""
    with service.database.transaction() as session:
        if condition:
            return next(each.id for each in under_conditions(session, codec) if each.condition == condition)
        identity = counted_submissions(session)[codec].submission
    service.client.app.state.board.refresh()  # type: ignore[attr-defined]  # it looks four times a second
    assert service.client.get(f"/api/v1/codecs/{codec}").json()["submission"]["submission"] == identity
    return identity


def kinds(answer: Mapping[str, Any]) -> list[str]:
    """Return the kinds of warnings of what was sent, which is public all the same; drawn rows have any bitrate."""
    assert answer["status"] == "self-reported", answer
    return [warning["kind"] for warning in answer["warnings"] if warning["kind"] != "bitrate"]


def in_parts(folder: Path, codec: str, *, rows: int = 5, seed: int = 1) -> tuple[bytes, dict[str, Path]]:
    """Pack the drawn rows of :func:`drawn` in parts; return the file that describes them, and the parts by hash."""
    folder.mkdir(exist_ok=True)
    listed = cards()[codec].model_dump(exclude={"name"}) if codec in cards() else {}
    run = write_run(folder, draw_rows(seed, CLIPS), card=card(codec, **listed))
    one, *parts = files_of(pack([run], folder / f"{codec}.zip", submitter=Submitter(name="Ann"), most_rows=rows))
    return one.read_bytes(), {hashlib.sha256(part.read_bytes()).hexdigest(): part for part in parts}


def service_on(request: pytest.FixtureRequest, folder: Path, **chosen: Any) -> Iterator[Service]:
    """Run a service on the kind of database that ``request.param`` names, with generous limits and ``chosen``."""
    with ExitStack() as stack:
        url = stack.enter_context(database_of_kind(request, folder))
        generous = {"uploads_per_hour": 1_000_000, "computations_per_minute": 1_000_000, **chosen}
        settings = Settings(database=url, storage=folder / "storage", secret_key="x" * 40, **generous)
        yield stack.enter_context(running(settings))


def _place(row: ClipRow) -> tuple[str, str]:
    return row.dataset, row.clip


@contextmanager
def running(settings: Settings) -> Iterator[Service]:
    """Run an application that knows the dataset ``mini`` of :func:`drawn`."""
    with TestClient(create_app(settings)) as client:
        database = Database(settings.database_url)
        try:
            register(database, "mini", categories())
            yield Service(client, database, settings)
        finally:
            database.close()


@contextmanager
def shared_place(postgres: PostgresServer, storage: Path) -> Iterator[tuple[Database, Settings]]:
    """Give a database on PostgreSQL that knows ``mini``, and settings, for several processes."""
    with postgres.database() as url, closing(Database(url)) as database:
        settings = Settings(database=url, storage=storage, secret_key="x" * 40, logins_per_hour=WRONG_TOKENS)
        register(database, "mini", categories())
        yield database, settings
