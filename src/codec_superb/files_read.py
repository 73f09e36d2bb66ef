"""Notice which files foreign code reads: its data and modules of its own, not those of Python and installed packages.

Python tells audit hooks of each file that it opens (PEP 578). Files that compiled code opens by itself (safetensors,
ONNX Runtime, HDF5) are not told. This module imports nothing of the program.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import site
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/run", "/usr", "/lib", "/lib64", "/bin", "/sbin")
_CREDENTIALS = frozenset({"token", "stored_tokens"})
"""Files of the hub's client that every model loaded from the hub reads."""
_watchers: list[set[str]] = []


@contextmanager
def noticing() -> Iterator[set[Path]]:
    """Yield a set that holds, once the body has ended, the files that were read in it and are older than it.

    Files of Python, of installed packages, of the system and of this program are left out, and hidden ones.
    """
    _install_hook()
    seen, found, began = set[str](), set[Path](), time.time_ns()
    _watchers.append(seen)
    try:
        yield found
    finally:
        # by identity: two sets may be equal
        _watchers[:] = [watcher for watcher in _watchers if watcher is not seen]
        found.update(path for name in seen if (path := own_file(name)) and _is_older(path, began))


def own_file(name: str) -> Path | None:
    """Return the file that is meant, resolved, the source of a compiled module; None where it is not the user's own."""
    if "__pycache__" in name:
        try:
            name = importlib.util.source_from_cache(name)
        except ValueError:
            return None
    path = Path(os.path.realpath(name))
    hidden = path.name.startswith(".") or path.name in _CREDENTIALS
    # os.path: Path.is_file raises where a folder may not be read
    if hidden or any(path.is_relative_to(folder) for folder in _foreign()) or not os.path.isfile(path):  # noqa: PTH113
        return None
    return path


def _is_older(path: Path, began: int) -> bool:
    try:
        return path.stat().st_mtime_ns <= began
    except OSError:  # a file that was removed since is none to rely on
        return False


def modules_of(file: Path) -> set[Path]:
    """Return the user's own modules that a Python file imports, and those that they import, as far as they are loaded.

    A module that was loaded before for another file is not read again, so that :func:`noticing` misses it.
    """
    found: set[Path] = set()
    todo = [(file, "")]
    while todo:
        path, package = todo.pop()
        for name in _imports(path, package):
            module = sys.modules.get(name)
            source = own_file(getattr(module, "__file__", None) or "")
            if source is not None and source not in found:
                found.add(source)
                todo.append((source, getattr(module, "__package__", None) or ""))
    return found


def _imports(file: Path, package: str) -> set[str]:
    """Return the names of modules that the imports of a file may mean, wherever they stand in it."""
    names: set[str] = set()
    with suppress(OSError, SyntaxError, ValueError):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):
                    base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                    names.update({base, *(f"{base}.{alias.name}" for alias in node.names)})
    # importing a.b imports a
    return {".".join(name.split(".")[: count + 1]) for name in names for count in range(name.count(".") + 1)}


@functools.cache
def _foreign() -> tuple[Path, ...]:
    """Return the folders whose files are not the user's."""
    paths = [value for name, value in sysconfig.get_paths().items() if "lib" in name]
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages", ".zip"))]
    standard = str(Path(os.__file__).parent)
    program = Path(__file__).resolve().parent
    parts = [str(part) for part in (program, *program.iterdir()) if part.is_dir()]
    folders = {*paths, *packages, *parts, standard, site.getusersitepackages(), *_SYSTEM}
    return tuple(sorted(Path(os.path.realpath(folder)) for folder in folders))


@functools.cache
def _install_hook() -> None:
    """Add the hook, which Python can never remove, once in a process."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _watchers:
        return
    name, flags = arguments[0], arguments[2]
    if isinstance(flags, int) and flags & os.O_ACCMODE != os.O_RDONLY:
        return
    if isinstance(name, str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(name))  # noqa: PTH100 - before somebody changes the folder
        for watcher in _watchers:
            watcher.add(path)
