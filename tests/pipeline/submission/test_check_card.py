"""``check``: declared figures that cannot be those of the submission are found."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from support.pipeline.stats import card, draw_rows, failed, write_run
from support.pipeline.submissions import edit_document

from codec_superb.base_codec import registry
from codec_superb.pipeline.submission.check_card import check_card
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission

ROWS = [*draw_rows(1, 12), failed("mini/broken")]


def test_they_are_of_a_neural_codec_and_of_a_clip_that_it_coded(tmp_path: Path) -> None:
    """Those of a classical codec are refused, and so is a clip that is not there or has no resynthesis."""
    file = pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip")
    step = {"per_second": 1e9, "unseen": [], "reason": ""}

    def problems(kind: str, clip: str) -> list[str]:
        def change(found: dict[str, Any]) -> None:
            found["codec"]["kind"] = kind
            counted = {"backend": "b", "clip": clip, "seconds": 5.0, "encode": step, "decode": step}
            found["datasets"][0]["operations"] = counted

        report = edit_document(file, change, seal=True)
        return [problem.path.rpartition(": ")[2] for problem in report.problems]

    assert problems("neural", ROWS[0].clip) == []
    assert problems("classical", ROWS[0].clip) == ["datasets.0.operations"]
    assert problems("neural", "mini/broken") == ["datasets.0.operations.clip"]
    assert problems("neural", "nowhere") == ["datasets.0.operations.clip"]


def test_declared_figures_have_bounds_by_arithmetic(tmp_path: Path) -> None:
    """A year to come, frames shorter than a sample, a latency below a frame, and more parameters than bits: refused."""
    file = pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip")
    files = [{"name": "w.bin", "sha256": "0" * 64, "size": 10}]

    def problems(**fields: Any) -> list[str]:
        report = edit_document(file, lambda found: found["codec"].update(fields), seal=True)
        return [problem.path.rpartition(".")[2] for problem in report.problems]

    assert problems(kind="neural", year=2020, frame_rate=75.0, latency_ms=13.333, parameters=10**9) == []
    assert problems(year=2200) == ["year"]
    assert problems(frame_rate=1e6) == ["frame_rate"]
    assert problems(frame_rate=50.0, latency_ms=5.0) == ["latency_ms"]
    assert problems(kind="classical", parameters=1) == ["parameters"]
    assert problems(kind="neural", parameters=81, weights={"source": "s", "files": files}) == ["parameters"]
    assert problems(kind="neural", parameters=80, weights={"source": "s", "files": files}) == []


def test_operations_that_no_machine_and_no_model_does_are_doubted(tmp_path: Path) -> None:
    """More of them in the measured time than any machine does, or too few to use the parameters once."""
    file = pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip")

    def doubts(per_second: float) -> str:
        def change(found: dict[str, Any]) -> None:
            found["codec"] |= {"kind": "neural", "parameters": 10**7}
            step = {"per_second": per_second, "unseen": [], "reason": ""}
            counted = {"backend": "b", "clip": ROWS[0].clip, "seconds": 5.0, "encode": step, "decode": step}
            found["datasets"][0]["operations"] = counted

        return "".join(note for note in edit_document(file, change, seal=True).notes if "operations" in note)

    assert doubts(1e9) == ""
    assert "more than any one machine" in doubts(1e20)
    assert "less than once" in doubts(1e4)


def test_the_catalogue_keeps_to_the_bounds(tmp_path: Path) -> None:
    """No codec that this program ships declares what it refuses of others."""
    file = pack([write_run(tmp_path, ROWS, card=card())], tmp_path / "a.zip")
    with zipfile.ZipFile(file) as opened:
        made = Submission.model_validate_json(opened.read(SUBMISSION_NAME))
    for name in registry.names():
        findings = Findings()
        check_card(
            made.model_copy(update={"codec": registry.card(name), "created": "2026-11-26T00:00:00Z"}), [], findings
        )
        assert findings.problems == [], name
