"""``POST /api/v1/submissions``: what is true is stored whole, once, under the right name and status."""

from __future__ import annotations

import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event, select
from starlette.testclient import TestClient
from support.pipeline.runs import speech_folder
from support.pipeline.stats import draw_rows, failed
from support.server.ingest import UPLOADS, ZIP, Service, categories, drawn, make_file, running
from support.timing import PATIENCE_S, wait_for

from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.pack import pack
from codec_superb.server.database.models import Account, AuditEntry, Codec, Result, Revision, Submission, Token
from codec_superb.server.people.tokens import revoke
from codec_superb.server.settings import Settings


def revision(service: Service) -> int:
    """How often the public data changed."""
    with service.database.transaction() as session:
        return session.scalars(select(Revision.number)).one()


class TestUpload:
    """A file that says the truth."""

    def test_a_good_file_is_published_with_everything_recomputed(self, service: Service, tmp_path: Path) -> None:
        """The answer describes it; row, file, results and blocks agree; the log says who sent it."""
        data = drawn("good_16k", samples=2)
        before = revision(service)
        answer = service.send(data)
        assert answer.status_code == 201, answer.text
        receipt = answer.json()
        assert receipt["url"] == f"http://127.0.0.1:8000/submissions/{receipt['id']}"
        assert (receipt["codec"], receipt["version"], receipt["status"]) == ("good_16k", 1, "self-reported")
        assert (receipt["datasets"], receipt["clips"], receipt["ok"], receipt["failed"]) == (["mini"], 12, 12, 0)
        assert receipt["complete"]
        service.stored()
        assert revision(service) == before + 1
        file = tmp_path / "a.zip"
        file.write_bytes(data)
        expected = load_results(file).aggregates
        with service.database.transaction() as session:
            results = session.scalars(select(Result).where(Result.submission_id == receipt["id"])).all()
            found = {(result.category, result.dataset): result for result in results}
            assert len(found) == 6
            for part in expected.datasets:
                one, over = found[part.category, "mini"], found[part.category, ""]
                assert one.score == over.score == part.score.value
                assert one.metrics["pesq"]["mean"] == part.metrics["pesq"].mean
                assert (one.low, one.high, one.kbps) == (part.score.low, part.score.high, part.kbps)
            entry = session.scalars(select(AuditEntry).where(AuditEntry.subject == receipt["id"])).one()
            assert (entry.actor, entry.action) == ("ann", "submission.received")

    @pytest.mark.sample(1, among="real runs uploaded")
    def test_real_codecs_on_synthesised_speech(self, service: Service, tmp_path: Path) -> None:
        """Runs of the real stages, one clip of which failed, arrive as they are: shown as partial."""
        clips = speech_folder(tmp_path / "voices", 2, seconds=0.6)
        (clips / "broken.wav").write_bytes(b"RIFF")
        (outcome,) = resynthesise(
            ["codec2_3200"], [str(clips)], out=tmp_path / "runs", device="cpu", workers=1, category="speech"
        )
        score([outcome.path], metrics=["mel", "stft"], workers=1)
        rows = load_results(outcome.path)
        named = make_named(outcome.path)
        service.know("voices", {row.clip: row.category for row in rows.rows}, named)
        answer = service.send(pack([outcome.path], tmp_path / "a.zip").read_bytes())
        assert answer.status_code == 201, answer.text
        assert (answer.json()["ok"], answer.json()["failed"], answer.json()["complete"]) == (2, 1, False)
        service.stored()

    def test_a_form_works_like_a_body(self, service: Service) -> None:
        """A file in the form field ``file`` is the same file."""
        data = drawn("form_16k")
        header = service.account("ann")
        answer = service.client.post(UPLOADS, files={"file": ("a.zip", data, "application/zip")}, headers=header)
        assert answer.status_code == 201, answer.text
        assert service.send(data).json() == answer.json()

    def test_failed_clips_make_a_partial_submission(self, service: Service, tmp_path: Path) -> None:
        """They are counted and shown, never dropped."""
        rows = [*draw_rows(1, 12)[:11], failed("mini/clip011", category="music")]
        answer = service.send(make_file(rows, tmp_path, codec="partial_16k"))
        assert answer.status_code == 201, answer.text
        assert (answer.json()["failed"], answer.json()["complete"]) == (1, False)

    def test_a_run_of_some_clips_is_partial(self, service: Service, tmp_path: Path) -> None:
        """It says how large the dataset is, and never stands in front of all clips; what fails on one does."""
        data = make_file(draw_rows(1, 6), tmp_path, codec="limited_16k", about={"clips": 12})
        answer = service.send(data)
        assert answer.status_code == 201, answer.text
        assert not answer.json()["complete"]
        assert service.send(make_file(draw_rows(2, 12), tmp_path, codec="limited_16k")).json()["complete"]
        again = service.send(make_file(draw_rows(3, 6), tmp_path, codec="limited_16k", about={"clips": 12}))
        assert (again.status_code, "in front of version 2" in again.json()["detail"]) == (409, True)
        rows = [*draw_rows(4, 12)[:11], failed("mini/clip011", category="music")]
        assert service.send(make_file(rows, tmp_path, codec="limited_16k")).status_code == 201


