"""Letters that look alike: known answers of Unicode's report, and that no two names of the catalogue fall together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.server.names import catalogue
from codec_superb.server.names.skeleton import LIMIT, skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paypal", "раураl"),  # TR39, section 4: Cyrillic letters in a Latin word
        ("scope", "ѕсоре"),
        ("l", "Ɩ"),
        ("rn", "m"),
        ("O", "0"),
        ("I", "1"),
        ("Opus 12 kbps", "Οpus 12 kbps"),  # Greek
        ("opus", "ｏｐｕｓ"),
        ("MINI", "mini"),
        ("é", "e\u0301"),
        ("two  words", "two\u00a0words"),
        ("Opus 12 kbps", "Opus 12 kbps."),
        ("Opus 12 kbps", "Opus·12 kbps"),
        ("Opus 12 kbps", "Opus\u201412 kbps"),
        ("Opus 12 kbps", "O\u0332pus 12 kbps"),
        ("Opus 12 kbps", "Opus 1\u03322 kbps"),
        ("HE-AAC", "he_aac"),
        ("1.5 kbps", "1,5 kbps"),
        ("Opus 12 kbps", "ᴏᴘᴜꜱ 12 ᴋʙᴘꜱ"),
        ("ABCDEFGHIJKLMNOPQRSTUVWYZ", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ"),
        ("кодек метр", "ᴋодеᴋ ᴍеᴛр"),
        ("Vorbis tiny", "Vorbi\u0307s tı\u0307ny"),
        ("j", "ј\u0323\u0307"),  # a dot below comes first, and is easily overlooked
    ],
)
def test_what_looks_alike_is_alike(one: str, other: str) -> None:
    """The skeletons are equal."""
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("opus_12k", "opus_16k"),
        ("Opus", "Opüs"),
        ("MP2", "MP3"),
        ("a", "ä"),
        ("か", "が"),
        ("i", "i\u0308"),
        ("z", "z\u0307"),
        ("AMR-WB", "AMR-WB+"),
        ("1.5 kbps", "15 kbps"),
        ("rvq_1_5", "rvq_15"),
        ("!", "?"),
    ],
)
def test_what_differs_differs(one: str, other: str) -> None:
    """A digit, an accent, a plus or a sign between digits makes another name."""
    assert skeleton(one) != skeleton(other)


def test_the_catalogue_tells_its_own_apart() -> None:
    """No name, title or family of it looks like that of another codec or family."""
    cards = catalogue.cards().values()
    for of in ("name", "title", "family"):
        texts = {getattr(card, of) for card in cards}
        assert len({skeleton(text) for text in texts}) == len(texts), of
    assert all(catalogue.look_alike(text) == card.name for card in cards for text in (card.name, card.title))


@given(st.text(min_size=1, max_size=80))
@examples(100)
def test_any_text_has_one(text: str) -> None:
    """It fits the column, case does not change it where lower case does not, and folding it again adds nothing."""
    folded = skeleton(text)
    assert len(folded) <= LIMIT
    assert skeleton(folded) == folded
