"""Helpers for guests inside a private environment: find weights, check a model against its card.

A guest imports it with ``import guest_tools``. It needs only the standard library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

opened: dict[str, Path] = {}
"""The publisher's weight files that this guest opened, by their names at the source."""


def weights_folder(
    card: dict[str, Any], files: tuple[str, ...], subfolder: str = "", origin: dict[str, Any] | None = None
) -> Path:
    """Return a folder that holds ``files``: the user's (setting ``weights``), else the hub's at the card's revision.

    ``subfolder`` is their folder in the hub's repository; the user's folder holds them at its top. ``origin`` is
    another repository, as ``source`` and ``revision``, for files that do not come from the card's repository.
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
    origin = origin or card["weights"]
    return _from_hub(origin["source"], origin.get("revision"), files, subfolder)


def _from_hub(source: str, revision: str | None, files: tuple[str, ...], subfolder: str) -> Path:
    from huggingface_hub import hf_hub_download

    folder = Path()
    for name in files:
        try:
            found = Path(hf_hub_download(source, name, subfolder=subfolder or None, revision=revision))
        except Exception as error:
            raise FileNotFoundError(
                f"no file {name} of {source} at {revision or 'its newest revision'}, neither on this machine nor from "
                f"the hub ({type(error).__name__}); fetch it, or give a folder with {', '.join(files)} as `weights` "
                "(--weights DIR)"
            ) from error
        opened[f"{source}/{name}"] = found
        folder = found.parents[len(Path(name).parts) - 1]  # a name may contain folders
    return folder


def expect_hash(card: dict[str, Any], file: Path, expected: str | None = None) -> None:
    """Raise ValueError unless the publisher's file has the SHA-256 ``expected``; a user's own file is not checked.

    Without ``expected`` the hash of the card is used.
    """
    if card["settings"].get("weights") is not None:
        return
    found = _sha256_of(file)
    expected = expected or card["weights"]["sha256"]
    if found != expected:
        raise ValueError(
            f"expected {file.name} with SHA-256 {expected}; delete it and fetch again, or give the folder of another "
            f"as `weights` (got {found} in {file})"
        )


def identity(card: dict[str, Any]) -> dict[str, str]:
    """Return ``sha256`` and ``revision`` of the publisher's weights that were opened, where the card has none.

    ``sha256`` is that of the list that ``sha256sum`` prints of the files, sorted by their names at the source;
    ``revision`` is the commit of the hub's repository. Empty where no file was opened through this module, as by models
    of probes, and for a user's folder, whose hash is on the card.
    """
    if not opened:
        return {}
    weights, found = card["weights"], {}
    if weights.get("sha256") is None:
        listed = "".join(f"{_sha256_of(file)}  {name}\n" for name, file in sorted(opened.items()))
        found["sha256"] = hashlib.sha256(listed.encode()).hexdigest()
    commit = _commit(weights["source"])
    if commit and weights.get("revision") is None:
        found["revision"] = commit
    return found


def _commit(source: str) -> str | None:
    """Return the commit of a hub repository from the cache path ``models--OWNER--NAME/snapshots/COMMIT/…``."""
    own = "models--" + source.replace("/", "--")
    for file in opened.values():
        if own in file.parts:
            # the hub's cache: models--OWNER--NAME/snapshots/COMMIT/FILE
            return file.parts[file.parts.index(own) + 2]
    return None


def _sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def expect(card: dict[str, Any], **found: Any) -> None:
    """Raise ValueError unless the loaded model has the values ``found`` on its card."""
    for field, value in found.items():
        if card[field] != value:
            raise ValueError(f"expected weights of a model with {field} {card[field]} ({card['name']}), got {value}")


def refuse_gaps(file: str, missing: Iterable[str], unused: tuple[str, ...] = ()) -> None:
    """Raise ValueError where the publisher's ``file`` lacks parameters, which a package would leave random.

    ``missing`` names what was not found; names that contain one of ``unused`` may be missing.
    """
    gaps = sorted(name for name in missing if not any(part in name for part in unused))
    if gaps:
        raise ValueError(f"expected the publisher's {file}, got one without {', '.join(gaps[:3])}")


def weights_file(card: dict[str, Any], name: str, address: str | None = None) -> Path:
    """Return the file ``name``: the user's (setting ``weights``: its folder), else from ``address``, cached.

    Without ``address`` it is the card's source. torch.hub checks the start of the SHA-256 where the file name holds it
    (``NAME-<hash>.ext``). ``HF_HUB_OFFLINE`` is honoured here too.
    """
    if card["settings"].get("weights") is not None:
        return weights_folder(card, (name,)) / name
    import os

    import torch

    address = address or card["weights"]["source"]
    cached = Path(torch.hub.get_dir()) / "checkpoints" / name
    opened[name] = cached
    if cached.is_file():
        return cached
    reason = "HF_HUB_OFFLINE is set"
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in {"", "0", "false", "no", "off"}:
        cached.parent.mkdir(parents=True, exist_ok=True)
        # torch.hub's convention: name-<first digits of the SHA-256>.ext, checked after the download
        prefix = torch.hub.HASH_REGEX.search(name)
        try:
            torch.hub.download_url_to_file(address, str(cached), prefix.group(1) if prefix else None, progress=False)
        except Exception as error:  # noqa: BLE001 - the network, a proxy, the disk, another hash
            reason = f"{type(error).__name__}: {error}"
        else:
            return cached
    raise FileNotFoundError(
        f"no file {name} of {address} ({reason}); fetch it to {cached}, or give the folder that holds it as `weights` "
        "(--weights DIR)"
    )
