"""MSEB's published rows: all of them, as published, and the tables of its specification recomputed from them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from codec_superb.applications.mseb.exchange import locales, mseb_metric
from codec_superb.applications.mseb.result_json import MsebRow
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.literature.mseb import (
    LOWER_IS_BETTER,
    MsebSummary,
    locales_of,
    mseb_about,
    mseb_reconstruction,
    mseb_rows,
    read_rows,
    summaries,
    super_task_of,
    write_rows,
)

GEMINI = "gemini_embedding_001"
ORACLE, CASCADE = f"{GEMINI}_transcript_truth_or_{GEMINI}", f"{GEMINI}_whisper_or_{GEMINI}"
WHISPER, SALIENCY = "whisper_speech_to_text", "whisper_large_asr_saliency"
GEMMA = "gemma_with_title_and_context"
TABLE = [
    # encoder, task, sub-task, metric, n, mean, least, greatest
    (ORACLE, "PassageInLangRetrieval", "", "MRR", 17, 0.7590, ("sw", 0.6312), ("en-AU", 0.8177)),
    (CASCADE, "PassageInLangRetrieval", "", "MRR", 17, 0.6155, ("fi-FI", 0.4405), ("en-AU", 0.7541)),
    (ORACLE, "PassageInLangRetrieval", "", "EM", 17, 0.6460, None, None),
    (CASCADE, "PassageInLangRetrieval", "", "EM", 17, 0.5105, None, None),
    (ORACLE, "PassageCrossLangRetrieval", "", "MRR", 19, 0.6863, ("ur-IN", 0.6190), ("ru-RU", 0.7394)),
    (CASCADE, "PassageCrossLangRetrieval", "", "MRR", 19, 0.5011, ("ml-IN", 0.1678), ("ru-RU", 0.6660)),
    (ORACLE, "DocumentInLangRetrieval", "", "MRR", 13, 0.7258, ("ko-KR", 0.5931), ("en-US", 0.7636)),
    (CASCADE, "DocumentInLangRetrieval", "", "MRR", 13, 0.5584, ("fi-FI", 0.4209), ("ru-RU", 0.6810)),
    (ORACLE, "DocumentCrossLangRetrieval", "", "MRR", 19, 0.5492, ("ur-PK", 0.4754), ("ru-RU", 0.6080)),
    (CASCADE, "DocumentCrossLangRetrieval", "", "MRR", 19, 0.3764, ("ml-IN", 0.1379), ("ru-RU", 0.5408)),
    ("gecko_transcript_truth_or_gecko", "PassageInLangRetrieval", "", "MRR", 17, 0.6777, None, None),
    ("gecko_whisper_or_gecko", "PassageInLangRetrieval", "", "MRR", 17, 0.5134, None, None),
    (f"{ORACLE}_no_prompt", "QueryReranking", "", "MAP", 26, 0.9963, None, None),
    (f"{ORACLE}_no_prompt", "QueryReranking", "", "MRR", 26, 1.0, None, None),
    (f"{ORACLE}_no_prompt", "QueryReranking", "", "WER", 26, 0.0, None, None),
    (f"{ORACLE}_no_prompt", "QueryReranking", "", "CER", 26, 0.0, None, None),
    (f"{CASCADE}_no_prompt", "QueryReranking", "", "MAP", 26, 0.5992, ("ml-IN", 0.1067), ("en-AU", 0.8645)),
    (f"{CASCADE}_no_prompt", "QueryReranking", "", "MRR", 26, 0.5902, None, None),
    (f"{CASCADE}_no_prompt", "QueryReranking", "", "WER", 26, 0.2500, None, None),
    (f"{CASCADE}_no_prompt", "QueryReranking", "", "CER", 26, 0.4965, None, None),
    (f"{GEMMA}_transcript_truth", "SpanInLangReasoning", "", "GmeanF1", 17, 0.5996, None, None),
    (f"{GEMMA}_transcript_truth", "SpanInLangReasoning", "", "F1", 17, 0.6080, None, None),
    (f"{GEMMA}_whisper", "SpanInLangReasoning", "", "GmeanF1", 17, 0.5533, None, None),
    (f"{GEMMA}_whisper", "SpanInLangReasoning", "", "F1", 17, 0.5770, None, None),
    (f"{GEMMA}_transcript_truth", "SpanCrossLangReasoning", "", "GmeanF1", 19, 0.4754, None, None),
    (f"{GEMMA}_transcript_truth", "SpanCrossLangReasoning", "", "F1", 19, 0.4856, None, None),
    (f"{GEMMA}_whisper", "SpanCrossLangReasoning", "", "GmeanF1", 19, 0.3918, ("ml-IN", 0.1175), ("ur-IN", 0.4485)),
    (f"{GEMMA}_whisper", "SpanCrossLangReasoning", "", "F1", 19, 0.4297, None, None),
    (ORACLE, "IntentClassification", "", "Accuracy", 12, 0.8339, ("ar-SA", 0.7666), ("nl-NL", 0.8534)),
    (CASCADE, "IntentClassification", "", "Accuracy", 12, 0.8023, ("ar-SA", 0.6685), ("nl-NL", 0.8420)),
    (WHISPER, "SpeechTranscription", "", "WER", 26, 0.3292, ("en-AU", 0.0746), ("ml-IN", 1.1018)),
    (WHISPER, "SpeechTranscription", "", "SER", 26, 0.7168, None, None),
    (WHISPER, "SpeechTranscription", ":clean", "WER", 26, 0.2799, None, None),
    (WHISPER, "SpeechTranscription", ":background_speech", "WER", 26, 0.3482, None, None),
    (WHISPER, "SpeechTranscription", ":media_noise", "WER", 26, 0.3191, None, None),
    (WHISPER, "SpeechTranscription", ":traffic_noise", "WER", 26, 0.3737, None, None),
    (WHISPER, "SpeechTranscription", ":clean", "SER", 26, 0.6733, None, None),
    (WHISPER, "SpeechTranscription", ":background_speech", "SER", 26, 0.7350, None, None),
    (WHISPER, "SpeechTranscription", ":media_noise", "SER", 26, 0.7099, None, None),
    (WHISPER, "SpeechTranscription", ":traffic_noise", "SER", 26, 0.7520, None, None),
    (SALIENCY, "SalientTermSegmentation", "", "NDCG", 25, 0.4023, ("ml-IN", 0.0033), ("en-AU", 0.8276)),
    (SALIENCY, "SalientTermSegmentation", "", "TimestampsAndEmbeddingsAccuracy", 25, 0.3394, None, None),
    (SALIENCY, "SalientTermSegmentation", "", "EmbeddingsAccuracy", 25, 0.5278, None, None),
    (SALIENCY, "SalientTermSegmentation", "", "TimestampsAccuracy", 25, 0.3949, None, None),
    (SALIENCY, "SalientTermSegmentation", "", "mAP", 25, 0.2926, None, None),
    (SALIENCY, "SalientTermSegmentation", "", "WordErrorRate", 25, 0.5642, None, None),
]
SINGLE = {
    ("laion_clap_encoder", "FSD50KTestClassification", "mAP"): 0.4322,
    ("laion_clap_encoder", "FSD50KTestClassification", "Micro F1"): 0.1832,
    ("laion_clap_encoder", "FSD50KTestClassification", "Macro F1"): 0.2646,
    ("laion_clap_encoder", "FSD50KTestClassification", "Hamming Loss"): 0.0174,
    ("laion_clap_encoder", "FSD50KTestClassification", "Subset Accuracy"): 0.0306,
    ("laion_clap_encoder", "FSD50KTestClustering", "VMeasure"): 0.6768,
    ("perch_logits", "BirdsetHSNClassification", "mAP"): 0.5271,
    ("perch_logits", "BirdsetNBPClassification", "mAP"): 0.6583,
    ("perch_logits", "BirdsetPOWClassification", "mAP"): 0.5413,
    ("perch_embedding", "BirdsetClusteringHSN", "VMeasure"): 0.2947,
    ("perch_embedding", "BirdsetClusteringNBP", "VMeasure"): 0.5265,
    ("perch_embedding", "BirdsetClusteringPOW", "VMeasure"): 0.3539,
    ("laion_clap_encoder", "BirdsetClusteringHSN", "VMeasure"): 0.1907,
    ("laion_clap_encoder", "BirdsetClusteringNBP", "VMeasure"): 0.5196,
    ("laion_clap_encoder", "BirdsetClusteringPOW", "VMeasure"): 0.2605,
}
EVERY = summaries(mseb_rows())


def _found(encoder: str, task: str, sub_task: str, metric: str) -> MsebSummary:
    (found,) = (
        each
        for each in EVERY
        if (each.encoder, each.type, each.metric) == (encoder, task, metric)
        and each.sub_task.partition(":")[2] == sub_task.removeprefix(":")
    )
    return found


@pytest.mark.parametrize("line", TABLE, ids=lambda line: "-".join((line[0][:12], line[1], line[2], line[3])))
def test_the_published_means_are_those_of_the_rows(
    line: tuple[str, str, str, str, int, float, tuple[str, float] | None, tuple[str, float] | None],
) -> None:
    """Mean over locales, their number, and the least and greatest value with their locales are those of the table."""
    encoder, task, sub_task, metric, n, mean, least, greatest = line
    found = _found(encoder, task, sub_task, metric)
    assert (found.n, round(found.mean, 4)) == (n, mean)
    for end, told in ((found.lowest, least), (found.highest, greatest)):
        if told is not None:
            assert (end[0], round(end[1], 4)) == told


def test_single_figures_of_sounds_and_birds() -> None:
    """Tasks without locales have one value each."""
    found = {(each.encoder, each.task, each.metric): each for each in EVERY if each.n == 1}
    assert {key: round(found[key].mean, 4) for key in SINGLE} == SINGLE
    assert all(found[key].whole for key in SINGLE)


def test_every_intent_accuracy_is_a_whole_number_of_2974_clips() -> None:
    """The counts that the files lack follow from the values: Speech-MASSIVE's test has 2,974 clips a locale."""
    shares = [row.value for row in mseb_rows() if row.type == "IntentClassification" and row.metric == "Accuracy"]
    assert len(shares) == 72
    assert all(math.isclose(share * 2974, round(share * 2974), abs_tol=2e-3) for share in shares)


