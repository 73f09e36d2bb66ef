"""The last value of a row that passes and the first that does not, with its place, what was expected, what came."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import card, draw_rows, failed, ok, row, write_run
from support.pipeline.submissions import edit_rows

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.check_rows import (
    MOST_SLICES,
    MOST_SLICES_IN_ALL,
    check_magnitudes,
    check_rows,
    check_slices,
)
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue, ProbeValue
from codec_superb.pipeline.tables.stored_rows import StoredRows

METRICS = {"pesq": "1", "stoi": "1"}
AGAIN = "run resynth and score again, then pack; rows are not edited by hand"
COUNT = "count the bits of the tokens in the codec's wrapper; say in its card's bitrate_note what stands beside them"
LONGEST = 2**31 - 1
MOST_TOKENS = 768_000 + 20_000
"""Of a second: one a sample at 768 kHz, and a header."""
Found = tuple[str, str, str, str]


def found(*rows: ClipRow, codec: Card | None = None) -> list[Found]:
    """Check rows; return place, expectation, finding and advice of each problem."""
    findings = Findings()
    stored = StoredRows.of(rows)
    check_rows(stored, Submission.model_construct(codec=codec or card(), metrics=METRICS, custom_metrics={}), findings)
    return [(p.path.removeprefix("clips.parquet: mini/"), p.expected, p.got, p.how_to_fix) for p in findings.problems]


@pytest.mark.parametrize(
    "fields",
    [
        {"sampling_rate": 1}, {"sampling_rate": LONGEST}, {"samples": 1}, {"samples": LONGEST}, {"bits": 0},
        {"bits": 10**15}, {"encode_s": 0.0}, {"decode_s": 0.0}, {"tokens": 0}, {"tokens": MOST_TOKENS},
        {"encode_s": None}, {"decode_s": None}, {"tokens": None},
        {"lag_samples": 16000}, {"lag_samples": -16000}, {"lag_samples": None},
        {"clipped_samples": 0}, {"clipped_samples": 16000}, {"clipped_samples": None},
    ],
)  # fmt: skip
def test_the_last_value_that_passes(fields: dict[str, Any]) -> None:
    """Limits belong to what is allowed; what need not be known may be unknown."""
    assert found(row("a", **fields)) == []


RATE, BITS = f"1 to {float(LONGEST):g} for a clip that is ok", "0 to 1e+15 for a clip that is ok"
BEYOND = "no more than the 16000 samples of the clip"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("sampling_rate", 0, RATE), ("sampling_rate", LONGEST + 1, RATE), ("sampling_rate", None, RATE),
        ("bits", -1, BITS), ("bits", 10**15 + 1, BITS), ("bits", None, BITS),
        ("tokens", MOST_TOKENS + 1, f"at most {MOST_TOKENS}"),
        ("encode_s", -0.001, "at least 0"), ("decode_s", -0.001, "at least 0"), ("tokens", -1, "at least 0"),
        ("lag_samples", 16001, BEYOND), ("lag_samples", -16001, BEYOND),
        ("clipped_samples", 16001, BEYOND), ("clipped_samples", -1, BEYOND),
    ],
)  # fmt: skip
def test_the_first_value_that_does_not(field: str, value: float | None, expected: str) -> None:
    """One problem, at the field, with the limit and the value."""
    assert found(row("a", **{field: value})) == [(f"a: {field}", expected, str(value), AGAIN)]


@pytest.mark.parametrize("samples", [0, LONGEST + 1, None])
def test_a_length_that_is_none(samples: int | None) -> None:
    """Nothing can lag or clip within a clip that has no length."""
    assert found(row("a", samples=samples)) == [("a: samples", RATE, str(samples), AGAIN)]
    beyond = found(row("a", samples=None, lag_samples=1, clipped_samples=1))
    assert [place for place, *_ in beyond] == ["a: samples", "a: lag_samples", "a: clipped_samples"]


@pytest.mark.parametrize("fields", [{"stage": "encode"}, {"error_type": "E"}, {"error": "why"}])
def test_a_clip_that_is_ok_has_no_error(fields: dict[str, Any]) -> None:
    """Any of the three fields is one too many; the message is shown, or where there is none the stage."""
    got = fields.get("error") or fields.get("stage", "")
    assert found(row("a", **fields)) == [("a: error", "no error for a clip that is ok", got, AGAIN)]


def test_a_failed_clip_says_where_and_of_what() -> None:
    """Stage and type are needed, the message is not; a metric may have failed with it, and only that."""
    assert found(failed("a").model_copy(update={"error": ""})) == []
    assert found(failed("a").model_copy(update={"metrics": {"pesq": MetricValue(status="failed", reason="-")}})) == []
    for field in ("stage", "error_type"):
        assert found(failed("a").model_copy(update={field: ""})) == [
            ("a: stage", "the stage and the type of error of a failed clip", "none", AGAIN)
        ]
    scored = {"pesq": ok(2.0), "stoi": MetricValue(status="failed", reason="-")}
    assert found(failed("a").model_copy(update={"metrics": scored})) == [
        ("a: metrics", "failed metrics, or none, for a clip that failed", "{'pesq': 'ok'}", AGAIN)
    ]


def test_a_clip_has_one_row_in_each_dataset() -> None:
    """The same id in another dataset is another clip; a third row of one is named again."""
    assert found(row("a"), row("b"), row("a", dataset="other")) == []
    again = ("a", "one row for each clip", "another row of the same clip", "pack each run once")
    twice = (again[0], again[1], f"{again[2]}; and 1 more like it: mini/a", again[3])
    assert found(row("a"), row("a"), row("b"), row("a")) == [twice]


@pytest.mark.parametrize(("value", "fits"), [(-1e-6, True), (1 + 1e-6, True), (-2e-6, False), (1 + 2e-6, False)])
def test_a_metric_may_leave_its_range_by_rounding(value: float, fits: bool) -> None:
    """STOI is from 0 to 1, give or take a millionth."""
    problem = ("a: stoi", "0.0 to 1.0, the range of stoi", str(value), AGAIN)
    assert found(row("a", metrics={"stoi": ok(value)})) == ([] if fits else [problem])


def test_every_metric_of_a_row_is_looked_at() -> None:
    """One without a value, or in its range, does not hide the next; one that is not declared is named."""
    entries = {
        "mel": ok(1.0),
        "pesq": MetricValue(status="undefined"),
        "f0corr": MetricValue(status="failed", reason="crash"),
        "stoi": ok(2.0),
    }
    assert found(row("a", metrics=entries)) == [
        ("a: f0corr", "a metric of submission.json: ['pesq', 'stoi']", "f0corr", "pack again"),
        ("a: mel", "a metric of submission.json: ['pesq', 'stoi']", "mel", "pack again"),
        ("a: pesq_reason", "a reason for undefined", "none", AGAIN),
        ("a: stoi", "0.0 to 1.0, the range of stoi", "2.0", AGAIN),
    ]


@pytest.mark.parametrize(("key", "most"), [("sdr", 260.0), ("si_sdr", 260.0), ("stft", 128.0), ("mel", 2300.0)])
def test_no_sound_is_farther(key: str, most: float) -> None:
    """Decibels and distances end where the arithmetic of samples within ±1 does, with 1 for rounding at neither end."""
    least = -most if key in {"sdr", "si_sdr"} else 0.0
    for value, fits in ((most, True), (most + 1, False), (least, True), (least - 1, False)):
        metrics = Submission.model_construct(codec=card(), metrics={key: "1"}, custom_metrics={})
        findings = Findings()
        check_rows(StoredRows.of([row("a", metrics={key: ok(value)})]), metrics, findings)
        assert [p.expected for p in findings.problems] == ([] if fits else [f"{least} to {most}, the range of {key}"])


UNEVEN = card("tok", frame_rate=1.0, codebooks=2, codebook_size=1000, nominal_kbps=2 * math.log2(1000) / 1000)
APART = card("tok", frame_rate=1.0, codebooks=2, codebook_sizes=(1000, 8), nominal_kbps=(math.log2(1000) + 3) / 1000)
NOTE = {"bitrate_note": "a voice beside the tokens"}


@pytest.mark.parametrize(
    ("codec", "fits", "problem"),
    [
        (UNEVEN, {29, 30}, "3 tokens × log2(1000) = 29.8974 bits"),
        (APART, {19, 20}, "3 tokens × log2(1000 and 8) = 19.4487 bits"),
        (UNEVEN.model_copy(update=NOTE), set(range(29, 45)), "3 tokens × log2(1000) = 29.8974 bits"),
    ],
)
def test_bits_of_tokens_by_hand(codec: Card, fits: set[int], problem: str) -> None:
    """Three tokens of log2(1000) = 9.97 bits each are 29.9, or 30 in whole bits; with a note there may be more."""
    for bits in range(15, 45):
        expected = [] if bits in fits else [("a: bits", problem, str(bits), COUNT)]
        assert found(row("a", tokens=3, bits=bits), codec=codec) == expected


def test_bits_of_tokens_that_nobody_counted() -> None:
    """Without tokens, or for a codec without codebooks, bits follow from nothing."""
    assert found(row("a", tokens=None, bits=7), codec=UNEVEN) == []
    assert found(row("a", tokens=3, bits=7), codec=card()) == []


def magnitudes(*rows: ClipRow, before: int = 0) -> tuple[bool, list[tuple[str, str, str, str]]]:
    """Look for numbers too large, after ``before`` other problems."""
    findings = Findings()
    for _ in range(before):
        findings.add("elsewhere", "", "", "")
    sound = check_magnitudes(StoredRows.of(rows), findings)
    return sound, [(p.path, p.expected, p.got, p.how_to_fix) for p in findings.problems[before:]]


def test_slices_that_a_check_can_bear() -> None:
    """As many as a dataset may have pass; one more, and nothing is computed of them."""
    rows = [row(f"{place}", slice=f"condition {place}") for place in range(MOST_SLICES + 1)]
    findings = Findings()
    assert check_slices(StoredRows.of(rows[1:]), findings)
    assert not check_slices(StoredRows.of(rows), findings)
    (problem,) = findings.problems
    assert (problem.expected, problem.got) == ("at most 200 slices of a dataset", "201")


def test_slices_of_all_datasets_are_bound() -> None:
    """Each costs a pass over all rows, whichever dataset it is of; rows without one count for nothing."""
    rows = [
        row(f"{place}", dataset=f"set {place % 6}", slice=f"condition {place // 6}" if place else "")
        for place in range(MOST_SLICES_IN_ALL + 2)
    ]
    findings = Findings()
    assert check_slices(StoredRows.of(rows[:-1]), findings)
    assert not check_slices(StoredRows.of(rows), findings)
    (problem,) = findings.problems
    assert (problem.expected, problem.got) == ("at most 1,000 slices of all datasets", "1001")


@pytest.mark.parametrize("before", [0, 3, 101])
def test_numbers_that_can_be_summed(before: int) -> None:
    """10¹⁵ passes with either sign, whatever was found before, listed or only counted."""
    assert magnitudes(row("a", bits=10**15, lag_samples=-(10**15)), before=before) == (True, [])
    assert magnitudes(row("a", bits=10**16), before=before)[0] is False


@pytest.mark.parametrize(
    "field", ["sampling_rate", "samples", "bits", "tokens", "encode_s", "decode_s", "lag_samples", "clipped_samples"]
)
@pytest.mark.parametrize("value", [2 * 10**15, -2 * 10**15])
def test_numbers_that_cannot(field: str, value: int) -> None:
    """Each number of a row, on either side, behind clips that are sound and beside numbers that are not known."""
    shown = value if field not in ("encode_s", "decode_s") else float(value)
    wrong = row("b", **({"tokens": None} | {field: type(shown)(value)}))
    assert magnitudes(row("a"), wrong) == (
        False,
        [(f"clips.parquet: mini/b: {field}", "at most 1e+15", str(shown), AGAIN)],
    )


def test_numbers_of_metrics_and_probes_that_cannot() -> None:
    """A metric's value, and what a probe keeps on either side or shared."""
    none = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
    parts = {
        "shared": {"words": 2e15, "characters": 0.0},
        "reference": none | {"deletions": 3e15},
        "resynthesis": none | {"deletions": 4e15},
    }
    entry = row(
        "a",
        metrics={"mel": ok(5e15), "pesq": MetricValue(status="undefined", reason="-")},
        probes={"asr": ProbeValue(status="ok", **parts)},
    )
    sound, problems = magnitudes(entry)
    assert not sound
    assert [(path.rpartition(": ")[2], got) for path, _, got, _ in problems] == [
        ("mel", "5000000000000000.0"),
        ("asr.shared.words", "2000000000000000.0"),
        ("asr.reference.deletions", "3000000000000000.0"),
        ("asr.resynthesis.deletions", "4000000000000000.0"),
    ]


