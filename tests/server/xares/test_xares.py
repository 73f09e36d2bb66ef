"""The page of XARES: encoders beside codecs by reader, imported records, published boards apart."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, expect
from pydantic import ValidationError
from sqlalchemy.orm import Session
from starlette.testclient import TestClient
from support.server.board import Probed, make_submission
from support.server.xares import LANGUAGE, READER, WHISPER, make_record, make_records, make_xares_codecs, reading
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.applications.xares.result import FASTEST, SLOWEST, EncoderRate, Heard
from codec_superb.metrics.results import Score
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Codec, Submission
from codec_superb.server.database.session import Database
from codec_superb.server.errors import BadRequest
from codec_superb.server.moderation.plausibility import warnings_for
from codec_superb.server.names.skeleton import skeleton
from codec_superb.server.published.importing import add_xares, remove
from codec_superb.server.published.repository import imported
from codec_superb.server.settings import Settings


@pytest.fixture
def board(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """Serve submitted codecs and imported records, which are there when the service starts."""
    with database.transaction(write=True) as session:
        make_xares_codecs(session)
        add_xares(session, make_records(), "our <b>runs</b>", actor="test")
    with TestClient(app) as running:
        yield running


def test_without_results_the_page_shows_the_published_boards(client: TestClient) -> None:
    """Both tracks with all teams, baselines, and the average that does not follow from its row."""
    page = client.get("/xares").text
    for shown in ("No results yet", "published, not re-run here", "91.2", "65.9", "Dasheng-base", "king asr 955"):
        assert shown in page, shown
    assert "The average of THU-HSCI-2 is printed as 90.8; its row gives 89.5." in page
    answer = client.get("/api/v1/xares/published").json()
    for board in answer["boards"]:
        assert len(board["teams"]) == 23
        assert all(abs(team["computed"] - team["average"]) < 0.1 for team in board["teams"] if team["average"] != 90.8)
    drawn = client.get("/api/v1/xares/figures/published?track=a").json()
    assert len(drawn["data"][0]["z"]) == 23 + 2
    assert len(drawn["data"][0]["z"][0]) == 21
    assert client.get("/api/v1/xares/figures/published?track=c").status_code == 400


def test_rows_are_kept_apart_by_reader_and_told_with_mode_seeds_and_rates(board: TestClient) -> None:
    """A trained decoder is no nearest neighbour; what a chat, a record and a submission say has its source."""
    page = board.get("/xares").text
    for shown in (
        "our &lt;b&gt;runs&lt;/b&gt;", "one seed", "3\u00a0seeds\u00a098.00\u00a0to\u00a0100.00",
        "continuous: no bit rate",
        "3.20\u00a0kbps nominal", "19,200\u00a0numbers/s",
        "trained on matched codec2_700", "trained on shuffled labels",
        "constrained\u00a071.30", "unread\u00a035.3\u00a0%", "3 failed", 'href="/codecs/opus_6k"',
    ):  # fmt: skip
        assert shown in page, shown
    assert "mp3_64k" not in page
    answer = board.get("/api/v1/xares").json()
    assert answer["reader"] == READER
    assert answer["readers"] == [READER, "nearest neighbours"]
    found = {(of["title"], of["encoder"], of["mode"], of["figure"], of["source"]): of for of in answer["figures"]}
    assert len(found) == len(answer["figures"])
    opus = next(of for of in answer["figures"] if of["title"] == "Opus 6K")
    assert (opus["value"], opus["bits_per_s"], opus["frames_per_s"], opus["kind"]) == (
        98.9,
        pytest.approx(6060.0),
        50.0,
        "resynthesis",
    )
    # two submissions of one account say the same of the encoder on originals
    said = [of["kind"] for of in answer["figures"] if of["source"] == "self-reported by someone"]
    assert (said.count("encoder"), said.count("resynthesis")) == (1, len(said) - 1)
    other = board.get("/api/v1/xares", params={"reader": "nearest neighbours"}).json()["figures"]
    assert {(of["kind"], of["value"]) for of in other} == {("encoder", 91.0), ("resynthesis", 88.0)}
    refused = board.get("/xares?reader=GPT")
    assert refused.status_code == 404
    assert "nearest neighbours" in refused.text


def test_another_encoder_of_the_same_name_is_marked(app: FastAPI, database: Database) -> None:
    """Page, charts and API say whose encoder has another hash than most senders', who are not marked."""
    figure, datasets = "xares_knn_language_accuracy_pct", {"phone_prompts": ("speech",)}
    with database.transaction(write=True) as session:
        for owner in ("ann", "bea", "mallory"):
            sha256 = ("cd" if owner == "mallory" else "ab") * 32
            figures = [Probed(figure, 88.0, 91.0, "phone_prompts", WHISPER, sha256)]
            make_submission(session, f"{owner}_6k", datasets=datasets, applications=figures, owner=owner)
    with TestClient(app) as client:
        page = client.get("/xares").text
        assert page.count(f"heard by {WHISPER} (own, cdcdcdcd)") == 1
        found = client.get("/api/v1/xares").json()["figures"]
        assert {(of["source"].split()[-1], of["own"]) for of in found} == {
            ("ann", ""), ("bea", ""), ("mallory", "cdcdcdcd"),
        }  # fmt: skip
        assert {of["encoder_sha256"][:2] for of in found} == {"ab", "cd"}
        assert found[0]["settings"] == {"beam": "1"}
        asked = {"reader": "nearest neighbours", "figure": figure, "dataset": "phone_prompts"}
        assert "(own, cdcdcdcd)" in client.get("/api/v1/xares/figures/rate", params=asked).text
        assert "own, cdcdcdcd" in client.get("/api/v1/xares/figures/heat", params=asked).text


