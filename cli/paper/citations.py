"""What a run used, with the references that cards, manifests and tables give: the input of the bibliography."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codec_superb import __version__
from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.catalogue import stages
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBES
from codec_superb.base_codec.card import NOT_STATED
from codec_superb.base_codec.weights import describe_weights
from codec_superb.pipeline.comparison.results import Results
from codec_superb.pipeline.literature.read import read_description
from codec_superb.web.paper.bibtex import Cited

_DIGITS = 12
"""Of a hash in a note: a whole one is wider than a column."""


def cited_by(results: Sequence[Results]) -> list[Cited]:
    """List the program, then codecs, datasets, metrics, probes and their models, each once for each reference."""
    found = [*_program(results), *_codecs(results), *_datasets(results), *_metrics(results), *_probes(results)]
    return list(dict.fromkeys(found))


def _program(results: Sequence[Results]) -> Iterator[Cited]:
    yield Cited("benchmark", "codec-superb", "Codec-SUPERB", bibtex=str(read_description("table3")["bibtex"]))
    stamps = [stamp for entry in results for of in entry.datasets for stamp in of.provenance]
    versions = dict.fromkeys(
        f"version {stamp.tool_version}{f', commit {stamp.commit[:_DIGITS]}' if stamp.commit else ''}"
        for stamp in stamps
    )
    facts = tuple(versions) or (f"version {__version__}",)
    yield Cited(
        "program", "codec-superb", "codec-superb: a benchmark program for sound codecs",
        url="https://github.com/codec-superb/codec-superb", facts=facts,
    )  # fmt: skip


def _codecs(results: Sequence[Results]) -> Iterator[Cited]:
    for entry in results:
        card = entry.card
        facts = []
        if card.weights is not None:
            facts.append(f"weights: {describe_weights(card.weights)}")
        standard = _stated(card.standard) if card.kind in {"classical", "lossless"} else ""
        yield Cited(
            "codec", card.name, standard or card.title, reference=_stated(card.paper), url=_stated(card.homepage),
            used=_stated(card.version), facts=tuple(facts),
        )  # fmt: skip


def _stated(text: str) -> str:
    return "" if text == NOT_STATED else text


def _datasets(results: Sequence[Results]) -> Iterator[Cited]:
    for entry in results:
        for of in entry.datasets:
            info = of.info
            facts = (f"licence {info.licence}", f"state {info.manifest_hash[:_DIGITS]}")
            yield Cited(
                "dataset", info.name, info.title, bibtex=info.citation or "", url=info.homepage or "", facts=facts
            )


def _metrics(results: Sequence[Results]) -> Iterator[Cited]:
    for entry in results:
        table = entry.table()
        for key in entry.metrics:
            if key in table:
                row = table[key]
                yield Cited("metric", key, row.label, reference=row.paper, facts=(row.definition,))


def _probes(results: Sequence[Results]) -> Iterator[Cited]:
    for info in (info for entry in results for of in entry.datasets for info in of.probes):
        if info.probe in PROBES:
            row = PROBES[info.probe]
            yield Cited("application", row.key, row.label, reference=row.paper)
        yield from _models(info)


def _models(info: ProbeInfo) -> Iterator[Cited]:
    for part in filter(None, stages(info.backend)):
        row = BACKENDS.get(part.split(":", 1)[0])
        facts = (*((row.summary,) if row else ()), f"model {part}, SHA-256 {info.model_sha256[:_DIGITS]}")
        yield Cited("model", part, part, reference=row.paper if row else "", facts=facts)
