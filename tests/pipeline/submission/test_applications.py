"""Applications in a submission: packed whole and without secrets, and nothing of them can be changed unnoticed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.probed import drawn_figures, info, probe_run
from support.pipeline.probed_file import CARD, ROWS, packed, problems
from support.pipeline.stats import draw_rows, failed, write_run
from support.pipeline.submissions import change_number, edit_document, edit_pairs, edit_rows, numbers
from support.profile import examples

from codec_superb.applications.table import COMPOSITES, PROBES
from codec_superb.pipeline.errors import SubmissionError
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.check import check_and_open
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Submission
from codec_superb.pipeline.tables.clips import open_table
from codec_superb.pipeline.tables.pairs import read_pairs
from codec_superb.pipeline.tables.rows import ClipRow, PairRow


def document(file: Path | io.BytesIO) -> Submission:
    """Read submission.json."""
    return Submission.model_validate_json(read_archive(file)["submission.json"])


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
        figures = {entry.figure for entry in submission.aggregates.applications} - set(COMPOSITES)
        assert figures == set(drawn_figures())
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
        run.write_rows(map(ClipRow.model_validate, rows), list(run.info().metrics), ["asr"])
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

    def test_pairs_come_back_as_they_were_kept(self, tmp_path: Path) -> None:
        """Bit for bit, in an order of their own."""
        run = write_run(tmp_path, draw_rows(1, 30), card=CARD)
        kept = probe_run(run, ["asv", "aec"]).pairs
        back = read_pairs(io.BytesIO(read_archive(pack([run], tmp_path / "a.zip"))["pairs.parquet"]))
        assert sorted(back, key=repr) == sorted(kept, key=repr)


def places() -> list[tuple[str | int, ...]]:
    """Name the numbers of figures in the document of a file with every probe."""
    found: dict[str, Any] = json.loads(read_archive(packed())["submission.json"])
    return [place for place in numbers(found) if place[:2] == ("aggregates", "applications")]


IDLE = {"top", "rank", "oracle_rank", "oracle_precision", "oracle_f1", "given", "hits", "predicted"}
"""Numbers of tasks on which no figure rests, or not always: what came first, ranks beyond the tenth, an oracle that
some clips lack, which wrong class was chosen, decisions by scores that are no probabilities."""
OFTEN_IDLE = ("cluster_", "nearest_", "confidence_", "right_", "term_", "times_", "reference_length", "classes")
"""Beginnings of such names: a place among clusters, confidences of which the order counts, terms found by halves,
lengths of references that are no longer than what was said, classes of which the clip has few."""

UNITS = ("words", "characters")
"""Of which a figure of errors counts one."""


def idle(values: dict[str, float]) -> set[str]:
    """Name those of a side of an entry; no figure counts silence where a clip has several labels."""
    several = {"no_answer"} if "hits" in values else set()
    return IDLE | several | {name for name in values if name.startswith(OFTEN_IDLE)}


class TestNumbers:
    """No number can be changed without the check finding it, hashes made right or not."""

    @pytest.mark.sample(1, among="altered numbers of probes")
    @examples(60)
    @given(st.deferred(lambda: st.sampled_from(places())), st.sampled_from([1e-6, -0.1, 3.0]))
    def test_any_altered_figure_is_found(self, place: tuple[str | int, ...], by: float) -> None:
        """Recomputing from rows and pairs names the place."""
        # distances of sets are compared to a millionth
        of_sets = PROBES[document(packed()).aggregates.applications[place[2]].probe].pairs == "frames"
        moved = max(by, 1e-3) if of_sets and by > 0 else by
        report = edit_document(packed(), lambda data: change_number(data, place, moved), seal=True)
        assert ".".join(map(str, place)) in problems(report)

    @pytest.mark.sample(1, among="altered numbers of probes")
    @examples(60)
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
            unused = idle(values) | {unit for unit in UNITS if all(of.per != unit for of in PROBES[key].metrics)}
            name = data.draw(st.sampled_from(sorted(values.keys() - unused) or sorted(values)))
            if name in unused:
                rows[number] = rows[number].model_copy(update={"probes": {}})
                return
            field = next(f for f in (*PROBES[key].shared, *PROBES[key].sided) if f.name == name)
            step = 1.0 if field.whole else 0.01
            values[name] += step if values[name] + step <= field.maximum else -step
            changed = {**rows[number].probes, key: entry.model_copy(update={part: values})}
            rows[number] = rows[number].model_copy(update={"probes": changed})

        # beside a probe that looks at every clip, whose entries go where this one has none
        assert not edit_rows(packed(*sorted({key, "visqol"})), alter).ok

    @pytest.mark.sample(1, among="altered numbers of probes")
    @examples(40)
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

        assert not edit_pairs(packed("aec", "asv"), alter).ok
