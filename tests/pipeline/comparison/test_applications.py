"""Figures of applications of two codecs: paired on the clips they share, and only where one model answered for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pipeline.probed import probe_run
from support.pipeline.stats import card, draw_rows, write_run

from codec_superb.applications.table import PROBE_METRICS
from codec_superb.cli.main import call
from codec_superb.pipeline.comparison.codecs import compare
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.tables.rows import ClipRow, ProbeValue

SETS = "mseb_reconstruction_yamnet"


def run(root: Path, name: str, *keys: str, seed: int = 0, **changes: Any) -> RunFolder:
    """Write a probed run of a codec on 30 clips."""
    folder = write_run(root, draw_rows(1, 30), card=card(name))
    probe_run(folder, keys, seed, **changes)
    return folder


def give(folder: RunFolder, key: str, clip: str, entry: ProbeValue) -> None:
    """Give one clip of a probed run another entry."""
    rows = [
        row.model_copy(update={"probes": {**row.probes, key: entry}}) if row.clip == clip else row
        for row in folder.rows()
    ]
    described = folder.info()
    folder.write_rows(rows, list(described.metrics), sorted(described.probes))


def similarities(folder: RunFolder) -> dict[str, float]:
    """Speaker similarity of each clip that has one."""
    return {row.clip: row.probes["sim"].resynthesis["similarity"] for row in folder.rows() if _ok(row)}


def _ok(row: ClipRow) -> bool:
    return "sim" in row.probes and row.probes["sim"].status == "ok"


class TestCompared:
    """What both have."""

    def test_distances_of_sets_are_compared_with_their_interval(self, tmp_path: Path) -> None:
        """Both codecs see the same draws; a codec beside itself differs by nothing."""
        first, second = run(tmp_path, "opus_16k", SETS), run(tmp_path, "lc3_16k", SETS, seed=1)
        found = {entry.figure: entry for entry in compare(first.path, second.path).applications}
        assert set(found) == {f"{SETS}_{name}" for name in ("fad", "kad", "kad_compat", "mse")}
        distance = found[f"{SETS}_fad"].result
        assert distance.low is not None
        assert distance.low < distance.high
        (same, *_) = compare(first.path, run(tmp_path, "opus_24k", SETS).path).applications
        assert (same.result.low, same.result.high) == (0.0, 0.0)

    def test_every_figure_is_compared_against_a_submission(self, tmp_path: Path) -> None:
        """With its model, clips, pairs, ceiling and a paired interval; swapping the codecs flips the sign."""
        first = run(tmp_path, "opus_16k", *("asr", "asv", "sim", "aec", "visqol"))
        second = pack([run(tmp_path, "lc3_16k", *("asr", "asv", "sim", "aec", "visqol"), seed=1)], tmp_path / "b.zip")
        report = compare(first.path, second)
        found = {entry.figure: entry for entry in report.applications}
        assert list(found) == [
            *("asr_wer_pct", "asv_eer_pct", "asv_mindcf", "sim_pct", "aec_map_pct", "aec_accuracy_pct", "visqol")
        ]
        assert found["asr_wer_pct"].backend == "faster-whisper:tiny.en"
        assert found["asv_eer_pct"].pairs == 28
        assert found["sim_pct"].pairs == 0
        assert found["sim_pct"].reference == 100.0
        turned = {entry.figure: entry for entry in compare(second, first.path).applications}
        for key, entry in found.items():
            assert entry.n > 0
            assert (entry.result.low is None) == (key == "asv_mindcf")
            assert turned[key].result.difference == -entry.result.difference
            assert turned[key].result.first_better == pytest.approx(1 - entry.result.first_better)
        assert report.left_out == ()

    def test_means_are_over_the_clips_that_both_have(self, tmp_path: Path) -> None:
        """A clip that failed for one is left out of both and counted."""
        first, second = run(tmp_path, "opus_16k", "sim"), run(tmp_path, "lc3_16k", "sim", seed=1)
        values = similarities(first), similarities(second)
        gone = min(values[0])
        give(second, "sim", gone, ProbeValue(status="failed", reason="no"))
        (entry,) = compare(first.path, second.path).applications
        shared = [clip for clip in values[0] if clip != gone]
        means = [100 * sum(part[clip] for clip in shared) / len(shared) for part in values]
        assert (entry.n, entry.only_first, entry.only_second) == (len(shared), 1, 0)
        assert entry.result.first == pytest.approx(means[0])
        assert entry.result.second == pytest.approx(means[1])
        assert entry.result.difference == pytest.approx(means[0] - means[1])

    def test_an_error_rate_that_is_lower_is_better(self, tmp_path: Path) -> None:
        """The share of draws in which the first codec is better follows the direction of the figure."""
        first, second = run(tmp_path, "opus_16k", "asr"), run(tmp_path, "lc3_16k", "asr")
        for row in first.rows():
            if row.probes.get("asr") and row.probes["asr"].status == "ok":
                value = row.probes["asr"]
                give(
                    first,
                    "asr",
                    row.clip,
                    value.model_copy(update={"resynthesis": dict.fromkeys(value.resynthesis, 0.0)}),
                )
        (entry,) = compare(first.path, second.path).applications
        assert not PROBE_METRICS[entry.figure].higher_is_better
        assert entry.result.first == 0.0
        assert entry.result.difference < 0
        assert entry.result.first_better == 1.0

    def test_the_command_shows_them(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A table a dataset, with the originals and the model beside."""
        first, second = run(tmp_path, "opus_16k", "sim"), run(tmp_path, "lc3_16k", "sim", seed=1)
        assert call(["compare", str(first.path), str(second.path)]) == 0
        said = capsys.readouterr().out
        assert "applications on mini" in said
        assert "resemblyzer" in said


