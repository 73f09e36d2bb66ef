"""Reports whether each backend's packages and model are on this machine, without importing or fetching anything."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.backends import CODEC, NO_FILE, OWN_FILE, BackendEntry
from codec_superb.applications.model_files import embedded_models, is_downloaded

State = Literal["ready", "fetches", "needs model", "needs packages"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can run here."""

    state: State
    """``fetches``: the usual model is fetched from a package index when it is first used."""
    detail: str
    """What to do, or what was found."""
    licence: str
    """Of the usual model; '' where the user chooses one."""


def availability(entry: BackendEntry) -> Availability:
    """Return whether a backend can run here."""
    model = embedded_models().get(entry.model)
    licence = model.licence if model else ""
    missing = [module for module in entry.packages if importlib.util.find_spec(module) is None]
    if missing:
        wanted = " ".join(missing) if entry.origin and not entry.extra else f"'codec-superb[{entry.extra or 'probes'}]'"
        return Availability("needs packages", f"without {', '.join(missing)}: pip install {wanted}", licence)
    if model:
        if is_downloaded(entry.model):
            return Availability("ready", "its model is here", licence)
        return Availability("fetches", f"{model.file.size / 1e6:.0f} MB are fetched at first use", licence)
    if entry.model == NO_FILE:
        return Availability("ready", "needs no file besides its package", licence)
    asked = {
        OWN_FILE: f"bring its file: by --weights DIR or {entry.name}:FILE",
        CODEC: f"name a codec of tokens: {entry.name}:mimi_8cb",
    }
    usual = f"name a model: from the hub, by --weights DIR or {entry.name}:DIR"
    return Availability("needs model", asked.get(entry.model, usual), licence)
