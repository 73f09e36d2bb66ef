"""Forced alignment of real speech, and contents of tokens whose labels are known."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from support.applications.asr import librivox
from support.codecs.checkpoints import FAMILIES, opened
from support.codecs.token_figures import check_learnt, labelled
from support.speech import recordings

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Item, ScoringInput
from codec_superb.applications.table import PROBES
from codec_superb.applications.token_contents.alignment import PhoneAligner
from codec_superb.applications.token_contents.labelled_codec import from_text, to_text
from codec_superb.applications.token_contents.labels import words_of
from codec_superb.applications.token_contents.scoring import contents, score


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep models in the test's own folder."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def aligner() -> PhoneAligner:
    """Load the models once."""
    found = PhoneAligner()
    found.load(found.prepare(), "cpu", 1)
    return found


@pytest.mark.network
def test_phones_are_those_of_the_dictionary_and_move_with_the_sound(aligner: PhoneAligner) -> None:
    """What is said in a real recording comes in order; half a second of silence before it moves every phone by that."""
    samples = soundfile.read(io.BytesIO(recordings(["cards/001.wav"])[0]), dtype="float32")[0]
    text = _said(aligner, samples)
    found = aligner.align(samples, text)
    assert found
    assert all(of.start < of.end <= samples.size / 16_000 + 0.02 for of in found)
    assert all(one.end <= two.start + 1e-9 for one, two in pairwise(found))
    later = aligner.align(np.concatenate([np.zeros(8000, np.float32), samples]), text)
    assert [of.phone for of in later] == [of.phone for of in found]
    moved = np.array([two.start - one.start for one, two in zip(found, later, strict=True)])
    assert np.median(moved) == pytest.approx(0.5, abs=0.03)
    with pytest.raises(PredictionFailed, match="the dictionary has no krakatoa"):
        aligner.align(samples, "Krakatoa")
    with pytest.raises(PredictionFailed, match="expected a transcript with words"):
        aligner.align(samples, " — ")
    with pytest.raises(PredictionFailed, match="fits nowhere"):
        aligner.align(samples[:1600], text)
    assert aligner.align(samples, text) == found


@pytest.mark.network
def test_nothing_is_left_of_the_sound_before(aligner: PhoneAligner) -> None:
    """Behind another sound a recording has the phones that it has for an aligner that has heard nothing."""
    first, second = (librivox()[place] for place in (4, 1))
    fresh = PhoneAligner()
    fresh.load(fresh.prepare(), "cpu", 1)
    assert list(aligner.predict([first, second]))[1:] == list(fresh.predict([second]))


def _said(aligner: PhoneAligner, samples: NDArray[np.float32]) -> str:
    """Return what the recogniser of the same models hears, so that the transcript is what is said."""
    from codec_superb.applications.asr.pocketsphinx_asr import PocketSphinx
    from codec_superb.applications.interface import Sound

    recogniser = PocketSphinx()
    recogniser.load(recogniser.prepare(), "cpu", 1)
    (text,) = recogniser.predict([Sound(Item("c", "speech", language="en"), samples)])
    assert isinstance(text, str)
    return text


def test_contents_of_tokens_that_are_made_of_labels() -> None:
    """A codebook that is the phone, one that is the speaker, one that is neither tell all, all and nothing."""
    rng = np.random.default_rng(0)
    items, found = [], {}
    for number in range(12):
        speaker, text = number % 3, f"text {'abcd'[number // 3]}"
        phones = np.random.default_rng(number // 3).integers(0, 4, 60)
        tokens = np.stack([phones, np.full(60, speaker), rng.integers(0, 4, 60)])
        items.append(Item(f"c{number:02}", "speech", text=text, speaker=f"s{speaker}"))
        found[f"c{number:02}"] = from_text(to_text(labelled(tokens, [f"P{of}" for of in phones], [""] * 60)))
    counts = contents(items, found)
    told = {}
    for name in ("mi:phone:1", "mi:phone:2", "mi:phone:3", "mi:speaker:1", "mi:speaker:2", "pure:phone:1"):
        total, value = (sum(of[name][at] for of in counts.values()) for at in (0, 1))
        told[name] = value / total
    assert told["mi:phone:1"] == told["mi:speaker:2"] == told["pure:phone:1"] == pytest.approx(1.0)
    assert max(told["mi:phone:2"], told["mi:phone:3"], told["mi:speaker:1"]) < 0.03
    assert not any("pitch" in name for of in counts.values() for name in of)
    # one text has one sequence of first tokens, whoever says it
    assert sum(of["edit:voices"][1] for of in counts.values()) == 0
    assert all(0 < of["edit:sentences"][1] <= of["edit:sentences"][0] for of in counts.values())
    # a tie where the third differs from its like (3/4) and equals the other's (1/4), which is half an error
    cells, errors = (sum(of["abx:within"][at] for of in counts.values() if "abx:within" in of) for at in (0, 1))
    assert errors / cells == pytest.approx(0.5 * 3 / 16, abs=0.03)
    answers = {clip: to_text(of) for clip, of in found.items()}
    question = ScoringInput("d", items, answers, {}, {"c03": "no resynthesis"})
    scored = score(PROBES["tokens_contents"], question)
    assert scored.outcomes["c03"].status == "failed"
    assert scored.outcomes["c00"].shared["counts"] == sum(pair.left == "c00" for pair in scored.pairs)
    assert scored.settings["aligned_clips"] == 11


def test_words_are_spelt_as_in_the_dictionary() -> None:
    """Apostrophes within words stay, quotation marks around them go."""
    assert words_of("It’s the ‘Old’ man's 7 dogs, o'clock!") == ["it's", "the", "old", "man's", "7", "dogs", "o'clock"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "family"), FAMILIES)
def test_every_family_of_tokens_can_be_learnt_with_random_weights(name: str, family: str) -> None:
    """Whatever the codebooks, a model trains on the tokens of a family's codec, and their contents are counted."""
    check_learnt(opened(name, family))
