"""Results on datasets that are not of the benchmark: taken, checked, shown as custom, seen by nothing that ranks."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.pipeline.runs import speech_folder
from support.pipeline.stats import draw_rows
from support.server.ingest import Service, changed_members, make_file
from support.stranger import guide_blocks

from codec_superb.cli.main import call
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.server.board.snapshot import load_snapshot
from codec_superb.server.database.verification import PrivateDataset

CODEC = "g711_alaw"
BADGE = ">custom</span>"


@dataclass(frozen=True)
class Birds:
    """What a stranger made with a manifest of their own."""

    file: Path

    @property
    def data(self) -> bytes:
        """Content of the submission file."""
        return self.file.read_bytes()


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Birds:
    """Run a codec on a dataset whose manifest is given by its path, and pack the run, by the command line."""
    place = tmp_path_factory.mktemp("birds")
    manifest = guide_blocks("adding-a-dataset.md", "yaml")[0].replace("layout: birds ", "layout: birds.py:find ")
    (place / "birds.yaml").write_text(manifest)
    (place / "birds.py").write_text(guide_blocks("adding-a-dataset.md")[0])
    (place / "garden").mkdir()
    speech_folder(place / "garden" / "audio", 3, seconds=1.0)
    with (place / "garden" / "birds.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "species"), *((f"clip{n:02}.wav", "wren") for n in range(3))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(place / "home"))
        patch.chdir(place)
        assert call(["datasets", "index", "birds.yaml", "--root", "garden"]) == 0
        assert call(["resynth", "--codec", CODEC, "--dataset", "birds.yaml", "--out", "runs", "--workers", "1"]) == 0
        assert call(["score", "runs", "--metric", "stft", "mel", "--workers", "1"]) == 0
        assert call(["pack", "runs", "-o", "birds.zip", "--submitter", "Ann", "--samples", "0"]) == 0
    return Birds(place / "birds.zip")


def real(folder: Path, seed: int = 1) -> bytes:
    """Pack the same codec on a dataset of the benchmark."""
    return make_file(draw_rows(seed, 12), folder, codec=CODEC)


@pytest.mark.parametrize("name", ["mini", "M\u0456ni", "fsd50k_eval", "secret_street", "the_0fficial_set"])
def test_names_of_known_datasets_are_taken(service: Service, tmp_path: Path, name: str) -> None:
    """Of the board, the catalogue, a private set, in their words, and what looks like it: it would be believed."""
    if name == "secret_street":
        with service.database.transaction(write=True) as session:
            session.add(
                PrivateDataset(
                    name=name, path="/nowhere", commitment="e" * 64, salt="f" * 64, manifest_hash="9" * 64,
                    counts={"speech": 40}, sounds={}, seconds={"speech": 90}, compared_with="mini",
                )
            )  # fmt: skip
    rows = draw_rows(1, 12, dataset=name)
    data = make_file(rows, tmp_path, codec=f"taken_{len(name)}k", about={"location": "/somewhere/x", "title": "Birds"})
    (problem,) = service.problems(data)
    assert problem["path"] == "submission.json: datasets.0.name"
    assert problem["got"] == name


@pytest.mark.sample(1, among="real runs uploaded")
def test_a_manifest_of_ones_own_goes_from_run_to_page(service: Service, birds: Birds, tmp_path: Path) -> None:
    """Custom before, between and behind real submissions: shown as such everywhere, and never what the codec is at."""
    answer = service.send(birds.data)
    assert answer.status_code == 201, answer.text
    receipt = answer.json()
    assert (receipt["custom"], receipt["datasets"], receipt["status"]) == (True, ["birds"], "self-reported")
    assert any("shown as custom, never ranked" in note for note in receipt["notes"])
    get, custom = service.client.get, receipt["id"]
    for path in (f"/submissions/{custom}", "/custom"):
        assert BADGE in get(path).text
    assert f'href="/submissions/{custom}"' in get("/custom").text
    missing = get(f"/codecs/{CODEC}")
    assert missing.status_code == 404
    assert "/custom" in missing.text
    assert not _mentioned(service)
    named = service.send(real(tmp_path / "one")).json()
    assert (named["custom"], named["version"]) == (False, 2)
    assert _mentioned(service)
    current = get(f"/api/v1/codecs/{CODEC}").json()
    assert current["submission"]["submission"] == named["id"]
    again = service.send(_resigned(birds.data)).json()
    assert (again["custom"], again["version"]) == (True, 3)
    after = get(f"/api/v1/codecs/{CODEC}").json()
    assert after["submission"] == current["submission"]
    assert [(each["version"], each["custom"]) for each in after["history"]] == [(3, True), (2, False), (1, True)]
    with service.database.transaction() as session:
        (entry,) = (entry for entry in load_snapshot(session, None).runs if entry.codec == CODEC)
    assert (entry.submission, {dataset for _, dataset in entry.figures}) == (named["id"], {"", "mini"})
    page = get(f"/codecs/{CODEC}").text
    assert page.count(BADGE) == 2
    assert "birds" not in page
    assert f"/submissions/{custom}/diff/{again['id']}" in page
    assert f"/diff/{named['id']}" not in page


@pytest.mark.sample(1, among="real runs uploaded")
def test_lists_and_files_say_that_it_is_custom(service: Service, birds: Birds) -> None:
    """The list can be asked for one kind, and what is downloaded has it in its name and its content."""
    identity = service.send(birds.data).json()["id"]
    get = service.client.get
    listed = get("/api/v1/submissions", params={"codec": CODEC, "custom": "true"}).json()["submissions"]
    assert listed
    assert all(entry["custom"] for entry in listed)
    others = get("/api/v1/submissions", params={"codec": CODEC, "custom": "false"}).json()["submissions"]
    assert not any(entry["custom"] for entry in others)
    detail = get(f"/api/v1/submissions/{identity}").json()
    assert (detail["custom"], detail["document"]["kind"]) == (True, "custom")
    assert get(f"/api/v1/submissions/{identity}/clips").json()["custom"] is True
    for path in (f"{identity}/file", f"{identity}/clips?format=csv", f"{identity}/clips?format=parquet"):
        assert "-custom." in get(f"/api/v1/submissions/{path}").headers["content-disposition"]


@pytest.mark.sample(1, among="real runs uploaded")
def test_its_numbers_are_checked_like_all_others(service: Service, birds: Birds) -> None:
    """What is not recomputed from its clips is refused; a dataset that calls itself named is looked up."""
    document = read_archive(io.BytesIO(birds.data))["submission.json"]
    for old, new, place in (
        (b'"ok": 3', b'"ok": 2', ".ok"),
        (b'"kind": "custom"', b'"kind": "named"', "datasets.0.name"),
    ):
        assert old in document
        problems = service.problems(changed_members(birds.data, document=document.replace(old, new)))
        assert any(problem["path"].endswith(place) for problem in problems), problems


def _mentioned(service: Service) -> bool:
    """Whether the codec is on the board, in the list of codecs, or offered for comparison."""
    texts = [service.client.get(path).text for path in ("/?source=runs", "/api/v1/leaderboard", "/api/v1/codecs")]
    texts.append(service.client.get("/api/v1/leaderboard.csv").text)
    found = [CODEC in text for text in texts] + [CODEC in service.client.get("/compare").text]
    assert all(found) or not any(found), found
    return all(found)


def _resigned(data: bytes) -> bytes:
    """Make another file of the same results."""
    from codec_superb.pipeline.submission.schema import Submission, Submitter

    document = Submission.model_validate_json(read_archive(io.BytesIO(data))["submission.json"])
    changed = document.model_copy(update={"submitter": Submitter(name=hashlib.sha256(data).hexdigest()[:8])})
    return changed_members(data, document=changed.seal().to_json())
