"""``check``: a true submission has no problems, and no single number can be changed without one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import card, draw_rows, failed, known_clips, ok, row, sha, with_audio, write_run
from support.pipeline.submissions import change_number, edit_document, edit_rows, numbers, reseal, rewrite
from support.profile import examples

from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import CheckReport, check
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.rows import ClipRow, MetricValue

ROWS = [*draw_rows(1, 12), failed("mini/broken")]
TOKENS = card("tok", frame_rate=100.0, codebooks=16, codebook_size=1024)


@lru_cache(maxsize=1)
def _packed() -> bytes:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), ROWS, card=card())
        return pack([run], Path(folder) / "a.zip", submitter=Submitter(name="Ann")).read_bytes()


def packed() -> io.BytesIO:
    """Pack one submission for all tests that change it."""
    return io.BytesIO(_packed())


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Its submission.json."""
    return dict(json.loads(read_archive(packed())["submission.json"]))


def places(report: CheckReport) -> str:
    """Where the problems are."""
    return " | ".join(problem.path for problem in report.problems)


def test_a_true_submission_has_no_problems() -> None:
    """What pack wrote is accepted, and the note says what could not be verified here."""
    report = check(packed())
    assert report.ok
    assert report.problems == ()
    assert (report.codec, report.datasets, report.clips) == ("opus_16k", ("mini",), 13)
    assert any("not verified here" in note for note in report.notes)


NUMBERS = sorted(numbers(document()), key=str)


@examples(200)
@given(st.sampled_from(NUMBERS), st.sampled_from([1e-6, -0.1, 3.0]))
def test_any_altered_number_of_the_document_is_found(place: tuple[str | int, ...], by: float) -> None:
    """Whichever number of submission.json changes, the check finds it."""
    report = edit_document(packed(), lambda data: change_number(data, place, by))
    assert not report.ok, place


RECOMPUTED = [
    place
    for place in NUMBERS
    if place[0] == "aggregates" or place[2:] in {("ok",), ("failed",), ("undefined",), ("selected",)}
]


@examples(150)
@given(st.sampled_from(RECOMPUTED), st.sampled_from([1e-6, -0.1, 3.0]))
def test_a_count_or_aggregate_altered_on_purpose_is_found(place: tuple[str | int, ...], by: float) -> None:
    """With both hashes made right again, recomputing from the rows finds the number and names its place."""
    report = edit_document(packed(), lambda data: change_number(data, place, by), seal=True)
    assert ".".join(map(str, place)) in places(report)


FIELDS = ["samples", "bits", "encode_s", "decode_s", "clipped_samples", "pesq", "stoi", "mel", "stft", "f0corr"]


@examples(60)
@given(st.integers(0, 11), st.sampled_from(FIELDS), st.sampled_from([1e-4, -0.01, 1.0]))
def test_any_altered_number_of_a_row_is_found(number: int, field: str, by: float) -> None:
    """A row edited on purpose, with all hashes made right, disagrees with the aggregates or leaves its range."""

    def alter(rows: list[ClipRow]) -> None:
        entry = rows[number]
        if field in entry.metrics:
            value = (entry.metrics[field].value or 0) + by
            update: dict[str, Any] = {"metrics": {**entry.metrics, field: ok(value)}}
        else:
            old = getattr(entry, field)
            update = {field: old + (by if isinstance(old, float) else 1)}
        rows[number] = entry.model_copy(update=update)

    assert not edit_rows(packed(), alter).ok


@examples(30)
@given(st.integers(0, 12), st.sampled_from(["drop", "repeat", "rename", "fail", "undefine"]))
def test_any_row_dropped_repeated_or_rewritten_is_found(number: int, how: str) -> None:
    """Leaving out a hard clip, or calling it failed or undefined, shows in the counts."""

    def alter(rows: list[ClipRow]) -> None:
        entry = rows[number]
        if how == "drop":
            del rows[number]
        elif how == "repeat":
            rows.append(entry)
        elif how == "rename":
            rows[number] = entry.model_copy(update={"dataset": "other"})
        elif how == "fail":
            rows[number] = row(entry.clip) if entry.status == "failed" else failed(entry.clip)
        else:
            pesq = MetricValue(status="undefined", reason="silence")
            rows[number] = entry.model_copy(update={"metrics": {**entry.metrics, "pesq": pesq}})

    assert not edit_rows(packed(), alter).ok


def test_rows_changed_without_their_hash_are_found() -> None:
    """Even a lag, which no aggregate shows unless it is the largest."""
    report = edit_rows(
        packed(), lambda rows: rows.__setitem__(0, rows[0].model_copy(update={"lag_samples": 1})), seal=False
    )
    assert "clips_sha256" in places(report)


