"""The catalogue of model backends and scorers by name; their modules are imported on first use.

A backend is named ``NAME`` or ``NAME:VARIANT`` (``faster-whisper:tiny.en``, ``transformers-asr:/path/to/folder``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.applications.backends import BACKENDS, BackendEntry
from codec_superb.applications.errors import ApplicationError, MissingPackage, UnknownApplication
from codec_superb.applications.interface import Backend, Item, ProbeScores, ScoringInput, SecondStage
from codec_superb.applications.probe import Probe
from codec_superb.applications.table import APPLICATIONS, PROBES, is_benchmark, probe, probes_of
from codec_superb.missing_package import not_installed
from codec_superb.plugins import find, load, names, rows_of, targets

SECOND = ("text", "reader")
"""Roles of a second stage: it encodes transcripts, or answers from them."""
RECOGNISER = "faster-whisper:tiny.en"
"""The one that messages take for an example."""
GROUP = "codec_superb.backends"
PROTOCOLS: dict[str, dict[str, str]] = {"ultra": {"asr": "faster-whisper:large-v3", "sim": "wavlm-large-sv"}}
"""Applications whose published protocol has other models than the probes' defaults; Chinese has another recogniser."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One probe and the backend that answers for it."""

    probe: str
    backend: str
    """``NAME`` or ``NAME:VARIANT``, or a chain of two joined by ``+``."""
    optional: bool = False
    """Whether it was asked for as part of a benchmark, of which each dataset takes the tasks that it has labels for."""


def choose(applications: Sequence[str], backends: Sequence[str] = ()) -> tuple[Choice, ...]:
    """Return which probes run with which backends.

    A named backend answers for every probe it can among those asked for. One of another probe of an application that
    was asked for (``quality`` with ``visqol``) takes the place of that application's usual probes. Where none is named,
    the models of an application's own protocol (``ultra``) go before the usual ones. Raises UnknownApplication for a
    name that does not exist, ApplicationError for a backend for which nothing was asked.
    """
    roles = {spec: roles_of(spec) for spec in backends}
    probes = list(probes_of(tuple(applications)))
    if "quality" in applications:
        named = [key for found in roles.values() for key in found if key in PROBES and _is_quality(key)]
        if named:
            others = probes_of(tuple(name for name in applications if name != "quality"))
            probes = [*others, *(key for key in dict.fromkeys(named) if key not in others)]
    for spec, found in roles.items():
        if not any(set(found) & probe(key).roles for key in probes):
            raise ApplicationError(f"{_misfit(spec, probes)}. There are: {', '.join(_backends_of(probes))}.")
    protocol = {key: spec for name in applications for key, spec in PROTOCOLS.get(name, {}).items()}
    alone = probes_of(tuple(name for name in applications if not is_benchmark(name)))
    return tuple(
        Choice(key, _named(key, roles) or protocol.get(key) or probe(key).backend, key not in alone) for key in probes
    )


def _is_quality(key: str) -> bool:
    return PROBES[key].scorer.endswith("quality.scoring:score")


def _wanted(probes: Sequence[str]) -> frozenset[str]:
    return frozenset[str]().union(*(probe(key).roles for key in probes))


def _backends_of(probes: Sequence[str]) -> list[str]:
    """Return the names of what can answer for some of the probes, models first."""
    wanted = _wanted(probes)
    alone = [row.name for row in BACKENDS.values() if wanted & set(row.probes)]
    return alone + [f"RECOGNISER+{name}" for name in _second_stages(wanted)]


def _second_stages(wanted: Container[str]) -> list[str]:
    return [row.name for row in BACKENDS.values() if any(f"asr+{role}" in wanted for role in set(row.probes))]


def _misfit(spec: str, probes: Sequence[str]) -> str:
    """Return why a model answers for none of the probes: half a chain, or another kind of model."""
    roles, wanted = set(roles_of(spec)), _wanted(probes)
    if roles & set(SECOND):
        stage = f"{spec} is a second stage"
        fits = any(f"asr+{role}" in wanted for role in roles)
        return f"{stage}: write RECOGNISER+{spec}, such as {RECOGNISER}+{spec}" if fits else f"{stage} of a chain"
    if "asr" in roles and (seconds := _second_stages(wanted)):
        return f"{spec} is a recogniser: write {spec}+SECOND, such as {spec}+{seconds[0]}"
    more = f" and {len(probes) - 1} others" if len(probes) > 1 else ""
    return f"{spec} does not answer for {probes[0]}{more}"


def _named(key: str, roles: Mapping[str, Sequence[str]]) -> str | None:
    chosen = [spec for spec, found in roles.items() if probe(key).roles & set(found)]
    if len(chosen) > 1:
        raise ApplicationError(f"{key}: expected one backend, got {' and '.join(chosen)}; probe once with each")
    return chosen[0] if chosen else None


def stages(spec: str) -> tuple[str, str]:
    """Return the two stages of a chain ``RECOGNISER+SECOND``; the second is '' where ``spec`` names one model.

    A ``+`` within a variant (a path, a repository) is none of a chain: what follows must name a second stage.
    """
    for place in [at for at, letter in enumerate(spec) if letter == "+"][::-1]:
        first, second = spec[:place], spec[place + 1 :]
        row = find(_split(second)[0], GROUP, BackendEntry, BACKENDS) if first and second else None
        if row is not None and set(row.probes) & set(SECOND):
            return first, second
    return spec, ""


