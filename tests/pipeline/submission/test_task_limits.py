"""Numbers of tasks of MSEB that cannot be true together: each is found with its place, the last that can be is not."""

from __future__ import annotations

import pytest
from support.pipeline.probed_file import ROWS, packed, problems
from support.pipeline.submissions import edit_document, edit_frames, edit_rows

import codec_superb.applications.mseb.limits as limits_module
from codec_superb.applications.probe import KeptClip
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.tables.rows import ClipRow, FramesRow
from codec_superb.plugins import load

Numbers = dict[str, float]
RECONSTRUCTION = "mseb_reconstruction_yamnet"
RETRIEVAL: Numbers = {"rank": 9, "top": 9, "no_answer": 0}
CLASSES: Numbers = {"predicted": 3, "rank": 1, "no_answer": 0}
CLUSTERS: Numbers = {"cluster_0": 4, "nearest_0": 4}
SEVERAL: Numbers = {"given": 3, "hits": 2, "no_answer": 0}
HEARD: Numbers = {"word_errors": 0, "character_errors": 5, "no_answer": 0}
SILENT: Numbers = {"word_errors": 4, "character_errors": 9, "no_answer": 1}
TERMS: Numbers = {
    "both_50": 1, "times_50": 2, "term_50": 1, "no_answer": 0, "confidence_1": 0.5, "right_1": 1, "confidence_2": -1,
    "right_2": 0,
}  # fmt: skip
CANDIDATES: Numbers = {"rank": 1, "word_errors": 0, "precision": 1, "no_answer": 0}


def found(name: str, shared: Numbers, side: Numbers, **settings: str | float) -> list[str]:
    """Ask one function about the same numbers on both sides; return the places on the resynthesis and of the clip."""
    faults = list(getattr(limits_module, name)(KeptClip(shared, side, side, settings)))
    assert all(fault.expected for fault in faults)
    return [fault.place for fault in faults if not fault.place.startswith("reference.")]


@pytest.mark.parametrize(
    ("name", "shared", "side", "settings", "wrong"),
    [
        ("retrieval", {"oracle_rank": -1}, RETRIEVAL, {"documents": 9}, {"rank": 10}),
        ("retrieval", {"oracle_rank": 9}, RETRIEVAL, {"documents": 9}, {"rank": 0}),
        ("retrieval", {"oracle_rank": 9}, RETRIEVAL, {"documents": 9, "search": "hnsw"}, {"top": 10}),
        ("reranking", {}, CANDIDATES, {}, {"word_errors": 1}),
        ("reranking", {}, CANDIDATES, {}, {"rank": 0}),
        ("classification", {"label": 3, "oracle_rank": 4}, CLASSES, {"classes": 4}, {"rank": 2}),
        ("classification", {"label": 3, "oracle_rank": 4}, CLASSES | {"rank": 4, "predicted": 4}, {"classes": 4},
         {"rank": 5}),
        ("classification", {"label": 3, "oracle_rank": -1}, CLASSES | {"rank": 2, "predicted": 4}, {"classes": 4},
         {"predicted": 5}),
        ("several_labels", {"labels": 2, "classes": 3}, SEVERAL, {"classes": 3}, {"given": 4}),
        ("several_labels", {"labels": 2, "classes": 3}, SEVERAL, {"classes": 3}, {"hits": 3}),
        ("clustering", {"label": 4}, CLUSTERS, {"clusters": 5}, {"cluster_0": 5}),
        ("clustering", {"label": 4}, CLUSTERS, {"clusters": 5}, {"nearest_0": 5}),
        ("transcription", {"words": 4, "characters": 9}, SILENT, {}, {"word_errors": 3}),
        ("transcription", {"words": 4, "characters": 9}, SILENT, {}, {"character_errors": 10}),
        ("stability_of_vectors", {"vectors": 5}, {"cost": 20.0}, {}, {"cost": 20.1}),
        ("stability_of_codes", {"units": 5}, {"edits": 10.0}, {}, {"edits": 11.0}),
    ],
)  # fmt: skip
def test_the_first_that_cannot_be_is_named(
    name: str, shared: Numbers, side: Numbers, settings: dict[str, str | float], wrong: Numbers
) -> None:
    """With its side and field; the numbers before the change pass."""
    assert found(name, shared, side, **settings) == []
    (place,) = found(name, shared, side | wrong, **settings)
    assert place in {f"resynthesis.{field}" for field in (*wrong, "rank")}


@pytest.mark.parametrize("wrong", [{"both_50": 2}, {"times_50": 3}, {"no_answer": 1}])
def test_terms_found_more_than_once_are_named(wrong: Numbers) -> None:
    """Of two terms one is found by term and time, one by its time."""
    assert found("segmentation", {"terms": 2}, TERMS) == []
    assert found("segmentation", {"terms": 2}, TERMS | wrong) == ["resynthesis.both_50"]
    assert found("segmentation", {"terms": 2}, TERMS | {"right_2": 1}) == ["resynthesis.right_2"]


