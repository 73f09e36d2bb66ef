"""Scoring a pair: every metric as if alone, nothing lost when one has no meaning or breaks."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.metrics import coded, noise, singing, speech
from support.profile import examples

from codec_superb.metrics.errors import InvalidAudio, MissingPackage, Undefined, UnknownMetric
from codec_superb.metrics.score import MetricResult, metric_function, prepare, score_pair
from codec_superb.metrics.table import METRICS, metrics_for

RATE = 16_000
SPEECH = speech(seconds=1.5).astype(np.float32)
CODED = coded(SPEECH.astype(np.float64), RATE).astype(np.float32)


def test_a_pair_gets_what_each_function_gives_alone() -> None:
    """Sharing work changes no bit of any value, and every key gets a value."""
    values = score_pair(SPEECH, CODED, RATE, list(METRICS))
    assert list(values) == list(METRICS)
    for key, value in values.items():
        ran = METRICS[key].default_backend if METRICS[key].backends else ""
        assert value == MetricResult("ok", metric_function(key)(SPEECH, CODED, RATE), backend=ran)


def test_the_implementation_that_was_asked_for_runs() -> None:
    """With two that differ, the value is the one's that was named, and the default's where none was."""
    row = dataclasses.replace(
        METRICS["si_sdr"], key="ratio", backends=(("other", METRICS["sdr"].target),), default_backend="reference"
    )
    first, other = (metric_function(key)(SPEECH, CODED, RATE) for key in ("si_sdr", "sdr"))
    assert first != other
    assert score_pair(SPEECH, CODED, RATE, [row]) == {"ratio": MetricResult("ok", first, backend="reference")}
    named = score_pair(SPEECH, CODED, RATE, [row], backends=(("ratio", "other"),))
    assert named == {"ratio": MetricResult("ok", other, backend="other")}


@examples(6)
@given(st.permutations(sorted(METRICS)))
def test_the_order_of_the_metrics_is_irrelevant(keys: list[str]) -> None:
    """Whatever is computed first, the values are the same."""
    assert score_pair(SPEECH, CODED, RATE, keys) == score_pair(SPEECH, CODED, RATE, sorted(METRICS))


def test_a_prepared_reference_serves_many_codecs() -> None:
    """One prepared reference gives each resynthesis what a fresh one gives, in any order, again and again."""
    reference = prepare(SPEECH, RATE)
    others = [CODED, SPEECH, coded(SPEECH, RATE, noise=0.2)]
    for resynthesis in [*others, *others[::-1]]:
        expected = score_pair(SPEECH, resynthesis, RATE, list(METRICS))
        assert score_pair(reference, resynthesis, RATE, list(METRICS)) == expected


def test_pitch_of_a_prepared_reference_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten codecs on one clip cost one pitch analysis of the reference, not ten."""
    from codec_superb.metrics import pitch

    analysed = []
    original = pitch.world_f0
    monkeypatch.setattr(pitch, "world_f0", lambda signal: analysed.append(signal) or original(signal))
    reference = prepare(singing(seconds=0.5), RATE)
    for seed in range(3):
        score_pair(reference, coded(reference.samples, RATE, seed=seed), RATE, ["f0corr"])
    assert analysed.count(reference) == 1
    assert len(analysed) == 4


@pytest.mark.parametrize("make", [speech, singing])
def test_identity_gives_the_best_value_of_every_metric(make: type) -> None:
    """A signal with itself reaches the best end of each range; ratios without distortion are undefined: infinite."""
    x = make()
    best = {"stft": 0.0, "mel": 0.0, "pesq": 4.6438885, "stoi": 1.0, "estoi": 1.0, "f0corr": 1.0, "f0corr_praat": 1.0}
    values = score_pair(x, x.copy(), RATE, list(METRICS))
    assert {key: values[key].value for key in best} == pytest.approx(best, abs=1e-6)
    for key in ("si_sdr", "sdr"):
        assert values[key] == MetricResult("undefined", None, "infinite")


