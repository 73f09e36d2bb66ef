"""Resolve codecs, datasets, applications and conditions of the command line: names, kinds, patterns, files, lists."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from codec_superb.base_codec.errors import MissingDependency, UnknownCodec
from codec_superb.cli.console import DatasetProgress, TerminalProgress, note, print_table
from codec_superb.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from codec_superb.data_manifests.manifest import Manifest
    from codec_superb.pipeline.conditions.record import Condition


def codec_names(given: Sequence[str]) -> list[str]:
    """Resolve patterns such as ``opus_*``, and kinds, against the registry; other names stay as they are, once each.

    Of a pattern's or kind's codecs those are left out that lack a library of the system. Raises UnknownCodec for a name
    or a pattern that matches nothing, MissingDependency where nothing is left, and as ``registry.card`` for a file.
    """
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.card import KINDS

    chosen: dict[str, None] = {}
    for name in given:
        is_pattern = any(sign in name for sign in "*?[") and ".py:" not in name
        if is_pattern or name in KINDS:
            matches = [known for known in registry.names() if _fits(known, name)]
            if not matches:
                raise UnknownCodec(f"no codec matches {name!r}; `codec-superb codecs list` shows all names")
            chosen.update(dict.fromkeys(usable(matches)))
        else:
            registry.card(name)  # an unknown one is said before any dataset is fetched
            chosen[name] = None
    if given and not chosen:
        raise MissingDependency(f"{', '.join(given)}: none of these codecs can run here; install what they need")
    return list(chosen)


def _fits(codec: str, wanted: str) -> bool:
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.card import KINDS

    return registry.card(codec).kind == wanted if wanted in KINDS else fnmatchcase(codec, wanted)


def dataset_specs(given: Sequence[str]) -> list[str]:
    """Return datasets as given, but all audio files among them, and those that ``-`` lists, as one.

    Raises DatasetError.
    """
    from codec_superb.data_manifests.folders.files_dataset import gather_files

    return gather_files(given, sys.stdin.buffer)


def dataset_spec(given: str) -> str:
    """Return one dataset as given, ``-`` as the list of files on standard input. Raises DatasetError."""
    return dataset_specs([given])[0]


def prepare_fetched(datasets: Sequence[str], progress: TerminalProgress) -> None:
    """Prepare the named datasets that are fetched; the others must be prepared already."""
    from codec_superb.data_manifests import load_manifest, prepare
    from codec_superb.data_manifests.catalogue import is_plugged, manifest_names

    for name in datasets:
        named = name in manifest_names() or is_plugged(name)
        if named and load_manifest(name).is_fetched:
            prepare(name, DatasetProgress(progress))


def usable(names: Sequence[str]) -> list[str]:
    """Leave out codecs whose library or program of the system is not installed, with one line for each of these."""
    from codec_superb.base_codec import registry, system

    cards = [registry.card(name) for name in names]
    for sentence in system.missing_of(cards):
        note(f"left out: {sentence}")
    return [name for name, card in zip(names, cards, strict=True) if not system.missing(card)]


def conditions_of(given: Sequence[str] | None, reference: Literal["clean", "input"]) -> list[Condition]:
    """Read the names of conditions, each once. Raises PipelineError for an unknown one, or a reference without any."""
    from codec_superb.pipeline.conditions.record import parse_condition

    if not given and reference != "clean":
        raise PipelineError("--reference input needs a --condition: a clean run's input is the original")
    return list(dict.fromkeys(parse_condition(name, reference) for name in given or ()))


def application_names(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names (``asr,asv``); each name is returned once, in order."""
    names = (name.strip() for part in given or () for name in part.split(","))
    return list(dict.fromkeys(filter(None, names)))


def protocol(
    name: str | None, datasets: Sequence[str], applications: Sequence[str], *, available: bool
) -> tuple[list[str], list[str]]:
    """Return the datasets and applications of a suite, with what was named beside it; without a suite, that alone.

    Raises PipelineError for ``available`` without a suite, and DatasetNotPrepared where datasets of the suite are not
    here, after a table of them, their sizes and the commands; ``available`` leaves them out instead, unless none is
    here.
    """
    if name is None:
        if available:
            raise PipelineError("--available runs what is here of a suite: name it with --suite, or take it out")
        return list(datasets), list(applications)
    from codec_superb.data_manifests.errors import DatasetNotPrepared
    from codec_superb.data_manifests.published.suites import missing, suite

    chosen = suite(name)
    lacking = {manifest.name: manifest for manifest in missing(chosen)}
    here = [each for each in chosen.datasets if each not in lacking]
    if lacking:
        head = ("dataset", "download", "licence", "command")
        rows = [(m.name, _offer(m), m.licence, f"codec-superb datasets prepare {m.name}") for m in lacking.values()]
        title = f"{chosen.title}: {len(lacking)} of {len(chosen.datasets)} datasets are not here"
        print_table(title, head, rows, numbers_from=len(head), spare=("licence",))
        if not available or not here:
            rest = f"; or add --available to run the other {len(here)}" if here else ""
            raise DatasetNotPrepared(f"--suite {name}: prepare the datasets above first{rest}; nothing was started")
        note(f"left out: {', '.join(lacking)}")
    return list(dict.fromkeys([*here, *datasets])), list(applications or chosen.applications)


def _offer(manifest: Manifest) -> str:
    from codec_superb.data_manifests.published.plan import stated_size

    return stated_size(manifest) if manifest.download else "by hand: the command says how"
