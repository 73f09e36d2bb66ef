"""What a report says word for word: the place, what was expected, what came, and what to do."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import card, draw_rows, known_clips, sha, with_audio, write_run
from support.pipeline.submissions import edit_document, reseal, rewrite

from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission.check import check, check_and_open
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.samples import is_ogg_opus
from codec_superb.pipeline.submission.schema import MOST_DATASETS

ROWS = draw_rows(1, 6)
HERE = known_clips(ROWS)
PACK = "pack the runs again with this version"
DOCUMENT = "submission.json"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Pack six clips with two samples."""
    folder = tmp_path_factory.mktemp("report")
    run = write_run(folder, ROWS, card=card())
    dataset = with_audio(run, ROWS, folder / "audio")
    return pack([run], folder / "a.zip", samples=2, datasets={"mini": dataset}).read_bytes()


def found(data: bytes | io.BytesIO, **options: Any) -> list[tuple[str, str, str, str]]:
    """Check; return all that is said of each problem."""
    report = check(io.BytesIO(data) if isinstance(data, bytes) else data, **options)
    assert report.ok == (not report.problems)
    return [(p.path, p.expected, p.got, p.how_to_fix) for p in report.problems]


def edited(file: bytes, change: Callable[[dict[str, Any]], None]) -> list[tuple[str, str, str, str]]:
    """Change the document under right hashes and check."""
    report = edit_document(io.BytesIO(file), change, seal=True)
    return [(p.path, p.expected, p.got, p.how_to_fix) for p in report.problems]


def test_a_true_file(file: bytes) -> None:
    """Codec, datasets and clips are named, and so is what could not be verified here."""
    report, opened = check_and_open(io.BytesIO(file))
    assert opened is not None
    assert (report.ok, report.codec, report.datasets, report.clips, report.more) == (True, "opus_16k", ("mini",), 6, 0)
    assert report.notes == ("mini: not verified here, because the dataset is not prepared on this machine",)
    assert opened.aggregates == opened.submission.aggregates


def test_more_datasets_than_a_check_can_bear(file: bytes) -> None:
    """Each costs as much as a thousand rows, and a document of 4 MB has room for 5,000: no row of it is read."""

    def many(members: dict[str, bytes]) -> None:
        document = json.loads(members["submission.json"])
        document["datasets"] *= MOST_DATASETS + 1
        members |= {"submission.json": json.dumps(document).encode(), "clips.parquet": b"unread"}

    ((where, expected, *_),) = found(rewrite(io.BytesIO(file), many))
    assert where == "submission.json: datasets"
    assert f"at most {MOST_DATASETS}" in expected


def test_what_is_no_zip(file: bytes) -> None:
    """The place is the zip; nothing can be said of codec and clips; the limit is that of who asks."""
    report, opened = check_and_open(io.BytesIO(b"no zip"))
    assert (opened, report.ok, report.codec, report.datasets, report.clips) == (None, False, None, (), 0)
    ((place, expected, got, fix),) = found(b"no zip")
    assert (place, expected, fix) == ("zip", "a submission as pack writes it", PACK)
    assert got == "a file that cannot be read: expected a zip of 22 bytes to 100 MB, got 6 bytes"
    assert check_and_open(io.BytesIO(file), file_limit=len(file))[0].ok
    assert not check_and_open(io.BytesIO(file), file_limit=len(file) - 1)[0].ok


def test_no_file_at_all(tmp_path: Path) -> None:
    """A path without a file is the caller's mistake."""
    with pytest.raises(SubmissionError, match=f"expected a submission file at {tmp_path}/a.zip, found none"):
        check(tmp_path / "a.zip")


def test_a_document_that_does_not_fit(file: bytes) -> None:
    """Each field with its path, the reason, and what stands there, cut where it is long."""
    report = edit_document(io.BytesIO(file), lambda data: data.update(kind="x" * 99, metrics=3))
    assert [(p.path, p.got, p.how_to_fix) for p in report.problems] == [
        (f"{DOCUMENT}: kind", "'" + "x" * 79, PACK),
        (f"{DOCUMENT}: metrics", "3", PACK),
    ]
    assert report.problems[0].expected == "Input should be 'named' or 'custom'"


