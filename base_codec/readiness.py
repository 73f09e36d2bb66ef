"""Say what selected codecs lack before anything begins: packages first, then weights; all of them at once.

Nothing is imported or built, and no checkpoint of a hub is fetched. Environments come after this, since one may take
minutes and gigabytes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from codec_superb import plugins
from codec_superb.base_codec import registry, system, weights
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import MissingDependency, MissingWeights
from codec_superb.base_codec.file_weights import BESIDE
from codec_superb.base_codec.isolation.wanted import check_weights
from codec_superb.base_codec.live import is_live
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.missing_package import not_installed

EXTRA_MODULES = {
    weights.EXTRA: ("torch", "transformers", "huggingface_hub", "safetensors"),
    "lyra": ("ai_edge_litert",),
}
"""What an extra of this package installs, by the names by which it is imported."""


def check_ready(names: Sequence[str], options: CodecOptions = DEFAULT_OPTIONS) -> None:
    """Raise MissingDependency or MissingWeights with a sentence for each thing that the codecs lack.

    Codecs that lack the same share a sentence. Whether weights are right is known only when they are opened.
    """
    # what lives in a process has what it needs
    cards = {name: registry.card(name) for name in names if not is_live(name)}
    lacking: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
    told: dict[str, list[str]] = {}
    first: list[str] = []
    for name, card in cards.items():
        if sentence := system.missing(card):
            first.append(sentence)
        if packages := () if plugins.is_file_name(name) else _packages(card):
            lacking.setdefault((card.extra, packages), []).append(card.name)
        if text := _weights(name, card, options):
            told.setdefault(text, []).append(card.name)
    first += [_install(users, extra, packages) for (extra, packages), users in lacking.items()]
    then = [f"{', '.join(users)}: {text}" for text, users in told.items()]
    if first or then:
        raise (MissingDependency if first else MissingWeights)("\n".join([*first, *then]))


def _packages(card: Card) -> tuple[str, ...]:
    """Return the requirements of a codec of this environment that are not installed."""
    if card.isolation is not None:
        return ()
    return tuple(line for line in card.requirements if (name := _name(line)) and not _installed(name))


def _name(requirement: str) -> str:
    """Return the distribution that a requirement names; '' for prose."""
    try:
        return Requirement(requirement).name
    except InvalidRequirement:
        return ""


def _module(distribution: str) -> str:
    return distribution.replace("-", "_").lower()


def _install(users: Sequence[str], extra: str | None, requirements: Sequence[str]) -> str:
    """Return the sentence about missing packages: what installs an extra's is the extra."""
    its = [line for line in requirements if _module(_name(line)) in EXTRA_MODULES.get(extra or "", ())]
    others = [line for line in requirements if line not in its]
    wanted = [f"codec-superb[{extra}]", *others] if its else others
    return not_installed(_listed(users), _listed([_name(line) for line in requirements]), *wanted)


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _installed(name: str) -> bool:
    """Whether a distribution is installed, or a package of its name lies on the import path; imports nothing."""
    try:
        if importlib.util.find_spec(_module(name)) is not None:
            return True
    except ValueError:  # blocked in sys.modules
        return False
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return name not in EXTRA_MODULES[weights.EXTRA]  # these are imported by their own names


def _weights(name: str, card: Card, options: CodecOptions) -> str:
    """Return what is said of a codec's missing weights, without its name; '' for nothing."""
    try:
        if card.isolation is not None:
            own = registry.configure(name, options)[1].weights
            check_weights(card, Path(own) if own else None)
        elif card.weights is not None and card.weights.source.startswith(BESIDE):
            registry.configure(name, options)
        elif weights.has_checkpoint(card):
            weights.check_weights(card, options)
    except MissingWeights as error:
        return str(error).removeprefix(card.name).removeprefix(":").strip()
    return ""
