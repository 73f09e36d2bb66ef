"""How the tokens of codecs were asked about: what most senders have is shown, what was asked otherwise is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from codec_superb.web.application_rows import differences, settings_text
from codec_superb.web.applications import application_of
from codec_superb.web.figures.layout import Figure
from codec_superb.web.figures.remote import tell_above
from codec_superb.web.rows import ApplicationRow, CodecResult
from codec_superb.web.senders import most_sent
from codec_superb.web.site.tokens.board import Tokens
from codec_superb.web.text import count


class Other(NamedTuple):
    """A probe of one codec that was asked otherwise than most senders did."""

    probe: str
    label: str
    result: CodecResult
    differs: str


class Asked(NamedTuple):
    """The codecs of one dataset, as most senders asked about them."""

    codecs: Sequence[Tokens]
    """With the figures alone that may be compared."""
    usual: list[tuple[str, str]]
    """Name of each probe, and its settings."""
    others: list[Other]

    @property
    def apart(self) -> str:
        """Return how many codecs have figures that were asked otherwise."""
        return _codecs(self.others)


def asked_alike(codecs: Sequence[Tokens]) -> Asked:
    """Keep of each probe the figures of the model, version and settings that most senders have, and tell the others."""
    probes: dict[str, list[ApplicationRow]] = {}
    for _, rows in codecs:
        for row in rows.values():
            probes.setdefault(row.numbers.probe, []).append(row)
    usual = {probe: most_sent((row.model, row.sender or row.codec) for row in rows) for probe, rows in probes.items()}
    labels = {probe: _label(rows[0]) for probe, rows in probes.items()}
    found, others = [], []
    for result, rows in codecs:
        own = {key: row for key, row in rows.items() if row.model == usual[row.numbers.probe]}
        if own:
            found.append((result, own))
        apart = {row.numbers.probe: row.model for key, row in rows.items() if key not in own}
        others += [Other(of, labels[of], result, differences(model, usual[of])) for of, model in apart.items()]
    return Asked(found, [(labels[probe], settings_text(model)) for probe, model in usual.items()], others)


def tell_others(figure: Figure, others: Sequence[Other], figures: Collection[str]) -> Figure:
    """Count above a chart of ``figures`` the codecs that it lacks since they were asked otherwise.

    Which they are and what differs stands in ``meta`` of the layout, for whoever reads the chart by program.
    """
    probes = {of.probe.key for key in figures if (of := application_of(key)).probe}
    if lacking := [other for other in others if other.probe in probes]:
        tell_above(figure["layout"], f"{_codecs(lacking)} asked with other settings: not drawn")
        figure["layout"]["meta"] = {
            "other_settings": [
                {"codec": of.result.codec, "source": of.result.source, "probe": of.probe, "differs": of.differs}
                for of in lacking
            ]
        }
    return figure


def _codecs(others: Sequence[Other]) -> str:
    return count(len({other.result.codec for other in others}), "codec")


def _label(row: ApplicationRow) -> str:
    probe = application_of(row.numbers.figure).probe
    return probe.label if probe else row.numbers.probe