def test_originals_unlike_others_are_told(app: FastAPI, database: Database) -> None:
    """No codec changes the originals: table, charts and API say whose values on them no other account found."""
    figure, datasets = "xares_knn_language_accuracy_pct", {"phone_prompts": ("speech",)}
    with database.transaction(write=True) as session:
        for owner, original in (("ann", 91.0), ("bea", 91.0), ("mallory", 60.0)):
            # the last calls clips without a label labelled, which makes nobody's clips fewer
            more = {"clips": 30} if owner == "mallory" else {}
            figures = [Probed(figure, 88.0, original, "phone_prompts", WHISPER, **more)]
            make_submission(session, f"{owner}_6k", datasets=datasets, applications=figures, owner=owner)
    with TestClient(app) as client:
        page = client.get("/xares").text
        assert page.count("originals unlike others") == 2  # the encoder, and the codec's sound
        assert " of 30 clips" not in page
        found = client.get("/api/v1/xares").json()["figures"]
        assert {of["source"].split()[-1] for of in found if of["apart"]} == {"mallory"}
        asked = {"reader": "nearest neighbours", "figure": figure, "dataset": "phone_prompts"}
        for chart in ("rate", "heat"):
            drawn = client.get(f"/api/v1/xares/figures/{chart}", params=asked).text
            assert drawn.count("originals unlike others") == 2, chart


def test_an_encoder_that_looks_like_the_usual_one_is_marked(app: FastAPI, database: Database) -> None:
    """Whatever its hash: a letter of another script, a dot behind a name or a mode; another model is one of its own."""
    figure, datasets = "xares_knn_language_accuracy_pct", {"phone_prompts": ("speech",)}
    other = "transformers-frames:facebook/hubert-base-ls960"
    sent = {
        "ann": (WHISPER, "references"), "bea": (WHISPER, "references"), "eve": (other, "references"),
        "mal": (WHISPER.replace("en", "\u0435n"), "references"), "max": (f"{WHISPER}.", "references"),
        "moe": (WHISPER, "references."),
    }  # fmt: skip
    with database.transaction(write=True) as session:
        for owner, (backend, mode) in sent.items():
            figures = [Probed(figure, 88.0, 91.0, "phone_prompts", backend)]
            made = make_submission(session, f"{owner}_6k", datasets=datasets, applications=figures, owner=owner)
            submission = session.get_one(Submission, made)
            (part,) = submission.document["datasets"]
            probes = [{**probe, "settings": {"mode": mode}} for probe in part["probes"]]
            submission.document = {**submission.document, "datasets": [{**part, "probes": probes}]}
    with TestClient(app) as client:
        found = client.get("/api/v1/xares").json()["figures"]
    own = {of["source"].split()[-1]: of["own"] for of in found}
    assert {name for name in own if own[name]} == {"mal", "max", "moe"}
    assert own["max"] == f"{WHISPER}."
    assert own["moe"] == "mode references."


