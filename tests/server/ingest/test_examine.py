"""What the checking process hands back of one file: the verdict, and of a good file all that is stored."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from support.pipeline.stats import card, draw_rows, failed, ok, sha, write_run
from support.server.ingest import CLIPS, categories, drawn, facts

from codec_superb.metrics.table import Category
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.server.datasets.clips import pack_clips
from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest import examine as module
from codec_superb.server.ingest.checker import Checker
from codec_superb.server.ingest.examine import run, warm_up
from codec_superb.server.ingest.outcome import Checked, CheckOutcome, read_outcome
from codec_superb.server.ingest.receive import new_upload
from codec_superb.server.ingest.task import OpenedTask, write_task
from codec_superb.server.operations.preparation import make_storage
from codec_superb.server.settings import Settings

MINI = {"mini": categories()}


def task_of(known: Mapping[str, Mapping[str, Category]] = MINI, limit: int = 1 << 20) -> io.BytesIO:
    """Write the task of a service that knows these datasets."""
    file = io.BytesIO()
    write_task(file, limit, {name: (sha(name), pack_clips(facts(clips))) for name, clips in known.items()})
    return file


def checked(data: bytes, **task: Any) -> Checked:
    """Check a file as the child does, and read what it wrote as the service does."""
    result = io.BytesIO()
    run(io.BytesIO(data), task_of(**task), result)
    return read_outcome(result)


def problems(data: bytes, **task: Any) -> dict[str, str]:
    """Expect a refusal; return what came, by place."""
    outcome = checked(data, **task).outcome
    assert outcome.accepted is None
    assert outcome.problems
    return {problem.path: problem.got for problem in outcome.problems}


def two_datasets(folder: Path) -> bytes:
    """Pack two runs, given with the later dataset first; one clip failed, and rows lie in no order."""
    one = draw_rows(1, CLIPS)[::-1]
    one[3] = failed(one[3].clip, category=one[3].category)
    other = draw_rows(2, 5, dataset="another")
    other[0] = other[0].model_copy(update={"metrics": {**other[0].metrics, "pesq": ok(1.25)}})
    runs = [write_run(folder, rows, card=card()) for rows in (one, other)]
    return pack(runs, folder / "out.zip", submitter=Submitter(name="Ann")).read_bytes()


def test_all_that_is_stored_of_a_good_file(tmp_path: Path) -> None:
    """Counts, a summary for each category and each dataset, and a block of sorted rows for each dataset in order."""
    known = MINI | {"another": categories(5, "another")}
    found = checked(two_datasets(tmp_path), known=known)
    assert (found.outcome.problems, found.outcome.more) == ((), 0)
    accepted = found.outcome.accepted
    assert accepted is not None
    assert (accepted.clips, accepted.ok, accepted.failed, accepted.complete) == (17, 16, 1, False)
    assert [(info.dataset, info.rows) for info in accepted.blocks] == [("another", 5), ("mini", 12)]
    for info, block in zip(accepted.blocks, found.blocks, strict=True):
        table = open_table(io.BytesIO(block), own=True)
        rows = list(table)
        assert [row.clip for row in rows] == sorted(known[info.dataset])
        assert {row.dataset for row in rows} == {info.dataset}
        assert table.metrics == ("f0corr", "mel", "pesq", "stft", "stoi")
    first = next(iter(open_table(io.BytesIO(next(found.blocks)), own=True)))
    assert first.metrics["pesq"] == ok(1.25)
    assert [(part.category, part.datasets, part.clips) for part in accepted.categories] == [
        (category, ("another", "mini"), clips) for category, clips in (("speech", 6), ("audio", 6), ("music", 5))
    ]
    assert [(part.datasets, part.category) for part in accepted.datasets] == [
        ((name,), category) for name in ("another", "mini") for category in ("speech", "audio", "music")
    ]
    assert accepted.submission.submitter == Submitter(name="Ann")


def test_a_complete_file() -> None:
    """Without a failed clip everything is complete."""
    accepted = checked(drawn("examine_16k")).outcome.accepted
    assert accepted is not None
    assert (accepted.ok, accepted.failed, accepted.complete) == (CLIPS, 0, True)


def test_blocks_are_compressed() -> None:
    """What the database keeps is zstd, which the file from outside is not."""
    (block,) = checked(drawn("examine_16k")).blocks
    import pyarrow.parquet as pq

    meta = pq.ParquetFile(io.BytesIO(block)).metadata
    assert {meta.row_group(0).column(n).compression for n in range(meta.num_columns)} == {"ZSTD"}


def test_what_is_no_submission() -> None:
    """Bytes that are no zip are a problem of the zip, not of the process."""
    assert set(problems(b"no zip")) == {"zip"}


def test_a_file_beyond_the_limit_of_the_task() -> None:
    """The limit is the service's, not the library's."""
    data = drawn("examine_16k")
    assert checked(data, limit=len(data)).outcome.accepted is not None
    assert set(problems(data, limit=len(data) - 1)) == {"zip"}


def test_what_the_service_knows_is_held_against_the_file() -> None:
    """A dataset that the service does not know, and clips that its dataset does not have, are refused."""
    assert problems(drawn("examine_16k"), known={}) == {"submission.json: datasets.0.name": "mini"}
    fewer = dict(list(MINI["mini"].items())[1:])
    assert "clips.parquet" in problems(drawn("examine_16k"), known={"mini": fewer})


def test_a_check_that_breaks_refuses_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours is told with its name as a problem of the file; without memory the process ends instead."""

    def breaks(*_: Any) -> tuple[CheckOutcome, list[bytes]]:
        raise error

    monkeypatch.setattr(module, "examine", breaks)
    error: Exception = ZeroDivisionError("by nothing")
    assert problems(b"") == {"the file": "ZeroDivisionError: by nothing"}
    (problem,) = checked(b"").outcome.problems
    assert (problem.expected, problem.how_to_fix) == ("a submission as pack writes it", "pack the runs again")
    error = MemoryError()
    with pytest.raises(MemoryError):
        checked(b"")


