"""What rows, descriptions and pairs of applications may say together: every untruth is named with its place."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.pipeline.probed import probe_run
from support.pipeline.probed_file import CARD, ROWS, packed, problems
from support.pipeline.stats import draw_rows, write_run
from support.pipeline.submissions import edit_document, edit_pairs, edit_rows, reseal, rewrite

from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.tables.clips import open_table, write_table
from codec_superb.pipeline.tables.rows import ClipRow, PairRow, ProbeValue


def few() -> io.BytesIO:
    """Pack ranks, transcripts, trials and similarities."""
    return packed("aec", "asr", "asv", "sim")


def of(rows: list[ClipRow], key: str, status: str = "ok") -> int:
    """Find a clip with an entry of the probe in that state."""
    return next(n for n, row in enumerate(rows) if key in row.probes and row.probes[key].status == status)


def put(key: str, entry: ProbeValue | None, state: str = "ok") -> Callable[[list[ClipRow]], None]:
    """Give the first clip in that state another entry, or none."""

    def change(rows: list[ClipRow]) -> None:
        place = of(rows, key, state)
        probes = {name: value for name, value in rows[place].probes.items() if name != key}
        rows[place] = rows[place].model_copy(update={"probes": probes if entry is None else {**probes, key: entry}})

    return change


def asr(reference: float, words: float = 4, characters: float = 0, insertions: float = 0) -> ProbeValue:
    """Make a transcript with so many words wrong on the reference."""
    none = {"substitutions": 0.0, "deletions": 0.0, "insertions": insertions}
    shared = {"words": words, "characters": characters}
    return ProbeValue(status="ok", shared=shared, reference=none | {"deletions": reference}, resynthesis=none)


class TestRows:
    """What rows may say, beyond the limits of each number."""

    @pytest.mark.sample(3)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (put("asr", asr(5)), "substitutions and deletions of at most the 4 words or characters"),
            (put("asr", asr(0, characters=9)), "a transcript counted in words or in characters"),
            (put("asr", asr(0, words=0)), "a transcript counted in words or in characters"),
            (put("asr", asr(0, words=1e4)), "words or characters in"),
            (put("asr", asr(0, insertions=1e6)), "insertions of at most"),
            (
                put("sim", ProbeValue(status="ok", reference={"similarity": 0.9}, resynthesis={"similarity": 0.9})),
                "sim.reference.similarity: expected 1, which every original has, got 0.9",
            ),
            (put("asr", None), "probes: expected entries of"),
            (put("sim", ProbeValue(status="left_out")), "sim.reason: expected a reason for left_out"),
            (
                put(
                    "sim", ProbeValue(status="ok", reference={"similarity": 1}, resynthesis={"similarity": 1}), "failed"
                ),
                "sim.status: expected failed or left_out, without a resynthesis",
            ),
            (
                put("asr", asr(0, words=1e16)),
                "asr.shared.words: expected at most 1e+15",
            ),
        ],
    )
    def test_what_cannot_be_is_named(self, change: Callable[[list[ClipRow]], None], message: str) -> None:
        """With the clip, what was expected, and what came."""
        assert message in problems(edit_rows(few(), change))

    def test_an_entry_of_a_category_that_the_probe_does_not_look_at_is_named(self) -> None:
        """A bark has no transcript."""

        def change(rows: list[ClipRow]) -> None:
            place = next(n for n, row in enumerate(rows) if row.category == "audio")
            rows[place] = rows[place].model_copy(update={"probes": {**rows[place].probes, "asr": asr(0)}})

        assert "the probes of the dataset that look at audio" in problems(edit_rows(few(), change))


class TestDeclared:
    """What submission.json says about the probes of a dataset."""

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"version": "0"}, "probes.1.version: expected version 1 of the definition of asr, got 0"),
            ({"random": True}, "probes.1.random: expected a trained model"),
            ({"model_sha256": "?"}, "probes.1.model_sha256: expected 64 hexadecimal digits"),
            ({"backend": ""}, "probes.1.backend: expected a name, a text with letters"),
            ({"probe": "telepathy"}, "clips.parquet: expected columns for"),
            ({"probe": "aec"}, "clips.parquet: expected columns for"),
        ],
    )
    def test_a_probe_described_wrongly_is_named(self, changes: dict[str, Any], message: str) -> None:
        """Version, training, hash and name; and that columns and description belong together."""
        report = edit_document(few(), lambda data: data["datasets"][0]["probes"][1].update(changes), seal=True)
        assert message in problems(report)

    def test_probes_that_are_not_sorted_or_come_twice_are_refused(self) -> None:
        """One backend a probe and dataset."""
        for change in (list.reverse, lambda probes: probes.append(probes[0])):
            report = edit_document(few(), lambda data, c=change: c(data["datasets"][0]["probes"]), seal=True)
            assert "datasets.0.probes: expected each probe once, sorted" in problems(report)

    def test_columns_of_a_probe_that_no_dataset_declares_are_refused(self) -> None:
        """Nor may a declared probe have no columns."""

        def without(members: dict[str, bytes]) -> None:
            table = open_table(io.BytesIO(members["clips.parquet"]))
            rows = [row.model_copy(update={"probes": {}}) for row in table]
            out = io.BytesIO()
            write_table(out, rows, table.metrics)
            members["clips.parquet"] = out.getvalue()
            reseal(members)

        assert "clips.parquet: expected columns for" in problems(check(rewrite(few(), without)))
        report = edit_document(few(), lambda data: data["datasets"][0].update(probes=[]), seal=True)
        assert "clips.parquet: expected columns for []" in problems(report)

    def test_a_probe_of_another_dataset_alone_is_refused_in_the_rows(self, tmp_path: Path) -> None:
        """Columns are for the whole table; each dataset's rows have those that the dataset declares."""
        runs = [write_run(tmp_path, draw_rows(n, 12, dataset=name), card=CARD) for n, name in enumerate("ab")]
        probe_run(runs[0], ["sim"])
        file = pack(runs, tmp_path / "a.zip")
        entry = ProbeValue(status="ok", reference={"similarity": 1.0}, resynthesis={"similarity": 0.5})

        def change(rows: list[ClipRow]) -> None:
            place = next(n for n, row in enumerate(rows) if row.dataset == "b" and row.category == "speech")
            rows[place] = rows[place].model_copy(update={"probes": {"sim": entry}})

        assert "look at speech: []" in problems(edit_rows(file, change))


