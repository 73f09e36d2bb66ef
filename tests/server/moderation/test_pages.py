"""The pages of moderators: the queue, a submission, its samples, the audit log."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient
from support.audio import speech_like
from support.server.board import make_submission
from support.server.people import ON_SQLITE, log_in, make_token
from support.web.site import accessibility_faults, running_site, visitor, wait_until

from codec_superb.pipeline.submission.archive import write_archive
from codec_superb.pipeline.submission.samples import ogg_opus
from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Submission, now
from codec_superb.server.database.session import Database
from codec_superb.server.people.audit import record
from codec_superb.server.settings import Settings

PAGE = {"accept": "text/html"}
SIDES = ("reference", "resynthesis")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
SAMPLE = {
    "dataset": "mini", "category": "speech", "licence": "CC0-1.0", "attribution": "by the test",
    "reference": "samples/00-reference.ogg", "resynthesis": "samples/00-resynthesis.ogg",
    "reference_sha256": "0" * 64, "resynthesis_sha256": "1" * 64,
}  # fmt: skip


@pytest.fixture
def form(client: TestClient, database: Database) -> str:
    """Log a moderator in, and give the token for the forms."""
    return log_in(client, make_token(database, "ann"))


def put(database: Database, codec: str = "opus_12k", **made: Any) -> str:
    """Store a submission, pending unless told otherwise."""
    with database.transaction(write=True) as session:
        return make_submission(session, codec, **({"status": "pending"} | made))


def put_with_sound(database: Database, settings: Settings, **made: Any) -> str:
    """Store a submission with a sample whose sounds play, and its file."""
    sounds = {side: ogg_opus(speech_like(1.0, 16000, seed=seed), 16000) for seed, side in enumerate(SIDES)}
    hashes = {f"{side}_sha256": hashlib.sha256(content).hexdigest() for side, content in sounds.items()}
    out = io.BytesIO()
    write_archive(out, {f"samples/00-{side}.ogg": content for side, content in sounds.items()})
    digest = hashlib.sha256(out.getvalue()).hexdigest()
    settings.files.mkdir(exist_ok=True)
    (settings.files / f"{digest}.zip").write_bytes(out.getvalue())
    return put(database, samples=[{**SAMPLE, **hashes, "clip": "speech/clip_001"}], file_sha256=digest, **made)


def status_of(database: Database, submission: str) -> str:
    """Read the status."""
    with database.transaction() as session:
        return session.get_one(Submission, submission).status


class TestQueue:
    """``/moderation``."""

    def test_oldest_first(self, client: TestClient, database: Database, form: str) -> None:
        """What waits longest is first; what does not wait is not in it."""
        put(database, "opus_new", received=now())
        put(database, "opus_old", received=now() - timedelta(days=2))
        put(database, "opus_public", status="self-reported")
        page = client.get("/moderation").text
        assert "Waiting for a decision (2)" in page
        assert re.findall(r'"row"><a href="/moderation/[a-z0-9]+">(.*?)</a>', page) == ["opus_old", "opus_new"]

    def test_pages(self, client: TestClient, database: Database, form: str) -> None:
        """Of a long queue there are pages."""
        with database.transaction(write=True) as session:
            for number in range(51):
                make_submission(session, f"opus_{number}", status="pending", datasets={"mini": ("audio",)})
        first, second = client.get("/moderation").text, client.get("/moderation?page=2").text
        assert first.count('<th scope="row">') == 50
        assert second.count('<th scope="row">') == 1
        assert 'href="/moderation?page=2"' in first

    @ON_SQLITE
    def test_parameters_that_do_not_fit(self, client: TestClient, form: str) -> None:
        """They are refused."""
        for path in ("/moderation?page=0", "/moderation?page=x", "/moderation/audit?before=99999999999"):
            assert client.get(path).status_code == 400, path

    @ON_SQLITE
    def test_it_is_for_moderators(self, client: TestClient) -> None:
        """Others are led to the login, and see nothing."""
        for path in ("", "/audit", "/abc", "/abc/samples/0/reference.ogg", "/abc/samples/0/spectrogram/reference.png"):
            answer = client.get(f"/moderation{path}", headers=PAGE, follow_redirects=False)
            assert answer.status_code == 303, path
            assert answer.headers["location"].startswith("/login?next=/moderation")

    def test_what_is_held_is_there_with_its_reasons(self, client: TestClient, database: Database, form: str) -> None:
        """Beside what is pending: account and the file's own words, kinds of warnings with counts, why it was held."""
        lag = {"kind": "lag", "where": "mini, speech", "text": "a clip is 3 samples early or late", "holds": False}
        held = put(database, "crane_9k", status="held", owner="bob", submitter="Somebody else")
        with database.transaction(write=True) as session:
            found = session.get_one(Submission, held)
            found.warnings, found.reason = [lag] * 75, "clip 3 differs"
        put(database, "tern_9k")
        queue = client.get("/moderation").text
        assert "Waiting for a decision (2)" in queue
        assert 'bob <span class="quiet">(in the file: “Somebody else”)</span>' in queue
        assert "clip 3 differs; lag (75)" in queue

    def test_names_change_hands(self, client: TestClient, database: Database, form: str) -> None:
        """By form, to an account that there is; names of the catalogue and a form of nobody's change nothing."""
        put(database, "crane_9k", owner="bob")
        make_token(database, "cy")
        data = {"csrf": form, "kind": "codec", "name": "crane_9k", "account": "cy"}
        for change, status in (
            ({"csrf": ""}, 403), ({"kind": "x"}, 400), ({"account": "nobody"}, 404), ({"name": "no"}, 404),
            ({"name": "opus_12k"}, 409), ({"kind": "family", "name": "opus"}, 409), ({"account": "bob"}, 409),
        ):  # fmt: skip
            assert client.post("/moderation/names", data=data | change, headers=PAGE).status_code == status, change
        answer = client.post("/moderation/names", data=data)
        assert "The codec crane_9k belongs to cy now; before, bob." in answer.text
        assert "codec.transferred" in client.get("/moderation/audit").text