def test_a_missing_locale_is_no_zero() -> None:
    """Documents of four English locales have no row: the mean is that of the thirteen others, and says so."""
    found = _found(ORACLE, "DocumentInLangRetrieval", "", "MRR")
    assert found.missing == ("en-AU", "en-GB", "en-IN", "en-PH")
    assert not found.whole
    values = [
        row.value
        for row in mseb_rows()
        if (row.encoder, row.type, row.metric) == (ORACLE, "DocumentInLangRetrieval", "MRR")
    ]
    assert found.mean == pytest.approx(sum(values) / 13)
    assert found.mean > sum(values) / 17 + 0.1
    best = _found(SALIENCY, "SalientTermSegmentation", "", "WordErrorRate")
    assert best.missing == ("sw",)
    assert best.lowest[1] > 0  # 0 would be the best of an error rate


def test_an_error_rate_above_one_stays_what_it_is() -> None:
    """Malayalam has more errors than words: 1.10, beside 0.07 of Australian English, in one unit."""
    found = _found(WHISPER, "SpeechTranscription", "", "WER")
    assert found.highest[1] == pytest.approx(1.1018, abs=5e-5)
    assert found.metric in LOWER_IS_BETTER


def test_directions_are_those_of_the_figures_that_are_exported() -> None:
    """An imported Fréchet distance stood as better the larger it is."""
    told = {
        found.metric: metric.higher_is_better
        for probe in PROBES.values() for metric in probe.metrics
        if (found := mseb_metric(probe.key, metric.key)) is not None
    }  # fmt: skip
    assert {"FAD", "KAD", "Embedding MSE", "MRR", "WER"} <= told.keys()
    assert {name for name, higher in told.items() if not higher} == LOWER_IS_BETTER & told.keys()


