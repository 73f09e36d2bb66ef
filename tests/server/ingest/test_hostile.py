"""Files made to harm: every one is refused in words, soon, by a process whose memory and time have an end."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.pipeline.stats import draw_rows
from support.pipeline.submissions import reseal
from support.profile import amount, examples
from support.server.ingest import Service, categories, changed_members, drawn, make_file, running
from support.timing import quickest

from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.tables.clips import FORMAT, FORMAT_KEY, clip_schema, open_table
from codec_superb.server.errors import Refused
from codec_superb.server.ingest.fork_server import OUT_OF_MEMORY
from codec_superb.server.settings import Settings

LIMIT = 5.0
"""Seconds in which a hostile file must be refused."""
GOOD = drawn("hostile_16k")
MEMBERS = read_archive(io.BytesIO(GOOD))
EXAMPLES = examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Service]:
    """Run one service on SQLite: a hostile file never gets as far as the database."""
    folder = tmp_path_factory.mktemp("victim")
    database = folder / "leaderboard.sqlite"
    database.write_bytes(migrated_sqlite.read_bytes())
    with running(
        Settings(database=f"sqlite:///{database}", storage=folder, secret_key="x" * 40, uploads_per_hour=1_000_000)
    ) as service:
        yield service


def refused(victim: Service, data: bytes) -> list[dict[str, str]]:
    """Expect a refusal in words in time; return the problems."""
    found: list[dict[str, str]] = []

    def measure() -> float:
        start = time.perf_counter()
        found[:] = victim.problems(data)
        return time.perf_counter() - start

    assert quickest(measure, LIMIT) < LIMIT
    return found


def zipped(
    *entries: tuple[zipfile.ZipInfo | str, bytes], method: int = zipfile.ZIP_DEFLATED, end: bytes = b""
) -> bytes:
    """Write any zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in entries:
            file.writestr(name, data, method)
    return out.getvalue() + end


def table(columns: dict[str, Any], *, group: int | None = None, compression: str = "none") -> bytes:
    """Write any Parquet file that calls itself a clip table."""
    never_null = {field.name for field in clip_schema([]) if not field.nullable}
    fields = [pa.field(name, c.type, c.null_count > 0 or name not in never_null) for name, c in columns.items()]
    made = pa.table(list(columns.values()), schema=pa.schema(fields))
    out = io.BytesIO()
    with pq.ParquetWriter(out, made.schema, compression=compression, store_schema=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(made, row_group_size=group)
    return out.getvalue()


def with_table(rows: bytes) -> bytes:
    """Put a table into a submission whose hashes are right."""
    members = dict(MEMBERS) | {"clips.parquet": rows}
    reseal(members)
    return changed_members(GOOD, document=members["submission.json"], rows=rows)


def good_columns() -> dict[str, Any]:
    """Columns of a table that is right."""
    read = pq.read_table(io.BytesIO(MEMBERS["clips.parquet"]))
    return {name: read.column(name) for name in read.column_names}


def many_rows(count: int) -> bytes:
    """Repeat a row without end, which takes next to no bytes."""
    columns = {name: pa.repeat(column[0].as_py(), count) if column[0].is_valid else pa.nulls(count, column.type)
               for name, column in good_columns().items()}  # fmt: skip
    return table(columns, group=1_000_000)


def bomb() -> bytes:
    """Let a member unfold to 500 MB and declare less."""
    data = bytearray(zipped(("submission.json", b"{}"), ("clips.parquet", bytes(500 << 20))))
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, second + 24, 100_000)
    return bytes(data)


def zip64_lies() -> bytes:
    """Name an end record of Zip64 that tells of four thousand million members."""
    data = zipped(("submission.json", b"{}"), ("clips.parquet", b"PAR1"))
    end = data[-22:]
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**32, 2**32, 2**40, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(data) - 22, 1)
    return data[:-22] + record + locator + end


def extra_zip64() -> bytes:
    """Give sizes in a Zip64 field that the end record knows nothing of."""
    entry = zipfile.ZipInfo("clips.parquet")
    entry.extra = struct.pack("<HHQQ", 1, 16, 2**50, 2**50)
    return zipped(("submission.json", b"{}"), (entry, b"PAR1"))