@pytest.mark.parametrize(
    ("name", "shared", "side", "settings", "place"),
    [
        ("retrieval", {"oracle_rank": 0}, RETRIEVAL, {}, "oracle_rank"),
        ("classification", {"label": 5, "oracle_rank": -1}, CLASSES | {"rank": 2}, {"classes": 4}, "label"),
        ("clustering", {"label": 5}, CLUSTERS, {"clusters": 5}, "label"),
        ("several_labels", {"labels": 4, "classes": 3}, SEVERAL, {}, "labels"),
        ("several_labels", {"labels": 2, "classes": 4}, SEVERAL, {"classes": 3}, "classes"),
    ],
)
def test_a_number_of_the_clip_itself_is_named(
    name: str, shared: Numbers, side: Numbers, settings: dict[str, str | float], place: str
) -> None:
    """Without a side."""
    assert found(name, shared, side, **settings) == [place]


def test_words_and_characters_may_be_wrong_by_themselves() -> None:
    """``color`` for ``colour`` has no wrong word; ranks of an index may lie beyond the last document."""
    assert found("transcription", {"words": 4, "characters": 9}, HEARD) == []
    assert found("retrieval", {"oracle_rank": 12}, RETRIEVAL | {"rank": 12}, documents=9, search="hnsw") == []


def test_every_task_of_a_kind_with_limits_names_a_function() -> None:
    """It exists, and takes what the check gives."""
    named = {probe.limits for probe in PROBES.values() if probe.limits}
    assert len(named) == 10 + 6 + 1  # kinds of MSEB, of understanding tasks that are shipped, and classifiers
    assert all(callable(load(name)) for name in named)


def first(key: str, **changes: float) -> str:
    """Change the resynthesis of the first clip on which a probe is ok; return what the check says."""

    def change(rows: list[ClipRow]) -> None:
        place = next(n for n, row in enumerate(rows) if key in row.probes and row.probes[key].status == "ok")
        entry = rows[place].probes[key]
        altered = entry.model_copy(update={"resynthesis": entry.resynthesis | changes})
        rows[place] = rows[place].model_copy(update={"probes": {**rows[place].probes, key: altered}})

    return problems(edit_rows(packed(key), change))


def test_the_check_of_a_file_names_clip_probe_side_and_field() -> None:
    """And what was expected, from the numbers of the clip or from its frames."""
    assert "mseb_retrieval_passage.resynthesis.rank: expected at least 1, got 0" in first(
        "mseb_retrieval_passage", rank=0.0
    )
    of_frames = f"{RECONSTRUCTION}.resynthesis.squared_difference: expected"
    for value in (0.0, 1e-4, 1e6):
        assert f"{of_frames} 0." in (said := first(RECONSTRUCTION, squared_difference=value))
        assert "computed from the frames in vectors.parquet" in said


def test_a_setting_limits_the_numbers_of_its_dataset() -> None:
    """Clusters of two labels are 0 and 1; drawn ones go to 2."""

    def two(data: dict[str, list[dict[str, list[dict[str, object]]]]]) -> None:
        (probe,) = (p for p in data["datasets"][0]["probes"] if p["probe"] == "mseb_clustering_speaker")
        probe["settings"] = {"clusters": 2}

    said = problems(edit_document(packed("mseb_clustering_speaker"), two, seal=True))
    assert "mseb_clustering_speaker.resynthesis.cluster_0: expected 0 to 1, got 2" in said


@pytest.mark.parametrize("frames", [2**62, 1_000_000])
def test_more_frames_than_a_clip_has_samples_are_named(frames: int) -> None:
    """Whatever is kept of them."""
    assert all((row.samples or 0) < 1_000_000 for row in ROWS)

    def alter(rows: list[FramesRow]) -> None:
        rows[0] = rows[0].model_copy(update={"frames": frames})

    said = problems(edit_frames(packed(RECONSTRUCTION), alter))
    assert ": frames: expected at most" in said
    assert f"got {frames}" in said


def test_frames_that_were_dropped_without_need_are_named() -> None:
    """Of four frames three are kept, as the setting says, and not one."""

    def alter(rows: list[FramesRow]) -> None:
        place = next(n for n, row in enumerate(rows) if row.kept == 1)
        rows[place] = rows[place].model_copy(update={"frames": 4})

    said = problems(edit_frames(packed(RECONSTRUCTION), alter))
    assert "frames: expected 3 of the 4 frames kept, as the setting frames_per_clip says, got 1" in said