def test_charts_hold_every_row_of_their_reader(board: TestClient) -> None:
    """Codecs at their bits, continuous frames right of them, controls as a line; an unknown figure names the others."""
    asked = {"reader": READER, "figure": LANGUAGE, "dataset": "phone_prompts"}
    drawn = board.get("/api/v1/xares/figures/rate", params=asked).json()
    marks = {trace["name"]: trace for trace in drawn["data"] if trace["meta"]["role"] == "family"}
    assert sorted(marks["codec2"]["x"]) == pytest.approx([0.7, 0.7, 3.2])
    assert marks["lyra (as encoder)"]["x"] == pytest.approx([3.2])
    (strip,) = (shape for shape in drawn["layout"]["shapes"] if shape["type"] == "rect")
    encoders = [*marks["faster-whisper-frames:tiny.en"]["x"], *marks["log-mel-frames"]["x"]]
    assert all(strip["x0"] < x < strip["x1"] for x in encoders)
    assert all(max(trace["x"]) < strip["x0"] for name, trace in marks.items() if name in {"codec2", "opus"})
    assert "no bit rate" in str(drawn["layout"]["annotations"])
    assert "shuffled labels, imported: our &lt;b&gt;runs&lt;/b&gt;: 22.23" in str(drawn["layout"]["annotations"])
    heat = board.get("/api/v1/xares/figures/heat", params={"reader": READER}).json()
    (trace,) = heat["data"]
    headings = [name for name in heat["layout"]["yaxis"]["ticktext"] if name.startswith("<b>")]
    assert len(headings) == 3
    assert sum(value is not None for line in trace["z"] for value in line) == len(
        board.get("/api/v1/xares").json()["figures"]
    )
    refused = board.get("/api/v1/xares/figures/rate", params={**asked, "figure": "pesq"})
    assert refused.status_code == 404
    assert LANGUAGE in refused.text


def test_imports_replace_refuse_and_are_removed(client: TestClient, database: Database) -> None:
    """One record a name; untrained weights, strange figures, other versions and impossible values are one sentence."""
    own = make_records()[1]
    with database.transaction(write=True) as session:
        add_xares(session, [make_record([reading(LANGUAGE, (1.0,))])], "old", actor="test")
        newer = [make_record([reading(LANGUAGE, (2.0,))]), own]
        with pytest.raises(BadRequest, match=r"has 1 values of another source, 'old', since .*: expected --replace"):
            add_xares(session, newer, "new", actor="test")
        assert add_xares(session, newer, "new", actor="test", replace=True) == {
            "faster-whisper-frames:tiny.en; track offline; decoder tiny; references": 1, own.name: 2,
        }  # fmt: skip
        first = reading(LANGUAGE, (99.0,))
        for changed, says in (
            ({"random": True}, "expected trained weights, got random ones"),
            ({"encoder": "\u041efficial encoder"}, "says 'official', which is the board's to say"),
            ({"figures": (first.model_copy(update={"figure": "asr_wer_pct"}),)}, "expected a figure of a task"),
            ({"figures": (first.model_copy(update={"dataset": "mini"}),)}, "expected a dataset of the task .phone_pro"),
            ({"figures": (first.model_copy(update={"version": "0"}),)}, "got 0; make it again"),
            ({"figures": (first.model_copy(update={"by_seed": {42: 100.5}}),)}, "expected 0 to 100, got 100.5"),
            (
                {"figures": (first.model_copy(update={"clips": Score(value=99.0, low=-5.0, high=500.0)}),)},
                "expected 0 to 100, got -5",
            ),
            ({"figures": (first.model_copy(update={"n": 10**300}),)}, "expected at most 100,000,000 clips, got 1e"),
        ):
            with pytest.raises(BadRequest, match=says):
                add_xares(session, [own.model_copy(update=changed)], "x", actor="test")
        with pytest.raises(BadRequest, match="expected results of at least one result"):
            add_xares(session, [], "x", actor="test")
    with database.transaction(write=True) as session:
        # what a later version of the program no longer ships is said, and not shown
        row = imported(session, "xares")[1]
        record = own.model_dump(mode="json")
        record["figures"][0]["version"] = "0"
        row.results = [record]
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    page = client.get("/xares").text
    assert "imported: new" in page
    assert "imported: old" not in page
    assert "1 imported figures are of other versions" in page
    with database.transaction(write=True) as session:
        for each in imported(session, "xares"):
            remove(session, "xares", each.name, actor="test")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    assert "No results yet" in client.get("/xares").text


