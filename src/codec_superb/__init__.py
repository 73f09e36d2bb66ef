"""Codec-SUPERB: how much of what matters in a sound survives a codec at a bitrate.

``import codec_superb as cs`` imports nothing else: each name of ``__all__`` brings what it needs when it is used first
(PEP 562). docs/python.md explains them; ``__init__.pyi`` is what type checkers read.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "AudioDataset",
    "Card",
    "Clip",
    "Codec",
    "Comparison",
    "Encoded",
    "OpenedCodec",
    "Packets",
    "Result",
    "codecs",
    "datasets",
    "evaluate",
    "load",
    "metrics",
    "open_codec",
    "open_dataset",
    "probe",
    "score",
]

_PLACES = {
    "api.arrays_scored": ("score",),
    "api.catalogue": ("AudioDataset", "codecs", "datasets", "open_dataset"),
    "api.clips": ("Clip",),
    "api.comparison": ("Comparison",),
    "api.evaluation": ("evaluate", "load", "probe"),
    "api.opened": ("OpenedCodec", "open_codec"),
    "api.result": ("Result",),
    "base_codec.card": ("Card",),
    "base_codec.interface": ("Codec", "Encoded", "Packets"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is behind a public name when it is used first."""
    if name == "metrics":  # a package of this name, which is called: see its first lines
        return import_module("codec_superb.metrics")
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'codec_superb' has no attribute {name!r}; it has {', '.join(__all__)}")
    value: object = getattr(import_module(f"codec_superb.{_PLACE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
