"""Our application metrics as results in MSEB's format: which is which is data, ``exchange.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from codec_superb.applications.mseb.result_json import FLOPS, SIZE, MsebDataset, MsebResult, MsebScore, MsebTask
from codec_superb.applications.probe import ProbeMetric
from codec_superb.applications.results import ApplicationAggregate

SPLIT = "test"
UNKNOWN_LANGUAGE = "und"  # ISO 639-2 and BCP 47: undetermined


class MsebName(NamedTuple):
    """A task in MSEB's words."""

    type: str
    """``PassageInLangRetrieval``."""
    sub_task: str
    main: str
    """MSEB's main metric of it."""
    task: str = ""
    """What its name has in place of the type; '' for the type."""


class MsebMetric(NamedTuple):
    """A metric in MSEB's words."""

    metric: str
    max: float | None
    """Upper bound; None where there is none."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """What is said of an exported encoder: a codec with the models that listened to its resyntheses."""

    codec: str
    backend: str
    """Models that answered: ``faster-whisper:tiny.en+minilm``."""
    mean_bytes: float | None
    """Mean size of the codec's payload of a clip; None where it is not known."""
    flops: float | None = None
    """Operations to encode; None where they were not measured."""
    url: str | None = None

    @property
    def name(self) -> str:
        """Name of the encoder and of its folder: letters, digits, ``.``, ``-`` and ``_``."""
        text = f"{self.codec}_{self.backend}"
        return "".join(letter if letter.isalnum() or letter in ".-_" else "_" for letter in text).lstrip(".")