def test_the_row_over_all_locales_is_no_locale() -> None:
    """Clustering of all recordings stands for itself: 0.368, 0.060 and 0.008 of speaker, age and gender."""
    found = [each for each in EVERY if each.task == "SVQClustering" and each.n == 1]
    assert {each.sub_task: round(each.mean, 3) for each in found} == {
        "speaker_id": 0.368, "speaker_age": 0.060, "speaker_gender": 0.008,
    }  # fmt: skip
    assert all(each.n == 26 for each in EVERY if each.task == "SVQClustering" and each not in found)


def test_clustering_of_locales_rests_on_ten_clips() -> None:
    """V of ten clips, up to three clusters and labels, takes few values: each locale of gender has one of them."""
    shares = {row.value for row in mseb_rows() if row.sub_task == "speaker_gender" and row.task != "SVQClustering"}
    tables = np.array([t for t in itertools.product(range(11), repeat=6) if sum(t) <= 10], np.int64)
    counts = np.concatenate([_completed(tables, seventh, eighth) for seventh in range(11) for eighth in range(11)])
    known = np.unique(np.round(_v(counts.reshape(-1, 3, 3)), 6))
    assert known.size == 506  # of a million at six decimals: none is hit by chance
    assert np.isin(np.round(sorted(shares), 6), known).all()