def test_rates_that_no_axis_can_show_are_refused(client: TestClient, database: Database) -> None:
    """The least and the greatest rate are drawn; beyond them a record has one faulty field."""
    for rate in (5e-324, 1.7e308):
        with pytest.raises(ValidationError, match="frames_per_s"):
            EncoderRate(frames_per_s=rate)
    records = []
    for number, rate in enumerate((SLOWEST, FASTEST)):
        heard = Heard(codec=f"c{number}", title="</script>", family="&amp;", kbps=rate)
        all_rates = EncoderRate(frames_per_s=rate, numbers_per_s=rate, bits_per_s=rate)
        records.append(make_record([reading(LANGUAGE, (50.0,), heard)], encoder=f"<i>{number}", rate=all_rates))
    with database.transaction(write=True) as session:
        add_xares(session, records, "odd", actor="test")
    client.app.state.board.refresh()  # type: ignore[attr-defined]
    asked = {"reader": READER, "figure": LANGUAGE, "dataset": "phone_prompts"}
    assert client.get("/api/v1/xares/figures/rate", params=asked).status_code == 200
    page = client.get("/xares")
    assert page.status_code == 200
    assert "<i>0" not in page.text


@pytest.fixture
def site(settings: Settings) -> Iterator[str]:
    """Serve the same in a process that a browser reaches."""
    upgrade(settings.database_url)
    database = Database(settings.database_url)
    with database.transaction(write=True) as session:
        make_xares_codecs(session)
        add_xares(session, make_records(), "our runs", actor="test")
    database.close()
    with running_site(settings) as address:
        yield address


@pytest.mark.sample(1, among="pages without barriers")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_visitor_sees_the_charts_and_no_barrier(browser: Browser, site: str, width: int, scheme: str) -> None:
    """Everything is drawn, nothing is wider than the window, and axe-core finds nothing serious."""
    with visitor(browser, site, width, scheme=scheme) as page:
        page.goto("/xares")
        for chart in page.locator("[data-figure]").all():
            chart.scroll_into_view_if_needed()
            expect(chart).to_have_attribute("data-state", "drawn")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessibility_faults(page) == []


