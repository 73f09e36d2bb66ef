"""Transcripts are normalised as Whisper's authors do, and in characters where words are not written apart."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

import pytest
import whisper.normalizers
from hypothesis import given
from hypothesis import strategies as st

from codec_superb.applications.asr.normalise import language_of, normalise, normaliser_name

ENGLISH = [
    "Mr. Dashwood had then leisure, to consider: how MUCH there might be!",
    "ten of clubs, four queen of clubs",
    "It's the colour of the neighbour's theatre, isn't it?",
    "I've got $20 million and 5 cents in 1999.",
    "one hundred and twenty-three thousand four hundred fifty-six",
    "He won't, he can't; she'd have gone. They're gonna!",
    "double oh seven, one oh one, the 21st of may",
    "[laughter] (coughs) uh, hmm, mhm well um",
    "three and a half percent of 1,000,000 people",
    "Saint Paul's, Dr. Jones Jr. and Prof. Smith",
    "naïve café façade",
    "minus five degrees, plus two pounds 3.14",
    "",
    "   ",
    "Wait... what? ... !",
]
OTHER = [
    "Où est-ce qu'il est allé, l'été dernier ?",
    "¿Qué tal? ¡Muy bien! Señor Núñez",
    "Straße, Äpfel und Öl: 3,50 €",
    "Привет, как дела? Ёлка",
    "[musica] (risate) perché no",
    "",
]


@functools.cache
def _english_of_openai() -> Callable[[str], str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its file of spellings open
        return whisper.normalizers.EnglishTextNormalizer()


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_that_of_openai_whisper(text: str) -> None:
    """The English words are those of the normaliser that openai-whisper carries."""
    assert normalise(text, "en-GB").units == tuple(_english_of_openai()(text).split())


@pytest.mark.parametrize("text", OTHER)
@pytest.mark.parametrize("tag", ["fr", None])
def test_other_languages_use_the_basic_one_of_openai_whisper(text: str, tag: str | None) -> None:
    """Words of other languages, and of one that is not known, are those of openai-whisper's basic normaliser."""
    assert normalise(text, tag).units == tuple(whisper.normalizers.BasicTextNormalizer()(text).split())


@pytest.mark.parametrize(
    ("text", "tag", "expected"),
    [
        ("今天天气很好。", "zh-CN", "今天天气很好"),
        ("今天, 天气 很好!", "zh", "今天天气很好"),
        ("「東京」へ、行く", "ja", "東京へ行く"),
        ("안녕하세요, 여러분!", "ko-KR", "안녕하세요여러분"),
        ("ＡＢＣ １２３", "zh_Hant", "abc123"),
        ("ﾊﾟﾘ", "ja", "パリ"),
        ("佢哋 好", "yue", "佢哋好"),
        ("，。！", "zh", ""),
    ],
)
def test_characters(text: str, tag: str, expected: str) -> None:
    """Chinese, Japanese and Korean are characters without spaces and punctuation, wide and narrow forms alike."""
    assert normalise(text, tag) == (tuple(expected), "characters")


@pytest.mark.parametrize(
    ("tag", "expected"),
    [("en-GB", "en"), ("EN", "en"), ("zh_Hans_CN", "zh"), (None, "und"), ("", "und"), (" fr ", "fr")],
)
def test_language(tag: str | None, expected: str) -> None:
    """The primary subtag counts, however it is written."""
    assert language_of(tag) == expected


def test_the_name_states_normaliser_and_version() -> None:
    """Results say which normaliser ran, with the version of its package."""
    assert normaliser_name("en").startswith("Whisper English (whisper-normalizer 0.1.")
    assert normaliser_name("it").startswith("Whisper basic (whisper-normalizer 0.1.")
    assert normaliser_name("ko").startswith("characters after NFKC")


@given(st.text(max_size=40), st.sampled_from(["zh", "ja", "ko"]))
def test_characters_normalise_once(text: str, tag: str) -> None:
    """Normalising characters a second time changes nothing, and no space is among them."""
    units = normalise(text, tag).units
    assert normalise("".join(units), tag).units == units
    assert not any(unit.isspace() for unit in units)
