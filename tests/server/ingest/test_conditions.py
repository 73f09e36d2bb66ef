"""Results under conditions: taken, checked, shown with the codec and at /conditions, seen by nothing that ranks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event
from support.pipeline.stats import draw_rows
from support.server.ingest import Service, changed_members, kinds, make_file, service_on

from codec_superb.pipeline.conditions.record import Condition, parse_condition
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.models import Submission as Row

CODEC = "opus_16k"
LOSSES = [parse_condition(f"loss:{share}") for share in (5, 10)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service on each kind of database."""
    yield from service_on(request, tmp_path_factory.mktemp("service"))


def _file(folder: Path, condition: Condition | None, quality: float = 0.0, codec: str = CODEC) -> bytes:
    rows = draw_rows(3, 12, quality=quality)
    folder.mkdir(exist_ok=True)
    return make_file(rows, folder / (condition.suffix if condition else "clean"), codec=codec, condition=condition)


def _mentioned(service: Service, codec: str) -> bool:
    """Whether a codec is on the board, in the list of codecs, or offered for comparison."""
    paths = ("/?source=runs", "/api/v1/leaderboard", "/api/v1/codecs", "/api/v1/leaderboard.csv", "/compare")
    found = [codec in service.client.get(path).text for path in paths]
    assert all(found) or not any(found), found
    return all(found)


def test_results_under_conditions_are_shown_and_never_ranked(service: Service, tmp_path: Path) -> None:
    """From receipt to page: before, between and behind a clean submission, which stays what the codec is at."""
    get = service.client.get
    assert "No results yet" in get("/conditions").text
    first = service.send(_file(tmp_path, LOSSES[0], -0.2)).json()
    assert (first["condition"], first["status"], first["custom"]) == ("loss:5", "self-reported", False)
    assert any("made under the condition loss:5: shown apart, never ranked" in note for note in first["notes"])
    assert get(f"/codecs/{CODEC}").status_code == 404
    assert not _mentioned(service, CODEC)
    clean = service.send(_file(tmp_path, None)).json()
    assert (clean["condition"], clean["version"]) == ("", 2)
    assert _mentioned(service, CODEC)
    board = get("/api/v1/leaderboard").json()["rows"]
    second = service.send(_file(tmp_path, LOSSES[1], -0.4)).json()
    assert get("/api/v1/leaderboard").json()["rows"] == board
    with service.database.transaction() as session:
        (entry,) = (entry for entry in load_snapshot(session, None).runs if entry.codec == CODEC)
    assert entry.submission == clean["id"]
    current = get(f"/api/v1/codecs/{CODEC}").json()
    assert current["submission"]["submission"] == clean["id"]
    page = get(f"/codecs/{CODEC}").text
    assert '<h2 id="conditions-title">Conditions</h2>' in page
    for text in ("Lost packets", "loss (%)", 'class="multiple"', ">loss:5<", ">loss:10<"):
        assert text in page
    # a line of three values in each of three categories and two quantities: clean, 5 %, 10 %
    assert page.count("<polyline") == 6
    assert page.count("<circle") >= 18
    everybody = get("/conditions").text
    for identity in (first["id"], second["id"]):
        assert f'href="/submissions/{identity}"' in everybody
        assert "without a rank" in get(f"/submissions/{identity}").text
    listed = get("/api/v1/submissions", params={"codec": CODEC}).json()["submissions"]
    assert [each["condition"] for each in listed] == ["loss:10", "", "loss:5"]
    assert "-condition." in get(f"/api/v1/submissions/{second['id']}/file").headers["content-disposition"]


def test_versions_follow_each_other_under_one_condition(service: Service, tmp_path: Path) -> None:
    """What changed is told against the version before under the same condition; the newest counts."""
    codec = "opus_24k"
    order = [None, LOSSES[0], None, LOSSES[0]]
    sent = [
        service.send(_file(tmp_path / str(number), condition, -0.1 * number, codec)).json()
        for number, condition in enumerate(order)
    ]
    page = service.client.get(f"/codecs/{codec}").text
    assert f"/submissions/{sent[0]['id']}/diff/{sent[2]['id']}" in page
    assert f"/submissions/{sent[1]['id']}/diff/{sent[3]['id']}" in page
    assert page.count("/diff/") == 2
    newest = service.client.get("/conditions").text
    assert sent[3]["id"] in newest
    assert sent[1]["id"] not in newest


