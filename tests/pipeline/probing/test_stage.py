"""Probing runs: what is asked once, what fails and how it is told, what the table holds afterwards."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.audio import speech_like
from support.pipeline.probe import ENTRIES, GIVES_NAN, KILLS, RAISES, RECORD, REFUSES
from support.pipeline.run_codecs import HERE

from codec_superb.applications import catalogue
from codec_superb.applications.errors import ApplicationError, MissingLabels, MissingModel, UnknownApplication
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.runs.outcome import ProbeCounts
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.tables.rows import ProbeValue
from codec_superb.pipeline.workers.executor import Executor, usable_cores

RATE = 16000
Asked = Callable[[], Counter[str]]


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the test's backends into the catalogue."""
    for name, entry in ENTRIES.items():
        monkeypatch.setitem(catalogue.BACKENDS, name, entry)


@pytest.fixture(autouse=True)
def _own_predictions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Begin without predictions on references."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Name the file in which the backends of all workers note what they were asked."""
    return tmp_path_factory.mktemp("record") / "asked"


@pytest.fixture(scope="module")
def pool(record: Path) -> Iterator[Executor]:
    """Start workers once for all tests, with the record in their environment."""
    with pytest.MonkeyPatch.context() as patch, Executor(2) as executor:
        patch.setenv(RECORD, str(record))
        yield executor


@pytest.fixture
def asked(record: Path) -> Asked:
    """Give a function that tells how often a backend was asked about each clip since it was called last."""

    def read() -> Counter[str]:
        lines = record.read_text().splitlines() if record.exists() else []
        record.write_text("")
        return Counter(lines)

    read()
    return read


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, pool: Executor) -> Path:
    """Resynthesise four clips once; tests work on copies."""
    place = tmp_path_factory.mktemp("plain")
    folder_of(place / "data")
    return runs_of(place / "runs", place / "data", pool=pool)[0]


@pytest.fixture
def run(plain: Path, tmp_path: Path) -> Path:
    """Give a copy of the run of four clips."""
    return Path(shutil.copytree(plain, tmp_path / "copy" / "plain" / "data"))


def folder_of(place: Path, *, faults: Sequence[int] = (), labels: str = "speaker") -> Path:
    """Make four clips of two speakers, then one for each fault; the last of the four has no label."""
    place.mkdir(parents=True)
    for number in range(4):
        soundfile.write(place / f"c{number}.wav", speech_like(0.3 + number / 50, RATE, seed=number % 2), RATE)
    for fault in faults:
        soundfile.write(place / f"f{fault}.wav", speech_like(1.0, RATE)[: 4000 + fault], RATE)
    rows = [f"c{number}.wav,{'ab'[number % 2] if number < 3 else ''}" for number in range(4)]
    (place / "labels.csv").write_text("\n".join([f"path,{labels}", *rows]) + "\n")
    return place


def runs_of(out: Path, dataset: Path, *codecs: str, pool: Executor) -> list[Path]:
    """Resynthesise a folder with test codecs."""
    outcomes = resynthesise([f"{HERE}:{name}" for name in codecs or ("Plain",)], [str(dataset)], out=out, executor=pool)
    return [outcome.path for outcome in outcomes]


def values(run: Path, key: str) -> dict[str, ProbeValue]:
    """Give what the table has of a probe, by clip."""
    return {row.clip: row.probes[key] for row in RunFolder(run).rows() if key in row.probes}