def test_a_refusal_has_no_blocks() -> None:
    """Nothing is stored of a file with problems."""
    found = checked(b"no zip")
    assert (found.outcome.accepted, list(found.blocks)) == (None, [])


def test_warming_up_needs_nothing() -> None:
    """The process imports everything before its first file."""
    warm_up()


def test_a_task_holds_each_dataset_apart() -> None:
    """Clips of a dataset are those written for it, whichever is asked for first, and once unpacked they are kept."""
    known = MINI | {"another": categories(5, "another"), "empty": {}}
    task = OpenedTask(task_of(known, limit=7))
    assert task.task.file_limit == 7
    for name in ("empty", "another", "mini"):
        found = task.known(name)
        assert found is not None
        assert (found.manifest_hash, found.clips) == (sha(name), facts(known[name]))
        assert task.known(name) is found
    assert task.known("nowhere") is None


def test_a_full_disk_is_no_fault_of_the_file(tmp_path: Path) -> None:
    """Whose result does not fit on the disk is told to come back, not to send fewer clips; nothing is left behind."""
    settings = Settings(storage=tmp_path)
    make_storage(settings)
    with closing(Checker(settings)) as checker, TemporaryFile() as upload, Path("/dev/full").open("r+b") as full:
        upload.write(drawn())
        upload.flush()
        with TemporaryFile() as task:
            task.write(task_of().getvalue())
            task.flush()
            status = checker._run(upload, task, full)
        with pytest.raises(Unavailable, match="cannot be stored: No space left"):
            checker._raise_for_exit_status(status)
    received = new_upload(settings)
    received.file.close()
    received.file = Path("/dev/full").open("r+b")  # noqa: SIM115 - it cannot be closed: that is what is tried
    received.file.write(b"pending")
    with pytest.raises(OSError, match="No space left"):
        received.discard()
    assert list(settings.incoming.iterdir()) == []
