"""The columns of probes in clips.parquet: a fixed layout, and numbers that keep to the limits of their fields."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.probed import draw_probes
from support.pipeline.stats import KEYS, draw_rows, row
from support.profile import examples

from codec_superb.applications.probe import SIDES, Field
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.errors import ClipTableError
from codec_superb.pipeline.tables.clips import (
    FIXED,
    FORMAT,
    FORMAT_KEY,
    TEXT_LIMIT,
    clip_schema,
    open_table,
    write_table,
)
from codec_superb.pipeline.tables.columns import number_columns
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue


def packed(rows: list[ClipRow], probes: tuple[str, ...], metrics: tuple[str, ...] = KEYS) -> io.BytesIO:
    """Write rows into memory."""
    out = io.BytesIO()
    write_table(out, rows, metrics, probes)
    return out


def raw(schema: pa.Schema, **fields: Any) -> io.BytesIO:
    """Write one row without this package, marked as a clip table; other columns are null where they may be."""
    data = row("a").model_dump(exclude={"metrics", "probes"})
    out = io.BytesIO()
    with pq.ParquetWriter(out, schema, compression="none", store_schema=False) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(pa.Table.from_pylist([{name: data[name] for name in FIXED} | fields], schema=schema))
    return out


def number(field: Field) -> st.SearchStrategy[float]:
    """Any number that a field may hold."""
    most = min(field.maximum, 2.0**53)
    if field.whole:
        return st.integers(int(field.minimum), int(most)).map(float)
    return st.floats(field.minimum, most)


def values(key: str) -> st.SearchStrategy[ProbeValue]:
    """Any value that a probe may keep of a clip."""
    probe, texts = PROBES[key], st.text(st.characters(codec="utf-8"), max_size=20)
    sided = st.fixed_dictionaries({field.name: number(field) for field in probe.sided})
    shared = st.fixed_dictionaries({field.name: number(field) for field in probe.shared})
    return st.one_of(
        st.builds(ProbeValue, status=st.just("ok"), reason=texts, shared=shared, reference=sided, resynthesis=sided),
        st.builds(ProbeValue, status=st.sampled_from(["left_out", "failed"]), reason=texts),
    )


class TestLayout:
    """Which columns a table has."""

    def test_columns_follow_the_metrics_sorted_by_probe_and_ordered_as_its_row_of_the_table(self) -> None:
        """Status and reason, shared numbers, then those of the reference, then those of the resynthesis."""
        assert clip_schema(["pesq"], ["sim", "asr"]).names[len(FIXED) + 3 :] == [
            "asr.status", "asr.reason", "asr.words", "asr.characters",
            "asr.reference.substitutions", "asr.reference.deletions", "asr.reference.insertions",
            "asr.resynthesis.substitutions", "asr.resynthesis.deletions", "asr.resynthesis.insertions",
            "sim.status", "sim.reason", "sim.reference.similarity", "sim.resynthesis.similarity",
        ]  # fmt: skip

    def test_a_table_without_probes_has_no_columns_for_them(self) -> None:
        """Probes add columns where they were run, and nothing elsewhere."""
        file = pq.ParquetFile(packed(draw_rows(1, 30), ()))
        assert file.schema_arrow.names == [
            *FIXED, *(column for key in sorted(KEYS) for column in (key, f"{key}_status", f"{key}_reason"))
        ]  # fmt: skip
        assert file.metadata.metadata == {FORMAT_KEY: FORMAT.encode()}

    def test_no_two_columns_of_all_probes_have_one_name(self) -> None:
        """A shared field named as a side, or as status or reason, would claim another's column."""
        names = clip_schema([], PROBES).names
        assert len(set(names)) == len(names)
        assert all(len(number_columns(key)) == len(p.shared) + len(SIDES) * len(p.sided) for key, p in PROBES.items())

    def test_a_probe_that_does_not_exist_is_refused(self) -> None:
        """By the writer with what exists, and by the reader with the file's name."""
        with pytest.raises(ClipTableError, match=r"'telepathy'.*asr"):
            clip_schema([], ["telepathy"])
        schema = pa.schema([*clip_schema([]), pa.field("telepathy.status", pa.string())])
        with pytest.raises(ClipTableError, match=r"clips.parquet: probe 'telepathy'"):
            open_table(raw(schema))

    def test_columns_missing_reordered_added_or_of_another_type_are_named(self) -> None:
        """The layout of a probe is as strict as that of a metric."""
        whole = list(clip_schema([], ["sim"]))
        cases = {
            "to be 'sim.resynthesis.similarity' .double., got absent": whole[:-1],
            "to be 'sim.reference.similarity' .double., got 'sim.resynthesis": [*whole[:-2], whole[-1], whole[-2]],
            "to be absent, got 'sim.other'": [*whole, pa.field("sim.other", pa.float64())],
            "to be 'sim.status' .string., got 'sim.status' .int64.": [
                pa.field("sim.status", pa.int64()) if field.name == "sim.status" else field for field in whole
            ],
            "to be 'asr.status' .string., got 'sim.status'": [*whole, pa.field("asr.status", pa.string())],
        }
        for message, fields in cases.items():
            with pytest.raises(ClipTableError, match=message):
                open_table(raw(pa.schema(fields)))


