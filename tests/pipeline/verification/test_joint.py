"""Probes whose numbers of a clip depend on which others are run: compared of whole datasets alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.pipeline.stats import row

from codec_superb.applications.table import PROBES
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.schema import MOST_DATASETS, Submission
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue
from codec_superb.pipeline.verification import again
from codec_superb.pipeline.verification.again import Made, Rerun
from codec_superb.pipeline.verification.statement import LEFT_OUT, Statement
from codec_superb.pipeline.verification.verify import WHOLE, _leave_clusters, _whole


def test_what_is_learnt_or_counted_over_clips_is_joint() -> None:
    """Clusters, classes, heads trained on the other clips and CIDEr; what hears one clip by itself is not."""
    joint = {key for key, of in PROBES.items() if of.joint}
    assert {"er", "mseb_clustering_speaker", "mseb_classification_speaker", "xares_knn_emotion"} <= joint
    assert {"und_caption_cider", "und_xares_mecat_minilm"} <= joint
    assert not joint & {"asr", "sim", "dnsmos", "mseb_retrieval_passage", "und_caption_rouge_l", "und_gender"}


def test_what_depends_on_the_others_resyntheses() -> None:
    """Clusters, and DATE, which takes all answers together; heads learn from originals, CIDEr counts in labels."""
    of_all = {key for key, of in PROBES.items() if of.of_all}
    assert of_all == {key for key in PROBES if key.startswith("mseb_clustering_")} | {
        "und_xares_mecat", "und_xares_mecat_minilm",
    }  # fmt: skip
    assert all(PROBES[key].joint for key in of_all)


@pytest.mark.parametrize(
    ("clips", "probe", "whole"), [(WHOLE, "er", True), (WHOLE + 1, "er", False), (60, "sim", False)]
)
def test_a_dataset_with_joint_numbers_is_drawn_whole(clips: int, probe: str, whole: bool) -> None:
    """Up to the bound of scores of pairs; others are drawn as before."""
    of = SimpleNamespace(name="mini", probes=[SimpleNamespace(probe=probe)], provenance=[])
    rows = [row(f"c{at}") for at in range(clips)]
    submission = SimpleNamespace(codec=SimpleNamespace(family="codec2"), datasets=[of], condition=None)
    opened = cast("Any", SimpleNamespace(pairs=[], rows=rows, submission=submission))
    assert _whole(opened, "0" * 64) == ({"mini": tuple(sorted(row.clip for row in rows))} if whole else {})


def test_of_drawn_clips_no_joint_number_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads that learnt from others of the clips are other heads: left out with the reason, and nothing is run."""
    monkeypatch.setattr(again, "_probed", lambda *_: pytest.fail("it was run"))
    run = SimpleNamespace(info=lambda: SimpleNamespace(dataset=SimpleNamespace(selected=51), probes={}))
    key = "mseb_classification_speaker"
    info = SimpleNamespace(
        probe=key, definition=None, version=PROBES[key].version, backend=PROBES[key].backend, model_sha256=None,
        settings={},
    )  # fmt: skip
    made = Made(probes={"mini": set()})
    dataset = SimpleNamespace(name="mini", selected=75, probes=[info])
    again._probe(
        cast("RunFolder", run), cast("Any", dataset), made, Rerun(Path()), cast("Any", None), cast("Any", None)
    )
    assert made.left_out == [f"mini, {key}: its numbers need all clips of the dataset (--all)"]


def test_clusters_of_another_sound_are_left_out() -> None:
    """Their numbers are names, drawn anew; of the same sound they are compared, and what has sizes always is."""
    keys = {"asr", "mseb_clustering_speaker", "mseb_classification_speaker"}
    made = Made(probes={"mini": set(keys), "other": set(keys)})
    _leave_clusters([], made, {"mini": False, "other": True})
    assert made.probes == {"mini": keys - {"mseb_clustering_speaker"}, "other": keys}
    assert made.left_out == ["mini, mseb_clustering_speaker: its clusters are those of another sound"]


@pytest.mark.parametrize(("found", "others"), [(1.0, 0), (2.0, 3)])
def test_clusters_that_turn_over_are_left_out(found: float, others: int) -> None:
    """On equal sound, as on another processor: nothing is said of them, and the attestation says on how many clips."""
    key = "mseb_clustering_speaker"

    def clustered(cluster: float) -> list[ClipRow]:
        probes = {
            key: ProbeValue(
                status="ok", shared={"label": 0.0}, reference={"cluster_0": 1.0}, resynthesis={"cluster_0": cluster}
            )
        }
        return [row(f"c{at}").model_copy(update={"probes": probes}) for at in range(3)]

    made = Made(probes={"mini": {key, "asr"}}, rows={("mini", each.clip): each for each in clustered(found)})
    _leave_clusters(clustered(1.0), made, {"mini": True})
    left = [f"mini, {key}: found anew, clusters of the same sound are others on {others} clips"] if others else []
    assert made.left_out == left
    assert made.probes == {"mini": {"asr"} if others else {key, "asr"}}


def test_a_statement_holds_as_many_datasets_as_a_submission() -> None:
    """And what was left out of each: else a large honest file could be run again and not be signed."""
    bounds = [of.model_json_schema()["properties"]["datasets"]["maxItems"] for of in (Statement, Submission)]
    assert bounds == [MOST_DATASETS, MOST_DATASETS]
    assert LEFT_OUT >= 200 * MOST_DATASETS
