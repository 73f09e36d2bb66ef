"""Published encoders as tables, a table a task: means over locales, how many there are, and which are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codec_superb.web.site.cells import TextCell, TextTable
from codec_superb.web.text import count, number

KINDS = {"oracle": "text oracle", "cascade": "cascade", "sound": "hears the sound", "": "imported"}
"""In the order of the rows: what an encoder is given."""
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """One metric of one encoder on one task."""

    title: str
    kind: str
    """``oracle``, ``cascade``, ``sound``; '' for an imported one."""
    source: str
    """Where an imported one comes from."""
    mean: float
    lowest: tuple[str, float]
    highest: tuple[str, float]
    n: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PublishedTask:
    """One task with the encoders that have results of its main metric."""

    super_task: str
    label: str
    metric: str
    higher_is_better: bool
    lines: tuple[PublishedLine, ...]

    def table(self) -> TextTable:
        """Make the table: oracles first, then cascades and what hears, the best first among equals."""
        sign = -1 if self.higher_is_better else 1
        kinds = list(KINDS)
        ordered = sorted(self.lines, key=lambda line: (kinds.index(line.kind), sign * line.mean, line.title))
        many = any(line.n > 1 for line in self.lines)
        heads = ("Encoder", "Mean", "Locales", "Least", "Greatest") if many else ("Encoder", "Value")
        direction = "higher is better" if self.higher_is_better else "lower is better"
        rows = tuple(_row(line, many=many) for line in ordered)
        return TextTable(f"{self.label}: {self.metric}, {direction}", tuple(map(TextCell, heads)), rows)


@dataclass(frozen=True, slots=True)
class ReconstructionLine:
    """One line of the table of reconstruction that nobody can compute again."""

    place: str
    mean: float
    lowest: tuple[str, float] | None
    highest: tuple[str, float] | None


def reconstruction_table(label: str, lines: Sequence[ReconstructionLine]) -> TextTable:
    """Make the table as printed."""
    heads = ("Recordings", "Mean", "Least", "Greatest")
    rows = tuple(
        (TextCell(line.place), TextCell(f"{line.mean:,.0f}"), _large(line.lowest), _large(line.highest))
        for line in lines
    )
    return TextTable(f"{label}: Fréchet distance of EnCodec, lower is better", tuple(map(TextCell, heads)), rows)


def _row(line: PublishedLine, *, many: bool) -> tuple[TextCell, ...]:
    name = TextCell(line.title, f"imported: {line.source}" if line.source else KINDS[line.kind])
    mean = TextCell(number(line.mean, _DECIMALS))
    if not many:
        return (name, mean)
    lacks = f"without {', '.join(line.missing)}" if line.missing else ""
    whole = (
        f"{line.n} of {line.n + len(line.missing)}" if line.missing else count(line.n, "locale") if line.n > 1 else ""
    )
    ends = (_end(line.lowest), _end(line.highest)) if line.n > 1 else (TextCell("–"), TextCell("–"))
    return (name, mean, TextCell(whole or "all together", "", None, lacks), *ends)


def _end(end: tuple[str, float]) -> TextCell:
    return TextCell(number(end[1], _DECIMALS), end[0])


def _large(end: tuple[str, float] | None) -> TextCell:
    return TextCell("–") if end is None else TextCell(f"{end[1]:,.0f}", end[0])
