"""Training: the same weights whatever happens on the way, and nothing half-trained is taken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.applications.xares import ENCODER, TONES, make_training, write_tones
from support.profile import amount

from codec_superb.applications.embed.frames_store import FramesStore
from codec_superb.applications.errors import ApplicationError, MissingModel, PredictionFailed
from codec_superb.applications.interface import Samples
from codec_superb.applications.xares import training as module
from codec_superb.applications.xares.chat import encoder_named
from codec_superb.applications.xares.decoder import Question
from codec_superb.applications.xares.encoder_contract import encode
from codec_superb.applications.xares.encoder_file import EncoderFile
from codec_superb.applications.xares.examples import Example, labels_shuffled
from codec_superb.applications.xares.training import FINISHED, STATE, WEIGHTS, Training, load_trained, train


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home of its own for decoders and frames."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path / "home"))
    return tmp_path


class _Killed(Exception):
    """Stands for a kill between two steps; what a kill leaves is what is on disk."""


def _weights(training: Training) -> str:
    return str(json.loads((training.folder / FINISHED).read_text())["weights_sha256"])


def _right(training: Training, store: FramesStore, tones: Path) -> float:
    decoder = load_trained(training.folder)
    found = 0
    for name in TONES:
        for file in sorted(tones.glob(f"{name}*.wav")):
            frames = store.encode(lambda rate, file=file: _read(file, rate))
            found += decoder.answer([Question(frames, "Classify the sound.")])[0] == name
    return found / len(list(tones.glob("*.wav")))


def _read(file: Path, rate: int) -> Samples:
    import soundfile

    samples, own = soundfile.read(file, dtype="float32")
    assert own == rate
    return np.asarray(samples, np.float32)


@pytest.mark.sample(2, among="decoders are trained")
def test_a_decoder_learns_tones_and_shuffled_labels_teach_it_nothing(home: Path) -> None:
    """New tones of the same two pitches: all right. With the labels of other sounds: about chance."""
    training, store = make_training(home)
    losses: list[float] = []
    train(training, store, lambda _step, loss: losses.append(loss))
    assert losses[0] > 3
    assert losses[-1] < 0.2
    others = write_tones(home / "others", seed=9)
    assert _right(training, store, others) >= 0.95
    control = Training(
        training.track, training.configuration, training.language, labels_shuffled(training.examples, 42), 42,
        store.digest, "shuffled labels",
    )  # fmt: skip
    assert control.key != training.key
    train(control, store)
    assert _right(control, store, others) <= 0.75


@pytest.mark.sample(2, among="decoders are trained")
def test_a_killed_training_goes_on_to_the_same_weights(home: Path) -> None:
    """Killed after random steps, before and behind a state on disk: the weights are those of an undisturbed one."""
    training, store = make_training(home, low_rank={"rank": 2, "alpha": 4, "dropout": 0.2}, steps=30)
    train(training, store)
    wanted = _weights(training)
    rng = np.random.default_rng(0)
    for at in sorted(int(step) for step in rng.integers(1, 30, amount(3, 20))):
        _remove(training)
        with pytest.raises(_Killed):
            train(training, store, lambda step, _loss, at=at: _kill(step, at))
        assert not module.is_trained(training)
        assert (training.folder / STATE).is_file() == (at >= 10)
        with pytest.raises(MissingModel, match="none that is finished"):
            load_trained(training.folder)
        begun: list[int] = []
        train(training, store, lambda step, _loss, begun=begun: begun.append(step))
        assert begun[0] == at // 10 * 10 + 1
        assert _weights(training) == wanted
    assert not (training.folder / STATE).exists()


def _kill(step: int, at: int) -> None:
    if step == at:
        raise _Killed


def _remove(training: Training) -> None:
    for name in (FINISHED, WEIGHTS, STATE):
        (training.folder / name).unlink(missing_ok=True)


def test_a_batch_in_parts_gives_the_gradient_of_the_whole(home: Path) -> None:
    """Accumulated over parts the loss of a step is the same, since it is divided by the tokens of the whole batch."""
    found = []
    for parts in (1, 3):
        training, store = make_training(home, steps=3, accumulate=parts)
        _remove(training)
        losses: list[float] = []
        train(training, store, lambda _step, loss, losses=losses: losses.append(loss))
        found.append(losses)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_another_order_of_sounds_and_another_seed_train_other_weights(home: Path) -> None:
    """The same again is the same bit for bit."""
    training, store = make_training(home, steps=5)
    assert replace(training, bf16=True).key != training.key  # rounded otherwise
    train(training, store)
    first = _weights(training)
    _remove(training)
    train(training, store)
    assert _weights(training) == first
    turned = {task: list(reversed(of)) for task, of in training.examples.items()}
    for other in (
        Training(training.track, training.configuration, training.language, turned, 42, store.digest),
        Training(training.track, training.configuration, training.language, training.examples, 1, store.digest),
    ):
        train(other, store)
        assert other.key != training.key
        assert _weights(other) != first


def test_sounds_without_frames_are_counted_and_too_many_end_the_training(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be read is named with its reason; where most cannot, there is nothing to train on."""
    training, store = make_training(home, steps=4)
    (home / "tones" / "cat3.wav").write_bytes(b"no sound")
    train(training, store)
    without = json.loads((training.folder / FINISHED).read_text())["without_frames"]
    assert len(without) == 1
    assert "cat3.wav" in next(iter(without.values()))

    def nothing(*_: object) -> None:
        raise PredictionFailed("too short")

    monkeypatch.setattr(FramesStore, "of", nothing)
    other = Training(training.track, training.configuration, training.language, training.examples, 5, store.digest)
    with pytest.raises(ApplicationError, match=r"24 of 24 sounds have no frames; the first, .*: too short"):
        train(other, store)


