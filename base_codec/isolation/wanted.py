"""Which weights a guest opens, and whether they are to be had: asked before its environment of gigabytes is built.

A guest says it in a function of its module, ``weights(card)``, which returns :class:`~.guest_tools.Files` and
:class:`~.guest_tools.Download`. A guest without it, or one that needs its packages to be imported, is not asked.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.errors import MissingWeights
from codec_superb.base_codec.isolation import guest_tools
from codec_superb.base_codec.isolation.guest_tools import Download, Files
from codec_superb.base_codec.isolation.host import guest_file
from codec_superb.base_codec.isolation.user_weights import SETTING
from codec_superb.data_manifests.errors import FetchError
from codec_superb.data_manifests.files import file_stamp
from codec_superb.data_manifests.hub.hub_files import check_hub_files, is_offline
from codec_superb.data_manifests.hub.reach import refusal


def wanted(card: Card, folder: Path | None = None) -> Sequence[Files | Download]:
    """Return the weights that the guest of an isolated codec opens; nothing where it does not say.

    Of ``folder``, the user's own, they are the names in it: what comes from several repositories lies in folders there.
    """
    if card.isolation is None or card.weights is None:
        return ()
    path = guest_file(card.isolation)
    guest = _module(path, file_stamp(path))
    says = getattr(guest, "weights", None)
    description = card.model_dump(mode="json")
    if folder is not None:
        description["settings"][SETTING] = str(folder)
    return says(description) if callable(says) else ()


def check_weights(card: Card, folder: Path | None = None) -> None:
    """Raise MissingWeights for what neither ``folder``, the user's own, nor this machine, nor the source has."""
    for part in wanted(card, folder):
        if folder is not None:
            _check_folder(card, part, folder)
        elif isinstance(part, Files):
            _check_hub(card, part)
        else:
            _check_download(card, part)


def _check_folder(card: Card, part: Files | Download, folder: Path) -> None:
    names = part.names if isinstance(part, Files) else (part.name,)
    lacking = [name for name in names if not (folder / name).is_file()]
    if lacking:
        raise MissingWeights(
            f"{card.name}: expected {', '.join(names)} in the folder of weights {folder}, got no {', '.join(lacking)}; "
            "fetch what is missing, or leave --weights out"
        )


def _check_hub(card: Card, part: Files) -> None:
    assert card.weights is not None
    origin = part.origin or card.weights.model_dump()
    try:
        check_hub_files(card.name, origin["source"], part.names, origin.get("revision"), part.subfolder)
    except FetchError as error:
        raise MissingWeights(str(error)) from error


def _check_download(card: Card, part: Download) -> None:
    assert card.weights is not None
    address = part.address or card.weights.source
    # where torch.hub keeps what it fetches
    cache = os.environ.get("TORCH_HOME") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/torch"
    place = Path(cache).expanduser() / "hub" / "checkpoints" / part.name
    why = "" if place.is_file() else "HF_HUB_OFFLINE is set" if is_offline() else refusal(address)
    if why:
        raise MissingWeights(
            f"{card.name}: {part.name} of {address} is not on this machine and cannot be fetched: {why}; fetch it to "
            f"{place}, or name the folder that holds it: --weights DIR"
        )


@functools.cache
def _module(path: Path, _stamp: tuple[int, int]) -> ModuleType | None:
    """Import a guest outside of its environment; None where it needs that."""
    sys.modules.setdefault("guest_tools", guest_tools)
    spec = importlib.util.spec_from_file_location(f"_guest_{path.stem}", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception:  # noqa: BLE001 - a guest of the user's, written for another Python with other packages
        return None
    return module
