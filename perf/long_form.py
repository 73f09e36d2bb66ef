"""Measures peak memory and processor time of neural codecs on long clips, at full size and for an hour.

``python perf/long_form.py [--codec NAME ...] [--minutes 1 2 5] [--tiny] [--rate 44100]`` builds each model at its
published size with seeded random weights, saves it as a checkpoint, and encodes and decodes minutes of noise in a fresh
process that finds the checkpoint as a user does (``--weights``). The peak is the process's own (VmHWM), the clip itself
and the libraries included; its anonymous part (RssAnon) is sampled a hundred times a second and shown beside it:
the rest are the pages of the libraries and of the checkpoint, which is mapped and not copied, and which the system may
drop and read again. Speed and memory do not depend on what the weights are. ``--tiny`` takes models with a few
channels, whose chunks are as long: the cost of an hour of sound apart from the model.

``--resynth CODEC`` instead sends one clip of so many minutes through ``resynth`` in a worker of its own, from a WAV
file to the stored FLAC, and prints the worker's peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
CODECS = (
    "encodec_24k_6bps", "encodec_48k_6bps", "dac_16k", "dac_24k", "dac_44k", "mimi_8cb", "xcodec_2k",
    "higgs_audio_v2_2k", "xcodec2", "neucodec",
)  # fmt: skip
ALLOWED_MIB = 4e9 / 2**20
"""4 GB."""


def _encodec(**changes: Any) -> Any:
    from transformers import EncodecConfig, EncodecModel

    return EncodecModel(EncodecConfig(**changes))


def _dac(rate: int, codebooks: int, strides: list[int]) -> Any:
    from transformers import DacConfig, DacModel

    return DacModel(DacConfig(sampling_rate=rate, n_codebooks=codebooks, downsampling_ratios=strides))


HIGGS = {
    "target_bandwidths": [0.5, 1, 1.5, 2],
    "acoustic_model_config": {"downsampling_ratios": [8, 5, 4, 2, 3], "upsampling_ratios": [8, 5, 4, 2, 3]},
}
"""Where Higgs Audio V2's tokeniser is not what its configuration gives by default."""


def _by_default(name: str, **changes: Any) -> Any:
    import transformers

    return getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**changes))


FULL_SIZE: dict[str, Callable[[], Any]] = {
    "encodec": _encodec,
    "encodec_48k": lambda: _encodec(
        target_bandwidths=[3.0, 6.0, 12.0, 24.0], sampling_rate=48000, audio_channels=2, normalize=True,
        chunk_length_s=1.0, overlap=0.01, norm_type="time_group_norm", use_causal_conv=False,
    ),
    "dac_16k": lambda: _dac(16000, 12, [2, 4, 5, 8]),
    "dac_24k": lambda: _dac(24000, 32, [2, 4, 5, 8]),
    "dac_44k": lambda: _dac(44100, 9, [2, 4, 8, 8]),
    "mimi": lambda: _by_default("Mimi"),
    "xcodec": lambda: _by_default("Xcodec"),
    "higgs_audio_v2": lambda: _by_default("HiggsAudioV2Tokenizer", **HIGGS),
    "xcodec2": lambda: _by_default("Xcodec2"),
    "neucodec": lambda: _by_default("NeuCodec"),
}  # fmt: skip
"""The models at their published sizes, by the cards' families."""


def save(name: str, folder: Path, *, tiny: bool) -> None:
    """Write a checkpoint for codec ``name``; exit where a full-size model has not the card's number of parameters."""
    sys.path.insert(0, str(TESTS))
    import torch
    from support.codecs.checkpoints import RANDOM_KEY, save_checkpoint

    from codec_superb.base_codec.registry import card
    from codec_superb.base_codec.torchaudio_import import mend_torchaudio

    its_card = card(name)
    if tiny:
        save_checkpoint(its_card.family, folder)
        return
    mend_torchaudio()
    torch.manual_seed(0)
    model = FULL_SIZE[its_card.family]()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters != its_card.parameters:
        sys.exit(f"{name}: the card has {its_card.parameters} parameters, the model built here {parameters}")
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {RANDOM_KEY: True}))


