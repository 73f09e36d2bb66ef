"""Asterisk's telephone prompts: five package files."""

from __future__ import annotations

from support.datasets.layouts import Case, Tree
from support.datasets.phone_prompts_package import VOICES, write_packages

NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
)
DAYS = ("friday monday saturday sunday thursday tuesday wednesday",)
MONTHS = ("april august december february january july june march may november october september",)
LETTERS = (
    "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo",
    "sierra tango uniform victor whiskey x-ray yankee zulu",
)


def build(tree: Tree) -> None:
    """Put the synthetic packages into the folder."""
    write_packages(tree.root)


KINDS = {"day": DAYS, "letter": LETTERS, "month": MONTHS, "number": NUMBERS}
CASE = Case(
    "phone_prompts",
    build,
    clips=tuple(
        sorted(
            (
                *(
                    f"languages/{tag}/vm-say{number:02d}"
                    for tag in VOICES
                    for number in range(32)
                    if number not in (3, 4)
                ),
                *(f"words/{kind}/{word}" for kind, lines in KINDS.items() for line in lines for word in line.split()),
            )
        )
    ),
    labels=(
        "words/number/seventy",
        {
            "text": "seventy",
            "language": "en",
            "speaker": "Allison",
            "answers": ("seventy",),
            "extra": {"number": "seventy"},
        },
    ),
)