def first(probe: str, **changes: Any) -> Callable[[list[PairRow]], None]:
    """Change the first pair of a probe."""

    def change(pairs: list[PairRow]) -> None:
        place = next(n for n, pair in enumerate(pairs) if pair.probe == probe)
        pairs[place] = pairs[place].model_copy(update=changes)

    return change


def again(**changes: Any) -> Callable[[list[PairRow]], None]:
    """Add the first pair of a probe once more, changed."""
    key = changes.pop("key")

    def change(pairs: list[PairRow]) -> None:
        pairs.append(next(pair for pair in pairs if pair.probe == key).model_copy(update=changes))

    return change


LEFT_OUT = next(row.clip for row in ROWS if row.status == "failed")


class TestPairs:
    """What trials and ranks may say."""

    @pytest.mark.sample(5)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (first("asv", left="nobody"), "expected clips on which the probe is ok, got others"),
            (first("asv", right=LEFT_OUT), "expected clips on which the probe is ok, got others"),
            (first("asv", right="mini/clip000", left="mini/clip000"), "expected two clips, got one"),
            (first("asv", enrol_clean=None), "enrol_clean: expected the score against the original"),
            (
                again(key="asv", resynthesis=9.0),
                "expected one answer and one score for each trial, got two that differ",
            ),
            (again(key="asv"), "asv.trials: expected 8, counted in pairs.parquet, got 7"),
            (first("asv", dataset="elsewhere"), "elsewhere: asv"),
            (first("aec", left="nobody"), "expected a clip on which the probe is ok, got another"),
            (first("aec", reference=0.0), "expected a whole rank of 1 to"),
            (first("aec", resynthesis=1.5), "expected a whole rank of 1 to"),
            (first("aec", resynthesis=99.0), "expected a whole rank of 1 to"),
            (first("aec", target=False), "target true and no enrol_clean for a rank"),
            (first("aec", enrol_clean=0.5), "target true and no enrol_clean for a rank"),
            (again(key="aec"), "expected one rank of a clip within a class, got another"),
            (first("aec", right="thunder"), "aggregates.applications"),
        ],
    )
    def test_what_cannot_be_is_named(self, change: Callable[[list[PairRow]], None], message: str) -> None:
        """With the pair, what was expected, and what came."""
        assert message in problems(edit_pairs(few(), change))

    def test_ranks_better_than_there_are_clips_before_them_are_refused(self) -> None:
        """All clips of a class at rank 1 would be a precision beyond 1: ties count against a clip."""

        def all_first(pairs: list[PairRow]) -> None:
            pairs[:] = [pair.model_copy(update={"resynthesis": 1.0}) if pair.probe == "aec" else pair for pair in pairs]

        assert "as many clips at a rank or before it as it says" in problems(edit_pairs(few(), all_first))

    def test_a_trial_that_a_published_list_names_twice_is_borne(self, tmp_path: Path) -> None:
        """The same answer and the same scores again, counted again for both clips."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        found = probe_run(run, ["asv"])
        twice = found.pairs[0]
        rows = [row.model_dump(mode="json") for row in found.rows]
        for row in rows:
            if row["clip"] in {twice.left, twice.right}:
                row["probes"]["asv"]["shared"]["trials"] += 1
        run.write_rows(map(ClipRow.model_validate, rows), list(run.info().metrics), ["asv"])
        run.write_pairs([*found.pairs, twice])
        assert check(pack([run], tmp_path / "a.zip")).ok

    def test_pairs_missing_surplus_or_changed_without_their_hash_are_found(self) -> None:
        """The hash is there where the member is, and is that of the member."""
        report = edit_pairs(few(), lambda pairs: pairs.reverse(), seal=False)
        assert "pairs_sha256" in problems(report)
        assert "pairs_sha256" in problems(check(rewrite(few(), lambda members: members.pop("pairs.parquet") and None)))
        sealed = check(rewrite(few(), lambda members: members.pop("pairs.parquet") and reseal(members)))
        assert "asv.trials: expected 0, counted in pairs.parquet" in problems(sealed)

    @pytest.mark.parametrize("data", [b"", b"PAR1PAR1PAR1", b"PK\x05\x06" + bytes(18)])
    def test_a_member_that_is_no_table_of_pairs_is_refused(self, data: bytes) -> None:
        """Whatever it is, the check says so and goes on."""

        def put_data(members: dict[str, bytes]) -> None:
            members["pairs.parquet"] = data

        assert "pairs.parquet: expected a submission as pack writes it" in problems(check(rewrite(few(), put_data)))

    def test_pairs_of_a_submission_without_such_a_probe_are_refused(self, tmp_path: Path) -> None:
        """Nothing lies in a submission that nothing refers to."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        probe_run(run, ["sim"])
        file = pack([run], tmp_path / "a.zip")
        table = read_archive(few())["pairs.parquet"]

        def add(members: dict[str, bytes]) -> None:
            members["pairs.parquet"] = table
            reseal(members)

        assert "pairs.parquet: mini: asv" in problems(check(rewrite(file, add)))