def bad(clip: str = "mini/bad", **fields: Any) -> Callable[[list[ClipRow]], None]:
    """Append a row with a fault."""
    return lambda rows: rows.append(row(clip, **fields))


UNREASONED = {"pesq": MetricValue(status="undefined", reason="")}
FAULTS: dict[str, tuple[Callable[[list[ClipRow]], None], str]] = {
    "no bits": (bad(bits=None), "mini/bad: bits"),
    "negative bits": (bad(bits=-1), "mini/bad: bits"),
    "no length": (bad(samples=None), "mini/bad: samples"),
    "no samples": (bad(samples=0), "mini/bad: samples"),
    "no rate": (bad(sampling_rate=0), "mini/bad: sampling_rate"),
    "time runs backwards": (bad(encode_s=-0.1), "mini/bad: encode_s"),
    "lag beyond the clip": (bad(lag_samples=-16001), "mini/bad: lag_samples"),
    "more clipped than there are": (bad(clipped_samples=16001), "mini/bad: clipped_samples"),
    "an error on a clip that is ok": (bad(error="x"), "mini/bad: error"),
    "PESQ of 7": (bad(metrics={"pesq": ok(7.0)}), "mini/bad: pesq"),
    "STOI below 0": (bad(metrics={"stoi": ok(-0.1)}), "mini/bad: stoi"),
    "negative distance": (bad(metrics={"mel": ok(-1.0)}), "mini/bad: mel"),
    "a distance that overflows": (bad(metrics={"stft": ok(1e300)}), "mini/bad: stft"),
    "undefined without a reason": (bad(metrics=UNREASONED), "mini/bad: pesq_reason"),
    "a metric of a failed clip": (
        lambda rows: rows.append(failed("mini/bad").model_copy(update={"metrics": {"pesq": ok(2.0)}})),
        "mini/bad: metrics",
    ),
    "an undefined metric of a failed clip": (
        lambda rows: rows.append(failed("mini/bad").model_copy(update={"metrics": UNREASONED})),
        "mini/bad: metrics",
    ),
    "failed without a stage": (
        lambda rows: rows.append(failed("mini/bad").model_copy(update={"stage": ""})),
        "mini/bad: stage",
    ),
    "a clip twice": (bad("mini/clip000"), "clips.parquet: mini/mini/clip000"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_row_that_cannot_be_true_is_named(fault: str) -> None:
    """The problem names the clip and the field."""
    change, where = FAULTS[fault]
    report = edit_rows(packed(), change)
    assert where in places(report)
    assert all(problem.how_to_fix for problem in report.problems)


def test_bits_that_do_not_follow_from_tokens_are_found(tmp_path: Path) -> None:
    """1,600 tokens of 10 bits are 16,000 bits; fewer would make the codec look cheaper than it is."""
    good = [entry.model_copy(update={"tokens": 1600, "bits": 16000}) for entry in draw_rows(1, 6)]
    pack([write_run(tmp_path / "1", good, card=TOKENS)], tmp_path / "a.zip")
    cheap = [*good[:5], good[5].model_copy(update={"bits": 15000})]
    with pytest.raises(SubmissionError, match=r"1600 tokens × log2\(1024\) = 16000 bits, got 15000"):
        pack([write_run(tmp_path / "2", cheap, card=TOKENS)], tmp_path / "b.zip")


def test_bits_of_codebooks_that_differ_are_checked(tmp_path: Path) -> None:
    """16 frames of 14 + 12 bits are 416 bits; 12 bits for each token would hide two of the first codebook's."""
    codec = card("tok", frame_rate=100.0, nominal_kbps=2.6, codebooks=2, codebook_sizes=(16384, 4096))
    good = [entry.model_copy(update={"tokens": 32, "bits": 416}) for entry in draw_rows(1, 6)]
    pack([write_run(tmp_path / "1", good, card=codec)], tmp_path / "a.zip")
    cheap = [*good[:5], good[5].model_copy(update={"bits": 384})]
    with pytest.raises(SubmissionError, match=r"32 tokens × log2\(16384 and 4096\) = 416 bits, got 384"):
        pack([write_run(tmp_path / "2", cheap, card=codec)], tmp_path / "b.zip")


def test_bits_beside_tokens_are_taken_where_the_card_speaks_of_them(tmp_path: Path) -> None:
    """384 bits of a voice beside 16,000 of tokens pass with a card that says so, and are a miscount without it."""
    rows = [entry.model_copy(update={"tokens": 1600, "bits": 16384}) for entry in draw_rows(1, 6)]
    told = TOKENS.model_copy(update={"bitrate_note": "384 bits a clip beside its tokens"})
    assert check(pack([write_run(tmp_path / "1", rows, card=told)], tmp_path / "a.zip")).ok
    with pytest.raises(SubmissionError, match=r"1600 tokens × log2\(1024\) = 16000 bits, got 16384"):
        pack([write_run(tmp_path / "2", rows, card=TOKENS)], tmp_path / "b.zip")
    fewer = [entry.model_copy(update={"bits": 15999}) for entry in rows]
    with pytest.raises(SubmissionError, match="16000 bits, got 15999"):
        pack([write_run(tmp_path / "3", fewer, card=told)], tmp_path / "c.zip")


def test_a_bitrate_far_from_nominal_is_noted(tmp_path: Path) -> None:
    """It is no problem, since hard clips can do that, but nobody should overlook it."""
    run = write_run(tmp_path, draw_rows(1, 6), card=card(nominal_kbps=12.0))
    notes = " ".join(check(pack([run], tmp_path / "a.zip")).notes)
    assert "16.01 kbps measured, 12 nominal, more than 15% apart" in notes


def test_another_version_of_a_metric_is_found() -> None:
    """Scores under another definition cannot be compared; an unknown metric cannot be checked."""
    report = edit_document(packed(), lambda data: data["metrics"].update(pesq="0"), seal=True)
    assert places(report) == "submission.json: metrics.pesq"
    assert report.problems[0].got == "0"


def test_columns_and_metrics_must_agree() -> None:
    """A metric named without its column, or a column that is not named, is a problem."""
    report = edit_document(packed(), lambda data: data["metrics"].pop("pesq"), seal=True)
    assert places(report) == "clips.parquet"


def test_random_weights_are_refused() -> None:
    """Also where somebody else's tool packed them."""
    weights = {"source": "random", "revision": None, "sha256": None}
    report = edit_document(packed(), lambda data: data["codec"].update(weights=weights), seal=True)
    assert places(report) == "submission.json: codec.weights.source"


class TestKnownDatasets:
    """What the checking side knows about a dataset is used."""

    clips: ClassVar = known_clips(ROWS) | {"mini/broken": KnownClip("speech", 16000, 16000, frozenset())}

    def test_the_same_dataset_is_verified(self) -> None:
        """Equal hash and clips: no note is left."""
        report = check(packed(), known={"mini": KnownDataset(sha("mini"), self.clips)}.get)
        assert report.ok
        assert report.notes == ()

    def test_another_state_of_the_dataset_is_refused(self) -> None:
        """Another manifest hash is another dataset."""
        report = check(packed(), known={"mini": KnownDataset(sha("other"), self.clips)}.get)
        assert places(report) == "submission.json: datasets.0.manifest_hash"

    def test_clips_that_do_not_exist_are_found(self) -> None:
        """A clip id that the dataset does not have, and a clip in the wrong category."""
        known = {**self.clips, "mini/clip001": KnownClip("music"), "mini/another": KnownClip("speech")}
        del known["mini/clip000"]
        report = check(packed(), known={"mini": KnownDataset(sha("mini"), known)}.get)
        assert places(report) == "clips.parquet: mini/mini/clip000 | clips.parquet: mini/mini/clip001"

    def test_the_size_of_the_dataset_is_not_the_submitters_to_say(self) -> None:
        """A run of a part cannot pass for complete by calling the part the whole."""
        known = {**self.clips, "mini/left_out": KnownClip("speech")}
        report = check(packed(), known={"mini": KnownDataset(sha("mini"), known)}.get)
        assert places(report) == "submission.json: datasets.0.clips"


class TestSamples:
    """Listening samples are checked before anybody plays them."""

    def report(self, tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> CheckReport:
        """Pack two samples, change the members, make the hashes right and check."""
        rows = draw_rows(1, 6)
        run = write_run(tmp_path, rows, card=card())
        dataset = with_audio(run, rows, tmp_path / "audio")
        file = pack([run], tmp_path / "a.zip", samples=2, datasets={"mini": dataset})

        def edit(members: dict[str, bytes]) -> None:
            change(members)
            reseal(members)

        return check(rewrite(file, edit))

    def test_untouched_samples_pass(self, tmp_path: Path) -> None:
        """The baseline of this class."""
        assert self.report(tmp_path, lambda _: None).ok

    @pytest.mark.parametrize("data", [b"", b"<script>alert(1)</script>", b"OggS" + b"x" * 60])
    def test_what_is_no_opus_is_refused(self, tmp_path: Path, data: bytes) -> None:
        """Other content under the name of a sample is never served."""
        report = self.report(tmp_path, lambda members: members.update({"samples/00-reference.ogg": data}))
        assert "samples.0: samples/00-reference.ogg" in places(report)

    def test_a_sample_missing_or_not_listed_is_found(self, tmp_path: Path) -> None:
        """The list and the members agree both ways."""
        report = self.report(
            tmp_path,
            lambda members: members.update({"samples/07-reference.ogg": members.pop("samples/01-resynthesis.ogg")}),
        )
        assert "samples/01-resynthesis.ogg" in places(report)
        assert "samples/07-reference.ogg" in places(report)


class TestHostileContent:
    """Whatever the members hold, a report comes back."""

    @pytest.mark.parametrize(
        ("text", "got"),
        [
            (b'{"a": NaN}', "NaN"),
            (b"[" * 50_000, "nesting"),
            (b"\xff\xfe", "UTF-8"),
            (b"{}", "Field required"),
            (b'{"format": 1, "format": 1}', "twice"),
        ],
    )
    def test_a_bad_document(self, text: bytes, got: str) -> None:
        """Strict JSON only, then the schema."""
        report = check(rewrite(packed(), lambda members: members.update({"submission.json": text})))
        assert not report.ok
        assert report.codec is None
        assert all(problem.path.startswith("submission.json") for problem in report.problems)
        assert got in " ".join(f"{problem.expected} {problem.got}" for problem in report.problems)

    @examples(60)
    @given(st.data())
    def test_any_damage_to_the_rows_is_found(self, data: st.DataObject) -> None:
        """Flip any byte of the Parquet file: a problem, never an exception."""
        members = read_archive(packed())
        rows = bytearray(members["clips.parquet"])
        position = data.draw(st.integers(0, len(rows) - 1))
        rows[position] ^= data.draw(st.integers(1, 255))
        assert not check(rewrite(packed(), lambda found: found.update({"clips.parquet": bytes(rows)}))).ok

    @examples(40)
    @given(st.data())
    def test_damage_under_right_hashes_gives_a_report(self, data: st.DataObject) -> None:
        """Flip bytes and seal again, as an enemy would: whatever Arrow makes of it, nothing is raised."""
        rows = bytearray(read_archive(packed())["clips.parquet"])
        for _ in range(data.draw(st.integers(1, 4))):
            rows[data.draw(st.integers(0, len(rows) - 1))] ^= data.draw(st.integers(1, 255))

        def edit(members: dict[str, bytes]) -> None:
            members["clips.parquet"] = bytes(rows)
            reseal(members)

        report = check(rewrite(packed(), edit))
        assert report.ok == (not report.problems)

    def test_many_problems_are_listed_up_to_a_limit_and_counted(self) -> None:
        """A report stays readable, and small enough to send: problems of one kind are one, with the first places."""

        def spoil(rows: list[ClipRow]) -> None:
            rows.extend(row(f"x{number}", bits=-1) for number in range(300))

        report = edit_rows(packed(), spoil)
        (bits,) = (problem for problem in report.problems if problem.path.endswith(": bits"))
        assert bits.path == "clips.parquet: mini/x0: bits"
        assert bits.got == "-1; and 299 more like it: mini/x1, mini/x2, mini/x3 and 296 more"
        assert len(report.problems) < 25
        assert report.more >= 299

    def test_kinds_of_problems_are_listed_up_to_a_limit(self) -> None:
        """The hundred and first kind is counted, and so is everything of a file that is wrong everywhere."""
        findings = Findings()
        for kind in range(150):
            findings.add(f"place {chr(0x4E00 + kind)}", "one", "another", "mend it")
        assert (len(findings.problems), findings.more, findings.count) == (100, 50, 150)
        for _ in range(30_000):
            findings.add("the same", "one", "another", "mend it")
        assert (findings.count, findings.more) == (30_150, 30_050)

    def test_a_file_that_is_no_zip_is_a_problem_and_no_file_an_error(self, tmp_path: Path) -> None:
        """Content is judged in the report; a wrong path is the caller's error."""
        report = check(io.BytesIO(b"hello, world, this is no zip file"))
        assert places(report) == "zip"
        with pytest.raises(SubmissionError, match="found none"):
            check(tmp_path / "no.zip")


def test_the_check_imports_nothing_heavy() -> None:
    """The service checks without torch, audio libraries, datasets and signal processing."""
    code = (
        "import sys, codec_superb.pipeline.submission.check as c; c.check; "
        "heavy = {'torch', 'av', 'soundfile', 'soxr', 'scipy.signal', 'numba', 'plotly', 'pesq', 'pyarrow', "
        "'codec_superb.data_manifests', 'codec_superb.metrics.score', 'codec_superb.base_codec.registry'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
