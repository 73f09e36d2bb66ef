"""Codes the clips of ``mini`` at one fixed rate and depth, and at the clips' own, and prints what that changes.

    python perf/native_rates.py [--codec opus_16k 'mp3_*'] [--dataset mini] [--workers 2]

Before the arrow the codec runs at the sampling rate of its card and in one sample format. After it, it gets the clip at
the nearest rate that its encoder takes, and in 16 bits where the clip has no more: by its card, or by one that is
changed here. Only clips are coded that are handed over in another way then, and that both ways can code.
``docs/decisions/0015-native-rates.md`` keeps the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from statistics import fmean
from typing import NamedTuple

import av

from codec_superb.base_codec import registry
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CodecError
from codec_superb.base_codec.families.lc3 import Lc3Codec
from codec_superb.base_codec.families.libav import LibavCodec
from codec_superb.base_codec.families.pcm import is_16_bit
from codec_superb.base_codec.fitting import Audio, nearest_rate
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.score import prepare, score_pair
from codec_superb.pipeline.runs.dataset_access import load_mono
from codec_superb.pipeline.runs.selection import select_clips

FAMILIES = ("opus", "aac", "mp3", "mp2", "ac3", "eac3", "wma", "sbc", "lc3", "flac", "alac", "wavpack")
"""Codecs whose encoder takes several rates at one bitrate, or several sample formats; the others have one of each."""
LC3_RATES = (8000, 16000, 24000, 32000, 48000)
SIXTEEN_BIT = {"opus": "s16", "mp3": "s16p", "flac": "s16", "alac": "s16p", "wavpack": "s16p"}
"""Format of 16 bits of encoders that take more besides."""
METRICS = {"speech": ("pesq", "stoi", "mel")}


class Coded(NamedTuple):
    """One clip through one codec: kbps, and metrics by key."""

    kbps: float
    values: dict[str, float]


def fixed(card: Card) -> Card:
    """Return the card of the codec at its own rate and in one format."""
    settings = {key: value for key, value in card.settings.items() if key != "pcm16_format"}
    return card.model_copy(update={"encoder_rates": (), "settings": settings})


def own(card: Card, audio: Audio, rate: int) -> Card:
    """Return the card of the codec at the rate it takes nearest to a clip's, in 16 bits where the clip is."""
    if card.encoder_rates:
        return card
    settings = dict(fixed(card).settings)
    if card.family in SIXTEEN_BIT and is_16_bit(audio):
        settings["sample_format"] = SIXTEEN_BIT[card.family]
    if card.input_rate:
        return card.model_copy(update={"settings": settings})
    if card.family == "lc3":
        taken = nearest_rate(rate, LC3_RATES)
        return card.model_copy(update={"sampling_rate": taken, "delay_samples": taken // 400})
    rates = av.Codec(settings["encoder"], "w").audio_rates
    taken = nearest_rate(rate, tuple(rates)) if rates else rate
    delay = card.delay_samples
    if card.family == "wma":  # its delay is a frame, which is shorter at low rates
        delay = 512 if taken <= 16000 else 1024 if taken <= 22050 else 2048
    return card.model_copy(update={"sampling_rate": taken, "delay_samples": delay, "settings": settings})


def coded(card: Card, audio: Audio, rate: int, category: str) -> Coded:
    """Code a clip and score it. Raises CodecError where the encoder does not take it."""
    codec = (Lc3Codec if card.family == "lc3" else LibavCodec)(card)
    encoded = codec.encode(audio, rate)
    scores = score_pair(prepare(audio[0], rate), codec.decode(encoded)[0], rate, METRICS.get(category, ("mel",)))
    values = {key: result.value for key, result in scores.items() if result.value is not None}
    return Coded(encoded.bits / audio.size * rate / 1000, values)


def measure(name: str, dataset_name: str) -> list[str]:
    """Return the lines of one codec: a line for each category and rate of clips."""
    card, dataset = registry.card(name), open_dataset(dataset_name)
    groups: dict[tuple[str, int], list[tuple[Coded, Coded]]] = {}
    for clip_id in select_clips(dataset, None):
        clip = dataset.clip(clip_id)
        mono, rate = load_mono(clip)
        audio = mono[None]
        other = own(card, audio, rate)
        if other == fixed(card):
            continue
        try:
            pair = coded(fixed(card), audio, rate, clip.category), coded(other, audio, rate, clip.category)
        except CodecError:  # a bitrate that the encoder lacks at that rate
            continue
        groups.setdefault((clip.category, rate), []).append(pair)
    return [_line(name, *group, pairs) for group, pairs in sorted(groups.items())]


def _line(name: str, category: str, rate: int, pairs: Sequence[tuple[Coded, Coded]]) -> str:
    cells = [name, f"{category}, {rate / 1000:g} kHz", str(len(pairs))]
    cells.append(" → ".join(f"{fmean(pair[side].kbps for pair in pairs):.4g}" for side in (0, 1)))
    for key in ("pesq", "stoi", "mel"):
        both = [pair for pair in pairs if key in pair[0].values and key in pair[1].values]
        means = (f"{fmean(pair[side].values[key] for pair in both):.3f}" for side in (0, 1) if both)
        cells.append(" → ".join(means) or "–")
    return f"| {' | '.join(cells)} |"


def chosen(patterns: Sequence[str]) -> Iterator[str]:
    """Return the names of codecs of these families, or those that match."""
    for name in registry.names():
        if registry.card(name).family in FAMILIES and any(fnmatch(name, pattern) for pattern in patterns):
            yield name


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--codec", nargs="+", default=["*"])
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    names = list(chosen(given.codec))
    print("| codec | clips | n | kbps | PESQ ↑ | STOI ↑ | mel ↓ |\n|---|---|---|---|---|---|---|", flush=True)
    with ProcessPoolExecutor(given.workers) as pool:
        for lines in pool.map(measure, names, [given.dataset] * len(names)):
            print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
