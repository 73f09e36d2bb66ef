"""Load a codec class from a Python file of the user, named as ``path/to/file.py:Class``."""

from __future__ import annotations

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import CatalogueError, UnknownCodec
from codec_superb.base_codec.interface import Codec
from codec_superb.plugins import PluginError, UnknownPlugin, file_of, import_file


def class_from_file(name: str) -> tuple[type[Codec], Card]:
    """Import ``path/to/file.py`` and return its class and the card that the class carries.

    Raises UnknownCodec when the file or the class is missing, CatalogueError when the file fails or the class has no
    card, ModuleNotFoundError for a package that the file lacks.
    """
    path, _, attribute = name.rpartition(":")
    try:
        module = import_file(file_of(name))
    except UnknownPlugin as error:
        raise UnknownCodec(str(error)) from error
    except PluginError as error:
        raise CatalogueError(str(error)) from error
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
