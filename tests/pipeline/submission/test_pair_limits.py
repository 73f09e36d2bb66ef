"""Trials, ranks and descriptions of probes: the last that passes and the first that does not."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support.pipeline.probed_file import packed
from support.pipeline.stats import row

from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check_pairs import MOST_CLASSES, check_pairs
from codec_superb.pipeline.submission.check_probes import check_probes
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow, PairRow, ProbeValue

AGAIN = "probe the run again, then pack; trials and ranks are not edited by hand"
PROBED = "probe the runs again with this version, then pack; rows are not edited by hand"


def listed(findings: Findings) -> list[tuple[str, str, str]]:
    """Place, expectation and finding of each problem."""
    return [(problem.path, problem.expected, problem.got) for problem in findings.problems]


def clips(probe: str, counts: dict[str, int]) -> list[ClipRow]:
    """Make rows of clips that take part in so many trials or have so many labels."""
    field = PROBES[probe].shared[0].name
    entries = {clip: ProbeValue(status="ok", shared={field: count}) for clip, count in counts.items()}
    return [row(clip, probes={probe: entry}) for clip, entry in entries.items()]


def trial(left: str, right: str, **fields: Any) -> PairRow:
    """Make a trial."""
    usual = {"target": True, "reference": 0.5, "resynthesis": 0.4, "enrol_clean": 0.3}
    return PairRow(dataset="mini", probe="asv", left=left, right=right, **(usual | fields))


def rank(clip: str, label: str, reference: float = 1.0, resynthesis: float = 1.0, **fields: Any) -> PairRow:
    """Make a rank."""
    sides = {"reference": reference, "resynthesis": resynthesis, "target": True}
    return PairRow(dataset="mini", probe="aec", left=clip, right=label, **(sides | fields))


def paired(rows: list[ClipRow], pairs: list[PairRow], before: int = 0) -> tuple[bool, list[tuple[str, str, str]]]:
    """Check pairs after ``before`` other problems."""
    findings = Findings()
    for _ in range(before):
        findings.add("elsewhere", "", "", "")
    sound = check_pairs(rows, pairs, findings)
    assert {problem.how_to_fix for problem in findings.problems[before:]} <= {AGAIN}
    return sound, listed(findings)[before:]


@pytest.mark.parametrize("before", [0, 2, 101])
def test_trials_and_ranks_that_agree(before: int) -> None:
    """Each clip is in as many pairs as its row says, whatever was found elsewhere, listed or only counted."""
    trials = [trial("a", "b"), trial("b", "c"), trial("b", "c")]
    ranks = [rank("x", "dog"), rank("y", "dog", 2, 2), rank("x", "cat")]
    rows = clips("asv", {"a": 1, "b": 3, "c": 2}) + clips("aec", {"x": 2, "y": 1, "z": 0})
    assert paired(rows, trials + ranks, before) == (True, [])
    assert paired(rows, trials, before)[0] is False


def test_clips_that_take_no_part_have_no_pairs() -> None:
    """Left out, failed, or of a probe without pairs: nothing is counted for them."""
    entries = {"asv": ProbeValue(status="left_out", reason="-"), "sim": ProbeValue(status="ok")}
    assert paired([row("a", probes=entries)], []) == (True, [])
    assert paired([row("a", probes=entries)], [trial("a", "a")])[0] is False


WHERE = "pairs.parquet: mini: asv"


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (trial("a", "z"), (f"{WHERE}: a, z", "clips on which the probe is ok", "others")),
        (trial("z", "a"), (f"{WHERE}: z, a", "clips on which the probe is ok", "others")),
        (trial("a", "a"), (f"{WHERE}: a, a", "two clips", "one")),
        (
            trial("a", "b", enrol_clean=None),
            (f"{WHERE}: a, b: enrol_clean", "the score against the original as enrolment", "None"),
        ),
    ],
)
def test_a_trial_that_cannot_be(wrong: PairRow, problem: tuple[str, str, str]) -> None:
    """One problem at its place."""
    counts = {"a": 2, "b": 1} if wrong.left != wrong.right else {"a": 3, "b": 1}
    if wrong.right == "b":
        counts = {"a": 2, "b": 2}
    sound, found = paired(clips("asv", counts), [wrong, trial("b", "a")])
    assert (sound, found) == (False, [problem])


@pytest.mark.parametrize("change", [{"target": False}, {"reference": 0.6}, {"resynthesis": 0.6}, {"enrol_clean": 0.6}])
def test_a_trial_named_again_says_the_same(change: dict[str, Any]) -> None:
    """Another answer or score of the same two clips is a contradiction; the other way round they are another trial."""
    rows = clips("asv", {"a": 2, "b": 2})
    problem = (f"{WHERE}: a, b", "one answer and one score for each trial", "two that differ")
    assert paired(rows, [trial("a", "b"), trial("a", "b", **change)]) == (False, [problem])
    assert paired(rows, [trial("a", "b"), trial("b", "a", **change)]) == (True, [])


@pytest.mark.parametrize(("said", "fits"), [(1, False), (2, True), (3, False)])
def test_counts_of_a_clip_are_those_of_its_pairs(said: int, fits: bool) -> None:
    """Neither more nor fewer, of trials and of labels; the dataset and clip are named."""
    for probe, field, pairs in (
        ("asv", "trials", [trial("a", "b"), trial("b", "a")]),
        ("aec", "labels", [rank("a", "dog"), rank("a", "cat"), rank("b", "owl"), rank("b", "bee")]),
    ):
        problem = (f"clips.parquet: mini/a: {probe}.{field}", "2, counted in pairs.parquet", f"{float(said)}")
        assert paired(clips(probe, {"a": said, "b": 2}), pairs) == ((True, []) if fits else (False, [problem]))


@pytest.mark.parametrize("side", ["reference", "resynthesis"])
@pytest.mark.parametrize(("value", "fits"), [(0, False), (1, True), (2, True), (3, False), (1.5, False), (-1, False)])
def test_a_rank_is_a_whole_number_of_its_clips(side: str, value: float, fits: bool) -> None:
    """1 to 2 of two clips, on either side."""
    rows = clips("aec", {"a": 1, "b": 0})
    found = paired(rows, [rank("a", "dog", **{side: value})])[1]
    places = [(f"pairs.parquet: mini: aec: a, dog: {side}", "a whole rank of 1 to 2, its clips", f"{float(value)}")]
    assert found[:1] == ([] if fits else places)


def test_ties_count_against_a_clip() -> None:
    """Two best of a class share rank 2; both at rank 1 would be better than they are. Each class is looked at."""
    rows = clips("aec", {"a": 2, "b": 2, "c": 0})
    cats = [rank("a", "cat", 2, 2), rank("b", "cat", 2, 2)]
    assert paired(rows, [*cats, rank("a", "dog", 1, 3), rank("b", "dog", 2, 3)]) == (True, [])
    sound, found = paired(rows, [*cats, rank("a", "dog", 1, 3), rank("b", "dog", 1, 3)])
    expected = ("pairs.parquet: mini: aec: dog: reference", "as many clips at a rank or before it as it says", "1.0")
    assert (sound, found) == (False, [expected])


@pytest.mark.parametrize("fields", [{"target": False}, {"enrol_clean": 0.5}])
def test_a_rank_has_the_fields_of_a_rank(fields: dict[str, Any]) -> None:
    """True, and without the score of a trial."""
    expected = [("pairs.parquet: mini: aec: a, dog", "target true and no enrol_clean for a rank", "not so")]
    assert paired(clips("aec", {"a": 1}), [rank("a", "dog", **fields)]) == (False, expected)


def test_a_clip_has_one_rank_in_a_class_and_takes_part() -> None:
    """A second rank, and a rank of a clip that the probe has no answer for, are named."""
    twice = paired(clips("aec", {"a": 2, "b": 0}), [rank("a", "dog"), rank("a", "dog", 2, 2)])[1]
    assert twice == [("pairs.parquet: mini: aec: a, dog", "one rank of a clip within a class", "another")]
    other = paired(clips("aec", {"a": 1}), [rank("a", "cat"), rank("z", "dog")])[1]
    assert other == [("pairs.parquet: mini: aec: z, dog", "a clip on which the probe is ok", "another")]


def test_classes_end() -> None:
    """As many classes as the limit says pass; one more is counted."""
    ranks = [rank("a", f"class{number}") for number in range(MOST_CLASSES + 1)]
    assert paired(clips("aec", {"a": MOST_CLASSES}), ranks[1:]) == (True, [])
    sound, found = paired(clips("aec", {"a": MOST_CLASSES + 1}), ranks)
    assert (sound, found) == (False, [("pairs.parquet: mini: aec", "at most 2000 classes", "2001")])


SUBMISSION = Submission.model_validate_json(read_archive(io.BytesIO(packed().getvalue()))["submission.json"])


def described(info: dict[str, Any], key: str = "asr") -> list[tuple[str, str, str]]:
    """Describe one probe wrongly; return the problems without those of rows."""
    (dataset,) = SUBMISSION.datasets
    good: ProbeInfo = next(entry for entry in dataset.probes if entry.probe == key)
    changed = dataset.model_copy(update={"probes": (good.model_copy(update=info),)})
    findings = Findings()
    check_probes([], SUBMISSION.model_copy(update={"datasets": (changed,)}), findings)
    return listed(findings)


def test_settings_of_a_probe_end() -> None:
    """A hundred of them, and numbers of at most 10¹⁵ on either side; texts are not numbers."""
    place = "submission.json: datasets.0.probes.0.settings"
    assert described({"settings": {f"{n}": n for n in range(100)}}) == []
    assert described({"settings": {f"{n}": n for n in range(101)}}) == [(place, "at most 100", "101")]
    assert described({"settings": {"a": 10**15, "b": -(10**15), "c": "1e99", "d": True}}) == []
    for value in (2e15, -2e15, float("nan"), float("inf")):
        expected = (f"{place}.big", "a number of at most 1e+15", str(value))
        assert described({"settings": {"text": "x", "big": value}}) == [expected]


@pytest.mark.parametrize("sha256", ["0" * 63, "0" * 65, "A" * 64, "g" * 64, ""])
def test_a_models_hash_is_one(sha256: str) -> None:
    """64 small hexadecimal digits and nothing else."""
    expected = [("submission.json: datasets.0.probes.0.model_sha256", "64 hexadecimal digits", sha256)]
    assert described({"model_sha256": sha256}) == expected
    assert described({"model_sha256": "0123456789abcdef" * 4}) == []


def test_what_a_probe_says_of_itself() -> None:
    """An unknown probe, another version, random weights and no backend are each named, with what is known."""
    where = "submission.json: datasets.0.probes.0"
    ((place, expected, got),) = described({"probe": "telepathy"})
    assert (place, expected[:11], got) == (f"{where}.probe", "one of aec,", "telepathy")
    assert described({"version": "0"}) == [(f"{where}.version", "version 1 of the definition of asr", "0")]
    ((place, expected, got),) = described({"random": True, "backend": "m"})
    assert (place, expected, got) == (f"{where}.random", "a trained model", "random weights (m)")
    assert described({"backend": ""}) == [(f"{where}.backend", "a name, a text with letters", "a blank one")]


def rows_of(probe: str, entry: ProbeValue | None, **fields: Any) -> list[tuple[str, str, str]]:
    """Check one row of a dataset that declares a single probe."""
    (dataset,) = SUBMISSION.datasets
    info = tuple(entry for entry in dataset.probes if entry.probe == probe)
    submission = SUBMISSION.model_copy(update={"datasets": (dataset.model_copy(update={"probes": info}),)})
    findings = Findings()
    check_probes([row("a", probes={} if entry is None else {probe: entry}, **fields)], submission, findings)
    assert {problem.how_to_fix for problem in findings.problems} <= {PROBED}
    return listed(findings)


def asr(words: float = 4, characters: float = 0, **wrong: float) -> ProbeValue:
    """Make a transcript whose resynthesis has so many errors."""
    none = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
    shared = {"words": words, "characters": characters}
    return ProbeValue(status="ok", shared=shared, reference=none, resynthesis=none | wrong)


def test_errors_of_a_transcript_by_hand() -> None:
    """Of four words four can be wrong, added ones are without end; one more is named with its side."""
    where = "clips.parquet: mini/a: asr"
    assert rows_of("asr", asr(substitutions=1, deletions=3, insertions=99)) == []
    expected = "substitutions and deletions of at most the 4 words or characters that were said"
    assert rows_of("asr", asr(substitutions=2, deletions=3)) == [(f"{where}.resynthesis", expected, "5")]
    assert rows_of("asr", asr(words=0, characters=1, deletions=1)) == []
    counted = "a transcript counted in words or in characters"
    for words, characters in ((0, 0), (2, 1)):
        got = str({"words": float(words), "characters": float(characters)})
        assert rows_of("asr", asr(words, characters)) == [(where, counted, got)]


@pytest.mark.parametrize(("value", "fits"), [(1.0, True), (1 - 0.9e-6, True), (1 - 1.1e-6, False)])
def test_what_every_original_has(value: float, fits: bool) -> None:
    """An original is as like itself as rounding lets it be."""
    entry = ProbeValue(status="ok", reference={"similarity": value}, resynthesis={"similarity": 0.5})
    problem = ("clips.parquet: mini/a: sim.reference.similarity", "1, which every original has", str(value))
    assert rows_of("sim", entry) == ([] if fits else [problem])


def test_rows_have_the_entries_that_their_dataset_declares() -> None:
    """Missing, surplus and without a reason; a clip that failed may be left out, and no more."""
    where = "clips.parquet: mini/a"
    look = "the probes of the dataset that look at"
    assert rows_of("asr", None) == [(f"{where}: probes", f"entries of {look} speech: ['asr']", "[]")]
    assert rows_of("asr", None, category="audio") == []
    assert rows_of("asr", asr(), category="audio") == [
        (f"{where}: probes", f"entries of {look} audio: []", "['asr']"),
    ]
    assert rows_of("asr", ProbeValue(status="failed", reason="crash")) == []
    assert rows_of("asr", ProbeValue(status="failed")) == [(f"{where}: asr.reason", "a reason for failed", "none")]
    gone = {"status": "failed", "stage": "encode", "error_type": "E"}
    assert rows_of("asr", ProbeValue(status="left_out", reason="-"), **gone) == []
    expected = (f"{where}: asr.status", "failed or left_out, without a resynthesis", "ok")
    assert rows_of("asr", asr(), **gone) == [expected]


def test_trials_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last that passes and the first that does not; then nothing is computed of them."""
    rows = [trial(f"a{number}", f"b{number}") for number in range(4)]
    found = clips("asv", {name: 1 for each in rows for name in (each.left, each.right)})
    monkeypatch.setattr("codec_superb.pipeline.submission.check_pairs.MOST_TRIALS", 4)
    assert check_pairs(found, rows, Findings())
    monkeypatch.setattr("codec_superb.pipeline.submission.check_pairs.MOST_TRIALS", 3)
    findings = Findings()
    assert not check_pairs(found, rows, findings)
    assert listed(findings) == [("pairs.parquet", "at most 3 trials", "4")]
