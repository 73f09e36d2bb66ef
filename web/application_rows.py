"""From what the pipeline keeps of applications to rows for pages: of one codec, on each dataset, figure by figure.

Report and service both make such rows. This part knows no pipeline, so it says what it reads of its records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from codec_superb.web.rows import ApplicationRow, Estimate, ProbeModel


class ScoreLike(Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float | None:
        """None where nothing could be computed."""

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval."""

    @property
    def high(self) -> float | None:
        """Upper end."""


class Aggregate(Protocol):
    """One figure on one dataset, as aggregated."""

    @property
    def probe(self) -> str:
        """Key of the probe."""

    @property
    def figure(self) -> str:
        """Key of the figure."""

    @property
    def dataset(self) -> str:
        """Name; '' for a figure over several."""

    @property
    def n(self) -> int:
        """Clips that take part."""

    @property
    def left_out(self) -> int:
        """Clips without the label."""

    @property
    def failed(self) -> int:
        """Clips without an answer."""

    @property
    def pairs(self) -> int:
        """Trials or ranks."""

    @property
    def reference(self) -> ScoreLike:
        """On the original sound."""

    @property
    def resynthesis(self) -> ScoreLike:
        """On the resynthesis."""

    @property
    def loss(self) -> ScoreLike:
        """What was lost."""

    @property
    def totals(self) -> Mapping[str, float]:
        """Sums of counts."""


class Probed(Protocol):
    """How a probe was run on one dataset."""

    @property
    def probe(self) -> str:
        """Key of the probe."""

    @property
    def version(self) -> str:
        """Of its definition."""

    @property
    def backend(self) -> str:
        """Model that answered."""

    @property
    def model_sha256(self) -> str:
        """Of its files."""

    @property
    def random(self) -> bool:
        """Whether nobody trained it."""

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        """What else decides a figure."""


def application_rows(
    codec: str,
    aggregates: Sequence[Aggregate],
    probes: Mapping[str, Sequence[Probed]],
    kbps: Callable[[Aggregate], float],
) -> list[ApplicationRow]:
    """Make the rows of one codec, in the order given; ``probes`` says of each dataset how its probes were run.

    ``kbps`` gives the measured bitrate of the clips behind a figure, NaN where it is not known.
    """
    return [
        ApplicationRow(
            codec=codec,
            dataset=found.dataset,
            figure=found.figure,
            model=_model(found, probes),
            kbps=kbps(found),
            reference=_estimate(found.reference, found),
            value=_estimate(found.resynthesis, found),
            loss=_estimate(found.loss, found),
            left_out=found.left_out,
            pairs=found.pairs,
            totals=dict(found.totals),
        )
        for found in aggregates
    ]


def _estimate(score: ScoreLike, found: Aggregate) -> Estimate:
    return Estimate(score.value, score.low, score.high, n=found.n, failed=found.failed)


def _model(found: Aggregate, probes: Mapping[str, Sequence[Probed]]) -> ProbeModel:
    """Describe the model behind a figure; behind one over several probes or datasets, all of them."""
    if found.dataset:
        behind = [probe for probe in probes.get(found.dataset, ()) if probe.probe == found.probe]
    else:
        behind = [probe for dataset in sorted(probes) for probe in probes[dataset]]
    models = list(dict.fromkeys(map(_one_model, behind)))
    if len(models) == 1:
        return models[0]
    names = dict.fromkeys(model.name for model in models)
    return ProbeModel(", ".join(names), random=any(model.random for model in models))


def _one_model(probe: Probed) -> ProbeModel:
    settings = tuple((name, str(value)) for name, value in sorted(probe.settings.items()))
    return ProbeModel(probe.backend, probe.model_sha256, probe.version, probe.random, settings)
