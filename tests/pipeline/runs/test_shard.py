"""Shards divide the clips of a run: each clip once, evenly by seconds, the same for everybody."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from support.audio import speech_like
from support.profile import examples

from codec_superb.data_manifests import open_dataset
from codec_superb.data_manifests.clip_list import ClipRecord, DatasetIndex
from codec_superb.data_manifests.lists import clip_table
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.runs.folder import find_runs, find_shards
from codec_superb.pipeline.runs.shard import Shard, clips_of_shard, divided, shard_of_folder

LENGTHS = st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 10**9), max_size=60)


@examples(200)
@given(LENGTHS, st.integers(1, 70), st.randoms(use_true_random=False))
def test_every_clip_is_in_one_shard_and_none_has_much_more_sound(
    lengths: dict[str, int], count: int, order: random.Random
) -> None:
    """Whatever the number of shards and the order of a listing; two shards differ by the longest clip at most."""
    shards = divided(lengths, count)
    listed = list(lengths)
    order.shuffle(listed)
    assert divided({clip: lengths[clip] for clip in listed}, count) == shards
    assert len(shards) == count
    assert sorted(clip for clips in shards for clip in clips) == sorted(lengths)
    assert all(clips == sorted(clips) for clips in shards)
    sound = [sum(lengths[clip] for clip in clips) for clips in shards]
    assert max(sound) - min(sound) <= max(lengths.values(), default=0)


def test_the_division_is_pinned() -> None:
    """Tasks of other versions and machines must agree: this division never changes."""
    lengths = {"a": 9, "b": 4, "c": 4, "d": 3, "e": 3, "f": 1}
    assert divided(lengths, 3) == [["a"], ["b", "d", "f"], ["c", "e"]]


def test_a_file_without_a_header_counts_like_others(tmp_path: Path) -> None:
    """Files that say nothing about their length do not all fall to one shard, nor does anything get lost."""
    for number in range(4):
        soundfile.write(tmp_path / f"c{number}.wav", speech_like(0.2, 16_000), 16_000)
        (tmp_path / f"d{number}.wav").write_bytes(b"no sound")
    dataset = open_dataset(tmp_path)
    shards = [clips_of_shard(dataset, dataset.clip_ids(), Shard(index=index, count=2)) for index in (1, 2)]
    assert sorted(shards[0] + shards[1]) == sorted(dataset.clip_ids())
    assert [len(clips) for clips in shards] == [4, 4]


def test_lengths_that_a_table_states_are_read_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They divide as the clips do one by one; of clips alone whose length is not stated the record is looked up."""
    monkeypatch.setattr(clip_table, "GROUP_ROWS", 3)
    soundfile.write(tmp_path / "c4.wav", speech_like(0.9, 16_000), 16_000)
    records = [
        ClipRecord(
            id=f"c{number}", path=f"c{number}.wav", category="speech", licence="CC0-1.0", attribution="nobody",
            sha256="0" * 64, sampling_rate=None if number == 7 else 16_000,
            frames=None if number == 4 else 1000 + 7919 * number % 5000,
        )
        for number in range(10)
    ]  # fmt: skip
    index = DatasetIndex(name="listed", manifest_version="1", root=".", clips=0, manifest_hash="0" * 64)
    clip_table.write_clip_table(tmp_path, index, records)
    dataset = open_dataset(tmp_path)
    stated = {clip: dataset.clip(clip).header() for clip in dataset.clip_ids() if clip != "c7"}
    lengths = {clip: round(found[1] * 1_000_000 / found[0]) for clip, found in stated.items() if found}
    lengths["c7"] = sorted(lengths.values())[4]  # no file either: it counts as one of median length
    looked_up: list[str] = []
    record = clip_table.ClipTable.record

    def counted(table: clip_table.ClipTable, clip: str) -> ClipRecord:
        looked_up.append(clip)
        return record(table, clip)

    monkeypatch.setattr(clip_table.ClipTable, "record", counted)
    shards = [clips_of_shard(dataset, list(dataset.clip_ids()), Shard(index=index, count=3)) for index in (1, 2, 3)]
    assert shards == divided(lengths, 3)
    assert set(looked_up) == {"c4", "c7"}


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "a/b", "1/3/3", "-1/3", "1 /3", "１/3", ""])
def test_a_wrong_shard_is_refused(text: str) -> None:
    """What is no shard is answered with what one looks like."""
    with pytest.raises(PipelineError, match="expected a shard as I/N with I from 1 to N, such as 3/8, got"):
        Shard.parse(text)


def test_the_folder_of_a_shard_says_which_it_is(tmp_path: Path) -> None:
    """Name and shard belong together, and no name of a whole run looks like one of a shard."""
    shard = Shard.parse("3/8")
    assert str(shard) == "3/8"
    assert shard_of_folder(tmp_path / f"mini{shard.suffix}") == ("mini", shard)
    for name in ("mini", "mini.shard-0-of-8", "mini.shard-9-of-8", ".shard-1-of-2", "mini.shard-1-of-2.old"):
        assert shard_of_folder(tmp_path / name) is None


def test_what_takes_runs_passes_over_shards(tmp_path: Path) -> None:
    """A folder with a run and shards has one run; a folder with shards alone is answered with what to do."""
    for name in ("mini.shard-1-of-2", "mini.shard-2-of-2"):
        (tmp_path / "opus" / name).mkdir(parents=True)
        (tmp_path / "opus" / name / "run.json").touch()
    with pytest.raises(RunFolderError, match=r"expected a whole run, found only shards in .*: codec-superb merge j"):
        find_runs([tmp_path])
    with pytest.raises(RunFolderError, match="expected a whole run, found only shards"):
        find_runs([tmp_path / "opus" / "mini.shard-1-of-2"])
    with pytest.raises(RunFolderError, match=r"expected shard 1/3 of a run in .*, found other shards, mini\.shard-1"):
        find_runs([tmp_path], Shard.parse("1/3"))
    (tmp_path / "opus" / "mini").mkdir()
    (tmp_path / "opus" / "mini" / "run.json").touch()
    assert [run.path.name for run in find_runs([tmp_path])] == ["mini"]
    assert [run.path.name for run in find_runs([tmp_path], Shard.parse("2/2"))] == ["mini.shard-2-of-2"]
    names = [run.path.name for run in find_shards([tmp_path, tmp_path / "opus"])]
    assert names == ["mini.shard-1-of-2", "mini.shard-2-of-2"]
