"""Families over bitrates: curves are made of comparable codecs, pairs without overlap say why."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline.stats import card, draw_rows, sha, write_run

from codec_superb.pipeline.comparison.families import compare_families
from codec_superb.pipeline.comparison.results import Results, load_results


def results(root: Path, name: str, quality: float, factor: float, **dataset: str) -> Results:
    """Load a run whose bits are ``factor`` times the usual."""
    rows = [
        entry.model_copy(update={"bits": round((entry.bits or 0) * factor)})
        for entry in draw_rows(1, 12, quality=quality)
    ]
    return load_results(write_run(root, rows, card=card(name), **dataset).path)


@pytest.fixture
def codecs(tmp_path: Path) -> list[Results]:
    """Give two families of three codecs: ``half`` has the scores of ``full`` at half the bits; and a lone codec."""
    steps = [(0.0, 1.0), (0.2, 2.0), (0.4, 4.0)]
    return [
        *(results(tmp_path, f"full_{n}", quality, factor) for n, (quality, factor) in enumerate(steps)),
        *(results(tmp_path, f"half_{n}", quality, factor / 2) for n, (quality, factor) in enumerate(steps)),
        results(tmp_path, "lone_1", 0.3, 3.0),
    ]


def test_half_the_bits_are_found_in_every_category(codecs: list[Results]) -> None:
    """By construction the BD-rate is −50 %, and 100 % the other way."""
    found = {(entry.category, entry.family, entry.against): entry.delta for entry in compare_families(codecs)}
    assert len(found) == 3 * 6
    for category in ("speech", "audio", "music"):
        there, back = found[category, "half", "full"], found[category, "full", "half"]
        assert there.rate_percent == pytest.approx(-50, abs=0.1)
        assert back.rate_percent == pytest.approx(100, abs=0.4)
        assert there.score is not None
        assert there.score > 0
        assert "expected at least 2" in found[category, "lone", "full"].reason


def test_a_codec_that_is_not_comparable_is_no_point_of_a_curve(codecs: list[Results], tmp_path: Path) -> None:
    """A run on another state of the dataset has no rank, and does not bend its family's curve."""
    stray = results(tmp_path / "other", "full_9", 0.9, 0.1, manifest_hash=sha("other"))
    assert compare_families([*codecs, stray]) == compare_families(codecs)
