"""A small track: tones of two pitches with the labels of animals, log-mel frames, a decoder that learns in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile
import yaml

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.embed.frames_store import FramesStore
from codec_superb.applications.xares.configuration import DecoderConfiguration, configuration_named, track_named
from codec_superb.applications.xares.examples import examples_of
from codec_superb.applications.xares.language_model import find_language_model
from codec_superb.applications.xares.training import Training

TONES = {"cat": 400.0, "dog": 1800.0}
ENCODER = "log-mel-frames"
SMALL = {
    "decoder": "small",
    "shape": {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
    "pooling": 8, "standardise": True, "steps": 60, "batch": 8, "rate": 0.01, "warmup": 5, "new_tokens": 8,
    "checkpoint_every": 10,
}  # fmt: skip


def write_tones(folder: Path, of_each: int = 12, seed: int = 0) -> Path:
    """Write half a second of a tone in noise for each clip, with its label."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["path,category,events"]
    for name, pitch in TONES.items():
        for number in range(of_each):
            time = np.arange(8000) / 16000
            sound = 0.3 * np.sin(2 * np.pi * pitch * rng.uniform(0.9, 1.1) * time) + 0.02 * rng.standard_normal(8000)
            soundfile.write(folder / f"{name}{number}.wav", sound.astype(np.float32), 16000)
            lines.append(f"{name}{number}.wav,audio,{name}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder


def write_track(folder: Path, *datasets: Path) -> Path:
    """Write a track with the one task ``xares_sound`` on these datasets."""
    said = {
        "track": "tones", "title": "Tones", "decoder": str(write_decoder(folder)),
        "tasks": {"xares_sound": {"weight": 1.0, "train": [str(each) for each in datasets]}},
    }  # fmt: skip
    file = folder / "track.yaml"
    file.write_text(yaml.safe_dump(said))
    return file


def write_decoder(folder: Path, **changed: object) -> Path:
    """Write the small decoder."""
    file = folder / "decoder.yaml"
    file.write_text(yaml.safe_dump({**SMALL, **changed}))
    return file


def make_training(folder: Path, seed: int = 42, **changed: object) -> tuple[Training, FramesStore]:
    """Return the training of the small decoder on tones below ``folder``, with the frames of its encoder."""
    sounds = folder / "tones"
    if not sounds.is_dir():
        write_tones(sounds)
    track = track_named(str(write_track(folder, sounds)))
    configuration: DecoderConfiguration = configuration_named(str(write_decoder(folder, **changed)))
    encoder = open_backend(ENCODER)
    store = FramesStore(encoder, encoder.prepare(), "cpu", 1)
    language = find_language_model(configuration)
    return Training(track, configuration, language, examples_of(track), seed, store.digest), store