def test_an_encoder_that_gives_nan_is_refused_sound_by_sound(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason says NaN, and no such frames are kept."""
    _, store = make_training(home)
    monkeypatch.setattr(store, "_ready", _Nan)
    with pytest.raises(PredictionFailed, match="expected finite frames, got NaN"):
        store.of("a sound", lambda _rate: np.ones(800, np.float32))
    with pytest.raises(PredictionFailed, match="0 samples"):
        store.of("another", lambda _rate: np.zeros(0, np.float32))


class _Nan:
    def predict(self, _batch: object) -> list[np.ndarray]:
        return [np.full((3, 4), np.nan, np.float32)]


def test_damaged_weights_are_refused(home: Path) -> None:
    """A byte more or less is no decoder of this training."""
    training, store = make_training(home, steps=2)
    train(training, store)
    file = training.folder / WEIGHTS
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    with pytest.raises(MissingModel, match="is not what training wrote; remove"):
        load_trained(training.folder)


def test_a_damaged_state_is_named(home: Path) -> None:
    """It is not taken for a beginning."""
    training, store = make_training(home, steps=2)
    training.folder.mkdir(parents=True)
    (training.folder / STATE).write_bytes(b"PK half a state")
    with pytest.raises(ApplicationError, match="remove it to train from the start"):
        train(training, store)


def test_frames_are_computed_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those kept are equal; a damaged file is computed again."""
    _, store = make_training(home)
    sound = np.sin(np.arange(4000) / 20).astype(np.float32)
    first = store.of("a sound", lambda _rate: sound)
    monkeypatch.setattr(store, "encode", lambda _load: pytest.fail("it is kept"))
    np.testing.assert_array_equal(store.of("a sound", lambda _rate: sound), first)
    monkeypatch.undo()
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(home / "home"))
    (file,) = (home / "home" / "xares" / "frames").rglob("*.npy")
    file.write_bytes(file.read_bytes()[:100])
    np.testing.assert_array_equal(store.of("a sound", lambda _rate: sound), first)