ROWS = [*draw_rows(1, 12), failed("mini/broken")]


def test_a_metric_left_out_of_some_clips_is_found(tmp_path: Path) -> None:
    """A mean must not rest on clips that somebody chose: whoever has a metric on one has an entry for it on all."""

    def alter(rows: list[ClipRow]) -> None:
        for place in (0, 3, 4):  # two of speech, one of music
            left = {key: value for key, value in rows[place].metrics.items() if key != "pesq"}
            rows[place] = rows[place].model_copy(update={"metrics": left})

    report = edit_rows(pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip"), alter)
    (lacking,) = [problem for problem in report.problems if problem.path.endswith(": pesq")]
    assert lacking.path == "clips.parquet: mini/mini/clip000: pesq"
    assert lacking.expected == "ok, undefined or failed, as another clip of its dataset and category has"
    assert lacking.got == "nothing; and 2 more like it: mini/mini/clip003, mini/mini/clip004"
    assert lacking.how_to_fix == "score all clips again by every metric of the file, then pack"


def test_a_metric_may_be_of_a_category_alone(tmp_path: Path) -> None:
    """What no clip of a category, or of a dataset, was scored by is left out of nothing; a failed clip has none."""
    rows = [
        entry.model_copy(update={"metrics": {"mel": ok(1.0)}}) if entry.category == "music" else entry for entry in ROWS
    ]
    other = [row(f"other/{number}", dataset="other", metrics={"stft": ok(1.0)}) for number in range(2)]
    runs = [write_run(tmp_path, rows, card=card()), write_run(tmp_path, other, card=card())]
    assert check(pack(runs, tmp_path / "a.zip")).ok


def test_pack_refuses_runs_with_a_metric_of_some_clips(tmp_path: Path) -> None:
    """As after an interrupted ``score --overwrite``: nothing is written, and the clips are named."""
    rows = draw_rows(1, 6)
    scored = {key: value for key, value in rows[3].metrics.items() if key != "stoi"}
    rows[3] = rows[3].model_copy(update={"metrics": scored})
    with pytest.raises(SubmissionError, match=r"mini/clip003: stoi: expected ok, undefined or failed"):
        pack([write_run(tmp_path, rows, card=card())], tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()
