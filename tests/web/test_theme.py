"""Colours: readable, distinct, and matched between light and dark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import examples

from codec_superb.base_codec.registry import card, names
from codec_superb.pipeline.literature.tables import literature
from codec_superb.web.theme import (
    DARK,
    FAMILIES,
    LIGHT,
    OTHER_SYMBOLS,
    SYMBOLS,
    Palette,
    Style,
    family_style,
    family_styles,
)


def luminance(colour: str) -> float:
    """Give the relative luminance of WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Give the contrast ratio of WCAG 2."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_known_colours() -> None:
    """Black on white is 21 : 1, and #767676 on white the well-known 4.54 : 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_has_contrast(palette: Palette) -> None:
    """All colours of text reach 4.5 : 1 on both backgrounds."""
    for background in (palette.paper, palette.raised):
        for colour in (palette.ink, palette.muted, palette.accent, palette.warning):
            assert contrast(colour, background) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_marks_have_contrast(palette: Palette) -> None:
    """Families and the front reach 3 : 1 on the paper."""
    for colour in (*palette.families, palette.front):
        assert contrast(colour, palette.paper) >= 3


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_are_distinct(palette: Palette) -> None:
    """The page maps colours one by one, so none may come twice."""
    assert len(set(palette.colours())) == len(palette.colours())


def test_palettes_match() -> None:
    """Both have the same names in the same order, and as many families."""
    assert list(LIGHT.variables()) == list(DARK.variables())
    assert len(LIGHT.colours()) == len(DARK.colours())


def test_every_family_has_its_own_look() -> None:
    """The families of the catalogue and of the published tables are listed, once each, and no two look the same."""
    known = {card(name).family for name in names()} | {row.family for table in literature() for row in table.codecs}
    assert known <= set(FAMILIES)
    assert len(FAMILIES) == len(set(FAMILIES))
    assert len({(style.colour, style.symbol) for style in family_styles(FAMILIES).values()}) == len(FAMILIES)


@given(st.text(max_size=30), st.sets(st.sampled_from(FAMILIES)))
@examples(200)
def test_a_family_looks_the_same_whatever_is_beside_it(own: str, others: set[str]) -> None:
    """Filters change nothing: each has its look alone and among any others, and no stranger looks like a known one."""
    shown = family_styles({own, *others})
    assert shown == {name: family_style(name) for name in {own, *others}}
    assert family_style("opus") == Style(LIGHT.families[0], 0, "circle")
    if own not in FAMILIES:
        assert shown[own].symbol not in SYMBOLS


def test_families_of_a_users_own_mostly_differ() -> None:
    """Fifty-six looks are for names that nobody knows; all are used."""
    looks = {family_style(f"family {number}") for number in range(2000)}
    assert len(looks) == len(LIGHT.families) * len(OTHER_SYMBOLS) == 56


def test_a_family_of_another_source_keeps_its_colour() -> None:
    """Beside the submissions, the figures of a paper are seen to be of the same family, and not the same."""
    own, published = family_style("encodec"), family_style("encodec (Codec-SUPERB, Table 3)")
    assert own.colour == published.colour
    assert (own.symbol in SYMBOLS, published.symbol in OTHER_SYMBOLS) == (True, True)
