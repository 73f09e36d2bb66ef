"""Our figures in MSEB's words: names of tasks and languages, units, what is left out, and what is read back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.mseb.exchange import (
    Encoding,
    exported,
    language_of,
    locales,
    main_scores,
    mseb_metric,
    mseb_name,
    task_name,
)
from codec_superb.applications.mseb.result_json import MsebResult, read_lines, write_lines
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import PROBE_METRICS, PROBES
from codec_superb.metrics.results import Score

OPUS = Encoding("opus_6k", "faster-whisper:tiny.en+minilm", mean_bytes=1234.5)
MRR = "mseb_retrieval_passage_mrr"
WER = "mseb_transcription_wer_pct"


def aggregate(figure: str, value: float | None, dataset: str = "svq_en_us", part: str = "") -> ApplicationAggregate:
    """Give a figure with a value on both sides, over 20 clips of which two failed."""
    probe = next(key for key in PROBES if figure.startswith(f"{key}_"))
    score = Score(value=value, low=None, high=None)
    return ApplicationAggregate(
        probe=probe, figure=figure, dataset=dataset, slice=part, n=18, left_out=0, failed=2, pairs=0,
        reference=score, resynthesis=score, loss=Score(value=0.0, low=None, high=None),
    )  # fmt: skip


def results(*found: ApplicationAggregate, encoding: Encoding = OPUS) -> dict[str, list[MsebResult]]:
    """Export, and read what was written back."""
    files = exported(encoding, found, PROBE_METRICS)
    assert all(read_lines(write_lines(members), name) == members for name, members in files.items())
    return files


@pytest.mark.parametrize(
    ("dataset", "of_type", "name", "language"),
    [
        ("svq_en_us", "PassageInLangRetrieval", "SVQEnUsPassageInLangRetrieval", "en-US"),
        ("svq_ar_x_gulf", "QueryReranking", "SVQArXGulfQueryReranking", "ar-x-gulf"),
        ("svq_sw", "Clustering", "SVQSwClustering", "sw"),
        ("speech_massive_de_de", "IntentClassification", "SpeechMassiveDeDeIntentClassification", "de-DE"),
        ("birdset_hsn", "Classification", "BirdsetHSNClassification", "und"),
        ("birdset_hsn", "Clustering", "BirdsetClusteringHSN", "und"),
        ("fsd50k", "Classification", "FSD50KTestClassification", "und"),
        ("svq_ten", "SpeechTranscription", "SvqTenSpeechTranscription", "und"),
        ("stamps", "PassageInLangRetrieval", "StampsPassageInLangRetrieval", "und"),
    ],
)
def test_names_of_tasks(dataset: str, of_type: str, name: str, language: str) -> None:
    """They are MSEB's own on its datasets, and in its manner elsewhere."""
    assert task_name(dataset, of_type) == name
    assert language_of(dataset) == language


def test_each_locale_has_a_dataset() -> None:
    """26 locales of SVQ and 12 of Speech-MASSIVE go there and back."""
    for prefix, name in (("svq_", "svq"), ("speech_massive_", "speech_massive")):
        for tag in locales(name):
            assert language_of(prefix + tag.lower().replace("-", "_")) == tag


def test_a_file_has_the_pooled_result_and_one_a_condition() -> None:
    """Sub-tasks are named as MSEB names them; counts, which its format lacks, are beside."""
    found = results(aggregate(MRR, 0.339, part="clean"), aggregate(MRR, 0.31))
    (members,) = found.values()
    assert list(found) == ["SVQEnUsPassageInLangRetrieval"]
    assert [each.sub_task_name for each in members] == ["passage_retrieval_in_lang", "passage_retrieval_in_lang:clean"]
    pooled = members[0]
    assert pooled.name == "opus_6k_faster-whisper_tiny.en_minilm"
    assert {score.metric: (score.value, score.max) for score in pooled.scores} == {
        "MRR": (0.31, 1.0), "mean_encoding_size_bytes": (1234.5, None),
    }  # fmt: skip
    assert pooled.task_metadata.main_score == "MRR"
    assert pooled.task_metadata.eval_langs == ["en-US"]
    assert pooled.task_specific_data is not None
    assert (pooled.task_specific_data[MRR]["n"], pooled.task_specific_data[MRR]["failed"]) == (18, 2)


def test_percent_becomes_a_share_and_stays_above_one() -> None:
    """An error rate of 141.9 % is 1.419 there, without an upper bound."""
    (members,) = results(aggregate(WER, 141.9)).values()
    (wer, _) = members[0].scores
    assert (wer.metric, wer.max) == ("WER", None)
    assert wer.value == pytest.approx(1.419)


def test_operations_are_there_only_where_they_were_measured() -> None:
    """An unknown number is absent and never 0."""
    measured = Encoding("c", "b", mean_bytes=None, flops=1e9)
    (members,) = results(aggregate(MRR, 0.5), encoding=measured).values()
    assert {score.metric: score.value for score in members[0].scores} == {"MRR": 0.5, "flops": 1e9}


def test_what_msebs_format_has_no_word_for_is_left_out() -> None:
    """Figures over several datasets, without a value, of other probes, and those that are ours alone."""
    assert not results(
        aggregate(MRR, 0.5, dataset=""), aggregate(MRR, None), aggregate("asr_wer_pct", 5.0),
        aggregate("mseb_retrieval_passage_oracle_mrr", 1.0), aggregate("mseb_reconstruction_yamnet_kad", 1.0),
    )  # fmt: skip


def test_a_value_of_ours_that_differs_is_exported_by_its_compatible_key() -> None:
    """The kernel distance is that whose width MSEB computes from the reconstruction."""
    (members,) = results(aggregate("mseb_reconstruction_yamnet_kad_compat", 12.3)).values()
    assert [score.metric for score in members[0].scores] == ["KAD", "mean_encoding_size_bytes"]


def test_every_probe_of_mseb_is_in_the_table_or_is_no_task_there() -> None:
    """What the table names exists, and its main metric is one of its figures'."""
    named = {key for key in PROBES if mseb_name(key)}
    for key in named:
        name = mseb_name(key)
        assert name is not None
        metrics = {found.metric for figure in PROBES[key].metrics if (found := mseb_metric(key, figure.key))}
        assert name.main in metrics, key
        assert main_scores()[name.type][1] == name.main
        assert PROBES[key].group == main_scores()[name.type][0]


def test_names_of_encoders_are_names_of_folders() -> None:
    """Whatever a model is called."""
    assert Encoding("a/b", "../../etc:x y", None).name == "a_b_.._.._etc_x_y"
    assert not Encoding("..", "", None).name.startswith(".")


@examples(60)
@given(st.dictionaries(st.sampled_from((MRR, "mseb_retrieval_passage_em")), st.floats(0, 1)))
def test_values_are_exported_to_the_last_digit(drawn: dict[str, float]) -> None:
    """Shares go over as they are."""
    found = results(*(aggregate(figure, value) for figure, value in drawn.items()))
    values = [score.value for members in found.values() for score in members[0].scores[:-1]]
    assert sorted(values) == sorted(drawn.values())
    assert all(math.isfinite(value) for value in values)
