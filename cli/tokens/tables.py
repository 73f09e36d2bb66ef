"""What ``tokens show`` prints: codecs side by side, then the codebooks of each."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.tokens.costs import SIZES
from codec_superb.applications.tokens.show import GLANCE, Shown, refuse_bytes, shown
from codec_superb.applications.tokens.table import DISTURBANCES
from codec_superb.base_codec.options import CodecOptions
from codec_superb.base_codec.registry import card as card_of
from codec_superb.base_codec.registry import configure, open_codec
from codec_superb.base_codec.weights import check_options_apply
from codec_superb.cli.console import print_table
from codec_superb.data_manifests import open_dataset
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.resynthesis.readiness import make_ready
from codec_superb.pipeline.runs.selection import select_clips
from codec_superb.pipeline.workers.devices import Device, chosen_device, refuse_device
from codec_superb.pipeline.workers.progress import Progress

Row = tuple[str, ...]
_WEIGHTS = "weights"


def refuse_model(model: str) -> None:
    """Raise ApplicationError for a language model whose size is not known, naming those that are."""
    if model not in SIZES:
        raise ApplicationError(f"expected a model of {', '.join(SIZES)}, got {model!r}")


def tokens_of(
    codecs: Sequence[str],
    dataset: str,
    options: CodecOptions,
    device: Device,
    limit: int | None,
    model: str,
    progress: Progress,
) -> list[Shown]:
    """Return what there is to say of each codec's tokens on a dataset. Raises what opening and coding them raises."""
    codecs = list(dict.fromkeys(codecs))  # named twice, shown once
    cards = [card_of(name) for name in codecs]
    refuse_device(device, cards)
    check_options_apply(options, cards)
    opened = open_dataset(dataset)  # before weights are fetched for what is not there
    clips, found = select_clips(opened, limit), []
    make_ready(codecs, options, device, progress)
    configured = [configure(name, options) for name in codecs]
    for own, _ in configured:
        refuse_bytes(own)  # before the first codec has worked
    for name, (own, taken) in zip(codecs, configured, strict=True):
        progress.start(f"{own.name} on {opened.name}", len(clips), 0)
        codec = open_codec(name, chosen_device(name, device), taken)
        try:
            found.append(shown(codec, opened, clips, progress.advance, model))
        finally:
            codec.close()
    return found


def print_codecs(found: Sequence[Shown]) -> None:
    """Print a table with a column for each codec, and the codebooks of each below."""
    trained = not any(one.random for one in found)
    facts = [[fact for fact in _facts(one) if fact[0] != _WEIGHTS or not trained] for one in found]
    rows = [(fact[0], *(of[place][1] for of in facts)) for place, fact in enumerate(facts[0])]
    print_table("", ("", *(one.codec for one in found)), rows, numbers_from=1)
    for one in found:
        head = ("codebook", "entries", "used", "entropy (bit)", "after a frame", "coded", "perplexity", "chance")
        lines = [
            (
                f"{number}", f"{book.entries}", f"{book.used}", f"{book.unigram_bits:.2f}", f"{book.after_bits:.2f}",
                f"{book.coded_bits:.2f}", f"{book.perplexity:.1f}", f"{book.chance:.1f} %",
                *(f"{book.same[key]:.1f} %" for key in GLANCE if key in book.same),
            )
            for number, book in enumerate(one.books, start=1)
        ]  # fmt: skip
        same = [DISTURBANCES[key].label for key in GLANCE if key in one.same]
        print_table(one.codec, (*head, *same), lines, numbers_from=0)


def _facts(one: Shown) -> list[Row]:
    sizes = sorted({book.entries for book in one.books})
    entries = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    cost = one.cost
    rows = [
        ("clips", f"{one.clips} ({one.seconds:.1f} s)"),
        (_WEIGHTS, "random: untrained" if one.random else "trained"),
        ("codebooks", f"{len(one.books)} of {entries}"),
        ("frames a second", f"{one.frame_rate:.2f}"),
        ("tokens a second", f"{one.tokens_per_second:.1f}"),
        ("nominal kbps", f"{one.nominal_kbps:.3f}"),
        ("measured kbps", "not counted" if one.kbps is None else f"{one.kbps:.3f}"),
        ("entropy-coded kbps", f"{one.entropy_kbps:.3f}{'' if one.trained_on_others else ' (no other clips)'}"),
        ("entries used", f"{one.use:.1f} %"),
        ("perplexity", f"{one.perplexity:.1f}"),
        *((f"same: {DISTURBANCES[key].label} (first)", _same(one, key)) for key in GLANCE),
        ("same: by chance", f"{one.chance:.1f} %"),
        *((METRICS[key].label, f"{value:.3f}") for key, value in one.metrics.items() if key in METRICS),
        ("tokens a minute", f"{cost.tokens_per_minute:,.0f}"),
        (f"cache a minute ({one.model})", f"{cost.cache_mb_per_minute:.1f} MB"),
        ("the same, a frame a position", f"{cost.cache_mb_per_minute_frames:.1f} MB"),
        ("context of an hour", f"{cost.context_of_an_hour:,}"),
        ("the same, a frame a position", f"{cost.context_of_an_hour_frames:,}"),
    ]
    return [(str(name), str(value)) for name, value in rows]


def _same(one: Shown, key: str) -> str:
    return f"{one.same[key]:.1f} % ({one.same_first[key]:.1f} %)" if key in one.same else "not on silence"


def print_csv(found: Sequence[Shown]) -> None:
    """Write a line for each codec to stdout, all digits; codebooks are left to JSON."""
    rows = [_flat(one) for one in found]
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(sys.stdout, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _flat(one: Shown) -> dict[str, object]:
    said = asdict(one)
    row: dict[str, object] = {"codebooks": len(one.books)}
    for name, value in said.items():
        if name == "cost":
            row |= one.cost._asdict()
        elif isinstance(value, dict):
            row |= {f"{name}.{key}": part for key, part in value.items() if name != "failed"}
        elif name != "books":
            row[name] = value
    return {"codec": one.codec, **row, "failed": len(one.failed)}
