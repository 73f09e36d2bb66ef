"""Measures neural codecs and models of probes on a graphics card, at full size with random weights; `make gpu`.

    python perf/gpu.py [--device cuda] [--codec NAME ...] [--model NAME ...] [--batch 1 2 4 12] [--seconds 5]
                       [--rounds 3] [--small]

For each model and number of clips in a batch: seconds of sound that one second codes (the best of all rounds; the first
call is not counted), the card's memory at its peak, and how far the results are from those of the CPU. Last, how much
slower `resynth` and `score` are side by side, the former on the card, the latter on all cores. Random weights compute
as long as trained ones. What is printed is Markdown for `perf/README.md`; the exit code is 1 where a difference is
beyond the tolerance. ``--device cpu --small`` runs everything on tiny models, as a test does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
import torch
from long_form import TESTS
from long_form import save as save_codec

from codec_superb.applications.catalogue import open_backend
from codec_superb.applications.interface import Item, Sound
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec

sys.path.insert(0, str(TESTS))
CODECS = ("encodec_24k_6bps", "encodec_48k_6bps", "dac_16k", "dac_44k", "mimi_8cb", "xcodec_2k")
TOKENS = 0.99
"""Share of equal tokens of the first codebook, at least: later ones code what earlier ones leave over, and a frame that
lies between two entries may round to either."""
SOUND = 1e-3
"""Largest difference of the sound that the same tokens give, of its largest sample; of an embedding likewise."""
RATE = 16000


class Row(NamedTuple):
    """One line of the table."""

    name: str
    batch: int
    times_real: float
    peak_mib: float
    agreement: str


def noise(count: int, seconds: float, rate: int) -> list[np.ndarray[Any, Any]]:
    """Return seeded clips ``(1, samples)`` whose loudness changes, so that tokens do."""
    generator = np.random.default_rng(0)
    slow = np.interp(np.arange(round(seconds * rate)), np.arange(0, seconds * rate + rate, rate / 4), _steps(seconds))
    return [(slow * generator.standard_normal((1, slow.size))).astype(np.float32) for _ in range(count)]


def _steps(seconds: float) -> np.ndarray[Any, Any]:
    return 0.1 * np.abs(np.sin(np.arange(np.arange(0, seconds + 1, 0.25).size)))


def timed(call: Callable[[], Any], device: str, rounds: int) -> tuple[Any, float, float]:
    """Return the result, the least seconds of all rounds but the first, and the peak of the card's memory in MiB."""
    result, best = call(), float("inf")
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(rounds):
        began = time.perf_counter()
        result = call()  # results are arrays of the CPU: the card has finished
        best = min(best, time.perf_counter() - began)
    return result, best, torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else 0.0


def codec_rows(name: str, given: argparse.Namespace, failed: list[str]) -> list[Row]:
    """Measure one codec."""
    with tempfile.TemporaryDirectory() as folder:
        save_codec(name, Path(folder), tiny=given.small)
        codec = open_codec(name, given.device, CodecOptions(folder))
        reference = open_codec(name, "cpu", CodecOptions(folder))
    rate = codec.card.sampling_rate
    clips = noise(max(given.batch), given.seconds, rate)
    compared = [(clip, rate) for clip in clips[:2]]
    expected = [reference.encode(*each) for each in compared]
    sounds = [reference.decode(its) for its in expected]
    tokens = float(np.mean([same(codec.encode(*each), its) for each, its in zip(compared, expected, strict=True)]))
    apart = max(map(distance, map(codec.decode, expected), sounds))
    if tokens < TOKENS or apart > SOUND:
        failed.append(name)
    rows = []
    for batch in given.batch:
        for kind, call in calls(codec, clips[:batch], rate):
            _, best, peak = timed(call, given.device, given.rounds)
            said = f"{100 * tokens:.2f} % of tokens" if kind == "encode" else f"sound {apart:.1e}"
            rows.append(Row(f"`{name}` {kind}", batch, batch * given.seconds / best, peak, said))
    codec.close()
    return rows


def calls(codec: Any, clips: Sequence[Any], rate: int) -> list[tuple[str, Callable[[], Any]]]:
    """Return encoding and decoding of a batch, apart."""
    encoded = codec.encode_batch(clips, rate)
    return [("encode", lambda: codec.encode_batch(clips, rate)), ("decode", lambda: codec.decode_batch(encoded))]


def same(one: Any, other: Any) -> float:
    """Return the share of equal tokens of the first codebook."""
    return float(np.mean(one.payload[0] == other.payload[0]))


def distance(one: Any, other: Any) -> float:
    """Return the largest difference of two arrays, of the second one's largest number."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def save_whisper(folder: Path, width: int, layers: int, heads: int) -> None:
    """Save Whisper at a published size; without them the tiny one of the tests."""
    from support.applications.recognisers import save_random_whisper

    sizes = {"d_model": width, "encoder_ffn_dim": 4 * width, "decoder_ffn_dim": 4 * width} | dict.fromkeys(
        ("encoder_layers", "decoder_layers"), layers
    )
    heads_of = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), heads)
    save_random_whisper(folder, **(sizes | heads_of | {"init_std": 0.02} if width else {}))


def save_ecapa(folder: Path, channels: int, attention: int, embedding: int) -> None:
    """Save ECAPA-TDNN at its published size."""
    from support.applications import asv

    asv.save_ecapa(folder, **({"sizes": (channels, attention, embedding)} if channels else {}))


def save_wavlm(folder: Path, width: int, layers: int, heads: int) -> None:
    """Save WavLM with its head for speakers."""
    from support.applications import asv

    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}
    asv.save_wavlm(folder, **({"sizes": {**sizes, "use_weighted_layer_sum": True}} if width else {}))


MODELS: dict[str, tuple[str, Callable[..., None], tuple[int, int, int]]] = {
    "whisper-base": ("transformers-asr", save_whisper, (512, 6, 8)),
    "whisper-large-v2": ("transformers-asr", save_whisper, (1280, 32, 20)),
    "ecapa": ("speechbrain", save_ecapa, (1024, 128, 192)),
    "wavlm-base": ("wavlm-sv", save_wavlm, (768, 12, 12)),
}
"""Backend, what saves a checkpoint, and the published sizes: width, layers and heads of Whisper's and WavLM's papers;
channels, attention and embedding of SpeechBrain's ECAPA-TDNN."""


