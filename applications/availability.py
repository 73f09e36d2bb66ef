"""What each backend needs on this machine, and whether it is here: looked up without importing or fetching anything."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.catalogue import BackendEntry
from codec_superb.applications.model_files import embedded_models, is_downloaded

_TORCH = ("torch", "transformers")
PACKAGES: dict[str, tuple[str, ...]] = {
    "faster-whisper": ("faster_whisper", "whisper_normalizer"),
    "openai-whisper": ("whisper", "torch", "whisper_normalizer"),
    "transformers-asr": (*_TORCH, "whisper_normalizer"),
    "pocketsphinx": ("pocketsphinx", "whisper_normalizer"),
    "paraformer": ("whisper_normalizer",),
    "resemblyzer": ("webrtcvad",),
    "speechbrain": ("speechbrain", "torch"),
    "wavlm-sv": _TORCH,
    "wavlm-large-sv": _TORCH,
    "wavlm-emotion": _TORCH,
    "emotion2vec": (),
    "yamnet": ("onnxruntime",),
    "ast": _TORCH,
    "clap": _TORCH,
    "dnsmos": ("onnxruntime",),
    "distillmos": ("torch",),
    "utmos": _TORCH,
    "visqol": ("visqol",),
    "warpq": (),
}
"""Modules that a backend and the scoring of its probes import, besides those of the core."""
EMBEDDED = {
    "faster-whisper": "whisper-tiny.en",
    "resemblyzer": "resemblyzer",
    "yamnet": "yamnet",
    "dnsmos": "dnsmos",
    "distillmos": "distillmos",
}
"""Backends whose usual model comes from a package file: name in ``models.yaml``."""
NO_FILES = frozenset({"pocketsphinx", "visqol", "warpq"})
"""Backends that need no file besides their packages."""
USER_SUPPLIED = frozenset({"utmos", "wavlm-large-sv"})
"""Backends whose one file lies in no index and on no hub that is asked: the user brings it."""

State = Literal["ready", "fetches", "needs model", "needs packages"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can run here."""

    state: State
    """``fetches``: the usual model is fetched from a package index when it is first used."""
    detail: str
    """What to do, or what there is."""
    licence: str
    """Of the usual model; '' where the user chooses one."""


def availability(entry: BackendEntry) -> Availability:
    """Say whether a backend can run here."""
    name = EMBEDDED.get(entry.name)
    model = embedded_models()[name] if name else None
    licence = model.licence if model else ""
    missing = [module for module in PACKAGES.get(entry.name, ()) if importlib.util.find_spec(module) is None]
    if missing:
        extra = entry.extra or "probes"
        detail = f"without {', '.join(missing)}: pip install 'codec-superb[{extra}]'"
        return Availability("needs packages", detail, licence)
    if name and model:
        if is_downloaded(name):
            return Availability("ready", "its model is here", licence)
        return Availability("fetches", f"{model.file.size / 1e6:.0f} MB are fetched at first use", licence)
    if entry.name in NO_FILES:
        return Availability("ready", "needs no file besides its package", licence)
    if entry.name in USER_SUPPLIED:
        return Availability("needs model", f"bring its file: by --weights DIR or {entry.name}:FILE", licence)
    detail = f"name a model: from the hub, by --weights DIR or {entry.name}:DIR"
    return Availability("needs model", detail, licence)
