"""What `probe --application ultra` says where there is no average of UltraEval-Audio."""

from __future__ import annotations

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.ultra.protocol import DATASETS
from codec_superb.cli.application_metrics import CodecProbeMetric, ultra_notes
from codec_superb.metrics.results import Score


def figures(models: dict[str, str]) -> list[CodecProbeMetric]:
    """Make every figure that the average needs, of one codec, by the published models or those of ``models``."""
    probes = {"sim_pct": "sim", "utmos": "utmos", "dnsmos_ovrl": "dnsmos", "dnsmos_p808": "dnsmos"}
    nothing = Score(value=0.0, low=None, high=None)  # an error rate of 0 is a figure like any other
    made = []
    for row in DATASETS:
        for key in row.needed:
            probe = probes.get(key, "asr")
            backend = models.get(probe, row.backends[probe][0])
            numbers = ApplicationAggregate(
                probe=probe, figure=key, dataset=row.name, n=9, left_out=0, failed=0, pairs=0,
                reference=nothing, resynthesis=nothing, loss=nothing,
            )  # fmt: skip
            made.append(CodecProbeMetric("opus_24k", backend, numbers))
    return made


def test_nothing_is_said_where_everything_is_there() -> None:
    """All nine terms by the published models."""
    assert ultra_notes(figures({})) == []


def test_what_was_not_measured_is_named() -> None:
    """With dataset and figure, for each codec."""
    (said,) = ultra_notes(figures({})[:-1])
    assert said == "opus_24k: The average of UltraEval-Audio needs dnsmos_p808 on aishell1."


def test_another_model_is_named() -> None:
    """With the one that the published table has."""
    (said,) = ultra_notes(figures({"sim": "resemblyzer"}))
    assert said.count("sim was answered by resemblyzer") == 3
    assert "wavlm-large-sv:wavlm_large_finetune" in said