class TestSameFile:
    """A file is recognised by its hash."""

    def test_again_changes_nothing(self, service: Service) -> None:
        """The second time is answered 200 with the same submission, whoever sends it; somebody else is told so."""
        first, before = service.send(drawn("again_16k")), revision(service)
        second = service.send(drawn("again_16k"), account="bob")
        assert (first.status_code, second.status_code) == (201, 200)
        (told,) = (note for note in second.json()["notes"] if note not in first.json()["notes"])
        assert "somebody else sent this file before" in told
        assert first.json() == second.json() | {"notes": first.json()["notes"]}
        assert revision(service) == before

    @pytest.mark.sample(1, among="uploads at the same moment")
    def test_at_the_same_moment_makes_one_submission(self, service: Service) -> None:
        """Eight at once: one is new, the others find it."""
        data = drawn("crowd_16k")
        service.account("ann")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: service.send(data), range(8)))
        assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
        assert len({answer.json()["id"] for answer in answers}) == 1

    def test_a_file_of_another_account_tells_nothing_that_is_not_public(self, service: Service) -> None:
        """Who has a file that is held learns that it is known; its account learns all."""
        data = drawn("lent_16k")
        identity = service.send(data).json()["id"]
        assert service.send(data, account="bob").json()["status"] == "self-reported"
        with service.database.transaction(write=True) as session:
            held = session.get_one(Submission, identity)
            held.status, held.reason, held.warnings = "held", "looks drawn", [{"kind": "x", "holds": True}]
        for account, expected in {"ann": ("held", "looks drawn", 1), "bob": ("known", None, 0)}.items():
            answer = service.send(data, account=account).json()
            assert answer["id"] == identity
            assert (answer["status"], answer["reason"], len(answer["warnings"])) == expected

    @pytest.mark.sample(1, among="uploads at the same moment")
    def test_different_files_at_the_same_moment_get_different_versions(self, service: Service) -> None:
        """Versions are counted without gap or repetition however uploads meet."""
        service.account("ann")
        files = [drawn("race_16k", seed=seed) for seed in range(6)]
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(service.send, files))
        assert sorted(answer.json()["version"] for answer in answers) == [1, 2, 3, 4, 5, 6]

    def test_nobody_else_writes_while_a_file_is_stored(self, migrated_sqlite: Path, tmp_path: Path) -> None:
        """A file is looked up before its check and, in a transaction that writes from its start, before it is stored.

        SQLite refuses to write in a transaction that has read, when another one has written in between.
        """
        file = tmp_path / "leaderboard.sqlite"
        file.write_bytes(migrated_sqlite.read_bytes())
        entered = []

        def knock(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if "WHERE submissions.file_sha256" in statement:
                with closing(sqlite3.connect(file, timeout=0)) as other:
                    try:
                        other.execute("BEGIN IMMEDIATE")
                        entered.append(True)
                    except sqlite3.OperationalError:
                        entered.append(False)

        settings = Settings(database=f"sqlite:///{file}", storage=tmp_path, secret_key="x" * 40)
        with running(settings) as service:
            event.listen(service.client.app.state.database.engine, "before_cursor_execute", knock)
            assert service.send(drawn("counted_16k")).status_code == 201
        assert entered == [True, False]


class TestNames:
    """A codec's name belongs to the account that used it first."""

    def test_another_account_is_refused(self, service: Service) -> None:
        """With the place, and nothing stored."""
        assert service.send(drawn("taken_16k", seed=1), account="ann").status_code == 201
        answer = service.send(drawn("taken_16k", seed=2), account="bob")
        assert answer.status_code == 409
        (problem,) = answer.json()["problems"]
        assert (problem["path"], problem["got"]) == ("submission.json: codec.name", "taken_16k")
        with service.database.transaction() as session:
            codec = session.scalars(select(Codec).where(Codec.name == "taken_16k")).one()
            count = session.scalars(select(Submission).where(Submission.codec_id == codec.id)).all()
            assert len(count) == 1
            assert codec.owner is not None
            assert codec.owner.name == "ann"

    @pytest.mark.sample(1, among="uploads at the same moment")
    def test_of_two_accounts_at_the_same_moment_one_is_refused(self, service: Service) -> None:
        """Whoever comes second finds the name taken; nothing of the other's is stored, and the log says whose it is."""
        accounts = ["ann", "bob", "cy", "dee"]
        # rows of their own: a copy is held, and takes no name
        files = [drawn("contended_16k", seed=40 + at) for at in range(len(accounts))]
        for name in accounts:
            service.account(name)
        with ThreadPoolExecutor(len(files)) as pool:
            answers = list(
                pool.map(lambda one: service.send(one[0], account=one[1]), zip(files, accounts, strict=True))
            )
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
        winner = next(name for name, answer in zip(accounts, answers, strict=True) if answer.status_code == 201)
        with service.database.transaction() as session:
            codec = session.scalars(select(Codec).where(Codec.name == "contended_16k")).one()
            assert codec.owner is not None
            assert codec.owner.name == winner
            claims = select(AuditEntry.actor).where(
                AuditEntry.action == "codec.claimed", AuditEntry.subject == "contended_16k"
            )
            assert session.scalars(claims).all() == [winner]
        service.stored()


class TestTokens:
    """Who may send."""

    def test_without_a_token(self, service: Service) -> None:
        """401, and what to get."""
        answer = service.send(drawn("nobody_16k"), account=None)
        assert answer.status_code == 401
        assert "token" in answer.json()["detail"]

    @pytest.mark.parametrize("header", ["Bearer wrong", "Bearer ", "Basic eDp5"])
    def test_with_a_bad_header(self, service: Service, header: str) -> None:
        """A token that is unknown, empty, or no token is 401, never anonymous."""
        answer = service.client.post(UPLOADS, content=b"x", headers=ZIP | {"authorization": header})
        assert answer.status_code == 401

    def test_the_use_of_a_token_is_kept(self, service: Service) -> None:
        """Its owner can see that it is in use."""
        service.send(b"no zip", account="user of tokens")
        with service.database.transaction() as session:
            statement = select(Token).join(Token.account).where(Account.name == "user of tokens")
            assert session.scalars(statement).one().last_used is not None

    def test_without_the_scope(self, service: Service) -> None:
        """A token for something else is 403."""
        header = service.account("meter", ("metrics",))
        assert service.client.post(UPLOADS, content=b"x", headers=ZIP | header).status_code == 403


def test_a_token_that_is_revoked_while_its_file_is_checked(service: Service) -> None:
    """The file is refused and nothing of it is stored: it came by a token that nobody may use any more."""
    before = service.stored()
    assert service.send(b"no zip").status_code == 422  # the process that checks has begun
    group = service.client.app.state.checker.pid  # type: ignore[attr-defined]  # of a TestClient
    with ThreadPoolExecutor(1) as pool:
        service.account("once a sender")
        os.killpg(group, signal.SIGSTOP)
        try:
            sent = pool.submit(service.send, drawn("revoked_16k", seed=8), account="once a sender")
            wait_for(lambda: any(service.settings.incoming.iterdir()), "the token was not looked at")
            with service.database.transaction(write=True) as session:
                token = select(Token.id).join(Account).where(Account.name == "once a sender")
                revoke(session, str(session.scalars(token).one()), actor="mod")
        finally:
            os.killpg(group, signal.SIGCONT)
        refused = sent.result(PATIENCE_S)
    assert (refused.status_code, "revoked" in refused.json()["detail"]) == (401, True)
    assert service.stored() == before
    assert list(service.settings.incoming.iterdir()) == []


class TestAnonymous:
    """Uploads without a token, where they are enabled."""

    def test_they_wait_for_a_moderator(self, database_url: str, tmp_path: Path) -> None:
        """Pending, invisible, and never under a name that an account owns; the name is anybody's until one owns it."""
        settings = Settings(database=database_url, storage=tmp_path, secret_key="x" * 40, anonymous_uploads=True)
        with running(settings) as service:
            answer = service.send(drawn("open_16k", seed=1), account=None)
            assert (answer.status_code, answer.json()["status"]) == (201, "pending")
            assert service.client.get(f"{UPLOADS}/{answer.json()['id']}").status_code == 404
            assert revision(service) == 1  # the dataset's registration alone
            assert service.send(drawn("open_16k", seed=2), account="ann").json()["version"] == 2
            assert service.send(drawn("open_16k", seed=3), account=None).status_code == 409

    @pytest.mark.parametrize("fields", [{}, {"token": ""}, {"token": " "}], ids=["no field", "empty", "space"])
    def test_the_page_takes_a_form_without_a_token(
        self, database_url: str, tmp_path: Path, fields: dict[str, str]
    ) -> None:
        """A field that is missing or left empty is no wrong token."""
        settings = Settings(database=database_url, storage=tmp_path, secret_key="x" * 40, anonymous_uploads=True)
        with running(settings) as service:
            answer = service.client.post("/submit", data=fields, files={"file": ("a.zip", drawn("open_page_16k"))})
            assert answer.status_code == 201, answer.text
            assert "open_page_16k, version 1: pending" in answer.text


class TestBody:
    """What is no upload at all."""

    @pytest.mark.parametrize(
        ("body", "content_type", "word"),
        [
            (b"{}", "application/json", "Content-Type"),
            (b"", "application/zip", "empty"),
            (b"x", "multipart/form-data", "boundary"),
            (b"x", f"multipart/form-data; boundary={'b' * 300}", "boundary"),
            (b"x", "multipart/form-data; boundary=b", "form"),
            (b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nPK', "multipart/form-data; boundary=b", "off"),
            (b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--', "multipart/form-data; boundary=b",
             "field"),
            (b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + b"y" * 5000 + b"\r\n--b--",
             "multipart/form-data; boundary=b", "2000 bytes"),
            (b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n' * 20, "multipart/form-data; boundary=b",
             "fields"),
        ],
    )  # fmt: skip
    def test_it_is_refused_in_words(self, service: Service, body: bytes, content_type: str, word: str) -> None:
        """400 with what was expected; nothing stays in the folder of uploads."""
        header = service.account("ann") | {"content-type": content_type}
        answer = service.client.post(UPLOADS, content=body, headers=header)
        assert answer.status_code == 400, answer.text
        assert word in answer.json()["detail"]
        assert list(service.settings.incoming.iterdir()) == []

    def test_too_large(self, database_url: str, tmp_path: Path) -> None:
        """413 by the declared length, and while it comes when none is declared; the limit counts the file."""
        settings = Settings(database=database_url, storage=tmp_path, secret_key="x" * 40, upload_limit=50_000)
        with running(settings) as service:
            header = service.account("ann") | ZIP
            for body in (b"x" * 200_000, iter([b"x" * 30_000] * 4)):
                answer = service.client.post(UPLOADS, content=body, headers=header)
                assert answer.status_code == 413, answer.text
                assert "0.05 MB" in answer.json()["detail"]
            assert list(settings.incoming.iterdir()) == []

    def test_too_many(self, settings: Settings) -> None:
        """The limit of a token is counted and says when to go on."""
        few = settings.model_copy(update={"uploads_per_hour": 2})
        with running(few) as service:
            assert [service.send(b"x").status_code for _ in range(3)] == [422, 422, 429]
            assert int(service.send(b"x").headers["retry-after"]) > 0


class TestPage:
    """``/submit``: the same for people, without JavaScript."""

    def test_the_form_is_there(self, client: TestClient) -> None:
        """It posts a file and a token, and tells how to pack."""
        page = client.get("/submit").text
        assert 'enctype="multipart/form-data"' in page
        assert 'name="file"' in page
        assert 'type="password"' in page
        assert "codec-superb pack" in page
        assert "<script>" not in page

    def test_a_file_is_taken_and_a_refusal_is_in_words(self, service: Service) -> None:
        """The page shows the submission, or every problem as an item of a list."""
        secret = service.account("ann")["authorization"].removeprefix("Bearer ")

        def send(data: bytes, token: str = secret) -> tuple[int, str]:
            answer = service.client.post("/submit", data={"token": token}, files={"file": ("a.zip", data)})
            return answer.status_code, answer.text

        status, page = send(drawn("page_16k"))
        assert status == 201
        assert "page_16k, version 1: self-reported" in page
        status, page = send(drawn("page_16k"))
        assert status == 200
        assert "sent before" in page
        with service.database.transaction(write=True) as session:
            (stored,) = session.scalars(select(Submission).join(Submission.codec).where(Codec.name == "page_16k")).all()
            stored.status = "withdrawn"
        status, page = send(drawn("page_16k"))
        assert status == 200
        assert "It was withdrawn" in page
        assert f"/submissions/{stored.id}" not in page
        status, page = send(b"no zip at all, <script>alert(1)</script>")
        assert status == 422
        assert "<li><code>zip</code>: expected" in page
        status, page = send(drawn("page_16k"), "wrong")
        assert status == 401
        assert "expected a valid API token" in page


def make_named(run: Path) -> str:
    """Say of a run on a folder that it was one on a named dataset; return the manifest hash."""
    from codec_superb.pipeline.runs.folder import RunFolder

    folder = RunFolder(run)
    info = folder.info()
    dataset = info.dataset.model_copy(update={"location": None, "category": None})
    folder.write_info(info.model_copy(update={"dataset": dataset}))
    return dataset.manifest_hash


def test_categories_fit_the_drawn_rows() -> None:
    """The helper of these tests knows the clips of the files it makes."""
    assert len(categories()) == 12