def nested(depth: int) -> bytes:
    """Wrap JSON lists in one another."""
    return changed_members(GOOD, document=b'{"a":' * depth + b"1" + b"}" * depth)


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "deep": lambda: nested(17),
    "very deep": lambda: nested(300_000),
    "wide": lambda: changed_members(GOOD, document=b"[" + b"[]," * 1_000_000 + b"[]]"),
    "a long number": lambda: changed_members(GOOD, document=b'{"a": ' + b"9" * 1_000_000 + b"}"),
    "a long key": lambda: changed_members(GOOD, document=b'{"' + b"a" * 3_000_000 + b'": 1}'),
    "many keys": lambda: changed_members(GOOD, document=json.dumps({str(n): n for n in range(250_000)}).encode()),
    "no text": lambda: changed_members(GOOD, document=os.urandom(10_000)),
    "surrogates": lambda: changed_members(
        GOOD, document=MEMBERS["submission.json"].replace(b'"RFC 6716"', b'"\\ud800"')
    ),
    "numbers that overflow": lambda: changed_members(
        GOOD,
        document=MEMBERS["submission.json"]
        .replace(b'"codebooks": null', b'"codebooks": 1' + b"0" * 400)
        .replace(b'"codebook_size": null', b'"codebook_size": 1' + b"0" * 400),
    ),
}
ZIPS: dict[str, Callable[[], bytes]] = {
    "a bomb": bomb,
    "a lying Zip64": zip64_lies,
    "Zip64 sizes": extra_zip64,
    "a zip in a zip": lambda: zipped(("submission.json", GOOD), ("clips.parquet", GOOD)),
    "a tail": lambda: GOOD + b"PK\x05\x06" + bytes(18),
}
TABLES: dict[str, Callable[[], bytes]] = {
    "millions of rows": lambda: many_rows(amount(2, 5) * 1_000_000),
    "as many rows as may be": lambda: many_rows(200_000),
    "thousands of columns": lambda: table({f"c{n}": pa.array([1]) for n in range(5000)}),
    "compressed pages": lambda: table(good_columns(), compression="zstd"),
    "nested lists": lambda: table({"clip": pa.array([[[["a"]]]])}),
    "a clip id of a megabyte": lambda: table(good_columns() | {"clip": pa.array(["a" * (1 << 20)] * 12)}),
    "numbers for names": lambda: table(good_columns() | {"clip": pa.array(range(12))}),
    "NaN": lambda: table(good_columns() | {"pesq": pa.array([float("nan")] * 12)}),
    "infinity": lambda: table(good_columns() | {"pesq": pa.array([float("inf")] * 12)}),
    "the largest integers": lambda: table(good_columns() | {"bits": pa.array([2**63 - 1] * 12)}),
}


def test_the_tables_of_these_tests_get_as_far_as_they_should() -> None:
    """One without a trick is read like any other: the others are refused for their tricks alone."""
    assert list(open_table(io.BytesIO(table(good_columns())))) == list(open_table(io.BytesIO(MEMBERS["clips.parquet"])))


class TestKnownTricks:
    """One of each kind."""

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("name", ZIPS)
    def test_of_zips(self, victim: Service, name: str) -> None:
        """Refused by the zip, before anything is unpacked that is not wanted."""
        assert refused(victim, ZIPS[name]())

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_of_documents(self, victim: Service, name: str) -> None:
        """Refused by the document."""
        assert refused(victim, DOCUMENTS[name]())

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("name", TABLES)
    def test_of_tables(self, victim: Service, name: str) -> None:
        """Refused by the table, though every hash is right."""
        assert refused(victim, with_table(TABLES[name]()))


NAMES = st.sampled_from(
    ["submission.json", "clips.parquet", "samples/00-reference.ogg", "../../etc/passwd", "/etc/passwd", "a" * 5000,
     "samples/../clips.parquet", "C:\\x", "samples\\00-reference.ogg", "samples/", "\x1b[2J", "ü" * 300, "a.zip"]
)  # fmt: skip
CONTENTS = st.sampled_from(
    [b"", b"{}", b"PAR1", MEMBERS["submission.json"], MEMBERS["clips.parquet"], GOOD, bytes(1 << 22)]
)
MODES = st.sampled_from([0, 0o100644, 0o120777, 0o040755, 0o020600, 0o010600])


