"""Results of which clips are lacking: which take nobody's place, and whose place they hold under a condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.pipeline.stats import draw_rows, failed
from support.server.ingest import CLIPS, Service, categories, make_file

from codec_superb.pipeline.conditions.record import parse_condition

BITS = parse_condition("bits:0.1")


@pytest.fixture
def send(service: Service, tmp_path: Path) -> Any:
    """Send results of an account under bit errors: of how many clips of a dataset, and how many of them failed."""
    seeds = iter(range(50, 99))

    def sent(account: str, *, clips: int = CLIPS, of: int = CLIPS, lost: int = 0, dataset: str = "mini") -> Any:
        rows = draw_rows(next(seeds), clips, dataset=dataset)
        for place in range(clips - lost, clips):
            rows[place] = failed(rows[place].clip, dataset=dataset, category=rows[place].category)
        about = {"clips": of}
        data = make_file(rows, tmp_path / account, codec="opus_24k", condition=BITS, about=about)
        return service.send(data, account=account).json()

    return sent


def test_clips_that_failed_under_a_condition_were_asked_for(send: Any) -> None:
    """Ten of twelve clips fail under bit errors: a complete result of another account waits, the honest one stands."""
    assert send("ann", lost=10)["status"] == "self-reported"
    assert [warning["kind"] for warning in send("mallory")["warnings"]] == ["name"]
    assert send("ann", lost=9)["status"] == "self-reported"


def test_clips_that_were_not_asked_for_claim_nothing(send: Any) -> None:
    """Two of twelve give way to who asked for all, clips that failed among them, but not to fewer that are left."""
    assert send("mallory", clips=2)["status"] == "self-reported"
    assert send("eve", lost=11)["status"] == "held"
    assert send("ann", lost=8)["status"] == "self-reported"
    assert send("bob")["status"] == "held"


def test_all_of_a_small_dataset_take_no_place_of_a_large_one(service: Service, send: Any) -> None:
    """However many clips of it failed."""
    service.know("large", categories(30, "large"))
    assert send("ann", clips=28, of=30, lost=25, dataset="large")["status"] == "self-reported"
    assert send("mallory")["status"] == "held"
