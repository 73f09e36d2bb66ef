"""Finds plug-ins, rows that installed distributions and single files add to the program, for all of its parts.

A distribution announces a plug-in by an entry point of a group of :data:`GROUPS`. Its value is ``package:file.yaml``
where the plug-in is data (a catalogue of codecs, a manifest of a dataset, tasks, which may also be a folder), which is
read without importing the package; else ``package.module:NAME``, a row such as those of the program's own tables, and
the entry point has the row's key as its name, so that nothing is imported before somebody asks for it. A file of the
user's is ``path/to/file.py:NAME``.

A plug-in that cannot be loaded is left out and reported once, with its distribution; one that was asked for by name
is an error. This module imports nothing of the program, because every part of it may have plug-ins.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import sys
import traceback
import warnings
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from codec_superb.field_faults import is_validation_error, sentences

GROUPS = tuple(
    f"codec_superb.{part}" for part in ("codecs", "metrics", "datasets", "applications", "backends", "tasks")
)
_IMPORTED = "_codec_superb_file_"
"""Beginning of the names that files of the user's have as modules."""
IDENTITY = 16
"""Hexadecimal digits of a file's SHA-256 in the version of its row."""


class PluginError(Exception):
    """A plug-in cannot be used; the text says which, where it comes from and what to do."""


class UnknownPlugin(PluginError):
    """There is no such file, or nothing of that name in it; the text names what there is."""


class PluginWarning(UserWarning):
    """The program goes on without a plug-in that cannot be loaded, or without results that only a plug-in can make."""


class Source(NamedTuple):
    """Where a row was found."""

    origin: str
    """For people: ``distribution version``, or the path of a file."""
    place: str
    """Module or file that a target which begins with a colon belongs to."""
    identity: str
    """Changes with the plug-in: the distribution with its version, or digits of the file's SHA-256."""
    sha256: str = ""
    """Of the file; '' for a distribution."""

    def version(self, own: str) -> str:
        """Return the version of a row in which its source takes part, so that results of another are not its own."""
        return f"{own}+{self.identity}"

    def target(self, own: str) -> str:
        """Return ``own``, completed where it is ``:name`` of the place itself."""
        return f"{self.place}{own}" if own.startswith(":") else own


class Row(Protocol):
    """A row of a table that plug-ins may add to."""

    @property
    def target(self) -> str:
        """What is behind it, ``module:name``."""
        ...

    def plugged(self, source: Source) -> Self:
        """Return the row with its origin, its version and its targets filled in."""
        ...


R = TypeVar("R", bound=Row)


class Announced(NamedTuple):
    """An entry point of an installed distribution."""

    name: str
    value: str
    distribution: str
    """Name and version."""

    @property
    def origin(self) -> str:
        """Return its source as text for people."""
        return f"entry point {self.name} ({self.value}) of {self.distribution}"


@functools.cache
def announced(group: str) -> tuple[Announced, ...]:
    """Return the entry points of a group, sorted; nothing is imported. Looked up once, see :func:`forget`."""
    found = {
        Announced(point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "unknown")
        for point in metadata.entry_points(group=group)
    }
    return tuple(sorted(found))


def forget() -> None:
    """Look for entry points anew on next use, after a distribution was installed."""
    announced.cache_clear()
    _reported.cache_clear()


def by_name(group: str, own: Mapping[str, str]) -> dict[str, Announced]:
    """Return a group's entry points by name. ``own`` maps the program's own names to what is behind them.

    Raises PluginError, which shows both, for a name that is taken.
    """
    found: dict[str, Announced] = {}
    for point in announced(group):
        if point.name in own:
            raise taken(point.name, own[point.name], point.origin)
        if found.setdefault(point.name, point) is not point:
            raise taken(point.name, found[point.name].origin, point.origin)
    return found


def taken(name: str, one: str, other: str) -> PluginError:
    """Make the error of a name that two targets claim."""
    return PluginError(f"two plug-ins are named {name}: {one} and {other}; rename one, or uninstall its distribution")


