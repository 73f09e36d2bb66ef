"""Words of the board in any letters that are read as them, found at once in texts of any length."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipeline.stats import draw_rows
from support.profile import examples
from support.server.ingest import CLIPS, Service, make_file

from codec_superb.pipeline.submission.titles import badge_like
from codec_superb.server.codecs.facts import summary
from codec_superb.server.database.models import Submission
from codec_superb.server.names import catalogue
from codec_superb.server.names import skeleton as letters
from codec_superb.server.names.board_words import said_of_the_board, stamp_doubts
from codec_superb.server.names.skeleton import AGAIN, FIRSTS, RESERVED, reserved_word, skeleton

MEBIBYTE = 1 << 20
AT_ONCE = 4.0
"""Seconds of a processor, on a machine that does other work; folded letter by letter these texts took 14 to 18."""


@pytest.mark.parametrize(
    "text",
    [
        "Mal 24k · ᴠᴇʀɪꜰɪᴇᴅ", "ᴍᴀɪɴᴛᴀɪɴᴇʀꜱ of the ʟᴇᴀᴅᴇʀʙᴏᴀʀᴅ", "vérified", "νεrified", "VEЯIFIED", "vəriꬵied",
        "ᴡɪɴɴᴇʀ", "ʀᴀɴᴋ 1", "fírst place", "ver\ufe0fified", "veri\u200bfied", "ⱱeɽified", "wínner",
        "Wave 1 (υerified)", "∇erified", "verif¡ed", "vеꞅified", "Codec-Sυperb", "v∇e∇r∇i∇f∇i∇e∇d", "¡ver¡ified",
    ],
)  # fmt: skip
def test_letters_that_are_read_as_others(text: str) -> None:
    """Small capitals, accents, strokes, turned letters and those of other scripts make it; hidden ones do nothing."""
    assert reserved_word(text)


@pytest.mark.parametrize(
    "text",
    [
        "модератор речи", "кодек официальный", "vérifié", "certificado", "zertifiziert", "onaylı", "Ρήγας",
        "Swïnnerton", "中first", "音声コーデック", "مرحبا", "ɪə ʊə phones", "1.0 × 10⁻³", "Łódź 12 kbps",
        "¡Buenos días!", "∇f", "υ-law", "πνεῦμα", "Ευρυδίκη",
    ],
)  # fmt: skip
def test_letters_of_other_words(text: str) -> None:
    """What is not such a word in any of these letters stays an honest text."""
    assert reserved_word(text) == ""


def slow(text: str) -> str:
    """Find the same letter by letter and word by word, as the text is; accents tell letters apart."""
    text = letters._TERMS.sub(" ", text)
    folded = letters._folded(text)
    said = next((word for word in RESERVED if skeleton(word) in folded), "")
    first = letters._FIRST.search(text) or letters._FIRST.search(unicodedata.normalize("NFKC", text))
    again = next((word for word in AGAIN if says(text, skeleton(word), *map(skeleton, word.split()))), "")
    return said or (first[0] if first else "") or again or next((w for w in FIRSTS if says(text, skeleton(w))), "")


def says(text: str, word: str, *pieces: str) -> bool:
    """Whether neighbouring words of a text make up ``word``, which is set apart between its ``pieces`` alone."""
    parts = [skeleton(part) for part in letters._WORD.findall(text)]
    places = range(len(parts))
    made = (parts[a:b] for a in places for b in range(a + 1, min(a + len(word), len(parts)) + 1))
    return any("".join(some) == word and (not pieces or some in ([word], [*pieces])) for some in made)


PIECES = (
    *RESERVED, *AGAIN, *FIRSTS, "win", "ner", "W1N", "veri", "fied", "ѵегі", "ｆｉｅｄ", "rank 1", "№1", "no. ",
    "first", "place", "unofficial", "winner takes all", " ", "-", "_", "1", ".", "+", "\ufdfa", "top-1",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=("C", "M")), max_size=8).map("".join))
@examples(500)
def test_it_finds_what_letter_by_letter_is_found(text: str) -> None:
    """In one pass, where each letter is folded once for all texts."""
    if slow(text):
        assert reserved_word(text)


@pytest.mark.parametrize(
    "text",
    [
        "\ufdfa", "\ufdfa ", "ѕсорегԁ", "ｗ", "x", "Swinnersx xchampionsx xrankedx abc\ufdfa ",
        "# ", "no 0", "1st.", "w ",
        "Ab", "top-1.", "㌀", "xwinnerx " + " -" * 30,
    ],
)  # fmt: skip
def test_a_megabyte_at_once(text: str) -> None:
    """Whatever its letters are, as one text and as settings of 5,000 letters; others wait to be stored meanwhile."""
    long = text * (MEBIBYTE // len(text.encode()))
    began = time.process_time()
    for texts in ({long}, {long[at : at + 5000] for at in range(0, len(long), 5000)}):
        list(said_of_the_board("setting", texts))
    assert time.process_time() - began < 2 * AT_ONCE


def test_all_letters_at_once() -> None:
    """Each letter once; ideographs and letters without a shape leave nothing in memory."""
    before = len(letters._SPELT)
    began = time.process_time()
    every = "".join(chr(code) for code in range(0x20000, 0x110000))
    assert reserved_word(every) == ""
    assert badge_like(every) == ""
    assert time.process_time() - began < 2 * AT_ONCE
    assert len(letters._SPELT) < before + 2000


def test_small_capitals_on_the_board(service: Service, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A title in them that says a word of the board, or looks like a codec of the catalogue, is refused."""
    folder = tmp_path_factory.mktemp("capitals")
    for title, what in (("Mal 24k · ᴠᴇʀɪꜰɪᴇᴅ", "'verified'"), ("ᴏᴘᴜꜱ 12 ᴋʙᴘꜱ", "opus_12k")):
        answer = service.send(make_file(draw_rows(1, CLIPS), folder, codec="capitals_1k", title=title))
        assert what in answer.text
        assert answer.status_code in {409, 422}, answer.text


