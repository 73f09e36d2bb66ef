"""Words of the embedded recogniser stand where they are said."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.applications.asr import librivox, loaded, noise

from codec_superb.applications.asr.faster_whisper_words import FasterWhisperWords
from codec_superb.applications.asr.normalise import normalise
from codec_superb.applications.asr.word_times import read
from codec_superb.applications.interface import Sound

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def words() -> FasterWhisperWords:
    """Load the embedded model."""
    return loaded(FasterWhisperWords())  # type: ignore[return-value]


@pytest.mark.sample(1, among="times of words")
def test_the_words_are_those_of_the_transcript_in_order_of_time(words: FasterWhisperWords) -> None:
    """One sentence of LibriVox: no overlap, within the clip, and longer words take longer than `to`."""
    sound = librivox()[4]
    (answer,) = words.predict([sound])
    found = read(str(answer))
    said = " ".join(word.text for word in found)
    assert normalise(said, "en").units == normalise(sound.item.text or "", "en").units
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert found[0].start >= 0
    assert found[-1].end <= sound.samples.size / 16_000
    assert {word.text: round(word.start, 1) for word in found}["amiable"] == pytest.approx(1.8, abs=0.1)


@pytest.mark.sample(1, among="times of words")
def test_times_move_with_the_sound(words: FasterWhisperWords) -> None:
    """A second of silence before it moves the end of every word by a second, to two tenths."""
    sound = librivox()[4]
    moved = Sound(sound.item, np.concatenate([np.zeros(16_000, np.float32), sound.samples]))
    before, after = (read(str(answer)) for answer in words.predict([sound, moved]))
    assert [word.text for word in after] == [word.text for word in before]
    gaps = [late.end - early.end for early, late in zip(before, after, strict=True)]
    assert gaps == pytest.approx([1.0] * len(gaps), abs=0.2)


@pytest.mark.sample(1, among="times of words")
def test_a_long_sound_is_timed_from_its_start(words: FasterWhisperWords) -> None:
    """Parts of a sound beyond 30 s begin where the former ends; noise is no crash."""
    once = np.concatenate([np.pad(sound.samples, (0, 8000)) for sound in librivox()])
    answer, strange = words.predict(
        [Sound(librivox()[0].item, np.concatenate([once, librivox()[4].samples])), noise(1.0, 0)]
    )
    found = read(str(answer))
    last = [word.start for word in found if word.text.lower().startswith("himself")]
    assert len(last) == 2
    assert last[1] - last[0] == pytest.approx((librivox()[4].samples.size + 8000) / 16_000, abs=0.3)
    assert isinstance(strange, str)


@pytest.mark.sample(2)
@pytest.mark.parametrize("samples", [1, 159, 160, 161, 320, 321, 641])
@pytest.mark.sample(1, among="short sounds and words")
def test_a_sound_shorter_than_a_frame_has_no_word_to_time(words: FasterWhisperWords, samples: int) -> None:
    """What is heard where no frame is has no time; what is heard in one or two lies within them."""
    sound = Sound(librivox()[4].item, np.full(samples, 0.5, np.float32))
    (answer,) = words.predict([sound])
    found = read(str(answer))
    assert all(0 <= word.start <= word.end <= samples / 16_000 + 0.02 for word in found)
    assert samples > 160 or not found


def test_it_is_a_model_of_its_own() -> None:
    """Its answers are never taken for transcripts of the same weights."""
    model = FasterWhisperWords().prepare()
    assert (model.name, model.settings["word_times"]) == ("faster-whisper-words:tiny.en", "cross-attention")