class TestSubmission:
    """``/moderation/{id}``."""

    @ON_SQLITE
    def test_equal_warnings_are_one_line(self, client: TestClient, database: Database, form: str) -> None:
        """With a count, and the others behind it; what says something else stands by itself."""
        notes = [f"unusual: clip mini/{number:03} took {number / 7:.3f} s to encode" for number in range(75)]
        made = put(database, result={"largest_lag": 320}, datasets={"mini": ("speech",)})
        with database.transaction(write=True) as session:
            session.get_one(Submission, made).notes = notes
        page = client.get(f"/moderation/{made}").text
        assert re.findall(r"<summary>(\d+) like this</summary>", page) == ["75"]
        assert page.count("<strong>") == 2

    def test_what_it_shows(self, client: TestClient, database: Database, form: str) -> None:
        """Scores with intervals of category and dataset, card, provenance, who sent it, and the warnings of now."""
        made = put(
            database, score=0.7, result={"largest_lag": 320}, datasets={"mini": ("speech",), "esc50": ("audio",)}
        )
        page = client.get(f"/moderation/{made}").text
        assert "0.700 [0.680, 0.720]" in page
        assert re.search(r'<th scope="row">all</th>', page)
        assert re.search(r'<th scope="row">esc50</th>', page)
        assert "account someone" in page
        assert "RFC 6716" in page
        assert "codec-superb score runs/opus_12k" in page
        assert "320 samples early or late" in page
        assert set(re.findall(r'name="decision" value="(\w+)"', page)) == {"accept", "reject"}

    def test_accept_and_withdraw(self, client: TestClient, database: Database, form: str) -> None:
        """The buttons do what they say, the page then shows it with its history, and the queue is shorter."""
        made = put(database)
        for decision, status in (("accept", "self-reported"), ("verify", "verified"), ("withdraw", "withdrawn")):
            data = {"csrf": form, "decision": decision, "reason": f"why {decision}"}
            answer = client.post(f"/moderation/{made}", data=data)
            assert (answer.status_code, answer.url.path) == (200, f"/moderation/{made}")
            assert status_of(database, made) == status
            assert f"ann: {decision}: why {decision}" in answer.text
        again = client.post(f"/moderation/{made}", data=data | {"decision": "accept"})  # its file is not there
        assert (again.status_code, "puts them back" in again.text) == (409, True)
        assert "Waiting for a decision (0)" in client.get("/moderation").text

    @ON_SQLITE
    def test_refusals(self, client: TestClient, database: Database, form: str) -> None:
        """A wrong form token, decision or reason, and a status that it is not any more, change nothing."""
        made = put(database)
        cases: tuple[tuple[Mapping[str, str], int], ...] = (
            ({"csrf": "wrong", "decision": "accept"}, 403),
            ({"csrf": "", "decision": "accept"}, 403),
            ({"decision": "accept"}, 403),
            ({"csrf": form, "decision": "delete"}, 400),
            ({"csrf": form, "decision": "reject"}, 400),
            ({"csrf": form, "decision": "verify"}, 409),
            ({"csrf": form, "decision": "accept", "seen": "self-reported"}, 409),
            ({"csrf": form, "decision": "reject", "reason": "nul\0"}, 400),
        )
        for data, status in cases:
            assert client.post(f"/moderation/{made}", data=dict(data), headers=PAGE).status_code == status, data
        assert status_of(database, made) == "pending"

    @ON_SQLITE
    def test_the_form_of_another_session(self, app: FastAPI, client: TestClient, database: Database, form: str) -> None:
        """A form's token works in its own session alone, even of the same moderator."""
        made = put(database)
        other = TestClient(app)
        log_in(other, make_token(database, "ann"))
        assert other.post(f"/moderation/{made}", data={"csrf": form, "decision": "accept"}).status_code == 403
        assert status_of(database, made) == "pending"

    def test_unknown(self, client: TestClient, form: str) -> None:
        """There is a page that says so."""
        assert client.get("/moderation/nothing", headers=PAGE).status_code == 404

    @ON_SQLITE
    def test_hostile_text(self, client: TestClient, database: Database, form: str) -> None:
        """Whatever a file, a name or a reason says is shown as text."""
        made = put(
            database, submitter=HOSTILE, result={"kbps": 99.0},
            card={"title": HOSTILE, "bitrate_note": HOSTILE, "settings": {HOSTILE: HOSTILE}},
            samples=[{**SAMPLE, "clip": HOSTILE, "attribution": HOSTILE}],
        )  # fmt: skip
        client.post(f"/moderation/{made}", data={"csrf": form, "decision": "reject", "reason": HOSTILE})
        with database.transaction(write=True) as session:
            record(session, HOSTILE, "token.created", HOSTILE, account=HOSTILE, scopes=[HOSTILE])
        for path in (f"/moderation/{made}", "/moderation", "/moderation/audit"):
            page = client.get(path).text
            assert "&lt;script&gt;alert(1)" in page
            assert "<script>alert" not in page
            assert "<img src=x" not in page


