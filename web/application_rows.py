"""Converts the pipeline's application metrics of one codec into rows for pages, one for each dataset and metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from codec_superb.applications.results import NEAR_SHARE, ApplicationAggregate, ProbeInfo, is_near
from codec_superb.applications.table import AVERAGES, PROBES, near_of, probe_of_metric
from codec_superb.web.rows import ApplicationRow, BoardRow, CodecResult, ProbeModel
from codec_superb.web.senders import sent
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
    least = near_of(middle.numbers.figure)
    near = sum(is_near(row.numbers.reference.value or 0.0, usual, NEAR_SHARE, least=least) for row in ordered)
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

    That is of how many of the clips that others ``beside`` it have, on how many it failed, whose word it is where its
    submission's badge does not cover it, and that it says something else of the originals than others.
    """
    own, most = _asked(row), max(map(_asked, beside), default=0)
    fewer = f"{own} of {count(most, 'clip')}" if own < most else ""
    failed = f"{row.numbers.failed} failed" if row.numbers.failed else ""
    return ", ".join(filter(None, (fewer, failed, row.own_word, UNLIKE if row.apart else "")))


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
