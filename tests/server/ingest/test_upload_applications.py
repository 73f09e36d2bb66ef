"""Uploads with applications: figures are recomputed and kept, rows keep their numbers, and untrue ones are refused."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer
from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, write_run
from support.pipeline.submissions import reseal
from support.server.ingest import CLIPS, Service

from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import COMPOSITES, PROBE_METRICS, PROBES
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.submission.archive import read_archive, write_archive
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submitter
from codec_superb.pipeline.tables.pairs import FORMAT, FORMAT_KEY, pair_schema, read_pairs, write_pairs
from codec_superb.pipeline.tables.rows import CountsRow, FramesRow, KeptRow, PairRow
from codec_superb.server.database.models import ClipBlock, Submission
from codec_superb.server.storage.clip_blocks import block_row, block_rows

UNCOUNTED = {key for key, figure in PROBE_METRICS.items() if figure.per == "characters"}
"""Figures without a value: the drawn labels are counted in words."""


@lru_cache
def probed(codec: str = "probed_16k") -> bytes:
    """Pack drawn rows of the whole dataset ``mini`` with every probe."""
    with TemporaryDirectory() as folder:
        rows = [row.model_copy(update={"tokens": row.bits}) for row in draw_rows(1, CLIPS)]
        run = write_run(Path(folder), rows, card=card(codec, codebooks=1, codebook_size=2, frame_rate=16_000.0))
        probe_run(run)
        return pack([run], Path(folder) / "out.zip", submitter=Submitter(name="Ann")).read_bytes()


def in_file(row: KeptRow) -> Iterable[PairRow]:
    """Return the rows of the file, a count each."""
    assert not isinstance(row, FramesRow)
    return row.pairs() if isinstance(row, CountsRow) else (row,)


def altered(change: Callable[[dict[str, bytes]], None]) -> bytes:
    """Change members, make every hash right, and zip them again."""
    members = read_archive(io.BytesIO(probed("altered_16k")))
    change(members)
    reseal(members)
    out = io.BytesIO()
    write_archive(out, members)
    return out.getvalue()


class TestStored:
    """What is kept of a submission with applications."""

    @pytest.mark.sample(2, among="probes uploaded")
    def test_figures_and_numbers_are_those_of_the_file(self, service: Service, tmp_path: Path) -> None:
        """The document keeps the recomputed figures and how they came to be; blocks keep what probes kept of clips."""
        answer = service.send(probed())
        assert answer.status_code == 201, answer.text
        service.stored()
        (tmp_path / "a.zip").write_bytes(probed())
        expected = load_results(tmp_path / "a.zip")
        with service.database.transaction() as session:
            found = session.get_one(Submission, answer.json()["id"], options=[undefer(Submission.document)])
            kept = [ApplicationAggregate.model_validate(entry) for entry in found.document["applications"]]
            assert tuple(kept) == expected.aggregates.applications
            assert {entry.figure for entry in kept} - set(COMPOSITES) == set(PROBE_METRICS) - UNCOUNTED
            described = found.document["datasets"][0]["probes"]
            assert [(entry["probe"], entry["backend"]) for entry in described] == [
                (key, PROBES[key].backend) for key in sorted(PROBES)
            ]
            statement = select(ClipBlock).where(ClipBlock.submission_id == found.id).options(undefer(ClipBlock.data))
            block = session.scalars(statement).one().data
        assert block_rows(block, "mini") == sorted(expected.rows, key=lambda row: row.clip)
        one = next(row for row in expected.rows if row.probes["visqol"].status == "left_out")
        assert block_row(block, one.clip, "mini") == one

    @pytest.mark.sample(2, among="probes uploaded")
    def test_clips_are_served_with_their_numbers(self, service: Service) -> None:
        """As rows, and as the Parquet that a submission has, which the reader of tables opens."""
        identity = service.send(probed()).json()["id"]
        with service.database.transaction(write=True) as session:  # figures that are drawn wait for a moderator
            session.get_one(Submission, identity).status = "self-reported"
        answer = service.client.get(f"/api/v1/submissions/{identity}/clips?limit=1")
        assert answer.status_code == 200, answer.text
        first = answer.json()["clips"][0]
        assert first["asr.status"] in {"ok", "left_out", None}
        assert "asv.trials" in first


class TestUntrue:
    """What is not true is refused in words."""

    @pytest.mark.sample(2, among="probes uploaded")
    def test_a_figure_that_does_not_follow_from_the_rows(self, service: Service) -> None:
        """The place of the figure is named, with what was recomputed."""

        def change(members: dict[str, bytes]) -> None:
            document = json.loads(members["submission.json"])
            entry = next(e for e in document["aggregates"]["applications"] if e["figure"] == "asr_wer_pct")
            entry["resynthesis"]["value"] /= 2
            members["submission.json"] = json.dumps(document).encode()

        (problem,) = service.problems(altered(change))
        assert "aggregates.applications" in problem["path"]
        assert "recomputed from clips.parquet" in problem["expected"]

    @pytest.mark.sample(2, among="probes uploaded")
    def test_scores_of_trials_that_are_others(self, service: Service) -> None:
        """Speakers that are told apart in another way by the pairs than by the figures."""

        def change(members: dict[str, bytes]) -> None:
            pairs = read_pairs(io.BytesIO(members["pairs.parquet"]))
            out = io.BytesIO()
            write_pairs(
                out,
                [
                    row.model_copy(update={"resynthesis": float(not row.target)})
                    if isinstance(row, PairRow) and row.probe == "asv"
                    else row
                    for row in pairs
                ],
            )
            members["pairs.parquet"] = out.getvalue()

        assert all("aggregates.applications" in problem["path"] for problem in service.problems(altered(change)))

    @pytest.mark.sample(2, among="probes uploaded")
    def test_a_model_that_nobody_trained(self, service: Service) -> None:
        """Its figures say nothing about a codec."""

        def change(members: dict[str, bytes]) -> None:
            document = json.loads(members["submission.json"])
            document["datasets"][0]["probes"][0]["random"] = True
            members["submission.json"] = json.dumps(document).encode()

        (problem,) = service.problems(altered(change))
        assert problem["path"].endswith("probes.0.random")


def _raw(columns: dict[str, list[object]], **options: object) -> bytes:
    """Write a pair table without this package."""
    out = io.BytesIO()
    with pq.ParquetWriter(out, pair_schema(), **({"compression": "none", "store_schema": False} | options)) as writer:
        writer.add_key_value_metadata({FORMAT_KEY: FORMAT.encode()})
        writer.write_table(pa.Table.from_pydict(columns, schema=pair_schema()))
    return out.getvalue()


def _many(count: int, **changes: list[object]) -> dict[str, list[object]]:
    usual: dict[str, list[object]] = {
        "dataset": ["mini"] * count, "probe": ["asv"] * count, "left": ["a"] * count, "right": ["b"] * count,
        "target": [True] * count, "reference": [0.5] * count, "resynthesis": [0.5] * count,
        "enrol_clean": [0.5] * count,
    }  # fmt: skip
    return usual | changes


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a million trials": lambda: _raw(_many(500_001)),
    "compressed pages": lambda: _raw(_many(100_000), compression="zstd"),
    "a text without end": lambda: _raw(_many(1, right=["x" * 300_000])),
    "numbers that are none": lambda: _raw(_many(2, reference=[float("nan"), float("inf")])),
    "a probe that keeps no pairs": lambda: _raw(_many(1, probe=["asr"])),
    "thousands of classes": lambda: _raw(
        _many(5000, probe=["aec"] * 5000, right=[f"class {n}" for n in range(5000)], enrol_clean=[None] * 5000)
    ),
    "another dataset": lambda: _raw(_many(1, dataset=["x\u202e" * 100])),
    "no table": lambda: b"PAR1" * 9,
}


class TestHostile:
    """Tables of pairs made to harm."""

    @pytest.mark.sample(3)
    @pytest.mark.parametrize("name", HOSTILE)
    def test_they_are_refused_in_words(self, service: Service, name: str) -> None:
        """Every problem lies in the pairs, or in figures that do not follow from them."""
        for problem in service.problems(altered(lambda members: members.update({"pairs.parquet": HOSTILE[name]()}))):
            assert problem["path"].startswith(("pairs.parquet", "clips.parquet", "submission.json: aggregates"))

    def test_a_table_twice_as_large_as_allowed_is_not_unpacked(self, service: Service) -> None:
        """The limit of the member holds before any of it is read."""
        (problem,) = service.problems(altered(lambda members: members.update({"pairs.parquet": bytes(129 << 20)})))
        assert problem["path"] == "zip"

    def test_the_same_table_without_a_fault_is_accepted(self, service: Service) -> None:
        """So that the cases above are refused for the reason given: written anew, pairs are the same pairs."""

        def rewrite(members: dict[str, bytes]) -> None:
            pairs = [pair for row in read_pairs(io.BytesIO(members["pairs.parquet"])) for pair in in_file(row)]
            columns = {name: [getattr(pair, name) for pair in pairs] for name in PairRow.model_fields}
            members["pairs.parquet"] = _raw(columns)

        data = altered(rewrite)
        assert hashlib.sha256(data).digest() != hashlib.sha256(probed("altered_16k")).digest()
        assert service.send(data).status_code == 201