class TestRoundTrip:
    """Rows through a file."""

    def test_rows_of_every_probe_come_back(self) -> None:
        """Drawn values of all probes, with clips that are left out, failed, or of another category."""
        rows = draw_probes(draw_rows(1, 60)).rows
        table = open_table(packed(rows, tuple(PROBES)))
        assert table.probes == tuple(sorted(PROBES))
        assert list(table) == rows

    @examples(40)
    @given(st.lists(st.fixed_dictionaries({}, optional={key: values(key) for key in ("asr", "aec", "dnsmos")})))
    def test_any_numbers_within_the_limits_come_back(self, entries: list[dict[str, ProbeValue]]) -> None:
        """Whatever is absent, left out, failed or at a limit."""
        rows = [row(str(n), probes=probes) for n, probes in enumerate(entries)]
        assert list(open_table(packed(rows, ("asr", "aec", "dnsmos"), ()))) == rows

    def test_a_long_reason_is_cut_and_says_so(self) -> None:
        """As an error's text is."""
        value = ProbeValue(status="failed", reason="x" * 9999)
        (back,) = open_table(packed([row("a", probes={"sim": value})], ("sim",), ()))
        assert len(back.probes["sim"].reason) <= TEXT_LIMIT
        assert back.probes["sim"].reason.endswith("(shortened)")


SIM = {"sim.status": "ok", "sim.reason": "", "sim.reference.similarity": 1.0, "sim.resynthesis.similarity": 0.5}
ER = {"er.status": "ok", "er.reason": "", "er.reference.correct": 1.0, "er.resynthesis.correct": 0.0}


class TestValues:
    """What a row may hold."""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"sim.status": "perhaps"}, "status"),
            ({"sim.status": None}, "status"),
            ({"sim.status": "failed"}, "sim, which is failed: expected no numbers in reference"),
            ({"sim.reference.similarity": None}, r"sim, which is ok: expected the numbers \['similarity'\]"),
            ({"sim.resynthesis.similarity": 1.1}, "sim: resynthesis similarity: expected -1 to 1, got 1.1"),
            ({"sim.resynthesis.similarity": float("nan")}, "similarity"),
            ({"sim.resynthesis.similarity": float("inf")}, "similarity"),
            ({"sim.reason": "x" * 2001}, "at most 2000 characters in sim.reason"),
            ({"sim.status": "x" * 1001}, "at most 1000 characters in sim.status"),
            ({"er.resynthesis.correct": 0.5}, "er: resynthesis correct: expected a whole number, got 0.5"),
            ({"er.resynthesis.correct": 2.0}, "er: resynthesis correct: expected 0 to 1, got 2.0"),
        ],
    )
    def test_what_breaks_the_contract_is_named_with_its_row(self, changes: dict[str, Any], message: str) -> None:
        """A number goes with ok alone, is finite, within the limits of its field, and whole where it counts."""
        with pytest.raises(ClipTableError, match=f"clips.parquet.*{message}"):
            list(open_table(raw(clip_schema([], ["sim", "er"]), **{**SIM, **ER, **changes})))

    def test_the_same_row_without_the_fault_is_read(self) -> None:
        """So that the cases above fail for the reason given; rounding beyond a limit is borne."""
        (back,) = open_table(raw(clip_schema([], ["sim", "er"]), **(SIM | ER | {"sim.reference.similarity": 1 + 1e-7})))
        assert back.probes["er"].resynthesis == {"correct": 0.0}

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (ProbeValue(status="ok"), "expected the numbers"),
            (ProbeValue(status="left_out", shared={"words": 1.0}), "expected no numbers in shared"),
        ],
    )
    def test_the_writer_refuses_what_the_reader_would(self, value: ProbeValue, message: str) -> None:
        """With the clip; a table that nobody can read is not written."""
        with pytest.raises(ClipTableError, match=f"clip 'a': asr.*{message}"):
            packed([row("a", probes={"asr": value})], ("asr",), ())

    def test_a_probe_without_columns_is_refused(self) -> None:
        """It would be lost."""
        with pytest.raises(ClipTableError, match=r"has the probes \['sim'\]"):
            packed([row("a", probes={"sim": ProbeValue(status="failed")})], ("asr",), ())