def test_the_rate_rises_in_a_line_and_falls_to_zero(home: Path) -> None:
    """As published: 200 steps of warming up, then linear to 0."""
    training, _ = make_training(home, steps=100, warmup=10, rate=1.0)
    rates = [training.configuration.rate_at(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[9] == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(1 / 90)
    assert torch.is_grad_enabled()


def test_examples_name_task_prompt_and_answer(home: Path) -> None:
    """Of the label's several classes the first one is the answer."""
    training, _ = make_training(home)
    (examples,) = training.examples.values()
    assert len(examples) == 24
    assert {of.target for of in examples} == set(TONES)
    assert isinstance(examples[0], Example)
    assert training.prompts["xares_sound"]["prompt"] == "Classify the sound."


@pytest.mark.sample(2, among="decoders are trained")
def test_noise_is_answered_at_chance_and_another_question_by_its_own_classes(home: Path) -> None:
    """Half of the labels by chance of noise as frames; a decoder of two tasks answers the one that is asked."""
    training, store = make_training(home, steps=120)
    (examples,) = training.examples.values()
    names = {"cat": "English", "dog": "French"}
    other = [replace(of, task="xares_language", prompt="Which language?", target=names[of.target]) for of in examples]
    tasks = training.track.tasks
    track = training.track.model_copy(update={"tasks": {**tasks, "xares_language": tasks["xares_sound"]}})
    both = Training(
        track, training.configuration, training.language, {"xares_language": other, "xares_sound": examples}, 42,
        store.digest,
    )  # fmt: skip
    train(both, store)
    decoder = load_trained(both.folder)
    sounds = [(store.of(of.key, of.load), of.target) for of in examples]
    right = [decoder.answer([Question(frames, "Classify the sound.")])[0] == name for frames, name in sounds]
    wrong = [decoder.answer([Question(frames, "Which language?")])[0] for frames, _ in sounds]
    assert np.mean(right) >= 0.9
    assert not any(answer == name for answer, (_, name) in zip(wrong, sounds, strict=True))
    assert np.mean([answer == names[name] for answer, (_, name) in zip(wrong, sounds, strict=True)]) >= 0.9
    rng = np.random.default_rng(0)
    frames = sounds[0][0]
    noise = [rng.standard_normal(frames.shape).astype(np.float32) * frames.std() + frames.mean() for _ in range(40)]
    answers = [decoder.answer([Question(each, "Classify the sound.")])[0] for each in noise]
    assert abs(np.mean([answer == list(TONES)[at % 2] for at, answer in enumerate(answers)]) - 0.5) <= 0.25


ENCODER_FILE = """
import torch

class MovingEncoder(torch.nn.Module):
    output_dim = 8

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(1, 8, 320, stride=320)
        self.drop, self.norm = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)

    def forward(self, audio, mask=None):
        frames = self.norm(self.drop(self.conv(audio[:, None]))).transpose(1, 2)
        if mask is None:
            return frames, None
        lengths = mask.sum(dim=1) // 320
        return frames, (torch.arange(frames.shape[1])[None] < lengths[:, None]).long()
"""


def test_the_encoder_is_frozen_and_silence_behind_a_sound_changes_no_answer(home: Path) -> None:
    """Dropout and batch statistics stand still while a decoder is trained: every weight and buffer is bit-equal."""
    file = home / "my_encoder.py"
    file.write_text(ENCODER_FILE)
    training, _ = make_training(home, steps=6)
    backend = encoder_named(str(file))
    store = FramesStore(backend, backend.prepare(), "cpu", 1)
    own = Training(training.track, training.configuration, training.language, training.examples, 42, store.digest)
    train(own, store)
    assert isinstance(backend, EncoderFile)
    encoder, fresh = backend._encoder, backend._made()
    assert not any(module.training for module in encoder.modules())
    assert all(value.grad is None and not value.requires_grad for value in encoder.parameters())
    for name, value in fresh.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], value), name
    decoder = load_trained(own.folder)
    audio = torch.from_numpy(_read(home / "tones" / "cat0.wav", 16000))[None]
    alone, _ = encode(encoder, audio, torch.ones_like(audio))
    padded = torch.nn.functional.pad(audio, (0, 8000))
    frames, kept = encode(encoder, padded, torch.nn.functional.pad(torch.ones_like(audio), (0, 8000)))
    assert kept is not None
    assert frames.shape[1] > alone.shape[1]
    own_frames = frames[0][kept[0].bool()].numpy()
    np.testing.assert_array_equal(own_frames, alone[0].numpy())
    questions = [Question(each, "Classify the sound.") for each in (alone[0].numpy(), own_frames)]
    assert len({decoder.answer([question])[0] for question in questions}) == 1


COMMAND = [sys.executable, "-P", "-m"]


def _xares_train(home: Path, *, processes: int = 1, seed: int = 1, wait: float | None = None) -> int:
    """Call the command in a process of its own, by accelerate where there are several; kill it after ``wait`` s."""
    launch = ["accelerate.commands.launch", "--cpu", "--num_processes", str(processes), "--mixed_precision", "no",
              "--num_machines", "1", "--dynamo_backend", "no", "-m"] if processes > 1 else []  # fmt: skip
    call = [*COMMAND, *launch, "codec_superb", "xares", "train", "--encoder", ENCODER, "--track",
            str(home / "track.yaml"), "--seed", str(seed), "--device", "cpu"]  # fmt: skip
    with subprocess.Popen(
        call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=home
    ) as process:
        try:
            return process.wait(wait)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


@pytest.mark.slow
@pytest.mark.sample(1, among="trainings of processes")
def test_a_process_that_is_killed_and_called_again_trains_the_same_weights(home: Path) -> None:
    """SIGKILL at whatever moment, again and again, until one call comes to its end."""
    training, store = make_training(home, seed=1, steps=400, checkpoint_every=20)
    train(training, store)
    wanted = _weights(training)
    rng = np.random.default_rng(0)
    begun = time.monotonic()
    _remove(training)
    assert _xares_train(home) == 0
    whole = time.monotonic() - begun
    assert _weights(training) == wanted
    killed = 0
    while killed < amount(2, 20):
        _remove(training)
        while _xares_train(home, wait=float(rng.uniform(0.3, 0.9)) * whole) != 0:
            killed += 1
        assert _weights(training) == wanted


@pytest.mark.slow
@pytest.mark.sample(1, among="trainings of processes")
def test_two_processes_train_what_one_does(home: Path) -> None:
    """By ``accelerate launch`` on two processes of the CPU: the same losses but for rounding, and one decoder."""
    training, store = make_training(home, seed=1, steps=12)
    train(training, store)
    alone = (training.folder / "losses.csv").read_text().splitlines()[1:]
    _remove(training)
    assert _xares_train(home, processes=2) == 0
    together = (training.folder / "losses.csv").read_text().splitlines()[1:]
    values = [[float(line.split(",")[1]) for line in lines] for lines in (alone, together)]
    np.testing.assert_allclose(values[0], values[1], rtol=2e-3)
    load_trained(training.folder)