def test_the_page_of_all_costs_the_newest_and_that_once(service: Service, tmp_path: Path) -> None:
    """Versions that stand for nothing are not read, whatever an account sends; nor is anything for a second visitor."""
    sent = [
        service.send(_file(tmp_path / str(number), LOSSES[0], -0.1 * number, "opus_64k")).json()["id"]
        for number in range(3)
    ]
    read: list[str] = []

    def note(submission: Row, _context: object) -> None:
        read.append(submission.id)

    event.listen(Row, "load", note)
    try:
        for _ in range(2):
            assert f"/submissions/{sent[-1]}" in service.client.get("/conditions").text
    finally:
        event.remove(Row, "load", note)
    assert [each for each in read if each in sent] == sent[-1:]


def test_clean_values_of_other_clips_do_not_stand_beside(service: Service, tmp_path: Path) -> None:
    """A clean submission on fewer clips is no starting point of a curve."""
    codec = "opus_32k"
    rows = draw_rows(3, 6)
    service.send(make_file(rows, tmp_path / "few", codec=codec, about={"clips": 12}))
    service.send(_file(tmp_path, LOSSES[0], -0.2, codec))
    page = service.client.get(f"/codecs/{codec}").text
    section = page.partition('<h2 id="conditions-title">')[2].partition("</details>\n</section>")[0]
    assert "loss:5" in section
    assert "<td>clean</td>" not in section


def test_nobody_replaces_the_results_of_another_under_a_condition(service: Service, tmp_path: Path) -> None:
    """Under a name of the catalogue they are behind; what damage betters is remarked; pages say by whom."""
    codec, get = "opus_48k", service.client.get
    assert service.send(_file(tmp_path / "1", None, 0.0, codec)).json()["status"] == "self-reported"
    assert service.send(_file(tmp_path / "2", LOSSES[0], -0.2, codec)).json()["status"] == "self-reported"
    assert "results self-reported by ann" in get(f"/codecs/{codec}").text
    other = service.send(_file(tmp_path / "3", LOSSES[0], -0.15, codec), account="bob").json()
    assert kinds(other) == ["standing"]
    better = service.send(_file(tmp_path / "4", LOSSES[1], 0.3, codec), account="carol").json()
    assert better["status"] == "self-reported"  # one account's word holds nobody
    assert {each["kind"] for each in better["warnings"]} >= {"condition"}
    (folder := tmp_path / "5").mkdir()
    rows = draw_rows(3, 12, quality=1.2)
    about = {"clips": len(rows), "selected": len(rows) - 1}
    fewer = make_file(rows[:-1], folder / "fewer", codec=codec, condition=LOSSES[1], about=about)
    left_out = service.send(fewer, account="dora").json()
    # three clips of a category, which lacks one of four, say nothing
    told = {each["where"] for each in left_out["warnings"] if each["kind"] == "condition"}
    assert told == {"mini, speech", "mini, audio"}
    shown = get(f"/codecs/{codec}").text
    assert "self-reported by bob" not in shown


def test_a_clean_result_behind_a_better_damaged_one(service: Service, tmp_path: Path) -> None:
    """It waits as the damaged one would that came second; what another account reported is a remark alone."""
    for codec, account, quality, held in (("opus_96k", "ann", 0.3, True), ("opus_128k", "carol", 0.31, False)):
        service.send(_file(tmp_path / f"{codec} 1", LOSSES[0], quality, codec), account=account)
        clean = service.send(_file(tmp_path / f"{codec} 2", None, 0.0, codec)).json()
        assert ("condition", held) in {(each["kind"], each["holds"]) for each in clean["warnings"]}
        assert clean["status"] == ("held" if held else "self-reported")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "version", "told"),
    [("loss:99", "1", "from 0.01 to 60"), ("flood:3", "1", "expected a condition"), ("loss:10.0", "1", "loss:10"),
     ("loss:10", "7", '"version":"1"')],
)  # fmt: skip
def test_a_condition_that_is_not_of_the_table_is_refused(
    service: Service, tmp_path: Path, name: str, version: str, told: str
) -> None:
    """Unknown kinds, strengths out of range, other spellings and definitions: with what was expected."""
    data = _file(tmp_path, LOSSES[0])
    document = Submission.model_validate_json(read_archive(io.BytesIO(data))["submission.json"])
    other = Condition.model_construct(name=name, reference="clean", version=version)
    changed = document.model_copy(update={"condition": other}).seal().to_json()
    (problem,) = service.problems(changed_members(data, document=changed))
    assert problem["path"] == "submission.json: condition"
    assert told in problem["expected"] + problem["got"]
