"""Frames in a submission: the check computes their distances again, and nothing of them can be changed unnoticed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from support.pipeline.probed import probe_run
from support.pipeline.probed_file import CARD, ROWS, problems
from support.pipeline.stats import draw_rows, write_run
from support.pipeline.submissions import edit_frames, reseal, rewrite

from codec_superb.applications.mseb.frame_sample import most_frames
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check, check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.tables.rows import FramesRow
from codec_superb.pipeline.tables.vectors import frames_row, read_vectors

KEY = "mseb_reconstruction_yamnet"


@lru_cache(maxsize=1)
def _packed() -> bytes:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), ROWS, card=CARD)
        probe_run(run, ["asv", KEY])
        return pack([run], Path(folder) / "a.zip").read_bytes()


def packed() -> io.BytesIO:
    """Pack a run with trials and frames, once for all tests."""
    return io.BytesIO(_packed())


def test_frames_are_in_the_file_and_their_distances_are_recomputed(tmp_path: Path) -> None:
    """The rows of the run, the same bytes every time, in a file of format 2; without frames it stays format 1."""
    run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
    kept = probe_run(run, ["sim", KEY]).pairs
    members = read_archive(pack([run], tmp_path / "a.zip"))
    assert members["vectors.parquet"] == read_archive(pack([run], tmp_path / "b.zip"))["vectors.parquet"]
    assert sorted(read_vectors(io.BytesIO(members["vectors.parquet"])), key=repr) == sorted(kept, key=repr)
    assert json.loads(members["submission.json"])["format"] == 2
    report, opened = check_and_open(tmp_path / "a.zip")
    assert report.ok
    assert opened is not None
    assert opened.aggregates is not None
    found = {entry.figure: entry for entry in opened.aggregates.applications}
    distance = found[f"{KEY}_fad"]
    assert distance.reference.value == 0.0
    assert distance.resynthesis.value is not None
    assert distance.loss.low is not None
    assert 0 < distance.loss.low < distance.resynthesis.value == distance.loss.value
    assert distance.totals == {"frames": sum(row.kept for row in kept if isinstance(row, FramesRow))}
    plain = read_archive(pack([write_run(tmp_path / "other", draw_rows(1, 30), card=CARD)], tmp_path / "c.zip"))
    assert "vectors.parquet" not in plain
    assert json.loads(plain["submission.json"])["format"] == 1
    assert "vectors_sha256" not in json.loads(plain["submission.json"])


def _halved(row: FramesRow) -> FramesRow:
    return row.model_copy(update={"scale": row.scale / 2})


def _one_number(row: FramesRow) -> FramesRow:
    numbers = np.frombuffer(row.resynthesis, "<f2").copy()
    numbers[0] = numbers[0] * 1.01 + 1
    return row.model_copy(update={"resynthesis": numbers.tobytes()})


def _one_frame_more(row: FramesRow) -> FramesRow:
    more = {side: getattr(row, side) + bytes(2 * row.dimensions) for side in ("reference", "resynthesis")}
    return row.model_copy(update={"frames": row.frames + 1, **more})


def _another(row: FramesRow) -> FramesRow:
    return row.model_copy(update={"clip": "another"})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (_halved, "aggregates.applications"),
        (_one_number, "aggregates.applications"),
        (_one_frame_more, f"{KEY}.frames"),
        (_another, f"{KEY}: another: expected a clip on which the probe is ok"),
    ],
    ids=["scale", "number", "frame", "clip"],
)
def test_any_altered_frame_is_found(change: Callable[[FramesRow], FramesRow], place: str) -> None:
    """With all hashes made right: figures, counts or clips do not agree."""

    def alter(rows: list[FramesRow]) -> None:
        rows[3] = change(rows[3])

    assert place in problems(edit_frames(packed(), alter))


def test_a_row_too_few_or_too_many_is_found() -> None:
    """The counts of the clips do not agree, and a clip is there once."""
    assert f"{KEY}.frames" in problems(edit_frames(packed(), lambda rows: rows.pop() and None))
    assert "the frames of a clip once" in problems(edit_frames(packed(), lambda rows: rows.append(rows[0])))


def test_frames_of_two_sizes_are_found() -> None:
    """A distance needs one number of dimensions."""
    row = frames_row("mini", KEY, "x", 2, (np.ones((2, 5), np.float32),) * 2)
    assert "frames of one number of dimensions" in problems(edit_frames(packed(), lambda rows: rows.append(row)))


def test_more_frames_than_are_aggregated_are_refused_before_that() -> None:
    """Distances between all of them would cost the check its time."""
    most = most_frames(1)
    assert (most, most_frames(1024), most_frames(1 << 14)) == (4096, 4096, 256)
    many = frames_row("mini", KEY, "more", most + 1, (np.ones((most + 1, 1), np.float32),) * 2)

    def alter(rows: list[FramesRow]) -> None:
        rows[:] = [many]

    assert f"expected at most {most} frames of 1 numbers" in problems(edit_frames(packed(), alter))


def test_without_the_member_the_figures_are_refused() -> None:
    """No distance is shown that nobody can compute again."""
    found = problems(edit_frames(packed(), lambda rows: rows.clear()))
    assert "expected 0, counted in vectors.parquet" in found


def test_a_member_that_was_exchanged_or_is_not_named_is_found() -> None:
    """Hashes and the version of the format belong to the members."""
    left_out = rewrite(packed(), lambda members: members.pop("vectors.parquet") and None)
    assert "submission.json: vectors_sha256" in problems(check(left_out))
    assert "submission.json: format" in problems(check(left_out))
    assert "vectors_sha256" in problems(edit_frames(packed(), lambda rows: rows.reverse(), seal=False))


def test_numbers_that_are_not_finite_are_refused() -> None:
    """They come as bytes that any program can write."""

    def alter(members: dict[str, bytes]) -> None:
        rows = read_vectors(io.BytesIO(members["vectors.parquet"]))
        number = rows[0].reference[:16]
        assert members["vectors.parquet"].count(number) >= 1
        nan = np.full(len(number) // 2, np.nan, "<f2").tobytes()
        members["vectors.parquet"] = members["vectors.parquet"].replace(number, nan)
        reseal(members)

    report = check(rewrite(packed(), alter))
    assert "expected finite numbers in reference" in problems(report)
