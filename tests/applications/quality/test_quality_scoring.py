"""Predictions become the numbers of a clip; what is no number fails, and UTMOS leaves Chinese out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.catalogue import score as catalogued
from codec_superb.applications.interface import ClipOutcome, Item, Prediction, ScoringInput
from codec_superb.applications.quality.scoring import score
from codec_superb.applications.table import PROBES

FOUR = np.array([3.5, 3.75, 4.0, 3.25], np.float32)


def outcome(
    key: str, reference: Prediction | None, resynthesis: Prediction | None, *, language: str = "en", failed: str = ""
) -> ClipOutcome:
    """Score one clip."""
    question = ScoringInput(
        dataset="d",
        items=[Item("a", "speech", language=language)],
        reference={} if reference is None else {"a": reference},
        resynthesis={} if resynthesis is None else {"a": resynthesis},
        failures={"a": failed} if failed else {},
    )
    return score(PROBES[key], question).outcomes["a"]


def test_values_go_to_the_fields_in_order() -> None:
    """The four values of DNSMOS are overall, signal, background and P.808, on either side."""
    found = outcome("dnsmos", FOUR, FOUR - 1)
    assert found.status == "ok"
    assert found.reference == {"overall": 3.5, "signal": 3.75, "background": 4.0, "p808": 3.25}
    assert found.resynthesis == {"overall": 2.5, "signal": 2.75, "background": 3.0, "p808": 2.25}


@pytest.mark.parametrize("language", ["zh", "zh-CN", "ZH_tw", "cmn-Hans", "yue"])
def test_utmos_leaves_chinese_out(language: str) -> None:
    """A Chinese clip takes no part in UTMOS, even one on which the codec failed; in DistillMOS it does."""
    one = np.array([4.0], np.float32)
    found = outcome("utmos", one, one, language=language, failed="codec")
    assert (found.status, language in found.reason) == ("left_out", True)
    assert outcome("distillmos", one, one, language=language).status == "ok"


@pytest.mark.parametrize("language", ["en", "", "zhx"])
def test_utmos_takes_other_languages(language: str) -> None:
    """Other languages, and clips that name none, take part."""
    one = np.array([4.0], np.float32)
    assert outcome("utmos", one, one, language=language).status == "ok"


def test_a_failure_keeps_its_reason() -> None:
    """What the codec or the model said is the reason, and there are no numbers."""
    found = outcome("dnsmos", FOUR, None, failed="decode: broken")
    assert found == ClipOutcome("failed", "decode: broken")


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (None, "resynthesis: expected a prediction of dnsmos, got none"),
        ("a text", "expected 4 values .*, got a text"),
        (FOUR[:3], r"expected 4 values .*, got the shape \(3,\)"),
        (np.array([3.0, np.nan, 3.0, 3.0], np.float32), "expected signal between 0 and 6, got nan"),
        (np.array([3.0, 3.0, np.inf, 3.0], np.float32), "expected background between 0 and 6, got inf"),
        (np.array([3.0, 3.0, 3.0, 6.5], np.float32), r"expected p808 between 0 and 6, got 6\.5"),
    ],
)
def test_what_is_no_answer_fails(prediction: Prediction | None, reason: str) -> None:
    """A missing, misshapen, infinite or impossible prediction costs the clip, and says why."""
    found = outcome("dnsmos", FOUR, prediction)
    assert found.status == "failed"
    assert not found.reference
    assert re.search(reason, found.reason)


@given(values=st.dictionaries(st.text(min_size=1, max_size=3), st.floats(-1e3, 1e3, width=32), min_size=1))
def test_every_clip_has_one_outcome_within_range(values: dict[str, float]) -> None:
    """Whatever a model says, each clip has an outcome, and every number that is kept lies in the field's range."""
    predictions = {clip: np.array([value], np.float32) for clip, value in values.items()}
    items = [Item(clip, "speech") for clip in sorted(values)]
    outcomes = catalogued("warpq", ScoringInput("d", items, predictions, predictions)).outcomes
    assert outcomes.keys() == values.keys()
    for clip, found in outcomes.items():
        assert (found.status == "ok") == (values[clip] >= 0)
        assert all(value >= 0 for value in found.reference.values())
