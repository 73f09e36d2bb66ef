"""``--limit``: spread over categories, nested, the same whatever else is there."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from codec_superb.data_manifests import Dataset, open_dataset
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.selection import select_clips


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Give 12 clips of speech, 6 of audio and 2 of music; their content does not matter here."""
    for category, count in {"speech": 12, "audio": 6, "music": 2}.items():
        (tmp_path / "d" / category).mkdir(parents=True)
        for number in range(count):
            (tmp_path / "d" / category / f"{number:02}.wav").touch()
    return open_dataset(tmp_path / "d")


def test_categories_take_turns(dataset: Dataset) -> None:
    """Each category gives as many clips as the others until it has no more."""
    counts = [Counter(clip.split("/")[0] for clip in select_clips(dataset, limit)) for limit in (3, 6, 10)]
    assert counts[0] == {"speech": 1, "audio": 1, "music": 1}
    assert counts[1] == {"speech": 2, "audio": 2, "music": 2}
    assert counts[2] == {"speech": 4, "audio": 4, "music": 2}


def test_a_larger_limit_holds_every_smaller_one(dataset: Dataset) -> None:
    """So that extending a run reuses its work."""
    selections = [select_clips(dataset, limit) for limit in range(1, 21)]
    assert all(set(small) < set(large) for small, large in pairwise(selections))
    assert [len(selection) for selection in selections] == list(range(1, 21))
    assert all(selection == sorted(selection) for selection in selections)


def test_the_choice_is_pinned(dataset: Dataset) -> None:
    """Another version, machine or file system chooses the same clips."""
    assert select_clips(dataset, 3) == PINNED


def test_no_limit_and_a_large_one_take_all(dataset: Dataset) -> None:
    """The whole dataset, sorted."""
    assert select_clips(dataset, None) == select_clips(dataset, 99) == sorted(dataset.clip_ids())


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(dataset: Dataset, limit: int) -> None:
    """An empty run is a mistake."""
    with pytest.raises(PipelineError, match=f"at least 1 clip, got {limit}"):
        select_clips(dataset, limit)


PINNED = ["audio/01.wav", "music/00.wav", "speech/09.wav"]


def test_clips_are_named_one_by_one(dataset: Dataset) -> None:
    """Those are taken, sorted; a strange one, or none, is an error that names the dataset."""
    assert select_clips(dataset, None, only=("speech/03.wav", "audio/01.wav")) == ["audio/01.wav", "speech/03.wav"]
    with pytest.raises(PipelineError, match="got 1 others: speech/99"):
        select_clips(dataset, None, only=("speech/03.wav", "speech/99"))
    with pytest.raises(PipelineError, match="at least one clip"):
        select_clips(dataset, None, only=())