def test_damaged_rows(file: bytes) -> None:
    """The member is named as the place, and in the reason."""
    ((place, expected, got, _),) = found(rewrite(io.BytesIO(file), lambda m: m.update({"clips.parquet": b"PAR1"})))
    assert (place, expected) == ("clips.parquet", "a submission as pack writes it")
    assert got.startswith("a file that cannot be read: clips.parquet")


def test_columns_and_document(file: bytes) -> None:
    """Both lists of metrics are shown."""
    expected = "columns for ['f0corr', 'mel', 'stft', 'stoi'], the metrics of submission.json"
    got = "['f0corr', 'mel', 'pesq', 'stft', 'stoi']"
    assert edited(file, lambda data: data["metrics"].pop("pesq")) == [("clips.parquet", expected, got, PACK)]
    info = {"probe": "asr", "version": "1", "backend": "m", "model_sha256": "0" * 64}
    expected = "columns for ['asr'], the probes of submission.json"
    assert edited(file, lambda data: data["datasets"][0].update(probes=[info])) == [
        ("clips.parquet", expected, "[]", PACK)
    ]


def test_random_weights(file: bytes) -> None:
    """A model that nobody trained says nothing; weights from anywhere else do."""
    weights = {"source": "random", "revision": None, "sha256": None}
    assert edited(file, lambda data: data["codec"].update(weights=weights)) == [
        (f"{DOCUMENT}: codec.weights.source", "trained weights", "random", "score a trained model")
    ]
    assert edited(file, lambda data: data["codec"].update(weights=weights | {"source": "hub"})) == []


@pytest.mark.parametrize("name", ["clips_sha256", "content_sha256"])
def test_a_hash_that_is_not_the_files(file: bytes, name: str) -> None:
    """The right hash, the one that came, and what happened."""
    report = edit_document(io.BytesIO(file), lambda data: data.update({name: "0" * 64}))
    told = {p.path: p for p in report.problems}[f"{DOCUMENT}: {name}"]
    assert (told.got, told.how_to_fix) == ("0" * 64, "the file was changed after packing: pack again")
    assert len(told.expected) == 64


def known(manifest: str = "mini", **clips: Any) -> Callable[[str], KnownDataset | None]:
    """Know the dataset in some state; a clip of category None is not in it."""
    changed = {clip: category and KnownClip(category, 16000, 16000) for clip, category in clips.items()}
    here = {clip: facts for clip, facts in (HERE | changed).items() if facts is not None}
    return {"mini": KnownDataset(sha(manifest), here)}.get


def test_a_dataset_that_is_known_here(file: bytes) -> None:
    """The same: no note. Another state, size, clip or category is named with what is known."""
    report = check(io.BytesIO(file), known=known())
    assert (report.problems, report.notes) == ((), ())
    where = f"{DOCUMENT}: datasets.0"
    assert found(file, known=known("other")) == [
        (
            f"{where}.manifest_hash",
            f"{sha('other')}, the mini known here",
            sha("mini"),
            "prepare the current dataset and run again",
        )
    ]
    assert found(file, known=known(more="speech")) == [(f"{where}.clips", "the 7 clips of mini", "6", PACK)]
    again = "run again with this dataset"
    clip = ROWS[0].clip
    assert found(file, known=known(**{clip: "music"})) == [
        (f"clips.parquet: mini/{clip}", "category music", "speech", again)
    ]
    assert found(file, known=known(**{clip: None, "more": "speech"})) == [
        (f"clips.parquet: mini/{clip}", "a clip of mini", "speech", again)
    ]


def test_more_rows_than_the_known_datasets_have(file: bytes) -> None:
    """They are refused unread: the limit is the clips that are known."""
    ((place, _, got, _),) = found(file, known=known(**{ROWS[0].clip: None}))
    assert place == "clips.parquet"
    assert "5" in got


def test_own_folders_are_compared_with_nothing(file: bytes) -> None:
    """A custom dataset is not asked about, whatever its name is here, and a note says so."""
    report = edit_document(io.BytesIO(file), lambda data: data.update(kind="custom"), seal=True)
    assert report.notes == ("mini: a custom dataset: shown as custom, never ranked or compared with a named one",)
    assert report.problems == ()


