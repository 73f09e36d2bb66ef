"""Applications in a submission: packed whole and without secrets, and nothing of them can be changed unnoticed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_probed import info, probe_run
from support_stats import card, draw_rows, failed, write_run
from support_submissions import change_number, edit_document, edit_pairs, edit_rows, numbers, reseal, rewrite

from codec_superb.applications.table import FIGURES, PROBES
from codec_superb.pipeline.clip_table import open_table, write_table
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.pair_table import read_pairs
from codec_superb.pipeline.rows import ClipRow, PairRow, ProbeValue
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import CheckReport, check, check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission

ROWS = [*draw_rows(1, 30), failed("mini/broken")]
CARD = card()


@lru_cache(maxsize=1)
def _packed() -> bytes:
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder), ROWS, card=CARD)
        probe_run(run)
        return pack([run], Path(folder) / "a.zip").read_bytes()


def packed() -> io.BytesIO:
    """Pack one submission with every probe, for all tests that change it."""
    return io.BytesIO(_packed())


def document(file: Path | io.BytesIO) -> Submission:
    """Read submission.json."""
    return Submission.model_validate_json(read_archive(file)["submission.json"])


def problems(report: CheckReport) -> str:
    """Say where the problems are and what was expected."""
    return " | ".join(f"{problem.path}: expected {problem.expected}, got {problem.got}" for problem in report.problems)


class TestPack:
    """What of a probed run goes into the file."""

    def test_probes_pairs_and_figures_are_in_the_file(self) -> None:
        """Every probe as it was run, its numbers in the rows, its pairs beside them, and every figure recomputed."""
        report, opened = check_and_open(packed())
        assert report.ok
        assert opened is not None
        submission = opened.submission
        assert [entry.probe for entry in submission.datasets[0].probes] == sorted(PROBES)
        assert opened.pairs
        assert {entry.figure for entry in submission.aggregates.applications} == set(FIGURES) - {"asr_cer_pct"}
        assert opened.aggregates is not None
        assert opened.aggregates.applications == submission.aggregates.applications

    def test_runs_with_other_probes_models_and_none_become_one_file(self, tmp_path: Path) -> None:
        """A dataset says how its own probes were run; the same bytes come whatever the order."""
        runs = [write_run(tmp_path, draw_rows(n, 30, dataset=name), card=CARD) for n, name in enumerate("abc")]
        probe_run(runs[0], ["asv", "sim"])
        probe_run(runs[1], ["sim"], backend="wavlm-sv", model_sha256="b" * 64)
        one, two = pack(runs, tmp_path / "1.zip"), pack(runs[::-1], tmp_path / "2.zip")
        assert one.read_bytes() == two.read_bytes()
        described = {
            entry.name: {used.probe: used.backend for used in entry.probes} for entry in document(one).datasets
        }
        assert described == {"a": {"asv": "resemblyzer", "sim": "resemblyzer"}, "b": {"sim": "wavlm-sv"}, "c": {}}
        assert {entry.dataset for entry in document(one).aggregates.applications} == {"a", "b"}

    def test_without_pairs_there_is_no_such_member(self, tmp_path: Path) -> None:
        """A submission without probes, or with probes of single clips alone, has the members that it always had."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        for name in ("plain", "probed"):
            file = pack([run], tmp_path / f"{name}.zip")
            assert set(read_archive(file)) == {"submission.json", "clips.parquet"}
            assert document(file).pairs_sha256 is None
            probe_run(run, ["asr", "dnsmos"])

    def test_a_model_that_nobody_trained_is_refused(self, tmp_path: Path) -> None:
        """The error names the probe, its model and what to do."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        probe_run(run, ["asr"], backend="openai-whisper:tiny", random=True)
        with pytest.raises(SubmissionError, match=r"asr was run with openai-whisper:tiny.*--application asr"):
            pack([run], tmp_path / "a.zip")

    def test_paths_of_the_machine_are_taken_out(self, tmp_path: Path) -> None:
        """Of reasons, of settings, and of a model's name."""
        run = write_run(tmp_path, [*draw_rows(1, 30), failed("gone")], card=CARD)
        found = probe_run(
            run, ["asr"], backend="transformers-asr:/home/ann/my-whisper", settings={"from": "/home/ann/x"}
        )
        rows = [row.model_dump(mode="json") for row in found.rows]
        next(row for row in rows if row["clip"] == "gone")["probes"]["asr"]["reason"] = "cannot read /home/ann/voices/a"
        run.write_rows(rows, list(run.info().metrics), ["asr"])
        members = read_archive(pack([run], tmp_path / "a.zip"))
        assert not any(b"/home/ann" in data for data in members.values())
        (used,) = document(tmp_path / "a.zip").datasets[0].probes
        assert used.backend == "transformers-asr:…/my-whisper"
        (row,) = [row for row in open_table(io.BytesIO(members["clips.parquet"])) if row.clip == "gone"]
        assert row.probes["asr"].reason == "cannot read …/a"

    def test_what_a_killed_probing_left_is_not_packed(self, tmp_path: Path) -> None:
        """Columns and pairs of a probe that run.json does not name are of a process that did not come to its end."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        probe_run(run, ["asv", "sim"])
        run.write_info(run.info().model_copy(update={"probes": {"sim": info("sim")}}))
        members = read_archive(pack([run], tmp_path / "a.zip"))
        assert open_table(io.BytesIO(members["clips.parquet"])).probes == ("sim",)
        assert "pairs.parquet" not in members


DOCUMENT: dict[str, Any] = json.loads(read_archive(packed())["submission.json"])
PLACES = [place for place in numbers(DOCUMENT) if place[:2] == ("aggregates", "applications")]


class TestNumbers:
    """No number can be changed without the check finding it, hashes made right or not."""

    @settings(max_examples=60, deadline=None)
    @given(st.sampled_from(PLACES), st.sampled_from([1e-6, -0.1, 3.0]))
    def test_any_altered_figure_is_found(self, place: tuple[str | int, ...], by: float) -> None:
        """Recomputing from rows and pairs names the place."""
        report = edit_document(packed(), lambda data: change_number(data, place, by), seal=True)
        assert ".".join(map(str, place)) in problems(report)

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, len(ROWS) - 1), st.sampled_from(sorted(PROBES)), st.data())
    def test_any_altered_number_of_a_clip_is_found(self, number: int, key: str, data: st.DataObject) -> None:
        """It leaves its limits, or disagrees with the figures or the pairs."""

        def alter(rows: list[ClipRow]) -> None:
            entry = rows[number].probes.get(key)
            if entry is None or entry.status != "ok":
                rows[number] = rows[number].model_copy(update={"probes": {}})
                return
            part = data.draw(
                st.sampled_from([name for name in ("shared", "reference", "resynthesis") if getattr(entry, name)])
            )
            values = dict(getattr(entry, part))
            name = data.draw(st.sampled_from(sorted(values)))
            field = next(f for f in (*PROBES[key].shared, *PROBES[key].sided) if f.name == name)
            step = 1.0 if field.whole else 0.01
            values[name] += step if values[name] + step <= field.maximum else -step
            changed = {**rows[number].probes, key: entry.model_copy(update={part: values})}
            rows[number] = rows[number].model_copy(update={"probes": changed})

        assert not edit_rows(packed(), alter).ok

    @settings(max_examples=40, deadline=None)
    @given(st.data(), st.sampled_from(["reference", "resynthesis", "target", "drop", "repeat"]))
    def test_any_altered_trial_or_rank_is_found(self, data: st.DataObject, how: str) -> None:
        """A score moved to the other end, another rank, another answer, one pair too few or too many."""

        def alter(pairs: list[PairRow]) -> None:
            place = data.draw(st.integers(0, len(pairs) - 1))
            pair = pairs[place]
            if how == "drop":
                del pairs[place]
            elif how == "repeat":
                pairs.append(pair)
            elif how == "target":
                pairs[place] = pair.model_copy(update={"target": not pair.target})
            else:
                scores = [getattr(other, how) for other in pairs if other.probe == pair.probe]
                low, high = (-100.0, 100.0) if pair.probe == "asv" else (1.0, 16.0)
                if pair.probe == "asv":  # to the end where those of the other kind are, which may be its own place
                    lower = pair.target != (getattr(pair, how) == (min if pair.target else max)(scores))
                else:
                    lower = getattr(pair, how) > 8
                far = low if lower else high
                pairs[place] = pair.model_copy(update={how: far})

        assert not edit_pairs(packed(), alter).ok


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


def asr(reference: float, words: float = 4, characters: float = 0) -> ProbeValue:
    """Make a transcript with so many words wrong on the reference."""
    none = {"substitutions": 0.0, "deletions": 0.0, "insertions": 0.0}
    shared = {"words": words, "characters": characters}
    return ProbeValue(status="ok", shared=shared, reference=none | {"deletions": reference}, resynthesis=none)


class TestRows:
    """What rows may say, beyond the limits of each number."""

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (put("asr", asr(5)), "substitutions and deletions of at most the 4 words or characters"),
            (put("asr", asr(0, characters=9)), "a transcript counted in words or in characters"),
            (put("asr", asr(0, words=0)), "a transcript counted in words or in characters"),
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
        assert message in problems(edit_rows(packed(), change))

    def test_an_entry_of_a_category_that_the_probe_does_not_look_at_is_named(self) -> None:
        """A bark has no transcript."""

        def change(rows: list[ClipRow]) -> None:
            place = next(n for n, row in enumerate(rows) if row.category == "audio")
            rows[place] = rows[place].model_copy(update={"probes": {**rows[place].probes, "asr": asr(0)}})

        assert "the probes of the dataset that look at audio" in problems(edit_rows(packed(), change))


class TestDeclared:
    """What submission.json says about the probes of a dataset."""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"version": "0"}, "probes.1.version: expected version 1 of the definition of asr, got 0"),
            ({"random": True}, "probes.1.random: expected a model that somebody trained"),
            ({"model_sha256": "?"}, "probes.1.model_sha256: expected 64 hexadecimal digits"),
            ({"backend": ""}, "probes.1.backend: expected the name of the model"),
            ({"probe": "telepathy"}, "clips.parquet: expected columns for"),
            ({"probe": "aec"}, "clips.parquet: expected columns for"),
        ],
    )
    def test_a_probe_described_wrongly_is_named(self, changes: dict[str, Any], message: str) -> None:
        """Version, training, hash and name; and that columns and description belong together."""
        report = edit_document(packed(), lambda data: data["datasets"][0]["probes"][1].update(changes), seal=True)
        assert message in problems(report)

    def test_probes_that_are_not_sorted_or_come_twice_are_refused(self) -> None:
        """One backend a probe and dataset."""
        for change in (list.reverse, lambda probes: probes.append(probes[0])):
            report = edit_document(packed(), lambda data, c=change: c(data["datasets"][0]["probes"]), seal=True)
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

        assert "clips.parquet: expected columns for" in problems(check(rewrite(packed(), without)))
        report = edit_document(packed(), lambda data: data["datasets"][0].update(probes=[]), seal=True)
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

        assert "expected entries of []" in problems(edit_rows(file, change))


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
        assert message in problems(edit_pairs(packed(), change))

    def test_ranks_better_than_there_are_clips_before_them_are_refused(self) -> None:
        """All clips of a class at rank 1 would be a precision beyond 1: ties count against a clip."""

        def all_first(pairs: list[PairRow]) -> None:
            pairs[:] = [pair.model_copy(update={"resynthesis": 1.0}) if pair.probe == "aec" else pair for pair in pairs]

        assert "as many clips at a rank or before it as it says" in problems(edit_pairs(packed(), all_first))

    def test_a_trial_that_a_published_list_names_twice_is_borne(self, tmp_path: Path) -> None:
        """The same answer and the same scores again, counted again for both clips."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        found = probe_run(run, ["asv"])
        twice = found.pairs[0]
        rows = [row.model_dump(mode="json") for row in found.rows]
        for row in rows:
            if row["clip"] in {twice.left, twice.right}:
                row["probes"]["asv"]["shared"]["trials"] += 1
        run.write_rows(rows, list(run.info().metrics), ["asv"])
        run.write_pairs([*found.pairs, twice])
        assert check(pack([run], tmp_path / "a.zip")).ok

    def test_pairs_missing_surplus_or_changed_without_their_hash_are_found(self) -> None:
        """The hash is there where the member is, and is that of the member."""
        report = edit_pairs(packed(), lambda pairs: pairs.reverse(), seal=False)
        assert "pairs_sha256" in problems(report)
        assert "pairs_sha256" in problems(
            check(rewrite(packed(), lambda members: members.pop("pairs.parquet") and None))
        )
        sealed = check(rewrite(packed(), lambda members: members.pop("pairs.parquet") and reseal(members)))
        assert "asv.trials: expected 0, counted in pairs.parquet" in problems(sealed)

    @pytest.mark.parametrize("data", [b"", b"PAR1PAR1PAR1", b"PK\x05\x06" + bytes(18)])
    def test_a_member_that_is_no_table_of_pairs_is_refused(self, data: bytes) -> None:
        """Whatever it is, the check says so and goes on."""

        def put_data(members: dict[str, bytes]) -> None:
            members["pairs.parquet"] = data

        assert "pairs.parquet: expected a submission as pack writes it" in problems(check(rewrite(packed(), put_data)))

    def test_pairs_of_a_submission_without_such_a_probe_are_refused(self, tmp_path: Path) -> None:
        """Nothing lies in a submission that nothing refers to."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        probe_run(run, ["sim"])
        file = pack([run], tmp_path / "a.zip")
        table = read_archive(packed())["pairs.parquet"]

        def add(members: dict[str, bytes]) -> None:
            members["pairs.parquet"] = table
            reseal(members)

        assert "pairs.parquet: mini: asv" in problems(check(rewrite(file, add)))

    def test_pairs_come_back_as_they_were_kept(self, tmp_path: Path) -> None:
        """Bit for bit, in an order of their own."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        kept = probe_run(run, ["asv", "aec"]).pairs
        back = read_pairs(io.BytesIO(read_archive(pack([run], tmp_path / "a.zip"))["pairs.parquet"]))
        assert sorted(back, key=repr) == sorted(kept, key=repr)