@st.composite
def hostile_zips(draw: st.DrawFn) -> bytes:
    """Draw a zip of odd members, then perhaps damage what it says about itself."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in draw(st.lists(NAMES, min_size=1, max_size=6, unique=True)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = draw(MODES) << 16
            entry.create_system = 3
            archive.writestr(entry, draw(CONTENTS), draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])))
    data = bytearray(out.getvalue())
    directory = data.index(b"PK\x01\x02")
    for _ in range(draw(st.integers(0, 3))):
        struct.pack_into("<H", data, draw(st.integers(directory, len(data) - 2)), draw(st.integers(0, 65535)))
    return bytes(data)


COLUMNS = st.sampled_from(sorted(good_columns()))
VALUES = st.sampled_from(
    [pa.array([None] * 12), pa.array(range(12)), pa.array([1e308] * 12), pa.array([float("nan")] * 12),
     pa.array(["x" * 3000] * 12), pa.array([b"\xff\xfe"] * 12), pa.array([[1]] * 12), pa.array([{"a": 1}] * 12),
     pa.array([True] * 12), pa.array([-(2**63)] * 12), pa.array(["ok"] * 12)]
)  # fmt: skip


@st.composite
def hostile_tables(draw: st.DrawFn) -> bytes:
    """Draw a table with columns of other types, added, left out or renamed, then perhaps damage its bytes."""
    columns = good_columns()
    for name in draw(st.lists(COLUMNS, max_size=4, unique=True)):
        columns[name] = draw(VALUES)
    for name in draw(st.lists(COLUMNS, max_size=2, unique=True)):
        column = columns.pop(name, None)
        if column is not None and draw(st.booleans()):
            columns[draw(st.sampled_from(["pesq_status", "rank", "a" * 1000, ""]))] = column
    data = bytearray(table(columns, compression=draw(st.sampled_from(["none", "snappy", "zstd"]))))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


class TestDrawnTricks:
    """What nobody thought of."""

    @EXAMPLES
    @given(hostile_zips())
    def test_zips(self, victim: Service, data: bytes) -> None:
        """No zip of odd members and damaged records is anything but refused."""
        assert refused(victim, data)

    @EXAMPLES
    @given(hostile_tables())
    def test_tables(self, victim: Service, rows: bytes) -> None:
        """A table under right hashes is refused, unless the document is still true of it: then it is stored whole."""
        answer = victim.send(with_table(rows))
        assert answer.status_code in {200, 201, 422}, answer.text
        if answer.status_code == 201:
            victim.stored()

    @EXAMPLES
    @given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
    def test_a_flipped_byte(self, victim: Service, position: int, flip: int) -> None:
        """Damage anywhere is found, or changes nothing that is read."""
        data = bytearray(GOOD)
        data[position] ^= flip
        assert victim.send(bytes(data)).status_code in {200, 201, 422}


BIG = 6000


@lru_cache
def big() -> bytes:
    """Make a file that takes most of a second to check."""
    with TemporaryDirectory() as folder:
        return make_file(draw_rows(1, BIG, dataset="big"), Path(folder), codec="big_16k")


class TestLimits:
    """The system ends a check that takes too much, and the service goes on."""

    def limited(self, folder: Path, migrated: Path, **limits: float) -> Settings:
        """Give a service a tight limit."""
        database = folder / "leaderboard.sqlite"
        database.write_bytes(migrated.read_bytes())
        return Settings(database=f"sqlite:///{database}", storage=folder, secret_key="x" * 40, **limits)

    @pytest.mark.sample(1, among="limits of a check")
    def test_time(self, tmp_path: Path, migrated_sqlite: Path) -> None:
        """A check that takes longer than it may is killed and refused with the limit; the next file is checked."""
        with running(self.limited(tmp_path, migrated_sqlite, check_seconds=0.3)) as service:
            service.know("big", categories(BIG, "big"))
            (problem,) = refused(service, big())
            assert problem["got"] == "more than 0.3 s of checking"
            answers = [service.problems(b"no zip")[0]["path"] for _ in range(3)]
            assert "zip" in answers  # one in three has its 0.3 s on the busiest machine

    @pytest.mark.sample(1, among="limits of a check")
    def test_memory(self, victim: Service, tmp_path: Path, migrated_sqlite: Path) -> None:
        """A check that gets no more memory is refused with the limit; the next file is checked."""
        victim.send(GOOD)  # by then the fork server has imported everything
        status = Path(f"/proc/{victim.client.app.state.checker.pid}/status").read_text(encoding="utf-8")
        needed = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmSize"))
        limit = needed + (8 << 20)
        with running(self.limited(tmp_path, migrated_sqlite, check_memory=limit)) as service:
            service.know("big", categories(BIG, "big"))
            (problem,) = refused(service, big())
            assert problem["got"] == f"more than {limit / 1e6:.0f} MB of memory for checking it"
            assert service.send(b"no zip").json()["problems"][0]["path"] == "zip"

    def test_the_fork_server_can_fork(self, victim: Service) -> None:
        """It has one thread: a child of a process with several may wait for ever for a lock that nobody holds."""
        victim.send(GOOD)
        process = victim.client.app.state.checker.pid
        assert len(list(Path(f"/proc/{process}/task").iterdir())) == 1

    @pytest.mark.parametrize(
        ("status", "got"),
        [
            (None, "more than {0.check_seconds:g} s of checking"),
            (signal.SIGALRM, "more than {0.check_seconds:g} s of checking"),
            (signal.SIGXCPU, "more than {0.check_seconds:g} s of checking"),
            (signal.SIGKILL, "more than {0.check_seconds:g} s of checking"),
            (signal.SIGABRT, "more than {1:.0f} MB of memory for checking it"),
            (OUT_OF_MEMORY << 8, "more than {1:.0f} MB of memory for checking it"),
            (signal.SIGSEGV, "a check that ended with code -11"),
            (1 << 8, "a check that ended with code 1"),
        ],
    )
    def test_each_end_of_a_check_is_told(self, victim: Service, status: int | None, got: str) -> None:
        """A child that did not end by itself refuses the file: by its time, its memory, or the code it ended with."""
        checker = victim.client.app.state.checker
        with pytest.raises(Refused, match=r"^the submission could not be checked within the limits$") as refusal:
            checker._raise_for_exit_status(status)
        (problem,) = refusal.value.problems
        assert problem["got"] == got.format(victim.settings, victim.settings.check_memory / 1e6)
        checker._raise_for_exit_status(0)

    def test_a_dead_fork_server_is_replaced(self, victim: Service) -> None:
        """Somebody kills it: the next upload gets a new one."""
        state = victim.client.app.state
        victim.send(b"no zip")
        before = state.checker.pid
        os.killpg(before, 9)
        assert victim.send(b"no zip either").status_code == 422
        assert state.checker.pid != before
