"""Titles that would take more than their own row, or could be taken for another, are refused with what they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.applications.backends import BACKENDS
from codec_superb.base_codec import registry
from codec_superb.pipeline.literature.records import TABLES
from codec_superb.pipeline.literature.tables import published_table
from codec_superb.pipeline.submission.titles import TITLE_LIMIT, title_fault
from codec_superb.server.names.skeleton import reserved_word

ZALGO = "O" + "\u0335\u0353\u0310" * 5 + "pus"


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("", "blank"),
        (" \t ", "blank"),
        ("x" * 81, "81"),
        ("two\nlines", "U+000A"),
        ("tab\tbed", "U+0009"),
        ("zero\u200bwidth", "U+200B ZERO WIDTH SPACE"),
        ("joined\u200d", "U+200D"),
        ("soft\u00adhyphen", "U+00AD"),
        ("turned \u202eback", "U+202E"),
        ("mark\u200f", "U+200F"),
        ("no\u00a0break", "U+00A0"),
        ("line\u2028end", "U+2028"),
        ("filler\u3164", "U+3164 HANGUL FILLER"),
        ("selector\ufe0f", "U+FE0F"),
        ("own \ue000", "U+E000"),
        ("e\u0301lan", "e\\u0301lan"),
        (ZALGO, "combining marks"),
        (" space", "' space'"),
        ("two  spaces", "'two  spaces'"),
        ("Opus ✓", "U+2713 CHECK MARK"),
        ("★ Opus", "U+2605 BLACK STAR"),
        ("Opus 🏆", "U+1F3C6 TROPHY"),
        ("① Opus", "U+2460 CIRCLED DIGIT ONE"),
        ("√ Opus", "U+221A SQUARE ROOT"),
        ("1\u20e3 Opus", "U+20E3 COMBINING ENCLOSING KEYCAP"),
        ("Opus \uaa9c", "U+AA9C TAI VIET LETTER LOW PO"),
    ],
)
def test_what_is_refused(title: str, word: str) -> None:
    """The fault names the limit or the letter."""
    fault = title_fault(title)
    assert fault is not None
    assert word in " ".join(fault)


@pytest.mark.parametrize(
    "title",
    [
        "Opus 12 kbps",
        "é",
        "音声コーデック",
        "เสียงพูด ชื่อ",
        "кодек речи",
        "مرحبا",
        "A–B (½), 44.1 kHz/♪",
        "AMR-WB+ ®, 2² × ±1 °C → *",
    ],
)
def test_what_is_taken(title: str) -> None:
    """Any script is."""
    assert title_fault(title) is None


def test_the_catalogue_keeps_to_it() -> None:
    """So that its codecs can be submitted; neither it nor a published table says what the board alone may."""
    titles = {name: registry.card(name).title for name in registry.names()}
    assert {name: fault for name, title in titles.items() if (fault := title_fault(title))} == {}
    published = [codec.name for table in TABLES for codec in published_table(table).codecs]
    assert [text for text in (*titles, *titles.values(), *published, *BACKENDS) if reserved_word(text)] == []


def test_words_of_the_board_are_words() -> None:
    """What only holds the letters of one is an honest name, and people are called as they are."""
    honest = (
        "LoRA rank 16", "rank 1.5", "no. 12", "first stage", "top-1 of 8", "Low-rank editing", "unranked trials",
        "1st-order noise shaping", "Swinnerton codec", "Rank-1 lattice VQ 6 kbps", "LoRA rank 1 decoder",
        "EnCodec unofficial", "encodec_unofficial", "Winner-takes-all VQ", "Band-ranked VQ 3 kbps", "rank II",
        "top-1 gating", "number onefold", "Topology one", "run against noise", "core run 2", "Grunagain", "prerun",
        "trained again", "run 2, again", "Run a gain stage", "R.E. Run", "rerun.io",
    )  # fmt: skip
    claims = (
        f"{'long ' * 300}verified",
        "The Winner",
        "win-ner",
        "SuperWinner",
        "w1nner_12k",
        "ranked",
        "№1",
        "rank 01",
        "rank1",
        "♯1",
        "first-place",
        "Champions",
        "1st",
        "1st in speech",
        "rank-one",
        "Rank One codec",
        "rank I",
        "Top 1",
        "Top-1 codec",
        "top one in speech",
        "Number one codec",
        "unofficial winner",
        "offi unofficial cial",
        "rank unofficial 1",
        "LoRA rank 1, rank 1",
        "M (run again)",
        "M, not run again",
        "m_run_again",
        "ruո agaıո",
        "RunAgain",
    )
    assert [text for text in honest if reserved_word(text)] == []
    assert reserved_word("#" * 200_000) == ""  # at once: a file may have a megabyte of settings
    assert [text for text in claims if not reserved_word(text)] == []
    people = ("Frank Edwards", "J. Champion", "Langdon Winner", "Laboratory No. 1")
    assert [text for text in people if reserved_word(text, person=True)] == []
    assert reserved_word("Champion, verified", person=True) == "verified"
    assert reserved_word("Champion, run again", person=True) == "run again"


@given(st.text(max_size=100))
@examples(200)
def test_whatever_is_taken_is_one_line(title: str) -> None:
    """A title that passes is printed as it is, in one line of at most 80 characters."""
    if title_fault(title) is None:
        assert title.isprintable()
        assert 0 < len(title) <= TITLE_LIMIT
        assert title.splitlines() == [title]
