"""Converts the pipeline's application metrics of one codec into rows for pages, one for each dataset and metric."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Generic, NamedTuple, TypeVar

from codec_superb.applications.results import NEAR_SHARE, ApplicationAggregate, ProbeInfo, is_near
from codec_superb.applications.table import AVERAGES, PROBES, probe_of_metric
from codec_superb.web.rows import ApplicationRow, BoardRow, CodecResult, ProbeModel
from codec_superb.web.text import count, kbps, shortened

_LETTERS = 60
"""Of a setting, which is a stranger's word."""
_DIGITS = 8
"""Of a hash that tells two models from each other."""
_MOST = 6
"""Differences that are told; a file may state any number of settings."""
APART = "what it says of the originals or of their labels is not what others found with the same model"
UNLIKE = "originals unlike others"
"""What is said of a figure that is apart."""
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


def at_rates_of(row: ApplicationRow, result: CodecResult) -> CodecResult:
    """Return a codec's result at the rates of the clips behind a figure: on other sound it may spend other bits.

    A figure that is taken over from a table stays at the rate that was measured.
    """
    if row.codec != result.codec:
        return result
    rate = None if isnan(row.kbps) else row.kbps
    tokens = result.summary.tokens_per_second if row.tokens_per_second is None else row.tokens_per_second
    summary = result.summary.model_copy(update={"kbps": rate, "tokens_per_second": tokens})
    apart = APART if row.apart else result.apart
    return replace(result, summary=summary, apart=apart, sender=row.sender or result.sender)


def at_rates_behind(row: BoardRow, key: str) -> BoardRow:
    """Return a row whose result is at the rates of what ``key`` was measured on."""
    found = row.applications.get(key)
    return row if found is None else replace(row, result=at_rates_of(found, row.result))


def rates_in_words(rows: Iterable[ApplicationRow]) -> str:
    """Write the bitrates of a codec's figures; two where those on other sound are others, '' where none is known."""
    rates = sorted(row.kbps for row in rows if not isnan(row.kbps))
    return "\u2013".join(dict.fromkeys(kbps(rate) for rate in (rates[0], rates[-1]))) if rates else ""


