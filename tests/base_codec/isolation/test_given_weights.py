"""A folder of weights for an isolated codec: it reaches the guest, and the card says which weights those are."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.codecs import isolated

from codec_superb.base_codec import registry
from codec_superb.base_codec.errors import CodecUnusable, MissingWeights, RefusedSetting
from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.main import call
from codec_superb.pipeline.errors import PipelineError, SubmissionError
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.resynthesis.tokens import decode_tokens, export_tokens
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.pack import pack

TRAINED, TINY = (f"{Path(isolated.__file__).resolve()}:{name}" for name in ("Trained", "Tiny"))


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """Return a folder with one clip of noise."""
    folder = tmp_path / "clips"
    folder.mkdir()
    noise = 0.1 * np.random.default_rng(0).standard_normal(8000)
    soundfile.write(folder / "clip.wav", noise, 16000, subtype="PCM_16")
    return folder


def halved(folder: Path, gain: str = "0.5") -> CodecOptions:
    """Write weights that halve the sound, and return the options that name them."""
    folder.mkdir(parents=True)
    (folder / "gain.txt").write_text(gain)
    return CodecOptions(weights=str(folder))


def test_the_folder_reaches_the_guest_and_its_place_stays_here(tmp_path: Path, clips: Path) -> None:
    """The run's sound is made with the folder's weights; its card has their name and hash, and no path."""
    options = halved(tmp_path / "mine")
    (outcome,) = resynthesise([TRAINED], [str(clips)], out=tmp_path / "runs", options=options, workers=1)
    reference, _ = soundfile.read(clips / "clip.wav")
    resynthesis, _ = soundfile.read(RunFolder(outcome.path).audio_path("clip.wav"))
    assert np.abs(resynthesis - reference / 2).max() < 1e-4
    card = RunFolder(outcome.path).info().card
    listed = f"{hashlib.sha256(b'0.5').hexdigest()}  gain.txt\n"
    assert card.weights is not None
    assert card.weights.model_dump(exclude={"config_sha256", "files", "skipped"}) == {
        "source": "local:mine", "revision": None, "sha256": hashlib.sha256(listed.encode()).hexdigest(),
    }  # fmt: skip
    assert str(tmp_path) not in card.model_dump_json()


def test_other_weights_are_another_run_and_no_other_files_are(tmp_path: Path) -> None:
    """Hidden folders, a hub's notes, do not count; a parameter does; the repository's or the codec's is found below."""
    options = halved(tmp_path / "all" / "gain")
    first, _ = registry.configure(TRAINED, options)
    (tmp_path / "all" / "gain" / ".cache").mkdir()
    (tmp_path / "all" / "gain" / ".cache" / "note").touch()
    assert registry.configure(TRAINED, CodecOptions(weights=str(tmp_path / "all")))[0] == first
    halved(tmp_path / "all" / "trained")
    own, _ = registry.configure(TRAINED, CodecOptions(weights=str(tmp_path / "all")))
    assert own.weights is not None
    assert own.weights.source == "local:trained"
    (tmp_path / "all" / "gain" / "gain.txt").write_text("0.25")
    second, _ = registry.configure(TRAINED, options)
    assert first.weights != second.weights
    assert first.model_copy(update={"weights": second.weights}) == second


@pytest.mark.sample(1, among="weights given to private environments")
def test_weights_marked_as_random_are_never_packed(tmp_path: Path, clips: Path) -> None:
    """A file ``codec_superb_random`` in the folder makes the card say random, and pack refuse the run."""
    options = halved(tmp_path / "mine")
    (tmp_path / "mine" / "codec_superb_random").touch()
    (outcome,) = resynthesise([TRAINED], [str(clips)], out=tmp_path / "runs", options=options, workers=1)
    card = RunFolder(outcome.path).info().card
    assert card.weights is not None
    assert card.weights.source == "random"
    assert call(["score", str(outcome.path), "--metric", "stft", "--workers", "1"]) == 0
    with pytest.raises(SubmissionError, match="trained has random weights"):
        pack([outcome.path], tmp_path / "trained.zip")


@pytest.mark.sample(1, among="weights given to private environments")
def test_tokens_remember_the_weights(tmp_path: Path, clips: Path) -> None:
    """Tokens decode to what resynth makes with the same folder; the card's own weights are refused, by name."""
    options, file = halved(tmp_path / "mine"), tmp_path / "tokens.parquet"
    export_tokens(TRAINED, str(clips), file, options=options)
    (sound,) = decode_tokens(file, tmp_path / "sound", codec=TRAINED, options=options).files
    (outcome,) = resynthesise([TRAINED], [str(clips)], out=tmp_path / "runs", options=options, workers=1)
    resynthesis = soundfile.read(RunFolder(outcome.path).audio_path("clip.wav"))[0]
    assert np.array_equal(soundfile.read(sound)[0], resynthesis)
    with pytest.raises(
        PipelineError, match=r"weights of trained: local:mine, SHA-256 .*, here somebody/gain, commit 1+;"
    ):
        decode_tokens(file, tmp_path / "other", codec=TRAINED)


def test_folders_that_are_none_and_lack_files(tmp_path: Path, clips: Path) -> None:
    """No such folder, an empty one, and one without what the guest looks for: each is told, before any row."""
    with pytest.raises(MissingWeights, match="there is none named nowhere/weights: fetch the files of somebody/gain"):
        registry.configure(TRAINED, CodecOptions(weights="nowhere/weights"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingWeights, match="there is no file in "):
        registry.configure(TRAINED, CodecOptions(weights=str(tmp_path / "empty")))
    with pytest.raises(CodecUnusable, match=r"gain\.txt"):
        resynthesise(
            [TRAINED], [str(clips)], out=tmp_path / "runs", options=CodecOptions(weights=str(clips)), workers=1
        )
    assert not RunFolder(tmp_path / "runs" / "trained" / "clips").exists()


def test_options_that_isolated_codecs_do_not_take_are_refused(tmp_path: Path, clips: Path) -> None:
    """A precision, weights for a codec without any, and a graphics card: each is said before the work, not dropped."""
    with pytest.raises(RefusedSetting, match="dtype and compile are options of the neural codecs of the main"):
        resynthesise([TRAINED], [str(clips)], out=tmp_path / "runs", options=CodecOptions(dtype="bfloat16"))
    with pytest.raises(RefusedSetting, match="dtype and compile"):
        export_tokens(TRAINED, str(clips), tmp_path / "tokens.parquet", options=CodecOptions(compile=True))
    with pytest.raises(RefusedSetting, match="weights are an option of neural codecs; tiny: none takes them"):
        resynthesise([TINY], [str(clips)], out=tmp_path / "runs", options=CodecOptions(weights=str(clips)))
    with pytest.raises(PipelineError, match=r"tiny: its locked packages run on the cpu, .*; take --device cpu"):
        resynthesise(["opus_12k", TINY], [str(clips)], out=tmp_path / "runs", device="cuda")
    assert not (tmp_path / "runs").exists()
