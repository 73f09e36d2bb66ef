"""``check``: operations that cannot be those of the submission are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.pipeline.stats import card, draw_rows, failed, write_run
from support.pipeline.submissions import edit_document

from codec_superb.pipeline.submission.pack import pack

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