@cache
def _table() -> Mapping[str, Any]:
    text = files(__package__).joinpath("exchange.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def mseb_name(probe: str) -> MsebName | None:
    """Return the task that a probe is; None for one that MSEB has not."""
    found = _table()["probes"].get(probe)
    return None if found is None else MsebName(**found)


def mseb_metric(probe: str, figure: str) -> MsebMetric | None:
    """Return the metric that a figure of a probe is; None for one that MSEB has not."""
    group = probe.split("_")[1] if probe.startswith("mseb_") else ""
    found = _table()["metrics"].get(group, {}).get(figure.removeprefix(f"{probe}_"))
    return None if found is None else MsebMetric(**found)


def main_scores() -> dict[str, tuple[str, str]]:
    """Return super task and main metric by MSEB's type of task: ``QueryReranking`` is ``reranking``, ``MAP``."""
    return {row["type"]: (probe.split("_")[1], row["main"]) for probe, row in _table()["probes"].items()}


def task_name(dataset: str, of_type: str) -> str:
    """Return MSEB's name of the task of a type on one of our datasets, in its manner for a dataset that it has not.

    ``svq_en_us``, ``PassageInLangRetrieval`` give ``SVQEnUsPassageInLangRetrieval``.
    """
    known = _dataset(dataset)
    if known is None:
        return f"{_capitals(dataset)}{of_type}"
    part = dataset.removeprefix(known["starts"])
    if "locales" in known:
        return f"{known['task']}{_capitals(part)}{of_type}"
    first, second = (of_type, part.upper()) if of_type == "Clustering" else (part.upper(), of_type)
    return f"{known['task']}{first}{second}"


def language_of(dataset: str) -> str:
    """Return the tag of a dataset that is named after its locale (``svq_ar_x_gulf`` is ``ar-x-gulf``), else ``und``."""
    known = _dataset(dataset)
    if known is None or "locales" not in known:
        return UNKNOWN_LANGUAGE
    return _locales_by_name(known["locales"])[dataset.removeprefix(known["starts"])]


def locales(name: str) -> tuple[str, ...]:
    """Return the tags of a list of locales: ``in_language``, ``cross_language``, ``svq``, ``speech_massive``."""
    return tuple(_table()["locales"][name])


def exported(
    encoding: Encoding, aggregates: Sequence[ApplicationAggregate], figures: Mapping[str, ProbeMetric]
) -> dict[str, list[MsebResult]]:
    """Return the results of one codec's resyntheses by MSEB's name of the task, a result for each slice, pooled first.

    Aggregates over several datasets, of probes that MSEB has not and without a value are left out; ``figures`` are the
    metrics by key. Counts, intervals and the ceiling, for which the format has no field, are in ``task_specific_data``.
    """
    groups: dict[tuple[str, str, str], list[ApplicationAggregate]] = {}
    for found in aggregates:
        if found.dataset and mseb_name(found.probe) and mseb_metric(found.probe, found.figure):
            groups.setdefault((found.dataset, found.probe, found.slice), []).append(found)
    results: dict[str, list[MsebResult]] = {}
    for (dataset, probe, part), members in sorted(groups.items()):
        scores = [_score(each, figures[each.figure]) for each in members if each.resynthesis.value is not None]
        if scores:
            result = _result(encoding, dataset, probe, part, scores, members)
            results.setdefault(result.task_metadata.name, []).append(result)
    return results


def _score(found: ApplicationAggregate, figure: ProbeMetric) -> MsebScore:
    metric = mseb_metric(found.probe, found.figure)
    value = found.resynthesis.value
    assert metric is not None
    assert value is not None
    share = value / 100 if figure.unit == "%" else value
    description = f"{figure.label}. {figure.definition}"
    differs = _table()["differs"].get(metric.metric, "")
    # A sum of weighted shares may be 1 and a few ulps
    bounded = max(0.0, share if metric.max is None else min(share, metric.max))
    return MsebScore(metric=metric.metric, description=f"{description} {differs}".strip(), value=bounded, min=0.0,
                     max=metric.max)  # fmt: skip


def _result(
    encoding: Encoding, dataset: str, probe: str, part: str, scores: Sequence[MsebScore],
    members: Sequence[ApplicationAggregate],
) -> MsebResult:  # fmt: skip
    name = mseb_name(probe)
    assert name is not None
    declared = [score.model_copy(update={"value": 0.0}) for score in scores]
    task = MsebTask(
        name=task_name(dataset, name.task or name.type),
        description=f"{name.type} on sound that {encoding.codec} resynthesised.",
        reference="https://arxiv.org/abs/2602.07143",
        type=name.type,
        category="audio" if language_of(dataset) == UNKNOWN_LANGUAGE else "speech",
        main_score=name.main,
        revision="1.0.0",
        dataset=_mseb_dataset(dataset),
        scores=declared,
        eval_splits=[SPLIT],
        eval_langs=[language_of(dataset)],
        domains=["speech"],
        task_subtypes=[probe.split("_")[1]],
    )
    return MsebResult(
        name=encoding.name,
        sub_task_name=f"{name.sub_task}:{part}" if part else name.sub_task,
        task_metadata=task,
        scores=[*scores, *_appended(encoding)],
        url=encoding.url,
        base_model=encoding.backend,
        tags=["codec_resynthesis"],
        task_specific_data={each.figure: _counts(each) for each in members},
    )


def _appended(encoding: Encoding) -> list[MsebScore]:
    """Return what MSEB appends to all tasks; what was not measured is absent: 0 would say that it costs nothing."""
    found = (
        (SIZE, "Mean size of the codec's payload of a clip.", encoding.mean_bytes),
        (FLOPS, "Operations to encode, a multiplication with addition as two.", encoding.flops),
    )
    return [
        MsebScore(metric=metric, description=says, value=value, min=0.0)
        for metric, says, value in found
        if value is not None
    ]


def _counts(found: ApplicationAggregate) -> dict[str, Any]:
    """Return what the format has no field for, in our own unit."""
    sides = ("reference", "resynthesis", "loss")
    return {name: getattr(found, name) for name in ("n", "left_out", "failed")} | {
        side: getattr(found, side).model_dump() for side in sides
    }


def _dataset(dataset: str) -> Mapping[str, Any] | None:
    """Find the collection of datasets that one is of; None for one that only begins like it (``svq_ten``)."""
    for row in _table()["datasets"]:
        part = dataset.removeprefix(row["starts"])
        if dataset.startswith(row["starts"]) and ("locales" not in row or part in _locales_by_name(row["locales"])):
            found: Mapping[str, Any] = row
            return found
    return None


def _locales_by_name(name: str) -> Mapping[str, str]:
    """Return the tags by the end of a dataset's name: ``ar_x_gulf`` is ``ar-x-gulf``."""
    return {tag.lower().replace("-", "_"): tag for tag in locales(name)}


def _mseb_dataset(dataset: str) -> MsebDataset:
    known = _dataset(dataset)
    if known is None:
        return MsebDataset(path=dataset, revision="1.0.0", name=dataset)
    return MsebDataset(path=known["path"], revision="1.0.0", name=known["name"])


def _capitals(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