def row_of(point: Announced, kind: type[R]) -> R:
    """Import the row behind an entry point. Raises PluginError with the distribution where that is impossible."""
    try:
        row = load(point.value)
    except Exception as error:
        raise PluginError(f"{point.origin} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(row, kind) or _key(row) != point.name:
        what = f"one of {_key(row)!r}" if isinstance(row, kind) else type(row).__name__
        raise PluginError(f"{point.origin}: expected a {kind.__name__} of the key {point.name!r}, got {what}")
    place = point.value.partition(":")[0]
    return row.plugged(Source(point.distribution, place, point.distribution.replace(" ", "-")))


def find(name: str, group: str, kind: type[R], table: Mapping[str, R]) -> R | None:
    """Return the row that ``name`` stands for: of ``table``, of an entry point, or ``path/to/file.py:NAME``.

    None for a name that is none of :func:`names`. Raises PluginError for a plug-in that cannot be loaded, and for a key
    that is taken.
    """
    if is_file_name(name):
        row = row_from_file(name, kind)
        if (own := table.get(_key(row))) is not None:
            raise taken(_key(row), own.target, row.target)
        return row
    others = by_name(group, targets(table))
    return row_of(others[name], kind) if name in others else table.get(name)


def targets(table: Mapping[str, R]) -> dict[str, str]:
    """Return what is behind each row of a table, by key."""
    return {key: row.target for key, row in table.items()}


def names(group: str, table: Collection[str]) -> set[str]:
    """Return the names of a table and of a group's entry points."""
    return {*table, *(point.name for point in announced(group))}


def rows_of(group: str, kind: type[R], own: Mapping[str, str]) -> dict[str, R]:
    """Import all rows of a group, by key; those that cannot be loaded are reported once and left out."""
    found: dict[str, R] = {}
    for name, point in by_name(group, own).items():
        try:
            found[name] = row_of(point, kind)
        except PluginError as error:
            report(str(error))
    return found


def report(text: str) -> None:
    """Warn of a plug-in that cannot be used, once in a process."""
    if text not in _reported():
        _reported().add(text)
        warnings.warn(f"{text}; mend or uninstall it", PluginWarning, stacklevel=3)


@functools.cache
def _reported() -> set[str]:
    return set()


def data_file(point: Announced) -> Path:
    """Return the file of an entry point ``package:file.yaml`` without importing the package.

    Raises PluginError where there is none.
    """
    place = data_place(point)
    if not place.is_file():
        raise _no_place(point)
    return place


def data_place(point: Announced) -> Path:
    """Return the file or the folder of an entry point ``package:place``. Raises PluginError where there is neither."""
    package, _, resource = point.value.partition(":")
    try:
        spec = importlib.util.find_spec(package)
    except (ModuleNotFoundError, ValueError):
        spec = None
    folders = (spec.submodule_search_locations if spec else None) or []
    place = next((path for folder in folders if resource and (path := Path(folder) / resource).exists()), None)
    if place is None:
        raise _no_place(point)
    return place


def _no_place(point: Announced) -> PluginError:
    return PluginError(f"{point.origin}: expected package:file.yaml, a file inside an installed package")


def is_file_name(name: str) -> bool:
    """Whether ``name`` has the form ``path/to/file.py:NAME``."""
    path, _, attribute = name.rpartition(":")
    return path.endswith(".py") and attribute.isidentifier()


def file_of(name: str) -> Path:
    """Return the file of ``path/to/file.py:NAME``, absolute, ``~`` and links resolved."""
    return Path(name.rpartition(":")[0]).expanduser().resolve()


def row_from_file(name: str, kind: type[R]) -> R:
    """Return the row ``NAME`` of ``path/to/file.py:NAME``; its version carries the file's SHA-256.

    Raises UnknownPlugin where file or name are missing, PluginError where the file fails or NAME is something else.
    """
    file, attribute = file_of(name), name.rpartition(":")[2]
    try:
        module = import_file(file)
    except ModuleNotFoundError as error:
        raise PluginError(f"{file} needs {error.name}, which is not installed: pip install {error.name}") from error
    row = getattr(module, attribute, None)
    if not isinstance(row, kind):
        found = ", ".join(key for key, value in vars(module).items() if isinstance(value, kind))
        what = "nothing" if row is None else type(row).__name__
        raise UnknownPlugin(
            f"{name}: expected {attribute} to be a {kind.__name__}, got {what}; the file has: {found or 'none'}"
        )
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return row.plugged(Source(str(file), str(file), sha256[:IDENTITY], sha256))


def load(target: str) -> Any:
    """Import what ``module:name`` or ``/path/to/file.py:name`` names; raises what importing raises, AttributeError."""
    place, _, name = target.rpartition(":")
    module = import_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    return getattr(module, name)


def import_file(full: Path) -> ModuleType:
    """Import a file once for each content, under a name of its own, so that two files called codec.py do not collide.

    Raises UnknownPlugin for a file that does not exist, ModuleNotFoundError for a package that it lacks, PluginError
    with the line of the file for whatever else goes wrong.
    """
    if not full.is_file():
        raise UnknownPlugin(f"no file {full}: expected path/to/file.py:NAME")
    source = full.read_bytes()
    key = f"{_IMPORTED}{hashlib.sha256(str(full).encode() + b':' + source).hexdigest()[:16]}"
    if key in sys.modules:
        return sys.modules[key]
    spec = importlib.util.spec_from_file_location(key, full)
    if spec is None or spec.loader is None:
        raise UnknownPlugin(f"{full} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        # not by the loader: Python takes kept bytecode for a file of the same size that changed within the same second
        exec(compile(source, str(full), "exec", dont_inherit=True), vars(module))  # noqa: S102 -- the user's own file
    except BaseException as error:
        del sys.modules[key]
        if isinstance(error, ModuleNotFoundError) and _is_beside(full, error.name or ""):
            # the folder is not put on the path here: a second file's module of that name would be the first one's
            raise PluginError(
                f"{full} imports {error.name}, which lies beside it, where Python does not look: put "
                "sys.path.insert(0, str(Path(__file__).parent)) before that import"
            ) from error
        if isinstance(error, SystemExit):
            told = 'it calls sys.exit while it is imported: put that below `if __name__ == "__main__":`'
            raise PluginError(f"{full} cannot be imported: {told}") from error
        if isinstance(error, ModuleNotFoundError) or not isinstance(error, Exception):
            raise
        raise PluginError(f"{full} cannot be imported: {fault(full, error)}; mend it and call again") from error
    return module


def imported_files() -> set[Path]:
    """Return the files that :func:`import_file` has imported into this process."""
    return {Path(str(module.__file__)) for key, module in list(sys.modules.items()) if key.startswith(_IMPORTED)}


def _is_beside(file: Path, module: str) -> bool:
    """Whether a module that was not found is a file or a folder beside the user's file."""
    place = file.parent / module.partition(".")[0]
    return bool(module) and (place.is_dir() or place.with_suffix(".py").is_file())


def fault(file: Path, error: Exception) -> str:
    """Describe an error in a user's file, with its line."""
    said = sentences(error) if is_validation_error(error) else str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines, said = [error.lineno], error.msg
    said = " ".join(said.split())  # torch writes a listing of the code around
    return f"{type(error).__name__}: {said}" + (f" (line {lines[-1]})" if lines else "")


def _key(row: object) -> str:
    return str(getattr(row, "key", None) or getattr(row, "name", ""))
