"""``score``, ``open_codec`` and ``codec_superb.torchmetrics`` on arrays of numpy and torch."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from support.audio import speech_like

import codec_superb as cs
from codec_superb.base_codec.errors import RefusedSetting
from codec_superb.base_codec.registry import open_codec
from codec_superb.metrics.errors import InvalidAudio, MetricError, UnknownMetric
from codec_superb.metrics.score import score_pair
from codec_superb.metrics.table import METRICS, metrics_for

RATE = 16000
REFERENCE = np.stack([speech_like(0.7, RATE, seed=seed) for seed in range(3)]).astype(np.float32)
RESYNTHESIS = np.round(REFERENCE * 16).astype(np.float32) / 16
KEYS = ["mel", "stoi", "si_sdr"]


@pytest.fixture(scope="module")
def ours() -> ModuleType:
    """Import it where it is used: torchmetrics takes a second of each process that reads this file."""
    return importlib.import_module("codec_superb.torchmetrics")


def close(found: Any, expected: Any) -> bool:
    """Whether numbers are the same but for the order of sums."""
    return bool(np.allclose(found, expected, rtol=1e-12, equal_nan=True))


def test_a_pair_has_the_numbers_of_the_pipeline() -> None:
    """By default the metrics of speech, each as the pipeline computes it on these arrays."""
    expected = score_pair(REFERENCE[0], RESYNTHESIS[0], RATE, metrics_for("speech"))
    found = cs.score(REFERENCE[0], RESYNTHESIS[0])
    assert list(found) == list(metrics_for("speech"))
    assert close([found[key] for key in expected], [of.value for of in expected.values()])


@pytest.mark.parametrize("form", ["array", "list", "tensor", "channels", "float64"])
def test_a_batch_is_its_pairs(form: str) -> None:
    """However a batch is given, its values are those of the pairs, in order."""
    forms: dict[str, Any] = {
        "array": lambda x: x, "list": list, "tensor": torch.from_numpy, "float64": lambda x: x.astype(np.float64),
        "channels": lambda x: np.stack([x, x], axis=1),
    }  # fmt: skip
    found = cs.score(forms[form](REFERENCE), forms[form](RESYNTHESIS), RATE, KEYS)
    for number in range(3):
        pair = cs.score(REFERENCE[number], RESYNTHESIS[number], RATE, KEYS)
        assert close([found[key][number] for key in KEYS], [pair[key] for key in KEYS])


def test_channels_are_averaged_and_two_axes_are_a_batch() -> None:
    """A stereo pair in a list is one pair of means; as an array of two axes it is two pairs."""
    other = np.stack([RESYNTHESIS[0], REFERENCE[0]])
    found = cs.score([np.stack([REFERENCE[0]] * 2)], [other], RATE, "si_sdr")
    assert close(found["si_sdr"], [cs.score(REFERENCE[0], other.mean(axis=0), RATE, "si_sdr")["si_sdr"]])
    assert cs.score(np.stack([REFERENCE[0]] * 2), other, RATE, "mel")["mel"].shape == (2,)


def test_no_meaning_is_nan_and_a_crash_is_raised(tmp_path: Any) -> None:
    """PESQ of silence is NaN; a metric that crashes says which and why, or is NaN with a warning."""
    silence = np.zeros(RATE, dtype=np.float32)
    assert np.isnan(cs.score(silence, silence, RATE, "stoi")["stoi"])
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\nfrom codec_superb.metrics.table import METRICS\n"
        "def crash(reference, resynthesis, rate):\n    raise ValueError('on purpose')\n"
        "ROW = replace(METRICS['mel'], key='mine', target=':crash')\n"
    )
    with pytest.raises(MetricError, match="mine failed on pair 0: ValueError: on purpose"):
        cs.score(silence, silence, RATE, f"{file}:ROW")
    with pytest.warns(RuntimeWarning, match="on purpose"):
        assert np.isnan(cs.score(silence, silence, RATE, f"{file}:ROW", errors="nan")["mine"])


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (REFERENCE[0], RESYNTHESIS, "one size"),
        (REFERENCE, RESYNTHESIS[:2], "batch of 3 and a batch of 2"),
        (REFERENCE[0], RESYNTHESIS[0][:-1], "same length"),
        ((REFERENCE[0] * 32767).astype(np.int16), RESYNTHESIS[0], "divide integer samples"),
        (torch.from_numpy(REFERENCE[0]).bfloat16(), RESYNTHESIS[0], "tensor of bfloat16"),
        ("clip.wav", RESYNTHESIS[0], "got str"),
        ([], [], "at least one"),
        (REFERENCE[None, None], RESYNTHESIS[None, None], "got shape"),
        (np.full(RATE, np.nan, np.float32), REFERENCE[0][:RATE], "finite"),
    ],
)
def test_what_is_no_pair_is_said(one: Any, other: Any, words: str) -> None:
    """One sentence says what was expected and what came."""
    with pytest.raises(InvalidAudio, match=words):
        cs.score(one, other, RATE, "mel")


def test_an_unknown_metric_has_near_matches() -> None:
    """As on the command line."""
    with pytest.raises(UnknownMetric, match="Did you mean"):
        cs.score(REFERENCE[0], RESYNTHESIS[0], RATE, "pesk")


def test_an_opened_codec_takes_and_gives_arrays_of_one_form() -> None:
    """Axes, kind and length are those of what was given; the sound is the codec's own."""
    codec = cs.open_codec("g711_alaw", progress=False)
    own = open_codec("g711_alaw")
    expected = own.decode(own.encode(REFERENCE[:1], RATE))
    assert np.array_equal(codec(REFERENCE[0], RATE), expected[0])
    assert np.array_equal(codec(REFERENCE[:1], RATE), expected)
    found = codec(torch.from_numpy(REFERENCE[0]), RATE)
    assert torch.equal(found, torch.from_numpy(expected[0]))
    encoded = codec.encode(REFERENCE[0], RATE)
    assert np.array_equal(codec.decode(encoded), expected)
    mine = cs.open_codec(lambda audio, rate: audio / 2, progress=False)
    assert np.allclose(mine(REFERENCE[0], RATE), REFERENCE[0] / 2, atol=1e-6)


