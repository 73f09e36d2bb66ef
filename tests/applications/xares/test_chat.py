"""The chat: a trained decoder answers a task in worker processes, as any chat does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.applications.xares import ENCODER, make_training, write_decoder, write_tones, write_track

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.errors import ApplicationError, MissingModel, UnknownApplication
from codec_superb.applications.interface import Item, Sound
from codec_superb.applications.task_definitions.messages import Message, Part
from codec_superb.applications.xares.chat import XaresChat
from codec_superb.applications.xares.training import train
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.workers.executor import Executor
from codec_superb.pipeline.workers.progress import SilentProgress
from codec_superb.pipeline.xares.matched import matched_examples

TASK = "und_xares_sound"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with tones, a track and a home of its own."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.sample(1, among="decoders probe runs")
def test_a_run_is_probed_by_a_decoder_that_is_trained_for_it(place: Path) -> None:
    """References and clean resyntheses are answered; the decoder is trained once, and named with all that decides."""
    tones = write_tones(place / "tones", 8)
    track = write_track(place, tones)
    (made,) = resynthesise(["flac"], [str(tones)], out=place / "runs", executor=None, workers=1)
    spec = f"xares:{ENCODER},track={track}"
    (outcome,) = probe([made.path], applications=[TASK], backends=[spec], workers=1)
    assert outcome.probes[TASK].ok == 16
    info = RunFolder(made.path).info().probes[TASK]
    assert info.backend == f"xares:{ENCODER}+small-llama-bytes"
    assert info.settings["decoding"] == "greedy"
    assert info.settings["mode"] == "references"
    rows = list(RunFolder(made.path).rows())
    right = sum(row.probes[TASK].reference["correct"] for row in rows)
    assert right >= 15
    assert sum(row.probes[TASK].resynthesis["same"] for row in rows) == 16
    (decoder,) = (place / "home" / "xares" / "decoders").iterdir()
    said = json.loads((decoder / "decoder.json").read_text())
    assert said["sounds"] == 16
    assert said["learnt"] > 10_000
    stamp = (decoder / "weights.safetensors").stat().st_mtime_ns
    key = said["configuration"]["decoder"] and decoder.name
    again = probe([made.path], applications=[TASK], backends=[f"xares:{ENCODER},trained={key}"], workers=1)
    assert again[0].done == 0  # the same model: what was answered is not asked again
    constrained = f"xares:{ENCODER},trained={key},decoding=constrained"
    probe([made.path], applications=[TASK], backends=[constrained], workers=1)
    assert all(row.probes[TASK].reference["parsed"] for row in RunFolder(made.path).rows())
    assert (decoder / "weights.safetensors").stat().st_mtime_ns == stamp


def test_only_known_questions_are_answered(place: Path) -> None:
    """The question itself, or one with the same classes in whatever order; another ends the run with a sentence."""
    training, store = make_training(place, steps=2)
    train(training, store)
    chat = XaresChat(f"{ENCODER},trained={training.key}")
    model = chat.prepare()
    chat.load(model, "cpu", 1)
    (task,) = json.loads((training.folder / "decoder.json").read_text())["tasks"].values()
    sound = Sound(Item("a", "audio"), store_sound())
    asked = (Message("user", (Part("audio", ""), Part("text", "Which sound?"))),)
    classes = tuple(reversed(task["classes"]))
    (known,) = chat.predict([sound._replace(messages=asked, options=classes)])
    assert isinstance(known, str)
    (other,) = chat.predict([sound._replace(messages=asked, options=("yes", "no"))])
    assert "expected a task that the decoder was trained on (xares_sound)" in str(other)
    chat.close()


def store_sound() -> object:
    """Return half a second of noise."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(8000).astype(np.float32) / 10


def test_wrong_names_are_said_before_any_work(place: Path) -> None:
    """An encoder that gives no frames, a track, a decoder, a decoding, a key; a decoder of another encoder."""
    for spec, said in (
        ("faster-whisper", "expected an encoder of frames, such as faster-whisper-frames"),
        (f"{ENCODER},decoding=beam", "expected greedy or constrained"),
        (f"{ENCODER},track={place / 'no.yaml'}", "expected a track in YAML"),
    ):
        with pytest.raises(ApplicationError, match=said):
            open_backend(f"xares:{spec}").prepare()
    with pytest.raises(UnknownApplication, match="Did you mean offline"):
        open_backend(f"xares:{ENCODER},track=ofline")
    with pytest.raises(MissingModel, match="got none that is finished"):
        open_backend(f"xares:{ENCODER},trained=0123456789abcdef").prepare()
    training, store = make_training(place, steps=2)
    train(training, store)
    with pytest.raises(ApplicationError, match="expected the encoder that it was trained on"):
        open_backend(f"xares:spectrogram-frames,trained={training.key}").prepare()
    wrong = write_decoder(place, stepps=3)
    with pytest.raises(ApplicationError, match="stepps"):
        open_backend(f"xares:{ENCODER},decoder={wrong}")


@pytest.mark.sample(1, among="decoders probe runs")
def test_matched_training_takes_the_sound_of_one_codec(place: Path) -> None:
    """Its sounds are the run's; two codecs, or a run of another dataset, are refused with what to do."""
    training, _ = make_training(place)
    tones = place / "tones"
    with Executor(1) as executor:
        resynthesise(
            ["g711_mulaw", "flac"], [str(tones)], out=place / "runs", executor=executor, progress=SilentProgress()
        )
    codec, examples = matched_examples(training.track, [place / "runs" / "g711_mulaw"])
    assert "711" in codec
    (sounds,) = examples.values()
    assert len(sounds) == 24
    originals = {of.key for of in training.examples["xares_sound"]}
    assert not originals & {of.key for of in sounds}
    assert sounds[0].load(16000).shape == (8000,)
    with pytest.raises(PipelineError, match="expected runs of one codec"):
        matched_examples(training.track, [place / "runs"])
    other = write_tones(place / "other", 2, seed=3)
    (made,) = resynthesise(["flac"], [str(other)], out=place / "more", workers=1)
    with pytest.raises(PipelineError, match="no run has the training sounds of xares_sound"):
        matched_examples(training.track, [made.path])
