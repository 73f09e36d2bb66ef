"""The trust boundary: of what the checking process left, only an outcome that holds what it says passes."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import sha
from support.profile import examples
from support.server.ingest import categories, drawn, facts

from codec_superb.server.datasets.clips import pack_clips
from codec_superb.server.ingest.examine import run
from codec_superb.server.ingest.outcome import (
    BLOCK_LIMIT,
    DOCUMENT_LIMIT,
    Checked,
    InvalidOutcome,
    read_outcome,
)
from codec_superb.server.ingest.task import write_task

TAIL = 8
PROBLEM = {"path": "the file", "expected": "a zip", "got": "nothing", "how_to_fix": "pack again"}
REFUSED = {"problems": [PROBLEM], "more": 0, "notes": [], "accepted": None}


def outcome(document: Any, blocks: bytes = b"", length: int | None = None) -> BinaryIO:
    """Write a file as the checking process does, with any document, blocks and length."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return io.BytesIO(blocks + text + struct.pack(">Q", len(text) if length is None else length))


@cache
def good() -> bytes:
    """Check a good submission as the child does; return the file that it leaves."""
    task, result = io.BytesIO(), io.BytesIO()
    write_task(task, 1 << 20, {"mini": (sha("mini"), pack_clips(facts(categories())))})
    run(io.BytesIO(drawn("outcome_16k")), task, result)
    return result.getvalue()


def parts() -> tuple[dict[str, Any], bytes]:
    """Take the good outcome apart: document and blocks."""
    length = int.from_bytes(good()[-TAIL:], "big")
    return json.loads(good()[-TAIL - length : -TAIL]), good()[: -TAIL - length]


def test_what_was_written_is_read() -> None:
    """An accepted file comes back with its numbers and its block, whose size and rows the document gives."""
    checked = read_outcome(io.BytesIO(good()))
    accepted = checked.outcome.accepted
    assert accepted is not None
    assert checked.outcome.problems == ()
    (info,) = accepted.blocks
    assert (info.dataset, info.rows, info.size) == ("mini", 12, len(next(checked.blocks)))
    assert (accepted.clips, accepted.ok, accepted.failed, accepted.complete) == (12, 12, 0, True)
    assert list(checked.blocks) == list(checked.blocks) == [parts()[1]]


def test_a_refusal_is_read() -> None:
    """Problems come without results and without blocks."""
    checked = read_outcome(outcome(REFUSED))
    assert list(checked.blocks) == []
    assert [problem.model_dump() for problem in checked.outcome.problems] == [PROBLEM]


def test_blocks_come_apart_in_their_order() -> None:
    """Three blocks of 1, 0 and 3 bytes are cut where the document says, wherever the file was left standing."""
    document, _ = parts()
    document["accepted"]["blocks"] = [{"dataset": f"{size}", "rows": 1, "size": size} for size in (1, 0, 3)]
    file = outcome(document, b"1333")
    file.seek(5)
    assert list(read_outcome(file).blocks) == [b"1", b"", b"333"]


@pytest.mark.parametrize("size", [0, 1, 7, 8])
def test_too_short_for_a_document(size: int) -> None:
    """A child that died wrote nothing, a part of the length, or the length alone."""
    with pytest.raises(InvalidOutcome, match=f"expected an outcome, got {size} bytes"):
        read_outcome(io.BytesIO(bytes(size)))


def sparse(folder: Path, size: int, tail: bytes) -> BinaryIO:
    """Make a file of zeros that takes no room on the disk, but for its tail."""
    path = folder / "outcome"
    with path.open("wb") as file:
        file.seek(size - len(tail))
        file.write(tail)
        file.truncate(size)
    return path.open("rb")


def test_a_file_beyond_the_limits(tmp_path: Path) -> None:
    """A file larger than document and blocks may be is refused by its size, unread; one byte less is looked into."""
    limit = TAIL + DOCUMENT_LIMIT + BLOCK_LIMIT
    with sparse(tmp_path, limit + 1, b"") as file:
        with pytest.raises(InvalidOutcome, match=f"expected an outcome, got {limit + 1} bytes"):
            read_outcome(file)
        assert file.tell() == limit + 1
    with (
        sparse(tmp_path, limit, struct.pack(">Q", DOCUMENT_LIMIT)) as file,
        pytest.raises(InvalidOutcome, match="fields"),
    ):
        read_outcome(file)


def test_blocks_beyond_the_limit(tmp_path: Path) -> None:
    """Blocks of 256 MiB and a byte are refused before the document is read, however short it is; a byte less is not."""
    text = json.dumps(REFUSED).encode()
    tail = text + struct.pack(">Q", len(text))
    with sparse(tmp_path, len(tail) + BLOCK_LIMIT + 1, tail) as file:
        with pytest.raises(InvalidOutcome, match=f"at most {BLOCK_LIMIT} bytes, got {BLOCK_LIMIT + 1}"):
            read_outcome(file)
        with pytest.raises(InvalidOutcome, match="blocks of the sizes"):
            read_outcome(file, 2)  # parts may have as much each
    whole = len(tail) + BLOCK_LIMIT
    with sparse(tmp_path, whole, tail) as file, pytest.raises(InvalidOutcome, match="blocks of the sizes"):
        read_outcome(file)


def test_a_document_beyond_the_limit(tmp_path: Path) -> None:
    """A document of 32 MiB and a byte is not read, though the file is long enough to hold it."""
    told = f"at most {DOCUMENT_LIMIT} bytes .* got {DOCUMENT_LIMIT + 1}"
    tail = struct.pack(">Q", DOCUMENT_LIMIT + 1)
    with sparse(tmp_path, DOCUMENT_LIMIT + 100, tail) as file, pytest.raises(InvalidOutcome, match=told):
        read_outcome(file)