@pytest.mark.parametrize("key", [key for key in metrics_for("speech") if key != "f0corr"])
def test_more_noise_is_never_better(key: str) -> None:
    """Each metric orders four levels of noise as its direction says."""
    x = speech()
    values = [metric_function(key)(x, x + noise(seconds=2.5, level=level), RATE) for level in (1e-4, 1e-3, 1e-2, 0.1)]
    assert values == sorted(values, reverse=METRICS[key].higher_is_better)


def test_one_undefined_metric_leaves_the_others() -> None:
    """A clip too short for PESQ and STOI still has its distortion; each status is named with its reason."""
    x = noise(seconds=0.1)
    values = score_pair(x, x + noise(seconds=0.1, seed=8, level=0.01), RATE, ["pesq", "stoi", "si_sdr", "mel"])
    assert [value.status for value in values.values()] == ["undefined", "undefined", "ok", "ok"]
    assert "0.25 s" in values["pesq"].reason
    assert values["stoi"].value is None


@pytest.mark.parametrize("samples", [1, 2, 160, 1023, 3999, 4001])
@pytest.mark.parametrize("kind", ["noise", "silence", "constant", "click", "clipped"])
def test_no_clip_makes_a_metric_crash(samples: int, kind: str) -> None:
    """Whatever the sound and however short, each metric is defined or undefined, and never failed."""
    x = {
        "noise": noise(seconds=1.0),
        "silence": np.zeros(RATE),
        "constant": np.full(RATE, 0.25),
        "click": np.eye(1, RATE, samples // 2)[0],
        "clipped": np.sign(noise(seconds=1.0)) * 1.5,
    }[kind][:samples]
    for resynthesis in (x, np.zeros(samples), noise(seconds=1.0, seed=5)[:samples]):
        values = score_pair(x, resynthesis, RATE, list(METRICS))
        assert {value.status for value in values.values()} <= {"ok", "undefined"}, values


def break_metric(monkeypatch: pytest.MonkeyPatch, key: str, result: object) -> None:
    """Let the function of ``key`` return or raise ``result``."""

    def broken(_reference: object, _resynthesis: object, _rate: int) -> object:
        if isinstance(result, Exception):
            raise result
        return result

    original = metric_function
    monkeypatch.setattr(
        "codec_superb.metrics.score.metric_function",
        lambda wanted, *backend: broken if wanted == METRICS[key] else original(wanted, *backend),
    )


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        (ZeroDivisionError("by nought"), "failed", "ZeroDivisionError: by nought"),
        (Undefined("no meaning"), "undefined", "no meaning"),
        (float("nan"), "failed", "nan lies outside"),
        (-1.0, "failed", r"-1.0 lies outside \[0.0, inf\]"),
        ("text", "failed", "ValueError"),
    ],
)
def test_a_fault_of_one_metric_is_counted_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, result: object, status: str, reason: str
) -> None:
    """A crash, a NaN and a value outside its range are failures with a reason, never numbers."""
    break_metric(monkeypatch, "mel", result)
    values = score_pair(SPEECH, CODED, RATE, ["mel", "stft"])
    assert values["mel"].status == status
    assert values["mel"].value is None
    assert re.search(reason, values["mel"].reason)
    assert values["stft"].status == "ok"


def test_a_missing_package_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra that is not installed is the caller's to know, not a failure of every clip."""
    break_metric(monkeypatch, "f0corr_praat", MissingPackage("pip install"))
    with pytest.raises(MissingPackage):
        score_pair(SPEECH, CODED, RATE, ["f0corr_praat"])


def test_an_invalid_pair_or_key_is_an_error_before_anything_is_computed() -> None:
    """Invalid audio and unknown keys raise; they are not the fault of one metric."""
    with pytest.raises(UnknownMetric, match="Did you mean"):
        score_pair(SPEECH, CODED, RATE, ["mell"])
    with pytest.raises(InvalidAudio, match="same length"):
        score_pair(SPEECH, CODED[:-1], RATE, ["mel"])


def test_a_value_cannot_be_changed() -> None:
    """Outcomes are immutable."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        MetricResult("ok", 1.0).value = 2.0