class TestSamples:
    """``/moderation/{id}/samples/{name}``."""

    @ON_SQLITE
    def test_the_sound_of_a_pending_file(
        self, client: TestClient, database: Database, settings: Settings, form: str
    ) -> None:
        """The sound that the submission lists comes as audio, also in parts; nothing else of the file does."""
        sounds = {"reference": b"OggS sound", "resynthesis": b"OggS other"}
        hashes = {f"{side}_sha256": hashlib.sha256(content).hexdigest() for side, content in sounds.items()}
        made = put(database, samples=[{**SAMPLE, **hashes, "clip": "a"}], file_sha256="ab" * 32)
        out = io.BytesIO()
        write_archive(out, {f"samples/00-{side}.ogg": content for side, content in sounds.items()})
        (settings.files / f"{'ab' * 32}.zip").write_bytes(out.getvalue())
        sources = re.findall(r'src="(/moderation/[^"]+\.ogg)"', client.get(f"/moderation/{made}").text)
        for source, content in zip(sources, sounds.values(), strict=True):
            answer = client.get(source)
            assert (answer.content, answer.headers["content-type"]) == (content, "audio/ogg")
            assert answer.headers["cache-control"] == "private, no-store"
        assert client.get(sources[0], headers={"Range": "bytes=0-3"}).content == b"OggS"
        for name in ("1/reference.ogg", "0/submission.json", "0/other.ogg", "-1/reference.ogg", "x/reference.ogg"):
            assert client.get(f"/moderation/{made}/samples/{name}").status_code in {400, 404}, name

    @ON_SQLITE
    def test_a_file_that_is_not_there(self, client: TestClient, database: Database, form: str) -> None:
        """Neither an unknown submission nor one whose file is elsewhere has sound."""
        made = put(database, samples=[{**SAMPLE, "clip": "a"}])
        for submission in (made, "nothing"):
            assert client.get(f"/moderation/{submission}/samples/0/reference.ogg").status_code == 404


