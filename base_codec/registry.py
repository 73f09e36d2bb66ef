"""The codec registry: find codecs by name; a wrapper is imported only when one of its codecs is used.

Sources of codecs: the catalogue files of this package; those that installed packages register by an entry point of
the group ``codec_superb.codecs``, whose value ``package:file.yaml`` names a catalogue file inside that package (read
without importing it, see :mod:`codec_superb.plugins`); and ``path/to/file.py:NAME``, a :class:`Codec` with a class
attribute ``card``, or what :mod:`codec_superb.base_codec.adapting` makes a codec of: a function, a torch module.
"""

from __future__ import annotations

import copy
import difflib
import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from codec_superb import plugins
from codec_superb.base_codec import weights
from codec_superb.base_codec.adapting import as_codec, check_methods, class_card, settled
from codec_superb.base_codec.card import Card
from codec_superb.base_codec.catalogue_file import CatalogueEntry, merge, own_entries, read_catalogue
from codec_superb.base_codec.errors import (
    CatalogueError,
    CodecError,
    CodecUnusable,
    MissingDependency,
    RefusedSetting,
    UnknownCodec,
    called_exit,
)
from codec_superb.base_codec.file_weights import card_with_files, declared
from codec_superb.base_codec.interface import CheckpointCodec, Codec
from codec_superb.base_codec.isolation.codec import IsolatedCodec
from codec_superb.base_codec.isolation.user_weights import card_with_weights
from codec_superb.base_codec.live import is_live, live
from codec_superb.base_codec.options import DEFAULT_OPTIONS, CodecOptions
from codec_superb.missing_package import not_installed

ENTRY_POINT_GROUP = "codec_superb.codecs"
_PATH = re.compile(r"/|\.(?:py|wav|flac|mp3|ogg|oga|opus|m4a|aiff?|txt|zip|ya?ml|pth?|npy)$", re.IGNORECASE)
"""What only paths have; names of codecs have dots too, as lyra_3.2k has."""


def names() -> list[str]:
    """All names of codecs, sorted by family, then by nominal bitrate (lossless last)."""
    return [entry.card.name for entry in sorted(_catalogue().values(), key=_order)]


def card(name: str) -> Card:
    """Return the card of codec ``name`` (or of ``path/to/file.py:NAME``) without importing its packages.

    Raises UnknownCodec with near matches, RefusedSetting for a codec of one's own that takes a name of the catalogue; a
    Python file is imported, and raises what importing it raises.
    """
    if is_live(name):
        return _live_card(live(name).codec)
    if plugins.is_file_name(name):
        return _untaken(_file_card(name))
    return _entry(name).card


def taken_name(name: str, what: str, suffix: str) -> str:
    """Return the sentence that refuses ``what`` a name of the catalogue, whose results it would replace; '' if free."""
    if name not in _catalogue():
        return ""
    return (
        f"{name} is a codec of the catalogue, which is run by `resynth --codec {name}`: name {what} otherwise, such as "
        f"{name}.{suffix}"
    )


def _untaken(own_card: Card) -> Card:
    if told := taken_name(own_card.name, "your own codec", "mine"):
        raise RefusedSetting(told)
    return own_card


def _live_card(codec: Codec) -> Card:
    entry, own_card = _catalogue().get(codec.card.name), codec.card
    if entry is not None and entry.target == f"{type(codec).__module__}:{type(codec).__qualname__}":
        # a codec of the catalogue that somebody opened, with weights and a precision of their choice
        same = own_card.nominal_kbps == entry.card.nominal_kbps
        if same and entry.card.settings.items() <= own_card.settings.items():
            return own_card
    return _untaken(own_card)


def distribution(name: str) -> str:
    """Return name and version of the installed distribution that codec ``name`` comes from; '' for one of this."""
    return _entry(name).distribution


def configure(name: str, options: CodecOptions = DEFAULT_OPTIONS) -> tuple[Card, CodecOptions]:
    """Resolve the weights of a codec: return its card with them, and options for :func:`open_codec` with their folder.

    A neural codec's weights are located (downloaded where they are missing) and written to its card. An isolated codec
    accepts a folder of weights and no other option; without one its guest finds what the card names. Cards of codecs
    without weights are returned unchanged. Raises MissingWeights, MissingDependency and UnknownCodec.
    """
    own, taken = _configured(name, options)
    if own.delay_samples is None:
        taken = taken._replace(delay=options.delay)
    if options.kbps is None or own.bit_source == "measured":
        return own, taken
    return settled(own, CodecOptions(kbps=options.kbps)), taken._replace(kbps=options.kbps)


def _configured(name: str, options: CodecOptions) -> tuple[Card, CodecOptions]:
    plain = card(name)
    if is_live(name):
        return plain, DEFAULT_OPTIONS
    if plain.isolation is not None and plain.weights is not None:
        found = card_with_weights(plain, options.weights)
        return (plain, DEFAULT_OPTIONS) if found is None else (found[0], CodecOptions(str(found[1])))
    if plugins.is_file_name(name):
        return _configured_file(name, options)
    if not weights.has_checkpoint(plain):
        return plain, DEFAULT_OPTIONS
    own, checkpoint = weights.configured_card(plain, options)
    taken = options if weights.takes_options(plain) else DEFAULT_OPTIONS
    return own, taken._replace(weights=str(checkpoint.folder))


