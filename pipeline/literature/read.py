"""Parse the files of the published tables into typed rows, one function per table."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import CATEGORIES, Category, overall_metrics
from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable

_ORIGINAL = "None"
"""Id of the row without a codec: the ceiling of the applications."""
_TABLE3_APPLICATIONS = ("asr_wer_pct", "asv_eer_pct", "asv_mindcf", "er_accuracy_pct", "aec_map_pct")
_ULTRA_DATASETS = ("librispeech_dev_clean", "librispeech_test_clean", "aishell1")
_ULTRA_COLUMNS = ("error_rate_pct", "sim_pct", "utmos", "dnsmos_p835", "dnsmos_p808")
_TINY_DATASET = "codec_superb_tiny"
_PUBLISHED_F0 = "f0corr_praat"
"""The published F0 correlation is that variant, not ``f0corr``."""


def table3() -> PublishedTable:
    """Read Table 3 of the benchmark's paper with its Tables 6 to 8."""
    description = read_description("table3")
    by_dataset = _dataset_scores(description["datasets"])
    rows = {row["id"]: row for row in read_figures("table3")}
    original = rows.pop(_ORIGINAL)
    codecs = [_table3_codec(row, description["codecs"][key], by_dataset[key]) for key, row in rows.items()]
    datasets = {category: tuple(codecs[0].dataset_scores[category]) for category in CATEGORIES}
    return _table(description, codecs, datasets, ceiling=_numbers(original, _TABLE3_APPLICATIONS))


def _table3_codec(
    row: Mapping[str, str], about: Mapping[str, Any], by_dataset: Mapping[Category, Mapping[str, float]]
) -> PublishedCodec:
    return PublishedCodec(
        id=row["id"],
        name=about["title"],
        family=about["family"],
        kbps=float(row["kbps"]),
        sampling_rate=about["sampling_rate"],
        configuration=row["configuration"],
        runs_as=_runs_as(about),
        scores={category: float(row[f"overall_{category}"]) for category in CATEGORIES},
        dataset_scores=by_dataset,
        applications=_numbers(row, _TABLE3_APPLICATIONS),
    )


def _dataset_scores(names: Mapping[str, str]) -> dict[str, dict[Category, dict[str, float]]]:
    """Scores by codec, category and dataset; ``names`` maps the paper's names to those of the manifests."""
    table: dict[str, dict[Category, dict[str, float]]] = defaultdict(lambda: {category: {} for category in CATEGORIES})
    for row in read_figures("table3_datasets"):
        if row["dataset"] != "overall":
            category = next(category for category in CATEGORIES if category == row["category"])
            name = names.get(row["dataset"], row["dataset"])
            table[row["id"]][category][name] = float(row["overall_score"])
    return table


def tiny(paper: PublishedTable) -> PublishedTable:
    """Read the re-run on a smaller sample; ``paper`` is Table 3, whose bitrates count for the same configurations."""
    description = read_description("tiny")
    means: dict[str, dict[Category, dict[str, float]]] = defaultdict(dict)
    for row in read_figures("tiny"):
        for category in CATEGORIES:  # rows of the category `overall` average over categories, which is not done here
            if row["category"] == category:
                means[row["codec"]][category] = _numbers(row, ("stft", "mel", "pesq", "stoi", "f0corr"))
    codecs = [_tiny_codec(name, means[name], about, paper) for name, about in description["codecs"].items()]
    return _table(description, codecs, dict.fromkeys(CATEGORIES, (_TINY_DATASET,)), computed_scores=True)


def _tiny_codec(
    name: str, means: Mapping[Category, Mapping[str, float]], about: Mapping[str, Any], paper: PublishedTable
) -> PublishedCodec:
    same = about.get("same_as")
    scores = {
        category: float(dataset_score({key: np.array(value) for key, value in mine.items()}, category))
        for category, mine in means.items()
        if set(overall_metrics(category)) <= set(mine)
    }
    return PublishedCodec(
        id=name,
        name=name,
        family=about["family"],
        kbps=paper.codec(same).kbps if same else about.get("kbps"),
        sampling_rate=about["sampling_rate"],
        configuration=name,
        runs_as=_runs_as(about),
        same_as=same,
        scores=scores,
        dataset_scores={category: {_TINY_DATASET: score} for category, score in scores.items()},
        metrics={
            category: {_PUBLISHED_F0 if key == "f0corr" else key: value for key, value in mine.items()}
            for category, mine in means.items()
        },
    )


def ultraeval() -> PublishedTable:
    """Read Table 6 of UltraEval-Audio."""
    description = read_description("ultraeval")
    rows = {row["model"]: row for row in read_figures("ultraeval")}
    codecs = [_ultra_codec(rows[name], about) for name, about in description["codecs"].items()]
    return _table(description, codecs, {"speech": _ULTRA_DATASETS})


def _ultra_codec(row: Mapping[str, str], about: Mapping[str, Any]) -> PublishedCodec:
    by_dataset = {
        dataset: {
            f"ultra_{column}": value
            for column in _ULTRA_COLUMNS
            for value in _numbers(row, (f"{dataset}_{column}",)).values()
        }
        for dataset in _ULTRA_DATASETS
    }
    return PublishedCodec(
        id=row["model"],
        name=row["model"],
        family=about["family"],
        kbps=None,
        sampling_rate=about["sampling_rate"],
        configuration=row["model"],
        runs_as=_runs_as(about),
        applications={"ultra_average": float(row["average"])},
        dataset_applications=by_dataset,
    )


def _runs_as(about: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(about.get("runs_as", ()))


def _numbers(row: Mapping[str, str], columns: Sequence[str]) -> dict[str, float]:
    """Values of the columns that are not empty."""
    return {column: float(row[column]) for column in columns if row[column]}


def _table(
    description: Mapping[str, Any],
    codecs: Sequence[PublishedCodec],
    datasets: Mapping[Category, tuple[str, ...]],
    **further: Any,
) -> PublishedTable:
    fixed = {key: description[key] for key in ("name", "label", "title", "citation", "url")}
    return PublishedTable(
        **fixed, differs=tuple(description["differs"]), codecs=tuple(codecs), datasets=datasets, **further
    )


def read_description(name: str) -> dict[str, Any]:
    """Read the description of a table and its codecs from ``<name>.yaml``."""
    text = files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def read_figures(name: str) -> Sequence[dict[str, str]]:
    """Read the rows of ``<name>.csv`` as they were published."""
    text = files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