class TestAudit:
    """``/moderation/audit``."""

    def test_newest_first_in_pages(self, client: TestClient, database: Database, form: str) -> None:
        """A hundred entries a page, and a link to those before."""
        with database.transaction(write=True) as session:
            for number in range(120):
                record(session, "the test", "thing.done", f"thing {number}", note=f"note {number}")
        page = client.get("/moderation/audit").text
        assert page.index("thing 119") < page.index("thing 118")
        assert "note: note 119" in page
        (older,) = re.findall(r'href="(/moderation/audit\?before=\d+)"', page)
        rest = client.get(older).text
        assert "thing 10<" in rest
        assert "thing 119" not in rest

    @ON_SQLITE
    def test_no_address_is_kept(self, app: FastAPI, database: Database) -> None:
        """Whatever a moderator does, no table holds the address that it came from."""
        from codec_superb.server.database.models import Base

        with TestClient(app, client=("198.51.100.77", 4711), headers={"User-Agent": "Browser of Ann"}) as client:
            form = log_in(client, make_token(database, "ann"))
            made = put(database)
            client.post(f"/moderation/{made}", data={"csrf": form, "decision": "accept"})
            client.post("/logout", data={"csrf": form})
        with database.transaction() as session:
            everything = repr([session.execute(table.select()).all() for table in Base.metadata.tables.values()])
        assert "submission.decided" in everything
        assert "198.51.100.77" not in everything
        assert "Browser of Ann" not in everything


def _log_in_by_keyboard(page: Page, secret: str) -> None:
    page.goto("/moderation")
    page.get_by_label("API token").press_sequentially(secret)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Moderation", exact=True).wait_for()


@pytest.mark.sample(1, among="uploads in a browser")
def test_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """A moderator logs in, rejects with a reason, sees it in the log and logs out, with the keyboard and on a phone.

    The browser complains of nothing, and axe-core finds no serious fault on any of the pages.
    """
    settings = Settings(storage=tmp_path)
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    secret = make_token(database, "ann")
    put(database, "own_12k", status="held", owner="bob", card={"family": "crane"})
    made = put_with_sound(database, settings, result={"largest_lag": 320})
    faults: list[str] = []
    with running_site(settings, create_app(settings)) as site, visitor(browser, site, width=390, height=800) as page:
        page.goto("/login")
        faults += accessibility_faults(page)
        _log_in_by_keyboard(page, secret)
        faults += accessibility_faults(page)
        warnings = page.get_by_role("columnheader", name="Warnings").bounding_box()
        assert warnings is not None
        assert warnings["x"] + warnings["width"] <= 390
        for width, highest in ((1280, 60), (1270, 95), (1024, 95)):  # one row; two
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.querySelector('.site-head').offsetHeight") < highest, width
        page.set_viewport_size({"width": 390, "height": 800})
        page.get_by_role("link", name="opus_12k").press("Enter")
        page.wait_for_url(f"**/moderation/{made}")
        page.get_by_alt_text("Spectrogram of the resynthesis").scroll_into_view_if_needed()
        wait_until(page, "[...document.images].slice(0, 2).every(image => image.naturalWidth > 0)")
        faults += accessibility_faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("Reason").press_sequentially("a lag of 320 samples")
        page.get_by_role("button", name="Reject").press("Enter")
        page.locator("h1 .badge", has_text="withdrawn").wait_for()
        page.get_by_role("link", name="Names").press("Enter")
        faults += accessibility_faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("Name", exact=True).press_sequentially("own_12k")
        page.get_by_label("Account that").press_sequentially("ann")
        page.keyboard.press("Enter")
        page.get_by_text("The codec own_12k belongs to ann now; before, bob.").wait_for()
        page.get_by_role("link", name="Audit log").press("Enter")
        page.get_by_text("reason: a lag of 320 samples").wait_for()
        faults += accessibility_faults(page)
        page.locator(".account summary").press("Enter")
        faults += accessibility_faults(page)
        page.get_by_role("button", name="Log out ann").press("Enter")
        page.wait_for_url("**/login")
        assert [cookie["name"] for cookie in page.context.cookies()] == ["login"]
    database.close()
    assert faults == []
