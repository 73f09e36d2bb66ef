"""Libraries and programs of the system: found, missing with the packages that bring them."""

from __future__ import annotations

import pytest
from support.codecs.cards import make_card

from codec_superb.base_codec import registry, system
from codec_superb.base_codec.card import SystemNeed
from codec_superb.base_codec.errors import MissingDependency

HERE = SystemNeed(kind="library", name="c", packages={"Debian": "libc6"})
GONE = SystemNeed(kind="library", name="no-such-library", packages={"Debian": "lib0", "Arch": "lib"})
NO_PROGRAM = SystemNeed(kind="program", name="no-such-program", packages={"Debian": "none-tools"})


def test_a_library_that_is_here_is_loaded() -> None:
    """The C library is found by the linker's name, and can be called."""
    card = make_card("here", system=HERE)
    assert system.missing(card) == ""
    assert system.library(card).abs(-3) == 3


@pytest.mark.parametrize(
    ("need", "sentence"),
    [
        (
            GONE,
            "gone needs the library no-such-library, which is not installed; its packages are Debian: lib0; Arch: lib",
        ),
        (
            NO_PROGRAM,
            "gone needs the program no-such-program, which is not installed; its packages are Debian: none-tools",
        ),
    ],
)
def test_what_is_missing_is_one_sentence_with_the_packages(need: SystemNeed, sentence: str) -> None:
    """The error names the codec, what it lacks, and the package on each system."""
    card = make_card("gone", system=need)
    assert system.missing(card) == sentence
    with pytest.raises(MissingDependency) as raised:
        system.found(card)
    assert str(raised.value) == sentence


def test_every_need_of_the_catalogue_names_debians_package() -> None:
    """Debian's name is there for each, since its packages are what the tests run with."""
    needs = [card.system for card in map(registry.card, registry.names()) if card.system is not None]
    assert len({need.name for need in needs}) == 5
    assert all("Debian" in need.packages for need in needs)
