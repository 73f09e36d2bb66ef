"""Operations of a codec: counted once a run beside the timed clips, and carried to submissions and reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError
from support.codecs.checkpoints import opened, save_checkpoint
from support.pipeline.runs import speech_folder

from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.report_data import codec_results
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.results import Operations, StepOperations
from codec_superb.pipeline.comparison.results import combine, load_results
from codec_superb.pipeline.resynthesis.operations import CountTask, operations_of_clip
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.dataset_access import DatasetSpec, load_mono
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.workers.executor import Executor

NAME = "encodec_24k_6bps"


@pytest.mark.sample(1, among="torch in other processes")
def test_they_are_counted_once_a_run_and_travel(tmp_path: Path) -> None:
    """Of the first clip that has a resynthesis, per second of it; in run.json, the submission and the report's row."""
    data = speech_folder(tmp_path / "data", 3)
    (data / "clip00.wav").write_bytes(b"no sound")
    options = CodecOptions(weights=str(save_checkpoint("encodec", tmp_path / "encodec", marked=False)))
    with Executor(1) as pool:

        def run() -> RunFolder:
            (done,) = resynthesise(
                [NAME], [str(data)], out=tmp_path / "runs", category="speech", options=options, device="cpu",
                executor=pool,
            )  # fmt: skip
            return RunFolder(done.path)

        folder = run()
        found = folder.info().operations
        assert found is not None
        assert (found.backend, found.clip) == ("torch.utils.flop_counter", "clip01.wav")
        codec = opened(NAME, "encodec")
        samples, rate = load_mono(open_dataset(str(data), category="speech").clip("clip01.wav"))
        encoded, encoding = codec.encode_counted(samples[np.newaxis], rate)
        decoding = codec.decode_counted(encoded)[1]
        assert found.seconds == samples.size / rate
        assert encoding.operations is not None
        assert decoding.operations is not None
        assert found.encode == StepOperations(per_second=encoding.operations / found.seconds)
        assert found.decode == StepOperations(per_second=decoding.operations / found.seconds)
        assert run().info().operations == found
        (data / "clip00.wav").unlink()  # another dataset: the run is made again
        folder = run()
        assert folder.info().operations == found
        score([folder.path], metrics=["si_sdr"], executor=pool)
    packed = load_results(pack([folder], tmp_path / "a.zip"))
    assert [dataset.operations for dataset in packed.datasets] == [found]
    (row,) = codec_results(combine([packed]), {})
    flops = row.flops("encode")
    assert flops is not None
    assert (flops.value, flops.at_least) == (found.encode.per_second, False)


def test_a_classical_codec_has_none(tmp_path: Path) -> None:
    """Its operations are not defined, and nothing in run.json says otherwise."""
    data = speech_folder(tmp_path / "data", 1)
    (done,) = resynthesise(["opus_12k"], [str(data)], out=tmp_path / "runs", category="speech", workers=1)
    assert RunFolder(done.path).info().operations is None
    assert "operations" not in json.loads((done.path / "run.json").read_bytes())


def test_a_long_clip_is_cut_and_a_compiled_model_is_not_counted(tmp_path: Path) -> None:
    """Ten seconds are coded; what torch.compile joins has no number."""
    (tmp_path / "data").mkdir()
    soundfile.write(tmp_path / "data" / "a.wav", 0.1 * np.random.default_rng(0).standard_normal(11 * 16000), 16000)
    dataset = open_dataset(str(tmp_path / "data"), category="speech")
    spec = DatasetSpec(str(tmp_path / "data"), "speech", dataset.manifest_hash)
    options = CodecOptions(weights=str(save_checkpoint("encodec", tmp_path / "encodec")))
    (found,) = operations_of_clip(CountTask(NAME, "cpu", options, spec, "a.wav"))
    assert found.seconds == 10
    assert found.decode.per_second is not None
    compiled = options._replace(compile=True)
    (found,) = operations_of_clip(CountTask(NAME, "cpu", compiled, spec, "a.wav"))
    assert found.encode.per_second is None
    assert "torch.compile" in found.encode.reason


def test_unknown_is_never_zero() -> None:
    """No record holds 0 operations."""
    with pytest.raises(ValidationError):
        StepOperations(per_second=0.0)
    nothing = StepOperations(reason="unknown")
    assert Operations(backend="none", clip="a", seconds=1, encode=nothing, decode=nothing).encode.per_second is None
