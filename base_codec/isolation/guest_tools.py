"""What guests share, inside the private environment: finding weights, checking a model against its card.

A guest gets it with ``import guest_tools``. It needs only the standard library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def weights_folder(card: dict[str, Any], files: tuple[str, ...], subfolder: str = "") -> Path:
    """Return a folder that holds ``files``: the user's (setting ``weights``), else the hub's at the card's revision.

    ``subfolder`` is where they lie at the hub; the user's folder holds them at its top.
    Raises FileNotFoundError naming the missing file and where it was looked for. ``HF_HUB_OFFLINE`` is honoured.
    """
    given = card["settings"].get("weights")
    if given is not None:
        folder = Path(given).expanduser()
        for name in files:
            if not (folder / name).is_file():
                raise FileNotFoundError(
                    f"no file {name} in the folder of weights {folder}; expected {', '.join(files)}"
                )
        return folder
    return _from_hub(card["weights"]["source"], card["weights"]["revision"], files, subfolder)


def _from_hub(source: str, revision: str | None, files: tuple[str, ...], subfolder: str) -> Path:
    from huggingface_hub import hf_hub_download

    found = Path()
    for name in files:
        try:
            found = Path(hf_hub_download(source, name, subfolder=subfolder or None, revision=revision))
        except Exception as error:
            raise FileNotFoundError(
                f"no file {name} of {source} at {revision or 'its newest revision'}, neither on this machine nor from "
                f"the hub ({type(error).__name__}); fetch it, or give a folder with {', '.join(files)} as `weights`"
            ) from error
    return found.parent


def expect(card: dict[str, Any], **found: Any) -> None:
    """Raise ValueError unless the model that was loaded is the one the card describes."""
    for field, value in found.items():
        if card[field] != value:
            raise ValueError(f"expected weights of a model with {field} {card[field]} ({card['name']}), got {value}")


def weights_file(card: dict[str, Any], name: str, address: str | None = None) -> Path:
    """Return the file ``name``: the user's (setting ``weights``: its folder), else from ``address``, cached.

    Without ``address`` it is the card's. torch checks the hash in the address where there is one. ``HF_HUB_OFFLINE``
    is honoured here too.
    """
    if card["settings"].get("weights") is not None:
        return weights_folder(card, (name,)) / name
    import os

    import torch

    address = address or card["weights"]["source"]
    cached = Path(torch.hub.get_dir()) / "checkpoints" / name
    if cached.is_file():
        return cached
    reason = "HF_HUB_OFFLINE is set"
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in {"", "0", "false", "no", "off"}:
        cached.parent.mkdir(parents=True, exist_ok=True)
        prefix = torch.hub.HASH_REGEX.search(name)
        try:
            torch.hub.download_url_to_file(address, str(cached), prefix.group(1) if prefix else None, progress=False)
        except Exception as error:  # noqa: BLE001 - the network, a proxy, the disk, another hash
            reason = f"{type(error).__name__}: {error}"
        else:
            return cached
    raise FileNotFoundError(
        f"no file {name} of {address} ({reason}); fetch it to {cached}, or give the folder that holds it as `weights`"
    )