class TestOnce:
    """What was asked is not asked again."""

    @pytest.mark.sample(1, among="workers of probes")
    @pytest.mark.sample(2, among="models at a run")
    def test_references_are_asked_about_once_for_all_codecs_and_folders(
        self, tmp_path: Path, pool: Executor, asked: Asked
    ) -> None:
        """Two codecs cost three questions a clip; the same dataset in another output folder costs one more."""
        dataset = folder_of(tmp_path / "data")
        runs = runs_of(tmp_path / "one", dataset, "Plain", "Slow", pool=pool)
        outcomes = probe(runs, applications=["quality"], backends=["levels"], executor=pool)
        assert asked() == dict.fromkeys((f"c{number}.wav" for number in range(4)), 3)
        assert [outcome.probes for outcome in outcomes] == [{"dnsmos": ProbeCounts(ok=4)}] * 2
        assert [(outcome.asked, outcome.done, outcome.reused) for outcome in outcomes] == [(4, 4, 0)] * 2
        other = runs_of(tmp_path / "two", dataset, pool=pool)
        probe(other, applications=["dnsmos"], backends=["levels"], executor=pool)
        assert set(asked().values()) == {1}

    def test_a_second_call_asks_and_writes_nothing(self, run: Path, pool: Executor, asked: Asked) -> None:
        """The same command again finds everything there and leaves the files as they are."""
        probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        asked()
        before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()}
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert not asked()
        assert (outcome.done, outcome.reused, outcome.complete) == (0, 4, True)
        assert {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()} == before

    def test_overwrite_asks_everything_again(self, run: Path, pool: Executor, asked: Asked) -> None:
        """References and resyntheses are predicted anew, with the same result."""
        probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        before = asked()
        first = values(run, "dnsmos")
        probe([run], applications=["dnsmos"], backends=["levels"], overwrite=True, executor=pool)
        assert asked() == before
        assert values(run, "dnsmos") == first

    def test_one_backend_answers_for_two_probes_at_once(self, run: Path, pool: Executor, asked: Asked) -> None:
        """Verification and similarity rest on the same embeddings; a clip without a speaker serves similarity alone."""
        (outcome,) = probe([run], applications=["asv"], backends=["voices"], executor=pool)
        assert set(asked().values()) == {2}
        assert outcome.probes == {"asv": ProbeCounts(ok=3, left_out=1), "sim": ProbeCounts(ok=4)}
        pairs = RunFolder(run).pairs()
        assert {(pair.left, pair.right, pair.target) for pair in pairs} >= {("c0.wav", "c2.wav", True)}
        assert all(value.resynthesis["similarity"] > 0.99 for value in values(run, "sim").values())

    @pytest.mark.sample(1, among="workers of probes")
    def test_the_number_of_workers_changes_nothing(self, tmp_path: Path, pool: Executor) -> None:
        """One worker and three give the same rows."""
        dataset = folder_of(tmp_path / "data")
        (run,) = runs_of(tmp_path / "one", dataset, pool=pool)
        shutil.copytree(tmp_path / "one", tmp_path / "three")
        probe([run], applications=["dnsmos"], backends=["levels"], workers=1)
        probe([tmp_path / "three"], applications=["dnsmos"], backends=["levels"], workers=3, overwrite=True)
        assert values(run, "dnsmos") == values(tmp_path / "three" / "plain" / "data", "dnsmos")


