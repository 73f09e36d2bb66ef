"""The average of UltraEval-Audio over its three datasets, from the figures of one codec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from codec_superb.applications.table import COMPOSITES, probe_of_metric
from codec_superb.applications.ultra.average import DatasetMetrics, average
from codec_superb.applications.ultra.protocol import DATASETS, UltraDataset, protocol_deviations
from codec_superb.pipeline.aggregates.estimate import ClusteredEstimate
from codec_superb.pipeline.statistics.jackknife import Jackknife

ULTRA: Final = COMPOSITES["ultra_average"]
NEEDED: Final = tuple(frozenset((row.name, key) for key in row.needed) for row in DATASETS)
"""Dataset and figure of all that the average is made of, for each dataset."""

Backends = Mapping[tuple[str, str], str]
"""By dataset and probe: the model that answered."""


def ultra_average(
    estimates: Mapping[tuple[str, str], ClusteredEstimate], backends: Backends
) -> ClusteredEstimate | None:
    """Average the nine terms, on all clips and without each group of clusters; by dataset and figure in ``estimates``.

    None where one is missing or without a value, or was not measured with a model of the published table: only
    then is it comparable with the published averages.
    """
    places = [place for needed in NEEDED for place in needed]
    models = {(name, probe_of_metric(key).key) for name, key in places}
    parts = {place: estimates[place] for place in places if place in estimates}
    whole = len(parts) == len(places) and all(np.isfinite(part.found.point).all() for part in parts.values())
    if not whole or not models <= backends.keys() or protocol_deviations(backends):
        return None
    points = [{key: parts[row.name, key].found.point for key in row.needed} for row in DATASETS]
    tables, shares = [], []
    for place, row in enumerate(DATASETS):
        own = {key: parts[row.name, key].found for key in row.needed}
        groups = max(len(found.shares[0]) for found in own.values())
        # figures of one dataset are without the same clusters, those of the others are whole
        rest = [{key: np.broadcast_to(value, (groups, 2)) for key, value in whole.items()} for whole in points]
        # a figure that has no clip of the last groups is the same without them
        rest[place] |= {key: np.vstack([found.left_out[0], rest[place][key]])[:groups] for key, found in own.items()}
        tables.append(_average(rest))
        spread = [np.pad(found.shares[0], (0, groups - len(found.shares[0]))) for found in own.values()]
        shares.append(np.mean(spread, axis=0))
    return ClusteredEstimate(
        Jackknife(_average(points), tuple(tables), tuple(shares)), min(part.n for part in parts.values())
    )


def _average(values: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
    return average([_figures(row, of) for row, of in zip(DATASETS, values, strict=True)])


def _figures(row: UltraDataset, values: Mapping[str, np.ndarray]) -> DatasetMetrics:
    return DatasetMetrics(
        error_rate_pct=values[row.error_metric],
        similarity_pct=values["sim_pct"],
        utmos=values.get("utmos"),
        dnsmos_ovrl=values.get("dnsmos_ovrl"),
        dnsmos_p808=values.get("dnsmos_p808"),
    )