def open_codec(name: str, device: str = "cpu", options: CodecOptions = DEFAULT_OPTIONS) -> Codec:
    """Import the wrapper of ``name`` (or ``path/to/file.py:NAME``) and load it, with the weights of ``options``.

    Raises UnknownCodec with near matches, MissingDependency with the install command, MissingWeights with the missing
    files, RefusedSetting when the wrapper refuses its card, CodecUnusable for whatever a file's class raises.
    """
    own = options._replace(kbps=None, delay=None)
    if is_live(name):
        codec = copy.copy(live(name).codec)  # its card is this run's
    elif plugins.is_file_name(name):
        codec = _open_file(name, device, own)
    else:
        codec = _open_entry(_entry(name), device, own)
    codec.card = settled(codec.card, options)
    return codec


def _open_entry(entry: CatalogueEntry, device: str, options: CodecOptions) -> Codec:
    module, _, attribute = entry.target.partition(":")
    try:
        codec_class = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            raise _dead_target(entry) from error
        raise _missing(entry.card, error) from error
    except AttributeError as error:
        raise _dead_target(entry) from error
    return _load(codec_class, entry.card, device, options)


def _open_file(name: str, device: str, options: CodecOptions) -> Codec:
    thing, file = _file_thing(name), plugins.file_of(name)
    with _faults_of(name):
        if not _is_codec(thing):
            return as_codec(thing, device=device, label=_label(name)).load(device)
        own_card = _class_card(thing, name)
        check_methods(thing, name)
        if issubclass(thing, CheckpointCodec) and not _of_transformers(thing, own_card):
            own_card, folder = card_with_files(own_card, thing.weights_files(), file, options.weights)
            return thing(own_card, folder).load(device)
        return _load(thing, own_card, device, options)


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    """Turn whatever code of the user's raises into CodecUnusable with its line."""
    try:
        yield
    except (CodecError, MemoryError):
        raise
    except SystemExit as error:
        raise CodecUnusable(f"{name} cannot be loaded: it {called_exit(error)}") from error
    except Exception as error:
        fault = plugins.fault(plugins.file_of(name), error)
        raise CodecUnusable(f"{name} cannot be loaded: {fault}; mend it and call again") from error


def reload_catalogue() -> None:
    """Clear the cached catalogue, so that codecs of a newly installed package are found."""
    plugins.forget()
    _catalogue.cache_clear()


def _load(codec_class: type[Codec], own_card: Card, device: str, options: CodecOptions = DEFAULT_OPTIONS) -> Codec:
    try:
        if issubclass(codec_class, CheckpointCodec) and weights.has_checkpoint(own_card):
            configured, checkpoint = weights.configured_card(own_card, options)
            return codec_class(configured, checkpoint.folder).load(device)
        if issubclass(codec_class, IsolatedCodec) and own_card.weights is not None:
            found = card_with_weights(own_card, options.weights)
            return codec_class(*(found or (own_card,))).load(device)
        return codec_class(own_card).load(device)
    except ImportError as error:
        raise _missing(own_card, error) from error


def _dead_target(entry: CatalogueEntry) -> CatalogueError:
    return CatalogueError(f"{entry.origin}: {entry.card.name} points to {entry.target}, which does not exist")


def _file_thing(name: str) -> Any:
    """Import ``path/to/file.py`` and return what is named in it.

    Raises UnknownCodec when the file or the name is missing, CatalogueError when the file fails, MissingDependency for
    a package that the file lacks.
    """
    path, _, attribute = name.rpartition(":")
    module = _file_module(name)
    if not hasattr(module, attribute):
        raise UnknownCodec(f"{path} has no {attribute}; it has: {_contents(module)}")
    return getattr(module, attribute)


def _file_module(name: str) -> ModuleType:
    """Import the file of a name, and raise as :func:`_file_thing` does."""
    try:
        return plugins.import_file(plugins.file_of(name))
    except plugins.UnknownPlugin as error:
        raise UnknownCodec(str(error)) from error
    except plugins.PluginError as error:
        raise CatalogueError(str(error)) from error
    except ModuleNotFoundError as error:
        raise MissingDependency(not_installed(name, error.name, str(error.name))) from error


def _contents(module: ModuleType) -> str:
    """Name what a file defines."""
    found = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return ", ".join(found) or "no class and no function"


def _file_card(name: str) -> Card:
    thing = _file_thing(name)
    if _is_codec(thing):
        return _class_card(thing, name)
    with _faults_of(name):
        # the module's own name tells the content of the file
        return _made_card(plugins.import_file(plugins.file_of(name)), _label(name))


@functools.lru_cache(maxsize=32)
def _made_card(module: ModuleType, label: str) -> Card:
    """Return the card of what a file's name stands for, once: making it may build a model."""
    return as_codec(getattr(module, label.rpartition(":")[2]), label=label).card


