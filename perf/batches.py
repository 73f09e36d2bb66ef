"""Measures the gain of batches: full-size neural codecs with random weights on a dataset, single clips and batches.

    python perf/batches.py [--codec encodec mimi dac] [--dataset mini] [--limit N] [--batch 60] [--device cpu]
                           [--rounds 2]

Batches are planned as ``resynth`` plans them. On a CPU one thread computes, as in a worker, and seconds are those of
the processor, which other programs disturb little; on a GPU they are wall-clock seconds. The least of all
rounds counts. Random weights compute as long as trained ones.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import torch

from codec_superb.base_codec.interface import Codec
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import open_codec
from codec_superb.data_manifests import open_dataset
from codec_superb.pipeline.resynthesis.batches import plan_batches
from codec_superb.pipeline.runs.dataset_access import load_mono
from codec_superb.pipeline.runs.selection import select_clips

NAMES = {"encodec": "encodec_24k_6bps", "mimi": "mimi_8cb", "dac": "dac_16k"}


def _model(family: str) -> Any:
    """Build the published size of a model; the configurations' defaults are those of EnCodec 24 kHz and Mimi."""
    import transformers

    if family == "encodec":
        return transformers.EncodecModel(transformers.EncodecConfig())
    if family == "mimi":
        return transformers.MimiModel(transformers.MimiConfig())
    config = transformers.DacConfig(sampling_rate=16000, n_codebooks=12, downsampling_ratios=[2, 4, 5, 8])
    return transformers.DacModel(config)


def _code(codec: Codec, groups: Sequence[Sequence[Any]], clock: Any) -> float:
    """Encode and decode groups of ``(audio, rate)``; return the seconds that took."""
    began = clock()
    for group in groups:
        if len(group) == 1:
            codec.decode(codec.encode(*group[0]))
        else:
            codec.decode_batch(codec.encode_batch([audio for audio, _ in group], group[0][1]))
    return float(clock() - began)


def _measure(family: str, given: argparse.Namespace) -> tuple[int, float, float, float]:
    """Return the number of clips, seconds of sound, and seconds of computing clip by clip and in batches."""
    dataset = open_dataset(given.dataset)
    clips = [dataset.clip(clip) for clip in select_clips(dataset, given.limit)]
    read = {clip.id: load_mono(clip) for clip in clips}
    sounds = {clip: (audio[None], rate) for clip, (audio, rate) in read.items()}
    together = [[sounds[clip] for clip in batch] for batch in plan_batches(clips, given.batch)]
    alone = [[sound] for sound in sounds.values()]
    clock = time.process_time if given.device == "cpu" else time.perf_counter
    with tempfile.TemporaryDirectory() as folder:
        _model(family).save_pretrained(folder)
        codec = open_codec(NAMES[family], given.device, CodecOptions(folder))
    _code(codec, alone[:2], clock)
    rounds = [(_code(codec, alone, clock), _code(codec, together, clock)) for _ in range(given.rounds)]
    seconds = sum(audio.size / rate for audio, rate in read.values())
    return len(clips), seconds, min(one for one, _ in rounds), min(two for _, two in rounds)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--codec", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--batch", type=float, default=60.0)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if given.device == "cpu":
        torch.set_num_threads(1)
    print("| codec | clips | sound s | clip by clip s | batches s | gain |\n|---|---|---|---|---|---|")
    for family in given.codec:
        clips, sound, alone, together = _measure(family, given)
        cells = (NAMES[family], clips, f"{sound:.1f}", f"{alone:.2f}", f"{together:.2f}", f"{alone / together:.2f}×")
        print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
