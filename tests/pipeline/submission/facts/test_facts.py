"""Facts of clips: those that the program brings are those of the sound, and one clip's sound is not another's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples, some

from codec_superb.data_manifests import open_dataset, prepare
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.pipeline.runs.dataset_access import load_mono
from codec_superb.pipeline.submission.facts.check_sound import LENGTH_SLACK, SOUND_DB
from codec_superb.pipeline.submission.facts.clips import KnownClip, dump_clips, load_clips, shipped_clips
from codec_superb.pipeline.submission.facts.fingerprint import distance, fingerprint, frames_of, is_silent
from codec_superb.pipeline.submission.known_datasets import facts_of, length_of, prepared_dataset
from codec_superb.pipeline.submission.samples import OPUS_RATE, SECONDS, decoded, ogg_opus

MINI = shipped_clips("mini")
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
FACTS = st.builds(
    KnownClip,
    st.sampled_from(["speech", "audio", "music"]),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(0, 2**31),
    st.none() | st.frozensets(st.sampled_from(["pesq", "f0corr"])),
    st.none() | st.binary(max_size=200),
)


@given(st.dictionaries(NAMES, FACTS, min_size=1))
@examples(100)
def test_facts_come_back(clips: dict[str, KnownClip]) -> None:
    """Whatever is known or not, of clips of any name."""
    assert load_clips(dump_clips(clips)) == clips


def test_facts_of_mini_are_of_its_manifest() -> None:
    """Every clip of the manifest, in its category, and nothing about it is missing."""
    source = load_manifest("mini").source
    assert source.kind == "packages"
    categories = {clip.id: group.category for group in source.groups for clip in group.clips}
    assert {name: clip.category for name, clip in MINI.items()} == categories
    assert all(None not in clip for clip in MINI.values())


@pytest.fixture(autouse=True, scope="module")
def _own_home() -> None:
    """Leave these tests the user's own home, which keeps ``mini``; the other tests of runs have another."""


@pytest.mark.network
def test_facts_of_mini_are_of_its_sound() -> None:
    """Lengths of all clips; of some, what is computed of the sound. A sample is its clip's and not the next one's.

    Run ``python -m codec_superb.pipeline.submission.known_datasets`` after a change of the dataset or of a metric.
    """
    prepare("mini")
    dataset = open_dataset("mini")
    known = prepared_dataset("mini")
    assert known is not None
    assert known.clips == MINI
    lengths = {name: length_of(dataset.clip(name))[:3] for name in MINI}
    assert lengths == {name: clip[:3] for name, clip in MINI.items()}
    # the two whose sound is nearest to each other, one without a pitch, one without an utterance
    for name in ["music/vocadito_14_1", "music/vocadito_14_2", "audio/hit", "music/flute", *some(sorted(MINI), 1)]:
        clip, found = MINI[name], facts_of(dataset.clip(name))
        assert found[:4] == clip[:4]
        assert found.sound is not None
        assert clip.sound is not None
        assert distance(found.sound, clip.sound) < 0.5
        audio, rate = load_mono(dataset.clip(name))
        heard = decoded(ogg_opus(audio, rate))
        assert abs(heard.size / OPUS_RATE - min(SECONDS, audio.size / rate)) < LENGTH_SLACK / 2
        apart = {
            other: distance(sound, fingerprint(heard, OPUS_RATE, frames_of(sound)))
            for other, (*_, sound) in MINI.items() if sound is not None
        }  # fmt: skip
        assert apart.pop(name) < SOUND_DB / 2
        assert min(apart.values()) > SOUND_DB


def test_levels_do_not_depend_on_the_rate() -> None:
    """A tone at two rates is one sound, half as loud it is 6 dB away, and silence is silent."""
    prints = []
    for rate in (16000, 48000):
        time = np.arange(rate) / rate
        prints.append(fingerprint((0.5 * np.sin(2 * np.pi * 700 * time)).astype(np.float32), rate))
    assert distance(*prints) < 0.1
    time = np.arange(16000) / 16000
    quieter = fingerprint((0.25 * np.sin(2 * np.pi * 700 * time)).astype(np.float32), 16000)
    assert distance(prints[0], quieter) == pytest.approx(6.02, abs=0.3)
    nothing = fingerprint(np.zeros(10, np.float32), 8000)
    assert is_silent(nothing)
    assert (frames_of(nothing), frames_of(prints[0])) == (1, 5)
    assert not is_silent(quieter)
    with pytest.raises(ValueError, match="one length"):
        distance(nothing, quieter)