class TestNotCompared:
    """What cannot be compared is named with the reason."""

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"backend": "wavlm-sv"}, "different models answered: resemblyzer (aaaaaaaaaaaa) and wavlm-sv"),
            ({"model_sha256": "b" * 64}, "different models answered: resemblyzer (aaaaaaaaaaaa) and resemblyzer (bbb"),
            ({"version": "0"}, "defined differently: version 1 and version 0"),
            ({"settings": {"segment_s": 30.0}}, "asked with different settings: segment_s"),
        ],
    )
    def test_another_model_version_or_setting(self, tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
        """A difference between them would be one of models."""
        report = compare(run(tmp_path, "opus_16k", "sim").path, run(tmp_path, "lc3_16k", "sim", **changes).path)
        assert report.applications == ()
        (left,) = report.left_out
        assert left.what == "sim on mini"
        assert left.reason.startswith(reason)

    def test_a_probe_that_only_one_has(self, tmp_path: Path) -> None:
        """Named with whose it is."""
        report = compare(run(tmp_path, "opus_16k", "sim", "asr").path, run(tmp_path, "lc3_16k", "sim").path)
        assert [(entry.what, entry.reason) for entry in report.left_out] == [
            ("asr on mini", "only the first was probed with it")
        ]

    def test_no_clip_in_common(self, tmp_path: Path) -> None:
        """Nothing can be said."""
        first, second = run(tmp_path, "opus_16k", "sim"), run(tmp_path, "lc3_16k", "sim")
        for clip in similarities(second):
            give(second, "sim", clip, ProbeValue(status="failed", reason="no"))
        (left,) = compare(first.path, second.path).left_out
        assert left.reason == "no clip on which it is ok for both"

    def test_ranks_among_other_clips(self, tmp_path: Path) -> None:
        """A rank counts all clips of its codec; that among fewer is not known."""
        first, second = run(tmp_path, "opus_16k", "aec"), run(tmp_path, "lc3_16k", "aec")
        clip = second.pairs()[0].left
        second.write_pairs([pair for pair in second.pairs() if pair.left != clip])
        give(second, "aec", clip, ProbeValue(status="failed", reason="no"))
        (left,) = compare(first.path, second.path).left_out
        assert "ranks are among other clips" in left.reason

    def test_other_frames(self, tmp_path: Path) -> None:
        """Fewer of a clip on one side are other sets."""
        first, second = run(tmp_path, "opus_16k", SETS), run(tmp_path, "lc3_16k", SETS)
        second.write_pairs(second.pairs()[1:])
        (left,) = compare(first.path, second.path).left_out
        assert left.reason == "they rest on other trials, classes or frames"

    def test_other_trials(self, tmp_path: Path) -> None:
        """Two lists are two tasks."""
        first, second = run(tmp_path, "opus_16k", "asv"), run(tmp_path, "lc3_16k", "asv")
        second.write_pairs(second.pairs()[1:])
        (left,) = compare(first.path, second.path).left_out
        assert left.reason == "they rest on other trials, classes or frames"
