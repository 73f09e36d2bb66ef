"""The published rows of MSEB, averaged over the program's own lists of locales, give the figures taken of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from codec_superb.applications.averages.composite import mean
from codec_superb.applications.table import AVERAGES

ROWS = Path(__file__).parents[4] / "shared" / "reference" / "mseb_published_rows.csv"
pytestmark = pytest.mark.skipif(not ROWS.is_file(), reason="the published rows are not beside the checkout")

GEMINI = "gemini_embedding_001_{}_or_gemini_embedding_001"
GEMMA = "gemma_with_title_and_context_{}"
IN, ACROSS = "svq_in_language", "svq_cross_language"
INTENT = "classification_intent_accuracy_mean_speech_massive_pct"
CASES = [
    (f"retrieval_passage_mrr_mean_{IN}", "PassageInLangRetrieval", GEMINI, "MRR", 0.7590, 0.6155),
    (f"retrieval_passage_mrr_mean_{IN}", "PassageInLangRetrieval", GEMINI, "EM", 0.6460, 0.5105),
    (f"retrieval_passage_mrr_mean_{IN}", "PassageInLangRetrieval", "gecko_{}_or_gecko", "MRR", 0.6777, 0.5134),
    (f"retrieval_passage_cross_mrr_mean_{ACROSS}", "PassageCrossLangRetrieval", GEMINI, "MRR", 0.6863, 0.5011),
    (f"retrieval_document_cross_mrr_mean_{ACROSS}", "DocumentCrossLangRetrieval", GEMINI, "MRR", 0.5492, 0.3764),
    ("reranking_query_map_mean_svq", "QueryReranking", f"{GEMINI}_no_prompt", "MAP", 0.9963, 0.5992),
    ("reranking_query_map_mean_svq", "QueryReranking", f"{GEMINI}_no_prompt", "MRR", 1.0, 0.5902),
    ("reranking_query_map_mean_svq", "QueryReranking", f"{GEMINI}_no_prompt", "WER", 0.0, 0.2500),
    ("reranking_query_map_mean_svq", "QueryReranking", f"{GEMINI}_no_prompt", "CER", 0.0, 0.4965),
    (f"reasoning_span_gmean_f1_mean_{IN}", "SpanInLangReasoning", GEMMA, "GmeanF1", 0.5996, 0.5533),
    (f"reasoning_span_gmean_f1_mean_{IN}", "SpanInLangReasoning", GEMMA, "F1", 0.6080, 0.5770),
    (f"reasoning_span_cross_gmean_f1_mean_{ACROSS}", "SpanCrossLangReasoning", GEMMA, "GmeanF1", 0.4754, 0.3918),
    (f"reasoning_span_cross_gmean_f1_mean_{ACROSS}", "SpanCrossLangReasoning", GEMMA, "F1", 0.4856, 0.4297),
    (INTENT, "IntentClassification", GEMINI, "Accuracy", 0.8339, 0.8023),
]  # fmt: skip
"""Whose locales a row has, type of task, encoder, metric, its mean with true transcripts, and behind Whisper."""


def values(encoder: str, kind: str, metric: str, sub_task: str = "") -> dict[str, float]:
    """Return the values of a type's rows by the dataset of their locale; of the pooled rows where none is said."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return {
            f"{'speech_massive' if 'Massive' in row['task'] else 'svq'}_{row['lang'].lower().replace('-', '_')}":
                float(row["value"])
            for row in csv.DictReader(file)
            if (row["encoder"], row["type"], row["metric"]) == (encoder, kind, metric)
            and row["sub_task"].partition(":")[2] == sub_task
        }  # fmt: skip


def average(key: str, found: dict[str, float]) -> float:
    """Average by the program's function over the program's locales, all of which must be there."""
    parts = AVERAGES[f"mseb_{key}"].parts
    assert sorted(found) == sorted(name for name, _ in parts)
    return float(mean({place: np.array(found[place[0]]) for place in parts}))


@pytest.mark.parametrize(("key", "kind", "encoder", "metric", "truth", "heard"), CASES)
def test_means_of_cascades(key: str, kind: str, encoder: str, metric: str, truth: float, heard: float) -> None:
    """With the text oracle and behind a recogniser, to four places."""
    for stage, expected in (("transcript_truth", truth), ("whisper", heard)):
        assert average(key, values(encoder.format(stage), kind, metric)) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(
    ("sub_task", "wer", "ser"),
    [("", 0.3292, 0.7168), ("clean", 0.2799, 0.6733), ("background_speech", 0.3482, 0.7350),
     ("media_noise", 0.3191, 0.7099), ("traffic_noise", 0.3737, 0.7520)],
)  # fmt: skip
def test_means_of_transcription(sub_task: str, wer: float, ser: float) -> None:
    """Whisper large-v3 on 26 locales, pooled and in each condition."""
    for metric, expected in (("WER", wer), ("SER", ser)):
        found = values("whisper_speech_to_text", "SpeechTranscription", metric, sub_task)
        assert average("transcription_wer_mean_svq_pct", found) == pytest.approx(expected, abs=6e-5)


def test_segmentation_lacks_a_locale_and_has_no_mean_here() -> None:
    """25 of 26 were published; the shares of terms are their hits over their numbers."""
    rows = {metric: values("whisper_large_asr_saliency", "SalientTermSegmentation", metric) for metric in (
        "NDCG", "mAP", "WordErrorRate", "EmbeddingsAccuracy", "EmbeddingsHits", "NumSegments",
    )}  # fmt: skip
    assert {name for name, _ in AVERAGES["mseb_segmentation_ndcg_mean_svq"].parts} - rows["NDCG"].keys() == {"svq_sw"}
    means = {metric: np.mean(list(found.values())) for metric, found in rows.items()}
    assert means["NDCG"] == pytest.approx(0.4023, abs=6e-5)
    assert means["mAP"] == pytest.approx(0.2926, abs=6e-5)
    assert means["WordErrorRate"] == pytest.approx(0.5642, abs=6e-5)
    for name, share in rows["EmbeddingsAccuracy"].items():
        assert share == pytest.approx(rows["EmbeddingsHits"][name] / rows["NumSegments"][name], abs=1e-6)


def test_intents_are_counted_in_clips() -> None:
    """Each accuracy is a whole number of 2,974 clips."""
    found = values(GEMINI.format("whisper"), "IntentClassification", "Accuracy")
    right = np.array(list(found.values())) * 2974
    assert np.abs(right - right.round()).max() < 0.01
