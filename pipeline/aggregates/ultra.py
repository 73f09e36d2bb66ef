"""The average of UltraEval-Audio over its three datasets, from the figures of one codec and their replicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from codec_superb.applications.table import COMPOSITES, probe_of_metric
from codec_superb.applications.ultra.average import DatasetMetrics, average
from codec_superb.applications.ultra.protocol import DATASETS, UltraDataset, protocol_deviations
from codec_superb.pipeline.aggregates.estimate import BootstrapEstimate

ULTRA: Final = COMPOSITES["ultra_average"]
NEEDED: Final = tuple(frozenset((row.name, key) for key in row.needed) for row in DATASETS)
"""Dataset and figure of all that the average is made of, for each dataset."""

Backends = Mapping[tuple[str, str], str]
"""By dataset and probe: the model that answered."""


def ultra_average(
    estimates: Mapping[tuple[str, str], BootstrapEstimate], backends: Backends
) -> BootstrapEstimate | None:
    """Average the nine terms, point and replicates; by dataset and figure in ``estimates``.

    None where one is missing or without a value, or was not measured with a model of the published table: only
    then is it comparable with the published averages.
    """
    places = [place for needed in NEEDED for place in needed]
    models = {(name, probe_of_metric(key).key) for name, key in places}
    parts = {place: estimates[place] for place in places if place in estimates}
    whole = len(parts) == len(places) and all(np.isfinite(part.point).all() for part in parts.values())
    if not whole or not models <= backends.keys() or protocol_deviations(backends):
        return None
    point = average([_figures(row, {key: parts[row.name, key].point for key in row.needed}) for row in DATASETS])
    draws = average([_figures(row, {key: parts[row.name, key].draws for key in row.needed}) for row in DATASETS])
    # the smallest count decides how much the interval is widened (decision 5)
    return BootstrapEstimate(point, draws, min(part.n for part in parts.values()))


def _figures(row: UltraDataset, values: Mapping[str, np.ndarray]) -> DatasetMetrics:
    return DatasetMetrics(
        error_rate_pct=values[row.error_metric],
        similarity_pct=values["sim_pct"],
        utmos=values.get("utmos"),
        dnsmos_ovrl=values.get("dnsmos_ovrl"),
        dnsmos_p808=values.get("dnsmos_p808"),
    )