class TestFailures:
    """A clip that fails costs itself."""

    def test_each_fault_costs_its_clip_and_is_told(self, tmp_path: Path, pool: Executor) -> None:
        """A dead worker, an exception, a refusal and NaN cost one clip each, whatever batch it was in."""
        dataset = folder_of(tmp_path / "data", faults=(KILLS, RAISES, REFUSES, GIVES_NAN))
        (run,) = runs_of(tmp_path / "runs", dataset, pool=pool)
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert outcome.probes == {"dnsmos": ProbeCounts(ok=4, failed=4)}
        reasons = {failed.clip: failed.reason for failed in outcome.failed}
        assert {failed.stage for failed in outcome.failed} == {"probe"}
        assert "killed by SIGKILL" in reasons[f"f{KILLS}.wav"]
        assert reasons[f"f{RAISES}.wav"].endswith(f"ValueError: cannot stand f{RAISES}.wav")
        assert reasons[f"f{REFUSES}.wav"].endswith("PredictionFailed: no speech in it")
        assert "expected finite numbers from the model, got 4 NaN" in reasons[f"f{GIVES_NAN}.wav"]
        assert not outcome.complete

    @pytest.mark.sample(2, among="models at a run")
    def test_what_failed_is_tried_again_by_the_next_call(self, tmp_path: Path, pool: Executor, asked: Asked) -> None:
        """The failed clip alone is asked about again, on both sides; one that the model has no answer for is not."""
        (run,) = runs_of(tmp_path / "runs", folder_of(tmp_path / "data", faults=(RAISES, REFUSES)), pool=pool)
        probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        asked()
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert asked() == {f"f{RAISES}.wav": 2}
        assert outcome.probes == {"dnsmos": ProbeCounts(ok=4, failed=2)}

    def test_a_reference_that_succeeds_elsewhere_mends_the_run(self, run: Path, tmp_path: Path, pool: Executor) -> None:
        """A clip failed on its reference; when another command has had success with it, this run's table follows."""
        home = Path(os.environ["CODEC_SUPERB_HOME"])
        probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        (file,) = (home / "predictions").rglob("*.jsonl")
        answered = file.read_text()
        lines = [json.loads(line) for line in answered.splitlines()]
        failed = [{"clip": of["clip"], "category": of["category"], "failed": "x", "final": True} for of in lines]
        file.write_text("".join(json.dumps(line) + "\n" for line in failed))
        other = Path(shutil.copytree(run, tmp_path / "other" / "plain" / "data"))
        RunFolder(other).write_info(RunFolder(other).info().model_copy(update={"probes": {}}))
        (outcome,) = probe([other], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert outcome.probes == {"dnsmos": ProbeCounts(failed=4)}
        assert {value.reason for value in values(other, "dnsmos").values()} == {"reference: x"}
        file.write_text(answered)
        (outcome,) = probe([other], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert outcome.probes == {"dnsmos": ProbeCounts(ok=4)}
        assert values(other, "dnsmos") == values(run, "dnsmos")

    def test_a_batch_that_does_not_fit_is_halved(self, tmp_path: Path, pool: Executor, asked: Asked) -> None:
        """A model with room for two clips answers for all, one question a clip."""
        (run,) = runs_of(tmp_path / "runs", folder_of(tmp_path / "data", faults=(0, 1, 2, 3)), pool=pool)
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels:hungry"], executor=pool)
        assert outcome.probes == {"dnsmos": ProbeCounts(ok=8)}
        assert set(asked().values()) == {2}

    def test_a_clip_without_a_resynthesis_fails_with_that_reason(self, tmp_path: Path, pool: Executor) -> None:
        """What the codec could not do is told as such, once."""
        dataset = folder_of(tmp_path / "data", faults=(4,))
        (run,) = runs_of(tmp_path / "runs", dataset, "Treacherous", pool=pool)
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        value = values(run, "dnsmos")["f4.wav"]
        assert value.status == "failed"
        assert value.reason.startswith("no resynthesis: encode: this clip is not to my taste")
        assert [(failed.clip, failed.stage) for failed in outcome.failed] == [("f4.wav", "encode")]

    def test_a_model_that_kills_its_worker_ends_the_stage(self, run: Path, pool: Executor) -> None:
        """That is nobody's clip: the error names the model, and nothing is journaled."""
        with pytest.raises(PipelineError, match="levels:fatal cannot be loaded: worker process killed by SIGKILL"):
            probe([run], applications=["dnsmos"], backends=["levels:fatal"], executor=pool)
        assert not (run / "journal" / "probe.jsonl").read_bytes()


class TestModels:
    """How models are given clips."""

    @pytest.mark.sample(2, among="models at a run")
    def test_a_comparing_model_gets_the_reference_at_its_own_rate(self, run: Path, pool: Executor) -> None:
        """The reference against itself differs by nothing; a resynthesis of 16 bits by next to nothing."""
        probe([run], applications=["dnsmos"], backends=["differences"], executor=pool)
        for value in values(run, "dnsmos").values():
            assert value.reference["overall"] == 1.0
            assert value.resynthesis["overall"] == pytest.approx(1.0, abs=1e-4)

    @pytest.mark.sample(1, among="workers of probes")
    def test_a_large_model_has_one_process_with_all_cores(self, run: Path) -> None:
        """It is loaded with as many threads as this machine has cores, whatever the number of workers."""
        probe([run], applications=["dnsmos"], backends=["large"], workers=3)
        threads = {value.resynthesis["overall"] for value in values(run, "dnsmos").values()}
        assert threads == {np.float32(usable_cores() / 100)}

    @pytest.mark.sample(2, among="models at a run")
    def test_training_sees_all_references_and_marks_the_model(self, tmp_path: Path, pool: Executor) -> None:
        """A run of two clips is judged by a model that learnt from all four; what it learnt stands in the run."""
        dataset = folder_of(tmp_path / "data")
        out = resynthesise([f"{HERE}:Plain"], [str(dataset)], out=tmp_path / "runs", limit=2, executor=pool)
        probe([out[0].path], applications=["dnsmos"], backends=["trained"])
        settings = RunFolder(out[0].path).info().probes["dnsmos"].settings
        assert settings["clips"] == 4
        assert float(settings["level"]) > 0

    def test_a_model_nobody_trained_is_marked(self, run: Path, pool: Executor) -> None:
        """The mark goes into the run, from where pack refuses it."""
        probe([run], applications=["dnsmos"], backends=["levels:random"], executor=pool)
        assert RunFolder(run).info().probes["dnsmos"].random

    def test_the_stamp_names_what_ran(self, run: Path, pool: Executor) -> None:
        """Stage, device and backend of each probe are told."""
        probe([run], applications=["asv"], backends=["voices"], executor=pool)
        stamp = RunFolder(run).info().provenance[-1]
        assert (stamp.stage, stamp.device) == ("probe", "cpu")
        assert stamp.backends == {"asv": "voices", "sim": "voices"}


class TestBeforeAnyWork:
    """What cannot be done is said at once."""

    def test_unknown_names_are_told_with_near_ones(self, tmp_path: Path, pool: Executor) -> None:
        """A typing error costs nothing."""
        with pytest.raises(UnknownApplication, match=r"Did you mean .*asv or asr"):
            probe([tmp_path], applications=["ars"], executor=pool)

    def test_missing_labels_come_before_models(self, tmp_path: Path, pool: Executor) -> None:
        """A folder without transcripts is refused although the model is missing too, and told what to add."""
        (run,) = runs_of(tmp_path / "runs", folder_of(tmp_path / "data", labels="remark"), pool=pool)
        with pytest.raises(MissingLabels, match=r"data: Speaker verification .* label speaker, .* add the column"):
            probe([run], applications=["asv", "dnsmos"], backends=["levels:missing"], executor=pool)

    def test_labels_that_make_no_trial_are_refused(self, tmp_path: Path, pool: Executor) -> None:
        """One speaker alone cannot be verified."""
        dataset = folder_of(tmp_path / "data")
        (dataset / "labels.csv").write_text("path,speaker\nc0.wav,a\nc1.wav,a\n")
        (run,) = runs_of(tmp_path / "runs", dataset, pool=pool)
        with pytest.raises(MissingLabels, match="two speakers"):
            probe([run], applications=["asv"], backends=["voices"], executor=pool)

    def test_a_probe_without_clips_anywhere_is_refused(self, tmp_path: Path, pool: Executor) -> None:
        """Music has nothing for speech probes."""
        dataset = folder_of(tmp_path / "data")
        outcomes = resynthesise(
            [f"{HERE}:Plain"], [str(dataset)], out=tmp_path / "runs", category="music", executor=pool
        )
        with pytest.raises(MissingLabels, match=r"DNSMOS .* needs clips of speech, and none of the runs has any"):
            probe([outcomes[0].path], applications=["dnsmos"], backends=["levels"])

    def test_a_missing_model_is_told_before_another_is_asked(self, run: Path, pool: Executor, asked: Asked) -> None:
        """Of two backends the second cannot be prepared: nobody has been asked anything."""
        with pytest.raises(MissingModel, match=r"download levels\.bin"):
            probe([run], applications=["asv", "dnsmos"], backends=["voices", "levels:missing"], executor=pool)
        assert not asked()

    def test_two_backends_for_one_probe_are_refused(self, tmp_path: Path, pool: Executor) -> None:
        """A run keeps one answer a probe."""
        with pytest.raises(ApplicationError, match="dnsmos: expected one backend, got levels and large"):
            probe([tmp_path], applications=["dnsmos"], backends=["levels", "large"], executor=pool)

    def test_a_run_whose_dataset_has_changed_is_refused(self, tmp_path: Path, pool: Executor) -> None:
        """Labels of today do not belong to resyntheses of yesterday."""
        dataset = folder_of(tmp_path / "data")
        (run,) = runs_of(tmp_path / "runs", dataset, pool=pool)
        (dataset / "labels.csv").write_text("path,speaker\nc0.wav,a\n")
        with pytest.raises(RunFolderError, match="has changed since the run was made"):
            probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)

    @pytest.mark.sample(1, among="workers of probes")
    def test_cuda_in_vain_is_refused(self, run: Path, pool: Executor) -> None:
        """Who asks for a device that is not there is told so, and what to do."""
        with pytest.raises(PipelineError, match="use --device cpu"):
            probe([run], applications=["dnsmos"], backends=["levels"], device="cuda", executor=pool)


class TestMixedCategories:
    """A dataset of several categories."""

    def test_clips_of_other_categories_have_no_entry(self, tmp_path: Path, pool: Executor, asked: Asked) -> None:
        """A piece of music is not asked whether it sounds like clean speech."""
        dataset = folder_of(tmp_path / "data")
        (dataset / "music").mkdir()
        shutil.copy(dataset / "c0.wav", dataset / "music" / "m.wav")
        (run,) = runs_of(tmp_path / "runs", dataset, pool=pool)
        (outcome,) = probe([run], applications=["dnsmos"], backends=["levels"], executor=pool)
        assert outcome.asked == 4
        assert "music/m.wav" not in values(run, "dnsmos")
        score([run], metrics=["si_sdr"], executor=pool)
        assert len(values(run, "dnsmos")) == 4