@pytest.mark.parametrize(
    "backend",
    [
        "code-embeddings:swift_6k", "xares:codec-frames:swift_6k+tiny-llama-bytes",
        "xares:codec-frames:Swift 6k+tiny-llama-bytes", "xares:codec-frames:sw\u0456ft_6k+tiny-llama-bytes",
        "xares:swift_6k+tiny-llama-bytes",
    ],
)  # fmt: skip
def test_figures_of_anothers_codec_wait(database: Database, backend: str) -> None:
    """Whoever measures the codec of an account as an encoder stands under its title: a moderator is asked, once."""
    figure = LANGUAGE if backend.startswith("xares:") else "xares_knn_language_accuracy_pct"
    heard = [Probed(figure, 3.0, 2.0, "phone_prompts", backend)]
    datasets = {"phone_prompts": ("speech",)}
    with database.transaction(write=True) as session:
        own = make_submission(session, "swift_6k", datasets=datasets, owner="ann", applications=heard)
        session.query(Codec).one().skeleton = skeleton("swift_6k")
        named = make_submission(session, "rook_6k", datasets=datasets, owner="bob", applications=heard)
        listed = [Probed(figure, 3.0, 2.0, "phone_prompts", "xares:codec-frames:opus_6k+tiny-llama-bytes")]
        other = make_submission(session, "crow_6k", datasets=datasets, owner="bob", applications=listed)
        says = [Probed(figure, 3.0, 2.0, "phone_prompts", "xares:Officia1 winner+tiny-llama-bytes")]
        badge = make_submission(session, "lark_6k", datasets=datasets, owner="ann", applications=says)
        reader = make_submission(session, "wren_6k", datasets=datasets, owner="bob", applications=listed)
        document = copy.deepcopy(session.get_one(Submission, reader).document)
        document["datasets"][0]["probes"][0]["settings"] = {"verified_by": "the board", "ties": "✓"}
        session.get_one(Submission, reader).document = document
        # a model's name is shown as such where no page takes it for a codec's
        models = [Probed("asr_wer_pct", 3.0, 2.0, "phone_prompts", "swift_6k"), *listed]
        plain = make_submission(session, "kite_6k", datasets=datasets, owner="bob", applications=models)
        kinds = {
            each: [of["kind"] for of in warnings_for(session, each) if of["holds"] and of["kind"] == "encoder"]
            for each in (own, named, other, badge, reader, plain)
        }
    assert kinds == {own: [], named: ["encoder"], other: [], badge: ["encoder"], reader: ["encoder"] * 2, plain: []}


def test_a_codec_called_like_a_known_encoder_has_nobody_wait(database: Database) -> None:
    """Figures of an encoder were public before a codec had its name or title: with it nobody waits, whoever sends.

    A spelling that came later waits, and where results of the encoder were held or rejected it was not known.
    """
    figure, datasets = "xares_knn_language_accuracy_pct", {"phone_prompts": ("speech",)}

    def held(session: Session, codec: str, owner: str, backend: str) -> bool:
        heard = [Probed(figure, 3.0, 2.0, "phone_prompts", backend)]
        made = make_submission(session, codec, datasets=datasets, owner=owner, applications=heard, status="pending")
        return any(of["holds"] and of["kind"] == "encoder" for of in warnings_for(session, made))

    known = ("mel-voice", "stimme-é", "code-embeddings:nova")
    with database.transaction(write=True) as session:
        heard = [Probed(figure, 3.0, 2.0, "phone_prompts", each) for each in known]
        first = [make_submission(session, f"rook_{number}", datasets=datasets, owner="ann", applications=[of])
                 for number, of in enumerate(heard)]  # fmt: skip
        # titled so from its second version on
        for title in ("Plain", "mel-voice"):
            make_submission(session, "crow_6k", datasets=datasets, owner="mallory", card={"title": title})
        for name, title in (("wren_6k", "stimme-é"), ("nova", "Nova of Mallory")):
            make_submission(session, name, datasets=datasets, owner="mallory", card={"title": title})
        for name, title in (("crow_6k", "mel-voice"), ("wren_6k", "stimme-é"), ("nova", "Nova of Mallory")):
            codec = session.query(Codec).filter_by(name=name).one()
            codec.skeleton, codec.title_skeleton = skeleton(name), skeleton(title)
        for backend in known:
            assert not held(session, "rook_6k", "ann", backend), backend
            assert not held(session, "lark_6k", "bob", backend), backend
        assert held(session, "kite_6k", "bob", "mel-v\u043eice")
        for status, decided_by, waits in (
            ("held", "a moderator", True), ("withdrawn", "a moderator", True), ("withdrawn", "ann", False),
        ):  # fmt: skip
            found = session.get_one(Submission, first[0])
            found.status, found.decided_by = status, decided_by
            assert held(session, f"swan_{status}_{waits:d}", "bob", known[0]) == waits, (status, decided_by)
