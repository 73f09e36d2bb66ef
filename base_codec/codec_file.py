"""Load a codec class from a Python file of the user, named as ``path/to/file.py:Class``."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CatalogueError, UnknownCodec
from codec_superb.base_codec.interface import Codec


def is_codec_file(name: str) -> bool:
    """Whether ``name`` has the form ``path/to/file.py:Class``."""
    path, _, attribute = name.rpartition(":")
    return path.endswith(".py") and attribute.isidentifier()


def codec_file(name: str) -> Path:
    """Return the file of ``path/to/file.py:Class``, absolute, ``~`` and links resolved."""
    return Path(name.rpartition(":")[0]).expanduser().resolve()


def class_from_file(name: str) -> tuple[type[Codec], Card]:
    """Import ``path/to/file.py`` and return its class and the card that the class carries.

    Raises UnknownCodec when the file or the class is missing, CatalogueError when the file fails or the class has no
    card.
    """
    path, _, attribute = name.rpartition(":")
    module = _import_file(codec_file(name))
    codec_class = getattr(module, attribute, None)
    if not isinstance(codec_class, type) or not issubclass(codec_class, Codec):
        found = [key for key, value in vars(module).items() if _is_codec(value)]
        raise UnknownCodec(f"{path} has no codec class {attribute}; its codecs are: {', '.join(found) or 'none'}")
    card = getattr(codec_class, "card", None)
    if not isinstance(card, Card):
        raise CatalogueError(f"{name}: expected a class attribute `card` that is a Card, got {type(card).__name__}")
    return codec_class, card


def _is_codec(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Codec) and value is not Codec


def _import_file(full: Path) -> ModuleType:
    """Import a file once under a unique module name, so that two files called codec.py do not collide."""
    key = f"_codec_superb_file_{hashlib.sha256(str(full).encode()).hexdigest()[:16]}"
    if key in sys.modules:
        return sys.modules[key]
    if not full.is_file():
        raise UnknownCodec(f"no file {full}: expected path/to/file.py:Class")
    spec = importlib.util.spec_from_file_location(key, full)
    if spec is None or spec.loader is None:
        raise UnknownCodec(f"{full} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[key]
        if isinstance(error, ModuleNotFoundError) or not isinstance(error, Exception):
            raise
        raise CatalogueError(f"{full} cannot be imported: {_fault(full, error)}; fix it and try again") from error
    return module


def _fault(file: Path, error: Exception) -> str:
    """Say what went wrong in a user's file, and in which line of it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines, error = [error.lineno], type(error)(error.msg)
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")