def _completed(tables: NDArray[np.int64], seventh: int, eighth: int) -> NDArray[np.int64]:
    """Contingency tables of ten items with these two cells and what is left in the ninth."""
    more = np.broadcast_to([seventh, eighth], (len(tables), 2))
    left = 10 - tables.sum(axis=1) - seventh - eighth
    return np.column_stack([tables, more, left])[left >= 0]


def _v(tables: NDArray[np.int64]) -> NDArray[np.float64]:
    """V-measure of contingency tables, shape (n, labels, clusters), from its definition; 1 without any entropy."""

    def entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        share = counts / 10
        return -np.sum(share * np.log(np.where(counts, share, 1.0)), axis=-1)

    both = entropy(tables.sum(axis=1)) + entropy(tables.sum(axis=2))
    mutual = both - entropy(tables.reshape(len(tables), -1))
    return np.where(both > 0, np.abs(2 * mutual / np.where(both > 0, both, 1.0)), 1.0)


def test_every_row_is_described() -> None:
    """Each encoder and task has its words, each type its super task and each locale is one of its task."""
    about = mseb_about()
    assert len(mseb_rows()) == 2897
    assert {row.encoder for row in mseb_rows()} == set(about["encoders"])
    assert {each.task for each in EVERY} == set(about["tasks"])
    assert {super_task_of(row.type) for row in mseb_rows()} == {
        "retrieval", "reranking", "reasoning", "classification", "transcription", "segmentation", "clustering",
    }  # fmt: skip
    assert {row.lang for row in mseb_rows() if "Passage" in row.type} <= set(locales_of("SVQQueryReranking"))
    assert {len(locales(name)) for name in ("in_language", "cross_language", "svq", "speech_massive")} == {
        17, 19, 26, 12,
    }  # fmt: skip
    assert about["date"] == "2026-08-20"
    assert about["url"].startswith("https://")


def test_reconstruction_is_carried_as_printed_and_marked() -> None:
    """Table 9 is there, and says that nobody can compute it again."""
    first, *_, last = mseb_reconstruction()
    assert (first.mean_fad, first.lowest, first.highest) == (103662.0, ("en", 15532.0), ("hi", 193799.0))
    assert (last.dataset, last.mean_fad, last.lowest) == ("FSD50K", 778232.0, None)
    assert mseb_about()["reconstruction"]["statement"] == "Not reproducible."


ROWS = st.builds(
    MsebRow,
    *(st.text("abcXYZ_:,\"' é", min_size=1, max_size=12) for _ in range(6)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.floats(0, 1e300),
)


@given(st.lists(ROWS, max_size=8))
def test_rows_are_read_as_they_were_written(rows: list[MsebRow]) -> None:
    """To the last digit, whatever stands in a name."""
    assert sorted(read_rows(write_rows(rows).decode()), key=lambda row: row[:6]) == sorted(
        rows, key=lambda row: row[:6]
    )


def test_the_packaged_rows_are_in_the_form_that_is_written() -> None:
    """What an import writes can be laid beside them."""
    assert read_rows(write_rows(mseb_rows()).decode()) == sorted(mseb_rows(), key=lambda row: row[:6])


def test_a_locale_that_comes_twice_is_refused() -> None:
    """A mean over a row and its copy would weigh it twice."""
    with pytest.raises(PipelineError, match="expected each locale once"):
        summaries([*mseb_rows(), mseb_rows()[0]])