def sealed(file: bytes, change: Callable[[dict[str, bytes]], object]) -> list[tuple[str, str, str, str]]:
    """Change members under right hashes and check."""

    def edit(members: dict[str, bytes]) -> None:
        change(members)
        reseal(members)

    return found(rewrite(io.BytesIO(file), edit))


NOT_OPUS = ("an Ogg Opus file of its own, with the SHA-256 given", "not so", PACK)


def test_samples_that_are_not_theirs(file: bytes) -> None:
    """Other bytes, a missing member and one that nobody lists are each named."""
    name = "samples/00-reference.ogg"
    where = f"{DOCUMENT}: samples.0: {name}"
    assert sealed(file, lambda members: members.update({name: members[name] + b"."})) == [(where, *NOT_OPUS)]
    assert sealed(file, lambda members: members.pop(name)) == [(where, *NOT_OPUS)]
    surplus = sealed(file, lambda members: members.update({"samples/09-reference.ogg": members[name]}))
    lists = "only members that submission.json lists"
    assert surplus == [("samples/09-reference.ogg", lists, "samples/09-reference.ogg", PACK)]


def test_samples_that_are_no_opus_under_their_hash(file: bytes) -> None:
    """A page of text with the right hash is no sound."""
    name, text = "samples/01-resynthesis.ogg", b"<html>"
    digest = {"resynthesis_sha256": hashlib.sha256(text).hexdigest()}
    data = rewrite(io.BytesIO(file), lambda members: members.update({name: text})).getvalue()
    assert edited(data, lambda document: document["samples"][1].update(digest)) == [
        (f"{DOCUMENT}: samples.1: {name}", *NOT_OPUS)
    ]


@pytest.mark.parametrize("change", [{"clip": "nobody"}, {"dataset": "other"}, {"category": "music"}])
def test_samples_of_other_clips(file: bytes, change: dict[str, str]) -> None:
    """A sample belongs to a clip that is ok, in its category."""
    sample: dict[str, str] = {}

    def edit(data: dict[str, Any]) -> None:
        if "category" in change and data["samples"][1]["category"] == "music":
            change["category"] = "speech"
        data["samples"][1].update(change)
        sample.update(data["samples"][1])

    problems = edited(file, edit)
    place = f"{sample['dataset']}/{sample['clip']}"
    assert problems == [(f"{DOCUMENT}: samples.1", "a clip that is ok, in its category", place, PACK)]


def test_two_samples_of_one_clip(file: bytes) -> None:
    """Each is of a clip of its own."""
    place: list[str] = []

    def edit(data: dict[str, Any]) -> None:
        first = data["samples"][0]
        data["samples"][1].update({name: first[name] for name in ("dataset", "clip", "category")})
        place.append(f"{first['dataset']}/{first['clip']}")

    assert edited(file, edit) == [(f"{DOCUMENT}: samples.1", "a clip that no other sample is of", place[0], PACK)]


def test_the_same_file_for_both_sides(file: bytes) -> None:
    """A reference that is listed as the resynthesis as well would be compared with itself."""

    def edit(data: dict[str, Any]) -> None:
        data["samples"][1] = data["samples"][1] | {
            "reference": data["samples"][0]["reference"],
            "reference_sha256": data["samples"][0]["reference_sha256"],
        }

    paths = [path for path, *_ in edited(file, edit)]
    assert paths == [f"{DOCUMENT}: samples.1: samples/00-reference.ogg", "samples/01-reference.ogg"]


def test_the_beginning_of_ogg_opus() -> None:
    """RFC 7845: OggS, and OpusHead at byte 28."""
    page = b"OggS" + bytes(24) + b"OpusHead"
    assert not is_ogg_opus(page)
    assert is_ogg_opus(page + b"\x01\x01")
    page += b"\x01\x01"
    for wrong in (page[:-1], b"oggS" + page[4:], b"x" + page, page[:27] + b"OpusHead", b""):
        assert not is_ogg_opus(wrong)