def original_of(rows: Iterable[tuple[ApplicationRow, str]]) -> ApplicationRow | None:
    """Choose the row whose value on the originals stands for all of a model, each beside its sender; None without one.

    Of the number of clips that most senders have, the first row of each sender, the middle one by its value, where more
    than half are near it: one account may have clips that others lack, or a value of its own, and of two that differ
    nobody knows which is true.
    """
    valued = [(row, sender or row.codec) for row, sender in rows if row.numbers.reference.value is not None]
    if not valued:
        return None
    counts = sent((row.numbers.n, sender) for row, sender in valued)
    most = max(counts, key=lambda n: (counts[n][0], n))
    votes: dict[str, ApplicationRow] = {}
    for row, sender in sorted(valued, key=lambda pair: pair[0].codec):
        if row.numbers.n == most:
            votes.setdefault(sender, row)
    ordered = sorted(votes.values(), key=lambda row: row.numbers.reference.value or 0.0)
    middle = ordered[(len(ordered) - 1) // 2]
    usual = middle.numbers.reference.model_dump()
    near = sum(is_near(row.numbers.reference.value or 0.0, usual, NEAR_SHARE) for row in ordered)
    return middle if 2 * near > len(ordered) else None


def settings_text(model: ProbeModel) -> str:
    """Say how a probe was run: its version and settings."""
    return ", ".join(map(_pair, _conditions(model)))


def differences(own: ProbeModel, usual: ProbeModel) -> str:
    """Say in what a model differs from the usual one: the beginning of its hash, settings; '' where both are equal."""
    mine, theirs = _conditions(own), _conditions(usual)
    told = [own.backend] if own.backend != usual.backend else []
    if own.sha256 != usual.sha256:
        told.append(own.sha256[:_DIGITS] or "hash not known")
    flags = [flag for flag in ("random", "remote") if getattr(own, flag) != getattr(usual, flag)]
    told += [flag if getattr(own, flag) else f"not {flag}" for flag in flags]
    told += [_pair(pair) for pair in mine if pair not in theirs]
    names = {name for name, _ in mine}
    told += [f"without {shortened(name, _LETTERS)}" for name, _ in theirs if name not in names]
    return ", ".join([*told[:_MOST], *([f"{len(told) - _MOST} more"] if len(told) > _MOST else [])])


def _conditions(model: ProbeModel) -> list[tuple[str, str]]:
    return [("version", model.version), *model.settings]


def _pair(setting: tuple[str, str]) -> str:
    name, value = setting
    said = value[:_DIGITS] if name.endswith("sha256") else shortened(value, _LETTERS)
    return f"{shortened(name, _LETTERS)} {said}"


def warning(row: ApplicationRow, beside: Iterable[ApplicationRow] = ()) -> str:
    """Say what a reader of a figure must know, '' for nothing.

    That is of how many of the clips that others ``beside`` it have, on how many it failed, that its submission's badge
    does not cover it, and that it says something else of the originals than others.
    """
    own, most = _asked(row), max(map(_asked, beside), default=0)
    fewer = f"{own} of {count(most, 'clip')}" if own < most else ""
    failed = f"{row.numbers.failed} failed" if row.numbers.failed else ""
    again = "not run again" if row.run_again is False else ""
    return ", ".join(filter(None, (fewer, failed, again, UNLIKE if row.apart else "")))


def _asked(row: ApplicationRow) -> int:
    return row.numbers.n + row.numbers.left_out + row.numbers.failed


def application_rows(
    codec: str,
    aggregates: Sequence[ApplicationAggregate],
    probes: Mapping[str, Sequence[ProbeInfo]],
    rates: Callable[[ApplicationAggregate], tuple[float, float | None]],
) -> list[ApplicationRow]:
    """Make the rows of one codec, in the order given; ``probes`` holds how the probes of each dataset were run.

    ``rates`` gives kbps and tokens per second of the clips behind a figure; NaN and None where they are not known.
    """
    return [ApplicationRow(codec, found, _model(found, probes), *rates(found)) for found in aggregates]


def _model(found: ApplicationAggregate, probes: Mapping[str, Sequence[ProbeInfo]]) -> ProbeModel:
    """Describe the model of a figure, or all models of one over several probes or datasets, with how each was asked."""
    behind = _behind(found, probes)
    models = list(dict.fromkeys(map(_one_model, behind)))
    if len(models) == 1:
        own = {_one_model(probe).of_codec for probe in behind}
        return models[0] if len(own) == 1 else replace(models[0], of_codec=())
    names = dict.fromkeys(model.name for model in models)
    asked = {(f"{probe.probe} {name}", value) for probe in behind for name, value in _conditions(_one_model(probe))}
    return ProbeModel(
        ", ".join(names), random=any(model.random for model in models), settings=tuple(sorted(asked)),
        remote=any(model.remote for model in models),
    )  # fmt: skip


def _behind(found: ApplicationAggregate, probes: Mapping[str, Sequence[ProbeInfo]]) -> list[ProbeInfo]:
    """Return how the probes were run that take part in a figure."""
    parts = parts_of(found, probes)
    return [probe for name in sorted(probes) for probe in probes[name] if (name, probe.probe) in parts]


def parts_of(found: ApplicationAggregate, datasets: Iterable[str]) -> set[tuple[str, str]]:
    """Return datasets and probes that take part in a figure: its own, of one over all datasets those of ``datasets``.

    Of an average those of its parts, which may be of other datasets.
    """
    average = AVERAGES.get(found.figure)
    if average is None:
        return {(name, found.probe) for name in ([found.dataset] if found.dataset else datasets)}
    return {(name or found.dataset, probe_of_metric(key).key) for name, key in average.parts}


def _one_model(probe: ProbeInfo) -> ProbeModel:
    row = PROBES.get(probe.probe)
    own = row.of_codec if row else ()
    settings = [(name, str(value)) for name, value in sorted(probe.settings.items())]
    return ProbeModel(
        probe.backend, probe.model_sha256, probe.version, probe.random,
        tuple(pair for pair in settings if pair[0] not in own), probe.remote is not None,
        tuple(pair for pair in settings if pair[0] in own),
    )  # fmt: skip
