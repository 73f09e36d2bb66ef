"""The published figures that the package carries: all of them, as they were published, and marked as such."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from codec_superb.data_manifests.catalogue import manifest_names
from codec_superb.metrics.overall import dataset_score
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.literature.records import PublishedTable
from codec_superb.pipeline.literature.tables import literature, published_table
from codec_superb.web.applications import APPLICATIONS

FIGURES = Path(__file__).parents[2] / "metrics" / "data"


def test_there_are_three_tables_of_19_34_and_9_codecs() -> None:
    """Every codec of each table is there once."""
    assert [(table.name, len(table.codecs)) for table in literature()] == [
        ("table3", 19), ("tiny", 34), ("ultraeval", 9),
    ]  # fmt: skip
    for table in literature():
        assert len({codec.id for codec in table.codecs}) == len(table.codecs)


@pytest.mark.parametrize("table", literature(), ids=lambda table: table.name)
def test_each_table_says_where_it_comes_from(table: PublishedTable) -> None:
    """Citation, address, the mark that it was not re-run, and what differs are stated."""
    assert table.statement == "Published, not re-run here."
    assert table.citation
    assert table.url.startswith("https://")
    assert all(sentence.endswith(".") for sentence in table.differs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("table3.csv", "codec_superb_table3.csv"),
        ("table3_datasets.csv", "codec_superb_tables6_to_8.csv"),
        ("tiny.csv", "codec_superb_tiny_upstream.csv"),
    ],
)
def test_the_figures_are_those_that_the_overall_score_was_recovered_from(ours: str, theirs: str) -> None:
    """Both copies in the repository are the same, byte for byte."""
    packaged = (files("codec_superb.pipeline.literature") / ours).read_bytes()
    assert packaged == (FIGURES / theirs).read_bytes()


def test_figures_of_table_3() -> None:
    """Scores, scores by dataset, bitrate and applications of one codec, and the ceiling, are the paper's."""
    table = published_table("table3")
    codec = table.codec("E3")
    assert (codec.family, codec.kbps, codec.sampling_rate) == ("encodec", 6.0, 24000)
    assert codec.scores == {"speech": 0.697, "audio": 0.602, "music": 0.669}
    assert codec.applications["asr_wer_pct"] == 3.49
    assert codec.applications["aec_map_pct"] == 32.43
    assert table.codec("A").dataset_scores["speech"]["quesst2014"] == 0.637
    assert [len(table.datasets[category]) for category in ("speech", "audio", "music")] == [10, 4, 5]
    assert table.ceiling == {
        "asr_wer_pct": 2.96, "asv_eer_pct": 0.86, "asv_mindcf": 0.07, "er_accuracy_pct": 69.84, "aec_map_pct": 45.68,
    }  # fmt: skip
    with pytest.raises(KeyError, match="no codec 'Z'"):
        table.codec("Z")


def test_datasets_are_named_as_in_the_manifests() -> None:
    """A filter on a dataset finds the same dataset in runs and in the paper."""
    known = set(manifest_names())
    for names in published_table("table3").datasets.values():
        assert set(names) <= known


def test_figures_of_the_re_run() -> None:
    """Means are the published ones; the published F0 correlation stands under its own key; the score is our formula."""
    table = published_table("tiny")
    assert table.computed_scores
    codec = table.codec("encodec_24k_6bps")
    means = codec.metrics["music"]
    assert means == {"stft": 3.713393, "mel": 1.391319, "pesq": 2.347961, "stoi": 0.704355, "f0corr_praat": 0.871164}
    ours = {key.removesuffix("_praat"): np.array(value) for key, value in means.items()}
    assert codec.scores["music"] == pytest.approx(float(dataset_score(ours, "music")))
    assert codec.scores["speech"] == pytest.approx(0.697, abs=0.007)


def test_bitrates_of_the_re_run_are_stated_or_absent() -> None:
    """18 come from the same configuration of Table 3, 7 from the name, 9 are not stated."""
    codecs = {codec.id: codec for codec in published_table("tiny").codecs}
    assert sum(codec.same_as is not None for codec in codecs.values()) == 18
    assert codecs["sqcodec_16k_0k75bps"].kbps == 0.75
    assert codecs["audiodec_24k_320d"].kbps == 6.4
    assert {name for name, codec in codecs.items() if codec.kbps is None} == {
        "auv", "bigcodec_1k", "dac_44k", "llmcodec", "unicodec_24k", "wavtokenizer_24k_large_600_4096",
        "wavtokenizer_24k_large_speech_75token", "wavtokenizer_24k_medium_600_4096", "wavtokenizer_24k_small_600_4096",
    }  # fmt: skip


def test_figures_of_ultraeval() -> None:
    """Applications by dataset are the paper's; where it gives none (UTMOS on Chinese) there is none."""
    table = published_table("ultraeval")
    codec = table.codec("Spark")
    assert codec.applications == {"ultra_average": 82.29}
    assert codec.dataset_applications["librispeech_test_clean"]["ultra_error_rate_pct"] == 2.53
    assert "ultra_utmos" not in codec.dataset_applications["aishell1"]
    assert codec.scores == {}
    assert all(codec.kbps is None for codec in table.codecs)


def test_every_key_is_known_to_the_pages() -> None:
    """Metrics are of the metric table, applications of the table of applications."""
    for table in literature():
        for codec in table.codecs:
            assert all(set(means) <= set(METRICS) for means in codec.metrics.values())
            assert set(codec.applications) <= set(APPLICATIONS)
            assert all(set(values) <= set(APPLICATIONS) for values in codec.dataset_applications.values())
