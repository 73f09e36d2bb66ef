"""What the average of UltraEval-Audio needs, and what is said when it is not there."""

from __future__ import annotations

import pytest

from codec_superb.applications.asr.paraformer import Paraformer
from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.quality.dnsmos import DnsMos
from codec_superb.applications.table import APPLICATIONS, PROBE_METRICS, PROBES
from codec_superb.applications.ultra.average import average
from codec_superb.applications.ultra.protocol import DATASETS, protocol_deviations, readiness
from codec_superb.data_manifests.catalogue import load_manifest

VALUES = {"asr_wer_pct": 5.0, "asr_cer_pct": 5.0, "sim_pct": 80.0}
WHOLE = {(row.name, key): VALUES.get(key, 3.0) for row in DATASETS for key in row.needed}


def test_its_datasets_probes_and_backends_exist() -> None:
    """Every name of the protocol is one of this program's: manifests, figures, probes and backends."""
    for row in DATASETS:
        assert load_manifest(row.name).categories == ("speech",)
        assert set(row.needed) <= PROBE_METRICS.keys()
        assert {key for key in row.backends if key != "utmos"} == set(APPLICATIONS["ultra"]) - {"utmos"}
        assert ("utmos" in row.backends) == ("utmos" in row.needed) == (row.language == "en")
        for probe, names in row.backends.items():
            assert probe in PROBES
            assert all(probe in BACKENDS[name.partition(":")[0]].probes for name in names)


def test_a_whole_set_gives_the_average() -> None:
    """Error rates of 5 %, similarities of 80 and opinions of 3 give 78.33, whatever else was measured."""
    found = readiness(WHOLE | {("aishell1", "asr_wer_pct"): 99.0, ("mini", "asr_wer_pct"): 90.0})
    assert found.ready
    assert not found.explained()
    assert float(average(found.figures)) == pytest.approx(235 / 3)


def test_utmos_takes_no_part_on_chinese() -> None:
    """The figures of AISHELL-1 have no UTMOS even where somebody measured one."""
    figures = readiness(WHOLE | {("aishell1", "utmos"): 5.0}).figures
    assert [entry.utmos for entry in figures] == [3.0, 3.0, None]


@pytest.mark.parametrize("pair", sorted(WHOLE))
def test_each_part_is_needed(pair: tuple[str, str]) -> None:
    """Without any one of its figures there is no average, and it is named."""
    found = readiness({key: value for key, value in WHOLE.items() if key != pair})
    assert (found.ready, found.missing, found.figures) == (False, (pair,), ())
    assert found.explained() == f"The average of UltraEval-Audio needs {pair[1]} on {pair[0]}."


def test_nothing_measured_names_everything() -> None:
    """With no figure at all the sentence lists the three datasets once each."""
    text = readiness({}).explained()
    assert [text.count(row.name) for row in DATASETS] == [1, 1, 1]
    assert "asr_cer_pct, sim_pct, dnsmos_ovrl, dnsmos_p808 on aishell1" in text


EN, ZH = "librispeech_dev_clean", "aishell1"


@pytest.mark.parametrize(
    ("place", "model", "published"),
    [
        ((EN, "asr"), "faster-whisper:tiny.en", "faster-whisper:large-v3"),
        ((EN, "asr"), "faster-whisper:large-v3-turbo", "faster-whisper:large-v3"),
        ((EN, "sim"), "resemblyzer", "wavlm-large-sv:wavlm_large_finetune"),
        ((ZH, "sim"), "wavlm-sv:wavlm-base-plus-sv", "wavlm-large-sv:wavlm_large_finetune"),
        ((ZH, "sim"), "wavlm-large-sv:local:wavlm_large_finetune", "wavlm-large-sv:wavlm_large_finetune"),
        ((EN, "utmos"), "utmos:other", "utmos:utmos22_strong"),
    ],
)
def test_other_models_are_said(place: tuple[str, str], model: str, published: str) -> None:
    """A figure of another model than the published table's is named, with what the table has."""
    dataset, probe = place
    expected = f"{dataset}: {probe} was answered by {model}, the published table has {published}"
    assert protocol_deviations({place: model, ("mini", "asr"): "pocketsphinx"}) == (expected,)


def test_the_published_models_do_not_depart() -> None:
    """Every name under which a result has the published model is taken, and nothing is said of what did not run."""
    assert protocol_deviations({}) == ()
    for row in DATASETS:
        for probe, names in row.backends.items():
            assert [protocol_deviations({(row.name, probe): name}) for name in names] == [()] * len(names)


@pytest.mark.network
def test_names_are_those_that_models_have() -> None:
    """The listeners' models are called here what they call themselves in results."""
    assert DnsMos().prepare().name in DATASETS[0].backends["dnsmos"]
    assert Paraformer.default_repository.name == DATASETS[2].backends["asr"][0].removeprefix("paraformer:")
