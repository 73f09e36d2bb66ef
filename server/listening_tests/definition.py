"""What a maintainer writes to make a listening test, and what of it is kept with the test."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from codec_superb.record import Record

Kind = Literal["ab", "abx", "mushra", "acr", "dcr"]
Question = Literal["age", "hearing", "device"]
Name = Annotated[str, StringConstraints(pattern=r"^\S+$", max_length=90)]
Share = Annotated[float, Field(ge=0, le=1)]

REFERENCE: Final = "reference"
LOW_ANCHOR: Final = "anchor-3.5k"
MID_ANCHOR: Final = "anchor-7k"
ANCHORS: Final = (LOW_ANCHOR, MID_ANCHOR)
GOLD: Final = "gold-noise"
TRAP: Final = "trap"
MUSHRA_SIGNALS: Final = 12
"""ITU-R BS.1534-3: no more signals in a trial, the hidden reference and the anchors among them."""
CLIP_LIMIT: Final = 150
"""Characters of a clip's id; that of a trial, which holds it and two conditions, has 400."""


class Trap(Record):
    """A recorded question of ITU-T P.808: a voice that says which answer to give."""

    file: str
    """The sound, beside the definition."""
    answer: int = Field(ge=1, le=5)


class Definition(Record):
    """A listening test as a maintainer asks for it."""

    kind: Kind
    title: str = Field(min_length=3, max_length=80)
    instructions: str = Field(default="", max_length=4000)
    """For the page before the test, in paragraphs."""
    codecs: tuple[Name, ...] = Field(min_length=1, max_length=40)
    """Names of configurations, in the order of tables; listeners never see them."""
    dataset: str | None = Field(default=None, max_length=200)
    """Of the clips; needed where the codecs share several."""
    clips: tuple[Annotated[str, StringConstraints(max_length=CLIP_LIMIT)], ...] = Field(default=(), max_length=60)
    """Ids of clips; empty for up to ``most_clips`` that all codecs have."""
    most_clips: int = Field(default=8, ge=1, le=60)
    seconds: float = Field(default=10.0, ge=1, le=12)
    """Longest sound; what is longer is cut and faded out."""
    anchors: bool | None = None
    """Low-pass versions of the reference as conditions; None for MUSHRA alone."""
    levels: Literal["as-is", "rms"] = "as-is"
    """``rms`` gives each codec's sound the level of the reference."""
    any_licence: bool = False
    """Take clips that may not be passed on, for a service behind doors."""
    show_reference: bool = True
    """Of AB: whether the original is heard beside the two."""
    ties: bool = True
    """Of AB: whether ``no difference`` is an answer."""
    pairs: tuple[tuple[Name, Name], ...] = Field(default=(), max_length=200)
    """Of AB and ABX; empty for all pairs of codecs (AB), or each codec against the reference (ABX)."""
    repeats: int = Field(default=1, ge=1, le=20)
    """Of ABX: times that each pair is asked on each clip."""
    training: int = Field(default=1, ge=0, le=5)
    """Trials before the others that do not count."""
    trials: int | None = Field(default=None, ge=1, le=500)
    """Trials that a participant gets, drawn; None for all. Gold questions and traps come on top."""
    gold: int = Field(default=6, ge=0, le=20)
    """Gold questions of all kinds but MUSHRA, the clips by turns: modulated noise that nobody takes for good."""
    gold_share: Share = 0.1
    """Share of gold questions that a listener may answer wrongly."""
    traps: tuple[Trap, ...] = Field(default=(), max_length=10)
    """Recorded questions of ACR and DCR; who answers one wrongly is left out."""
    # ITU-R BS.1534-3, post-screening: below 90 on more than 15 % of the items, and the mid anchor above 90
    reference_below: float = Field(default=90.0, ge=0, le=100)
    """Of MUSHRA: a rating of the hidden reference below it, or of the mid anchor above, counts against a listener."""
    reference_share: Share = 0.15
    """Of MUSHRA: share of the items on which that may happen."""
    ask: tuple[Question, ...] = ()
    """What participants may say about themselves; never required."""
    participants: int = Field(default=200, ge=1, le=5000)
    """Nobody can begin any more once so many have finished."""
    per_address: int = Field(default=5, ge=1, le=5000)
    """Most that begin at one address within a day: one person must not be many. A laboratory has one address."""

    @property
    def with_anchors(self) -> bool:
        """Whether the anchors are conditions."""
        return self.kind == "mushra" if self.anchors is None else self.anchors

    @property
    def with_gold(self) -> bool:
        """Whether there are gold questions; MUSHRA screens by its hidden reference."""
        return self.kind != "mushra" and self.gold > 0

    @property
    def conditions(self) -> tuple[str, ...]:
        """What is rated: the codecs, the reference and the anchors."""
        return (*self.codecs, REFERENCE, *(ANCHORS if self.with_anchors else ()))

    @property
    def compared(self) -> tuple[tuple[str, str], ...]:
        """The pairs of AB and ABX."""
        if self.pairs:
            return self.pairs
        if self.kind == "abx":
            return tuple((codec, REFERENCE) for codec in self.codecs)
        return tuple(combinations(self.codecs, 2))

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        own = {REFERENCE, *ANCHORS, GOLD, TRAP} & set(self.codecs)
        if own or len(set(self.codecs)) < len(self.codecs):
            raise ValueError(f"codecs: expected each name once and none that the test uses itself: {sorted(own)}")
        if len(set(self.clips)) < len(self.clips):
            raise ValueError("clips: expected each id once")
        if self.kind == "mushra" and len(self.conditions) > MUSHRA_SIGNALS:
            raise ValueError(
                f"codecs: a trial of MUSHRA has at most {MUSHRA_SIGNALS} signals with reference and anchors "
                f"(ITU-R BS.1534-3), got {len(self.conditions)}; leave out {len(self.conditions) - MUSHRA_SIGNALS}"
            )
        if self.kind in {"ab", "abx"} and not self.compared:
            raise ValueError("codecs: expected two or more to compare, or pairs")
        if self.pairs and self.kind not in {"ab", "abx"}:
            raise ValueError(f"pairs: only AB and ABX have them, got a test of the kind {self.kind}")
        for first, second in self.pairs:
            if first == second or not {first, second} <= set(self.conditions):
                raise ValueError(f"pairs: expected two of {', '.join(self.conditions)}, got {first} and {second}")
        # stored tests from before this was refused are read still
        twice = [pair for pair, number in Counter(map(frozenset, self.pairs)).items() if number > 1]
        if twice and not isinstance(self, TestSettings):
            advice = "`repeats` asks each of them several times" if self.kind == "abx" else "write each once"
            raise ValueError(f"pairs: {' and '.join(sorted(twice[0]))} stand twice, in either order; {advice}")
        if self.traps and self.kind not in {"acr", "dcr"}:
            raise ValueError(f"traps: only ACR and DCR have them, got a test of the kind {self.kind}")
        return self


class TestSettings(Definition):
    """A definition with what was found for it, as it is stored."""

    __test__ = False  # pytest would take the name for a class of tests

    found: tuple[str, ...]
    """The clips."""
    source: str
    """What listeners are told of where the sounds come from."""
    seed: int
    """Of the choice of gold clips; orders have a seed a participant."""

    @property
    def gold_clips(self) -> tuple[str, ...]:
        """The clips with a gold question."""
        return self.found[: self.gold] if self.with_gold else ()