def roles_of(spec: str) -> tuple[str, ...]:
    """Return the probes and roles that a model or chain answers for; errors as :func:`backend_entry`."""
    first, second = stages(spec)
    if not second:
        _check_no_chain(spec)
        return backend_entry(first).probes
    if "asr" not in backend_entry(first).probes:
        raise ApplicationError(
            f"{spec}: expected a recogniser before the +, got {first}; see codec-superb applications"
        )
    return tuple(f"asr+{role}" for role in backend_entry(second).probes)


def _check_no_chain(spec: str) -> None:
    """Raise an error for a ``+`` behind which no second stage stands, unless it is part of a path."""
    first, plus, second = spec.rpartition("+")
    variant = variant_of(spec)
    if not plus or "+" not in variant or "/" in variant or Path(variant).exists():
        return
    name = _split(second)[0]
    known = sorted(row.name for row in known_backends().values() if set(row.probes) & set(SECOND))
    if name and find(name, GROUP, BackendEntry, BACKENDS) is None:
        raise UnknownApplication(name, known, "second stage")
    got = f"{second}, which is none" if name else "nothing"
    raise ApplicationError(
        f"{spec}: expected a second stage behind the +, got {got}; write {first}+ and one of {', '.join(known)}"
    )


def backend_entry(spec: str) -> BackendEntry:
    """Return the entry of ``NAME[:VARIANT]``, or the row of ``path/to/file.py:NAME[:VARIANT]``.

    Raises UnknownApplication with near matches, PluginError for a plug-in that cannot be loaded or whose name is taken.
    """
    name = _split(spec)[0]
    row = find(name, GROUP, BackendEntry, BACKENDS)
    if row is None:
        raise UnknownApplication(name, names(GROUP, BACKENDS), "backend")
    return row


def known_backends() -> dict[str, BackendEntry]:
    """Return the catalogue and what installed distributions add; one that cannot be loaded is reported once."""
    return BACKENDS | rows_of(GROUP, BackendEntry, targets(BACKENDS))


def _split(spec: str) -> tuple[str, str]:
    """Return name and variant of ``NAME[:VARIANT]``; the name of a row in a file has a colon of its own."""
    name, _, variant = spec.partition(":")
    in_file = re.match(r"(.*\.py:\w+)(?::(.*))?$", spec)
    if in_file and name not in BACKENDS:  # a backend's variant may be a file
        return in_file[1], in_file[2] or ""
    return name, variant


def open_backend(spec: str, weights: Path | None = None) -> Backend:
    """Import the backend of ``NAME[:VARIANT]`` and make it; nothing is loaded yet.

    Raises UnknownApplication, and MissingPackage with the install command where its packages are not installed.
    """
    return make_backend(backend_entry(spec), variant_of(spec), weights)


def make_second_stage(entry: BackendEntry, variant: str, weights: Path | None = None) -> SecondStage:
    """Import the second stage of a row and make it; errors as :func:`open_backend`."""
    stage: SecondStage = _class_of(entry)(variant, weights)
    return stage


def variant_of(spec: str) -> str:
    """Return the variant of ``NAME:VARIANT``, '' without one."""
    return _split(spec)[1]


def make_backend(entry: BackendEntry, variant: str, weights: Path | None = None) -> Backend:
    """Import the backend of a row and make it, in whatever process; errors as :func:`open_backend`."""
    backend: Backend = _class_of(entry)(variant, weights)
    return backend


def _class_of(entry: BackendEntry) -> Callable[[str, Path | None], Any]:
    try:
        found: Callable[[str, Path | None], Any] = load(entry.target)
    except ModuleNotFoundError as error:
        raise missing_package(entry.name, entry.extra, error) from error
    return found


def missing_package(name: str, extra: str, error: ModuleNotFoundError) -> MissingPackage:
    """Make the error of a backend whose packages are not installed."""
    if not extra:
        return MissingPackage(not_installed(name, error.name, error.name or ""))
    return MissingPackage(not_installed(name, error.name, extra=extra))


def score(key: str, question: ScoringInput) -> ProbeScores:
    """Score the predictions of one probe on one run."""
    scorer: Callable[[Probe, ScoringInput], ProbeScores] = load(PROBES[key].scorer)
    return scorer(PROBES[key], question)


def check(key: str, items: Sequence[Item], trials: Sequence[tuple[bool, str, str]]) -> str:
    """Return why a probe is impossible on these clips, before any model is loaded; '' where it is possible.

    The scorer of a probe of trials may offer ``check(items, trials) -> str`` for conditions beyond the labels.
    """
    if PROBES[key].pairs != "trials":
        return ""
    place = PROBES[key].scorer.rpartition(":")[0]
    try:
        checker: Callable[..., str] | None = load(f"{place}:check")
    except AttributeError:
        return ""
    return "" if checker is None else checker(items, trials)


def applications() -> tuple[str, ...]:
    """Names that ``--application`` takes, besides the keys of single probes."""
    return tuple(APPLICATIONS)