def test_words_of_the_board_in_what_else_is_a_fact() -> None:
    """Operations, and what a metric of one's own says of itself, its version too; not a plug-in's honest words."""
    spent = {"per_second": 1.5e9, "unseen": ["aten::stft"], "reason": ""}
    operations = {"backend": "torch.utils.flop_counter", "clip": "speech/1", "encode": spent, "decode": spent}
    metric = {
        "label": "Envelope", "unit": "dB", "higher_is_better": True, "maximum": None, "best": 1.0, "paper": "",
        "definition": "Correlation of envelopes", "origin": "codec-superb-envelope 1.0",
    }  # fmt: skip

    def found(version: str = "1", counted: dict[str, Any] | None = None, **said: str) -> list[str]:
        document = {
            "datasets": [{"operations": operations | (counted or {})}, {"operations": None}],
            "metrics": {"mean_rank": version}, "custom_metrics": {"mean_rank": metric | said},
        }  # fmt: skip
        return [text for _, text in stamp_doubts(Submission(document=document))]

    assert found() == []
    for said in ({"unit": "MOS, verified"}, {"origin": "codec-superb official panel"}, {"paper": "verified by us"}):
        assert len(found(**said)) == 1, said
    assert len(found("1, verified here")) == 1
    for counted in ({"backend": "counted by the maintainers"}, {"encode": spent | {"unseen": ["verified"]}}):
        assert len(found(counted=counted)) == 1, counted


def test_a_lead_is_in_the_words_of_the_board() -> None:
    """The first sentence of a codec's page says of a card of one's own what can be said in the board's words alone."""
    listed = catalogue.cards()["opus_12k"]
    assert listed.standard in summary(listed)
    own = listed.model_copy(update={"name": "mine", "standard": "Recommended by this board"})
    assert "Recommended" not in summary(own)


@pytest.mark.parametrize(
    ("stamp", "kinds"),
    [
        ({"processor": "the maintainers' machine, officially verified"}, ["name"]),
        ({"backends": {"pesq": "verified"}}, ["name"]), ({"packages": {"numpy": "2.1 ✓"}}, ["name"]),
        ({"packages": {"verified by those of Codec-SUPERB": "2026", "command": "verified"}}, ["name", "name"]),
        ({"tool_version": "0.1.0 (officially verified)"}, ["name"]), ({"commit": "the official board"}, ["name"]),
        ({"processor": "Intel(R) Xeon(R) Processor @ 2.90GHz", "command": "codec-superb resynth --codec opus_16k",
          "packages": {"codec-superb": "0.1.0", "ffmpeg libavcodec": "61.19.100"}, "tool_version": "0.1.0",
          "commit": "3570bc62", "backends": {"pesq": "fast"}, "dirty": False, "batch_seconds": 10.0}, []),
    ],
)  # fmt: skip
def test_words_of_the_board_in_a_stamp(stamp: dict[str, Any], kinds: list[str]) -> None:
    """The codec's page shows machine, packages and backends as facts; a command line is seen to be one."""
    usual = {"processor": "", "platform": "Linux", "device": "cpu", "python": "CPython 3.11.7", "packages": {}}
    made = Submission(document={"datasets": [{"provenance": [usual | stamp]}]})
    assert [kind for kind, _ in stamp_doubts(made)] == kinds
