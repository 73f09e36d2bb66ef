"""Details of application metrics: clips, pairs and counted errors, the model and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codec_superb.metrics.results import Score
from codec_superb.web.applications import Application, application_of
from codec_superb.web.quantity import Quantity
from codec_superb.web.rows import ApplicationRow, ProbeModel
from codec_superb.web.text import MISSING, interval, number

LABELS = {"text": "a transcript", "speaker": "a speaker", "emotion": "an emotion", "events": "its sound events"}
"""The label of a clip that each probe requires, in words."""
_SIDED = ("reference.", "resynthesis.")


@dataclass(frozen=True, slots=True)
class NumbersTable:
    """Ready text: the first column names codecs or datasets, the others hold numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def numbers_table(rows: Sequence[ApplicationRow], names: Mapping[str, str], first: str = "Codec") -> NumbersTable:
    """Write all numbers of rows of one figure; ``names`` gives what the first column says, by codec."""
    fields = _counted(rows)
    pairs, short = any(row.numbers.pairs for row in rows), any(row.short for row in rows)
    heads = [first, "Original", "Resynthesis", "Loss", "Clips", "Left out", "Failed"]
    heads += ["Pairs"] if pairs else []
    heads += ["Below 2 s, repeated"] if short else []
    tested = any(row.numbers.mcnemar_p is not None for row in rows)
    return NumbersTable(
        heads=(*heads, *(name.capitalize() for name in fields), *(["McNemar p"] if tested else [])),
        rows=tuple(
            (names[row.codec], *_numbers(row, fields, pairs=pairs, short=short), *([_p(row)] if tested else []))
            for row in rows
        ),
    )


def _numbers(row: ApplicationRow, fields: Sequence[str], *, pairs: bool, short: bool) -> list[str]:
    numbers, quantity = row.numbers, application_of(row.numbers.figure).quantity
    clips = [numbers.n, numbers.left_out, numbers.failed]
    clips += [numbers.pairs] if pairs else []
    clips += [row.short] if short else []
    return [
        with_interval(numbers.reference, quantity),
        with_interval(numbers.resynthesis, quantity),
        signed(numbers.loss, quantity),
        *(f"{amount:,}" for amount in clips),
        *(_amounts(numbers.totals, name) for name in fields),
    ]


def _p(row: ApplicationRow) -> str:
    found = row.numbers.mcnemar_p
    return MISSING if found is None else f"{found:.3g}"


def _counted(rows: Sequence[ApplicationRow]) -> list[str]:
    """Names of what is counted, without the side."""
    return list(dict.fromkeys(key.rpartition(".")[2] for row in rows for key in row.numbers.totals))


def _amounts(totals: Mapping[str, float], name: str) -> str:
    """Write a count, or that on the original and that on the resynthesis."""
    if name in totals:
        return f"{totals[name]:,.0f}"
    return " → ".join(f"{totals[side + name]:,.0f}" for side in _SIDED if side + name in totals) or MISSING


def with_interval(score: Score, quantity: Quantity) -> str:
    """Write a value with its interval."""
    return f"{quantity.write(score.value)} {interval(score.low, score.high, quantity.decimals)}".rstrip()


def signed(loss: Score, quantity: Quantity, *, ends: bool = True) -> str:
    """Write a loss with its sign and, unless without ``ends``, its interval: ``+2.10 [1.05, 3.20]``."""
    if loss.value is None:
        return MISSING
    text = number(loss.value, quantity.decimals)
    sign = "+" if loss.value > 0 and text.strip("0.") else ""
    return f"{sign}{text} {interval(loss.low, loss.high, quantity.decimals) if ends else ''}".rstrip()


def model_facts(application: Application, model: ProbeModel) -> list[tuple[str, str]]:
    """Describe the conditions of a result: model, hash, settings, clips that take part.

    Name-value pairs.
    """
    facts = [
        ("Model", model.backend + (", untrained (random) weights: says nothing about codecs" if model.random else ""))
    ]
    facts += [("SHA-256 of the model", model.sha256)] if model.sha256 else []
    facts += [(name.replace("_", " ").capitalize(), value) for name, value in model.all_settings]
    probe = application.probe
    if probe is not None:
        needs = " and ".join(LABELS.get(need, need.removeprefix("extra:")) for need in probe.labels)
        needs = f", those with {needs}" if needs else ""
        facts += [("Takes part", f"clips of {', '.join(probe.categories)}{needs}")]
        facts += [("Definition", f"version {model.version or probe.version}; {probe.paper}")]
    return facts