def test_a_file_is_opened_by_its_path_and_a_module_is_not_moved(tmp_path: Path) -> None:
    """As for ``evaluate``."""
    (tmp_path / "mine.py").write_text("def half(audio, rate):\n    return audio / 2\n")
    assert cs.open_codec(tmp_path / "mine.py:half", progress=False).card.name == "mine_half"
    module = torch.nn.Linear(1, 1)
    module.sampling_rate = RATE  # type: ignore[assignment]
    with pytest.raises(RefusedSetting, match="the model lies on cpu; move it yourself"):
        cs.open_codec(module, device="cuda")
    with pytest.raises(RefusedSetting, match="auto, cpu or cuda, got 'gpu'"):
        cs.open_codec(module, device="gpu")  # type: ignore[arg-type]


def test_every_metric_is_a_metric_of_torchmetrics(ours: ModuleType) -> None:
    """Each class of the table gives the mean of the pipeline's numbers over updates, and can be pickled and reset."""
    assert sorted(dir(ours)) == sorted(key.upper() for key in METRICS)
    rows = {key: row for key, row in METRICS.items() if key not in {"f0corr_praat", "pesq_c2"}}
    expected = cs.score(REFERENCE, RESYNTHESIS, RATE, list(rows))
    for key, row in rows.items():
        metric = getattr(ours, key.upper())(sampling_rate=RATE)
        assert metric.higher_is_better == row.higher_is_better
        metric.update(torch.from_numpy(RESYNTHESIS[:2]), torch.from_numpy(REFERENCE[:2]))
        metric.update(torch.from_numpy(RESYNTHESIS[2]), torch.from_numpy(REFERENCE[2]))
        assert close(metric.compute(), np.nanmean(expected[key])), key
        assert metric.undefined == np.isnan(expected[key]).sum()
        assert close(pickle.loads(pickle.dumps(metric)).compute(), np.nanmean(expected[key]))
    one = ours.MEL()
    alone = one(torch.from_numpy(RESYNTHESIS), torch.from_numpy(REFERENCE))  # value of the batch, and added up
    assert close(alone, np.mean(expected["mel"]))
    one.reset()
    assert one.scored == 0


def test_pairs_without_a_value_are_counted_beside_the_mean(ours: ModuleType) -> None:
    """Undefined pairs are no part of the mean; states of several processes are added up."""
    silence = torch.zeros(RATE)
    first, second = ours.STOI(), ours.STOI()
    first.update(silence, silence)
    assert first.undefined == 1
    assert torch.isnan(first.compute())
    second.update(torch.from_numpy(RESYNTHESIS[0]), torch.from_numpy(REFERENCE[0]))
    assert {str(reduce.__name__) for reduce in first._reductions.values()} == {"dim_zero_sum"}
    for name, reduce in first._reductions.items():
        setattr(first, name, reduce(torch.stack([getattr(first, name), getattr(second, name)])))
    first._computed = None
    assert close(first.compute(), cs.score(REFERENCE[0], RESYNTHESIS[0], RATE, "stoi")["stoi"])
    assert (first.scored, first.undefined, first.failed) == (1, 1, 0)
    with pytest.raises(AttributeError, match="SI_SDR"):
        ours.NOTHING  # noqa: B018 - the attribute is what is tested


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cs.score(REFERENCE[0][:, None], RESYNTHESIS[0][:, None], RATE, "mel"), "samples first.*transpose"),
        (lambda: cs.score([REFERENCE[:2].T], [RESYNTHESIS[:2].T], RATE, "mel"), "samples first.*transpose"),
        (lambda: cs.open_codec("g711_alaw")(REFERENCE[0][:, None], RATE), "samples first.*transpose"),
        (lambda: cs.score(REFERENCE[0], RESYNTHESIS[0], "16k", "mel"), "whole number of Hz.*'16k'"),  # type: ignore[call-overload]
        (lambda: cs.score(REFERENCE[0], RESYNTHESIS[0], category="spech"), "speech.*got 'spech'"),  # type: ignore[call-overload]
        (lambda: cs.score(REFERENCE[0], RESYNTHESIS[0], errors="ignore"), "'raise' or 'nan', got 'ignore'"),  # type: ignore[call-overload]
        (lambda: cs.score("a.wav", "b.wav"), "got str: read it first"),
        (lambda: cs.score(None, None), "got NoneType: read it first"),
    ],
)
def test_wrong_arguments_are_answered_with_a_sentence(call: Callable[[], object], words: str) -> None:
    """Of the error that all faults of arrays and metrics have."""
    with pytest.raises(MetricError, match=words):
        call()
