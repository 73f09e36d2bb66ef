"""Chooses what is shown and ranked by who sends it: one account with many results decides for nobody else.

Kinds of results, such as datasets in one state or a model, are chosen by their senders; where the maintainers ran all
of them again, by how much there is of each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

ENOUGH = 3
"""Codecs that were run again from which a page shows these alone: fewer are no comparison, and hid all the others."""
FEW_FAILURES = 0.02
"""Share of the clips on which a model may fail, whatever it does for others."""
Kind = TypeVar("Kind", bound=Hashable)


class Sent(NamedTuple):
    """How many senders a kind has, how often it was found, and its oldest account, '~' where no account sends it."""

    senders: int
    found: int
    first: str


def sent(found: Iterable[tuple[Kind, str]]) -> dict[Kind, Sent]:
    """Count the senders of each kind, and how often it was found, in the order of the first ones."""
    senders: dict[Kind, list[str]] = {}
    for kind, sender in found:
        senders.setdefault(kind, []).append(sender)
    return {kind: Sent(len(set(its)), len(its), _oldest(its)) for kind, its in senders.items()}


def _oldest(senders: Iterable[str]) -> str:
    """Return the sender that comes first in the order of age; each of a codec by itself has none."""
    return min((each for each in senders if not each.startswith(("codec:", "published:"))), default="~")


def most_sent(found: Iterable[tuple[Kind, str]]) -> Kind:
    """Return the kind that most senders have, of as many that of the oldest account, then the one most often found.

    Then the first; of at least one. One sender with many codecs would otherwise decide which model is shown.
    """
    counts = sent(found)
    return min(counts, key=lambda kind: (-counts[kind].senders, counts[kind].first, -counts[kind].found))


def most_sent_and_whole(found: Iterable[tuple[Kind, str, bool]]) -> Kind:
    """Return the kind that most senders have, of as many the one that more of them have whole; the rest as above.

    Whoever chooses a few clips decides no tie, and whoever is the only one to have all of them outvotes nobody.
    """
    told = list(found)
    counts, whole = sent((kind, who) for kind, who, _ in told), sent((kind, who) for kind, who, all_ in told if all_)

    def order(kind: Kind) -> tuple[int, int, int]:
        own, all_of_it = counts[kind], whole.get(kind)
        return -own.senders, -all_of_it.senders if all_of_it else 0, -own.found

    return min(counts, key=order)


class Size(NamedTuple):
    """How much a kind of results has that were all run again."""

    codecs: int
    votes: int
    """Codecs too, but of each sender as many as are :data:`ENOUGH` at most."""


def sizes(found: Iterable[tuple[Kind, str, str]]) -> dict[Kind, Size]:
    """Count codecs and votes of each kind, of results with their sender and codec, in the order of the first ones."""
    own: dict[Kind, dict[str, set[str]]] = {}
    for kind, sender, codec in found:
        own.setdefault(kind, {}).setdefault(sender, set()).add(codec)
    return {
        kind: Size(len(set().union(*its.values())), sum(min(len(each), ENOUGH) for each in its.values()))
        for kind, its in own.items()
    }


def largest(known: Mapping[Kind, Size], order: Callable[[Kind], tuple[object, ...]]) -> Kind:
    """Choose a kind of results that were all run again: the first in order, until another one outgrows it.

    That is one of more votes with as many codecs, or of as many votes with twice as many codecs: neither many true runs
    by one account nor few by several take the place of what was there before, and whoever adds a few to a kind that was
    outgrown does not bring it back. Kinds with enough codecs to compare go before others.

    >>> first = {"mini": Size(6, 3), "other": Size(5, 5), "third": Size(11, 3)}
    >>> largest(first, lambda name: (name != "mini",))
    'mini'
    >>> largest(first | {"other": Size(6, 4)}, lambda name: (name != "mini",))
    'other'
    >>> largest(first | {"third": Size(12, 3)}, lambda name: (name != "mini",))
    'third'
    """
    ordered = sorted(known, key=order)
    enough = [kind for kind in ordered if known[kind].codecs >= ENOUGH] or ordered
    found = enough[0]
    for kind in enough[1:]:
        own, before = known[kind], known[found]
        more = own.votes > before.votes and own.codecs >= before.codecs
        if more or (own.votes >= before.votes and own.codecs >= 2 * before.codecs):
            found = kind
    return found


class StateVote(NamedTuple, Generic[Kind]):
    """A result that was run on a state of a dataset."""

    state: Kind
    sender: str
    codec: str
    whole: bool
    run_again: bool


def usual_state(found: Iterable[StateVote[Kind]]) -> Kind:
    """Choose a state of a dataset: :func:`most_sent_and_whole`; where all were run again of whole ones the largest."""
    told = list(found)
    whole = [one for one in told if one.whole] or told
    if not all(one.run_again for one in told):
        return most_sent_and_whole((one.state, one.sender, one.whole) for one in told)
    counts = sent((one.state, one.sender) for one in whole)
    known = sizes((one.state, one.sender, one.codec) for one in whole)
    return largest(known, lambda state: (counts[state].first, -counts[state].found))


class Failures(NamedTuple):
    """On how many clips of a result a model failed, and who sends it."""

    sender: str
    failed: int
    asked: int


def fails_more(told: Sequence[Failures]) -> list[bool]:
    """Tell of which results of one figure more clips failed than of those of any other sender.

    A model may fail on some clips of every codec, on a silent or a short one; the clips of the greatest errors, called
    failed, would be the way to a rank. Whoever fails on fewer leaves what others may, and nobody decides about the own
    results. Each sender has one vote, the middle of its results; one clip, or :data:`FEW_FAILURES` of them, is nobody's
    advantage. What fails on more than a tenth of the clips waits for a moderator.

    >>> fails_more([Failures(*one, 75) for one in [("ann", 1), ("bob", 3), ("cat", 4), ("dan", 6), ("mallory", 0)]])
    [False, False, False, True, False]
    >>> fails_more([Failures("ann", 0, 75), Failures("mallory", 9, 75)])
    [False, True]
    """
    found: dict[str, list[int]] = {}
    for one in told:
        found.setdefault(one.sender, []).append(one.failed)
    votes = sorted(((sorted(its)[(len(its) - 1) // 2], sender) for sender, its in found.items()), reverse=True)[:2]
    most = {sender: [failed for failed, other in votes if other != sender][:1] for sender in found}
    return [
        one.failed > max(most[one.sender][0], 1, int(FEW_FAILURES * one.asked)) if most[one.sender] else False
        for one in told
    ]