def status(field: str) -> float:
    """Return a line of this process's ``/proc/self/status`` in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field + ":")).split()[1]) / 1024


class Watch:
    """The most anonymous memory that this process had while the watch ran, in MiB."""

    def __init__(self) -> None:
        self.most = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.01):
            self.most = max(self.most, status("RssAnon"))

    def end(self) -> float:
        """Stop looking."""
        self._ended.set()
        self._thread.join()
        return self.most


def code(name: str, folder: Path, minutes: float, rate: int) -> dict[str, float]:
    """Encode and decode ``minutes`` of noise in this process."""
    import numpy as np

    from codec_superb.base_codec.options import CodecOptions
    from codec_superb.base_codec.registry import open_codec

    codec = open_codec(name, "cpu", CodecOptions(weights=str(folder)))
    found = {"loading": status("VmHWM")}
    watch = Watch()
    clip = np.empty((1, round(minutes * 60 * rate)), dtype=np.float32)
    np.random.default_rng(0).standard_normal(out=clip, dtype=np.float32)
    clip *= np.float32(0.1)
    started = time.process_time()
    encoded = codec.encode(clip, rate)
    found |= {"encode_s": time.process_time() - started, "encoded": status("VmHWM")}
    started = time.process_time()
    resynthesis = codec.decode(encoded)
    found |= {"decode_s": time.process_time() - started, "peak": status("VmHWM"), "anonymous": watch.end()}
    if resynthesis.shape != clip.shape:
        sys.exit(f"{name}: {clip.shape} went in, {resynthesis.shape} came back")
    return found


def resynth(name: str, minutes: float, rate: int) -> float:
    """Send one clip through the pipeline with one worker; return the worker's peak in MiB."""
    import numpy as np
    import soundfile

    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.workers.executor import Executor

    with tempfile.TemporaryDirectory() as place:
        clips = Path(place, "clips")
        clips.mkdir()
        generator = np.random.default_rng(0)
        with soundfile.SoundFile(clips / "long.wav", "w", rate, 1, "PCM_16") as file:
            for _ in range(round(60 * minutes)):
                file.write(0.1 * generator.standard_normal(rate))
        with Executor(1) as pool:
            (made,) = resynthesise([name], [str(clips)], out=Path(place, "runs"), executor=pool)
    if not made.complete:
        sys.exit(f"{name}: the clip failed")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def in_fresh_process(*arguments: str) -> str:
    """Run this script again with one thread and return what it printed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout


def report(name: str, minutes: list[float], rate: int, *, tiny: bool) -> bool:
    """Print a row for each length; return whether all stay under 4 GB."""
    peaks: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        in_fresh_process("--codec", name, "--save", folder, *(["--tiny"] if tiny else []))
        for length in minutes:
            asked = ["--codec", name, "--folder", folder, "--minutes", str(length), "--rate", str(rate)]
            row = json.loads(in_fresh_process(*asked))
            peaks.append(row["peak"])
            seconds = 60 * length
            print(
                f"| {name} | {length:g} | {row['loading']:.0f} | {row['encoded']:.0f} | {row['peak']:.0f} "
                f"| {row['anonymous']:.0f} | {row['encode_s'] / seconds:.3f} | {row['decode_s'] / seconds:.3f} |",
                flush=True,
            )
    return max(peaks) <= ALLOWED_MIB


def main() -> int:
    """Print the table; exit code 1 where a codec takes more than 4 GB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codec", nargs="+", default=list(CODECS), metavar="NAME")
    parser.add_argument("--minutes", nargs="+", type=float, default=[1.0, 2.0, 5.0])
    parser.add_argument("--rate", type=int, default=44100, help="of the clip, in Hz (44100)")
    parser.add_argument("--tiny", action="store_true", help="models of a few channels")
    parser.add_argument("--resynth", metavar="NAME", help="a codec without weights, through the pipeline")
    parser.add_argument("--save", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.save is not None:
        save(given.codec[0], given.save, tiny=given.tiny)
        return 0
    if given.folder is not None:
        print(json.dumps(code(given.codec[0], given.folder, given.minutes[0], given.rate)))
        return 0
    if given.resynth is not None:
        for minutes in given.minutes:
            print(
                f"{given.resynth}, {minutes:g} minutes: {resynth(given.resynth, minutes, given.rate):.0f} MiB",
                flush=True,
            )
        return 0
    print("| codec | minutes | loaded, MiB | encoded | decoded: peak | of it anonymous | encode, s/s | decode, s/s |")
    print("|---|---|---|---|---|---|---|---|")
    fits = [report(name, given.minutes, given.rate, tiny=given.tiny) for name in given.codec]
    return int(not all(fits))


if __name__ == "__main__":
    sys.exit(main())