def model_rows(name: str, given: argparse.Namespace, failed: list[str]) -> list[Row]:
    """Measure one model of a probe."""
    spec, save, sizes = MODELS[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        save(folder, *((0, 0, 0) if given.small else sizes))
        backend, reference = (opened(spec, folder, device) for device in (given.device, "cpu"))
    item = Item("clip", "speech", language="en")
    sounds = [Sound(item, clip[0]) for clip in noise(max(given.batch), given.seconds, RATE)]
    pairs = list(zip(backend.predict(sounds[:2]), reference.predict(sounds[:2]), strict=True))
    for answer in (answer for pair in pairs for answer in pair if isinstance(answer, Exception)):
        raise answer
    if isinstance(pairs[0][1], str):
        said = f"{sum(one == other for one, other in pairs)} of {len(pairs)} texts"
    else:
        apart = max(distance(*pair) for pair in pairs)
        said = f"embedding {apart:.1e}"
        if apart > SOUND:
            failed.append(name)
    rows = []
    for batch in given.batch:
        _, best, peak = timed(lambda: backend.predict(sounds[:batch]), given.device, given.rounds)  # noqa: B023 - called here
        rows.append(Row(name, batch, batch * given.seconds / best, peak, said))
    backend.close()
    return rows


def opened(spec: str, folder: Path, device: str) -> Any:
    """Return a backend with its model loaded."""
    backend = open_backend(spec, folder)
    backend.load(backend.prepare(), device, torch.get_num_threads())
    return backend


def beside(given: argparse.Namespace) -> str:
    """Return how long `resynth` on the device and `score` take alone, and at the same time."""
    name = CODECS[0]
    with tempfile.TemporaryDirectory() as place:
        clips, weights = Path(place, "clips"), Path(place, "weights")
        clips.mkdir()
        save_codec(name, weights, tiny=given.small)
        for number, clip in enumerate(noise(given.clips, given.seconds, RATE)):
            soundfile.write(clips / f"{number}.wav", clip[0], RATE)

        def resynth(out: str) -> float:
            options = ["--weights", str(weights), "--device", given.device, "--workers", "1", "--category", "speech"]
            return command(
                "resynth", "--codec", name, "--dataset", str(clips), "--out", str(Path(place, out)), *options
            )

        def score(out: str) -> float:
            return command("score", str(Path(place, out)), "--overwrite")

        resynth("first"), score("first")  # what is compiled on first use is no part of it
        alone = resynth("second"), score("second")
        with ThreadPoolExecutor(2) as pool:
            together = [pool.submit(resynth, "third"), pool.submit(score, "first")]
            took = tuple(each.result() for each in together)
    return (
        f"`{name}`, {given.clips} clips of {given.seconds:g} s: resynth {alone[0]:.1f} s, then score {alone[1]:.1f} s; "
        f"{took[0]:.1f} s and {took[1]:.1f} s side by side, {max(took) / sum(alone):.2f} of the time."
    )


def command(*arguments: str) -> float:
    """Run a command of codec-superb; return its seconds on the clock."""
    began = time.perf_counter()
    program = [sys.executable, "-c", "from codec_superb.cli.main import run; run()", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"codec-superb {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return time.perf_counter() - began


def machine(device: str) -> str:
    """Name the card, and the versions that decide its speed."""
    if device == "cpu":
        return f"The CPU with {torch.get_num_threads()} threads, torch {torch.__version__}"
    card = torch.cuda.get_device_properties(0)
    return f"{card.name} ({card.total_memory / 2**30:.0f} GiB), torch {torch.__version__}, CUDA {torch.version.cuda}"


def main() -> int:
    """Print the tables; exit code 1 where a result is too far from the CPU's, 2 where there is no card."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--codec", nargs="*", default=list(CODECS), metavar="NAME")
    parser.add_argument("--model", nargs="*", default=list(MODELS), choices=MODELS, metavar="NAME")
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 2, 4, 12])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clips", type=int, default=200, help="of the run beside scoring; 0 leaves it out")
    parser.add_argument("--small", action="store_true", help="models of a few channels")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print(
            "perf/gpu.py: expected a CUDA device that torch can use, found none; nothing was measured", file=sys.stderr
        )
        return 2
    failed: list[str] = []
    print(f"{machine(given.device)}, clips of {given.seconds:g} s:\n")
    print("| model | clips | × real time | peak, MiB | as on the CPU |\n|---|---|---|---|---|", flush=True)
    for names, measure in ((given.codec, codec_rows), (given.model, model_rows)):
        for name in names:
            for row in measure(name, given, failed):
                print(
                    f"| {row.name} | {row.batch} | {row.times_real:.0f} | {row.peak_mib:.0f} | {row.agreement} |",
                    flush=True,
                )
    if given.clips:
        print(f"\n{beside(given)}")
    if failed:
        print(f"perf/gpu.py: not as on the CPU: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
