"""Which models are behind a figure, and how each was asked: what differs in any of it is never ranked together."""

from __future__ import annotations

import pytest

from codec_superb.applications.results import ApplicationAggregate, ProbeInfo
from codec_superb.applications.table import AVERAGES, probe_of_metric
from codec_superb.applications.ultra.protocol import DATASETS
from codec_superb.metrics.results import NO_SCORE
from codec_superb.web.application_rows import application_rows, differences
from codec_superb.web.rows import ProbeModel

NAMES = tuple(row.name for row in DATASETS)


def info(probe: str, beam: int = 1, version: str = "1") -> ProbeInfo:
    """Say how a probe was run."""
    return ProbeInfo(
        probe=probe, version=version, backend=f"model of {probe}", model_sha256="ab" * 32, settings={"beam": beam}
    )


def model_of(figure: str, dataset: str, probe: str, *more: ProbeInfo, **asked: ProbeInfo) -> ProbeModel:
    """Return what is behind a figure of a run of the average's probes on its datasets; ``more`` ran on the first."""
    usual = {key: info(key) for key in ("asr", "sim", "utmos", "dnsmos")} | asked
    probes = {name: (*usual.values(), *(more if name == NAMES[0] else ())) for name in NAMES}
    found = ApplicationAggregate(
        probe=probe, figure=figure, dataset=dataset, n=7, failed=0, left_out=0, pairs=0, reference=NO_SCORE,
        resynthesis=NO_SCORE, loss=NO_SCORE, totals={},
    )  # fmt: skip
    (row,) = application_rows("opus_12k", [found], probes, lambda _: (12.0, None))
    return row.model


@pytest.mark.parametrize("asked", [info("asr", beam=50), info("asr", version="2"), info("dnsmos", beam=2)])
def test_an_average_is_of_models_that_were_asked_alike(asked: ProbeInfo) -> None:
    """A setting or a version of any part makes another figure, and what differs is said."""
    usual, other = (model_of("ultra_average", "", "ultra", **each) for each in ({}, {asked.probe: asked}))
    assert usual.backend == other.backend
    assert usual != other
    assert f"{asked.probe} " in differences(other, usual)


def test_whoever_ran_more_has_the_same_average() -> None:
    """Probes that take no part are none of its models."""
    usual = model_of("ultra_average", "", "ultra")
    assert model_of("ultra_average", "", "ultra", info("er")) == usual
    assert "er" not in [name.partition(" ")[0] for name, _ in usual.settings]


def test_an_average_on_one_dataset_names_its_models() -> None:
    """Of two tasks of MSEB on one dataset: they had no model, so that those of any were ranked together."""
    figure, parts = next((key, row.parts) for key, row in AVERAGES.items() if not any(name for name, _ in row.parts))
    tasks = {probe_of_metric(key).key for _, key in parts}
    told = [model_of(figure, NAMES[0], "mseb", *(info(key, beam) for key in tasks)) for beam in (1, 2)]
    assert told[0].backend
    assert told[0] != told[1]