@pytest.mark.parametrize("beyond", [1, 1000, 2**63])
def test_a_document_longer_than_the_file(beyond: int) -> None:
    """A length that the file does not have is refused before anything is read or reserved for it."""
    text = json.dumps(REFUSED).encode()
    with pytest.raises(InvalidOutcome, match=f"got {len(text) + beyond}$"):
        read_outcome(outcome(REFUSED, length=len(text) + beyond))


def test_a_document_cut_short() -> None:
    """A length below the document's leaves a text that is no JSON."""
    with pytest.raises(InvalidOutcome, match="fields do not fit"):
        read_outcome(outcome(REFUSED, length=len(json.dumps(REFUSED)) - 1))


@pytest.mark.parametrize(
    "document",
    [b"\0", b"\xff\xfe", b"null", b"[]", b"{}", b"[" * 100_000, b"PK\x03\x04", REFUSED | {"surprise": 1}]
    + [{key: value for key, value in REFUSED.items() if key != missing} for missing in REFUSED]
    + [REFUSED | wrong for wrong in ({"more": -1}, {"more": 2**31}, {"more": "0"}, {"more": 0.0}, {"more": True})]
    + [REFUSED | wrong for wrong in ({"notes": [1]}, {"notes": None}, {"problems": None}, {"accepted": []})]
    + [REFUSED | {"problems": [PROBLEM | {"got": None}]}, REFUSED | {"problems": [PROBLEM | {"more": ""}]}],
)  # fmt: skip
def test_a_document_that_is_none(document: Any) -> None:
    """Anything but the fields of an outcome, each of its own kind and range, is refused in our own words."""
    with pytest.raises(InvalidOutcome, match=r"expected an outcome: \d+ fields do not fit"):
        read_outcome(outcome(document))


def test_the_largest_count_passes() -> None:
    """Counts end where the database's integers do."""
    assert read_outcome(outcome(REFUSED | {"more": 2**31 - 1})).outcome.more == 2**31 - 1


def _set(*path: str | int) -> Callable[[dict[str, Any], Any], None]:
    def change(document: dict[str, Any], value: Any) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        assert path[-1] in place or isinstance(path[-1], int)
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (_set("accepted", "clips"), -1),
        (_set("accepted", "ok"), 2**31),
        (_set("accepted", "failed"), "0"),
        (_set("accepted", "complete"), 1),
        (_set("accepted", "blocks", 0, "rows"), -1),
        (_set("accepted", "blocks", 0, "size"), -1),
        (_set("accepted", "blocks", 0, "size"), 2**40),
        (_set("accepted", "blocks", 0, "dataset"), ""),
        (_set("accepted", "blocks", 0, "dataset"), "x" * 201),
        (_set("accepted", "submission", "clips_sha256"), "../../etc/passwd"),
        (_set("accepted", "submission", "created"), "yesterday"),
        (_set("accepted", "submission", "format"), 4),
        (_set("accepted", "categories", 0, "category"), "smell"),
        (_set("accepted", "categories", 0, "score", "value"), float("nan")),
        (_set("accepted", "categories", 0, "seconds"), float("inf")),
        (_set("accepted", "datasets", 0, "score"), None),
        (_set("accepted", "datasets", 0, "metrics", "pesq", "mean"), float("-inf")),
    ],
)
def test_results_that_are_none(change: Callable[[dict[str, Any], Any], None], value: Any) -> None:
    """One wrong kind, negative count, endless number or unknown name anywhere in the results refuses them all."""
    document, blocks = parts()
    change(document, value)
    with pytest.raises(InvalidOutcome, match="fields do not fit"):
        read_outcome(outcome(document, blocks))


def test_either_problems_or_results() -> None:
    """Both would store a refused file, neither would lose an accepted one."""
    document, blocks = parts()
    with pytest.raises(InvalidOutcome, match="either problems, or results"):
        read_outcome(outcome(document | {"problems": [PROBLEM]}, blocks))
    lacking = {"sha256": sha("part"), "size": 1, "rows": 1, "clips_sha256": sha("rows")}
    with pytest.raises(InvalidOutcome, match="either problems, or results"):
        read_outcome(outcome(REFUSED | {"parts": [lacking]}))
    with pytest.raises(InvalidOutcome, match="either problems, or results"):
        read_outcome(outcome(REFUSED | {"problems": []}))


@pytest.mark.parametrize("change", [-1, 1], ids=["shorter", "longer"])
def test_blocks_of_another_size(change: int) -> None:
    """A block that ends early or goes on behind the document's size is no block of it."""
    document, blocks = parts()
    wrong = blocks[:change] if change < 0 else blocks + b"\0"
    with pytest.raises(InvalidOutcome, match="blocks of the sizes"):
        read_outcome(outcome(document, wrong))


def test_a_refusal_with_blocks() -> None:
    """Bytes behind a refusal belong to nothing."""
    with pytest.raises(InvalidOutcome, match="blocks of the sizes"):
        read_outcome(outcome(REFUSED, b"rows"))


@examples(60)
@given(st.data())
def test_a_damaged_outcome_is_refused_or_whole(data: st.DataObject) -> None:
    """Whatever byte changes and wherever the file ends, InvalidOutcome comes out, or blocks as announced."""
    damaged = bytearray(good())
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = io.BytesIO(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    try:
        checked = read_outcome(file)
    except InvalidOutcome:
        return
    assert isinstance(checked, Checked)
    accepted = checked.outcome.accepted
    assert (accepted is None) == bool(checked.outcome.problems)
    assert [len(block) for block in checked.blocks] == [info.size for info in (accepted.blocks if accepted else ())]