def _label(name: str) -> str:
    """Return how a name is shown in errors, ``my.py:make``, without the folder."""
    return f"{plugins.file_of(name).name}:{name.rpartition(':')[2]}"


def _class_card(codec_class: type[Codec], name: str) -> Card:
    own_card = class_card(codec_class, name)
    return declared(own_card, plugins.file_of(name)) if issubclass(codec_class, CheckpointCodec) else own_card


def _configured_file(name: str, options: CodecOptions) -> tuple[Card, CodecOptions]:
    """Locate the weights of a codec that is given as a file, where its class says which they are.

    Raises RefusedSetting for ``--weights`` where the class does not take them.
    """
    codec_class, own_card = _file_thing(name), _file_card(name)
    if not _is_codec(codec_class):
        return own_card, DEFAULT_OPTIONS
    if not issubclass(codec_class, CheckpointCodec):
        if options.weights is not None and own_card.weights is not None:
            raise RefusedSetting(
                f"{own_card.name}: expected a class that takes --weights, got {codec_class.__name__}; derive it from "
                "CheckpointCodec, which is given the folder, and name the files in weights_files()"
            )
        return own_card, DEFAULT_OPTIONS
    if _of_transformers(codec_class, own_card):
        own, checkpoint = weights.configured_card(own_card, options)
        return own, options._replace(weights=str(checkpoint.folder))
    own, _ = card_with_files(own_card, codec_class.weights_files(), plugins.file_of(name), options.weights)
    return own, DEFAULT_OPTIONS._replace(weights=options.weights)


def _of_transformers(codec_class: type[CheckpointCodec], own_card: Card) -> bool:
    """Whether the weights are a checkpoint of transformers, whose precision and compilation can be chosen."""
    return weights.takes_options(own_card) and codec_class.weights_files() == weights.FILES


def _is_codec(value: object) -> TypeGuard[type[Codec]]:
    return isinstance(value, type) and issubclass(value, Codec)


def _missing(own_card: Card, error: ImportError) -> MissingDependency:
    """Return an error with the command that installs a missing package, or reinstalls one that cannot be imported."""
    wanted = _wanted(own_card) or [str(error.name)]
    if isinstance(error, ModuleNotFoundError):
        return MissingDependency(not_installed(own_card.name, error.name, *wanted))
    command = shlex.join(["pip", "install", "--force-reinstall", *wanted])
    return MissingDependency(f"{own_card.name}: a package that it needs cannot be imported ({error}): {command}")


def _wanted(own_card: Card) -> list[str]:
    """Return what pip is to install for a codec."""
    return [f"codec-superb[{own_card.extra}]"] if own_card.extra else list(own_card.requirements)


def _entry(name: str) -> CatalogueEntry:
    catalogue = _catalogue()
    if name in catalogue:
        return catalogue[name]
    family = [known for known in names() if catalogue[known].card.family == name.lower()]
    if family:
        raise UnknownCodec(f"{name!r} is a family and no codec; its codecs are {', '.join(family)}")
    if told := _about_a_path(name):
        raise UnknownCodec(told)
    # names are lower case by the card's pattern
    near = difflib.get_close_matches(name.lower(), catalogue, n=5, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}? There" if near else "there"
    families = sorted({entry.card.family for entry in catalogue.values()})
    raise UnknownCodec(
        f"no codec is named {name!r}: {hint} are {len(catalogue)} in {len(families)} families, which "
        f"`codec-superb codecs list` names: {', '.join(families)}"
    )


def _about_a_path(name: str) -> str:
    """Return what to write in place of the path of a file or folder; '' for what looks like the name of a codec."""
    path, _, attribute = name.rpartition(":") if ":" in name else (name, "", "")
    if not path.endswith(".py") and attribute.isidentifier() and Path(f"{path}.py").expanduser().is_file():
        return f"{name} names no file: write {path}.py:{attribute}"
    if path.endswith(".py") and Path(path).expanduser().is_file():
        return f"{name} names nothing in the file: write {path}:NAME; it has: {_contents(_file_module(f'{path}:'))}"
    if not _PATH.search(path):
        return ""
    if Path(path).expanduser().exists():
        return f"{path} is no codec: give sound as a dataset, --dataset {path}; a codec of your own is file.py:NAME"
    return f"there is no file {path}: a codec is a name that `codec-superb codecs list` shows, or path/to/file.py:NAME"


@functools.cache
def _catalogue() -> dict[str, CatalogueEntry]:
    return merge([*own_entries(), *_entry_point_entries()])


def _entry_point_entries() -> Iterator[CatalogueEntry]:
    for point in plugins.announced(ENTRY_POINT_GROUP):
        try:
            text = plugins.data_file(point).read_text(encoding="utf-8")
            yield from read_catalogue(text, point.origin, point.distribution)
        # a distribution that is broken costs its own codecs, not all others
        except (plugins.PluginError, CatalogueError, OSError, UnicodeDecodeError) as error:
            plugins.report(str(error))


def _order(entry: CatalogueEntry) -> tuple[str, float, str]:
    kbps = entry.card.nominal_kbps
    return entry.card.family, float("inf") if kbps is None else kbps, entry.card.name
