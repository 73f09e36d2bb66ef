"""Helpers for guests inside a private environment: find weights, check a model against its card, use its device.

A guest imports it with ``import guest_tools``. It needs only the standard library; :class:`Device` needs torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Files(NamedTuple):
    """Files of a hub repository, as the arguments of :func:`weights_folder` after the card."""

    names: tuple[str, ...]
    subfolder: str = ""
    """Their folder in the repository."""
    origin: dict[str, Any] | None = None
    """``source`` and ``revision`` of another repository than the card's."""


class Download(NamedTuple):
    """A file that has an address of its own, as the arguments of :func:`weights_file` after the card."""

    name: str
    address: str | None = None
    """None: the card's source."""


QUERIES = 512
"""Queries of a block of attention."""
opened: dict[str, Path] = {}
"""The publisher's weight files that this guest opened, by their names at the source."""
skipped: list[str] = []
"""Names of the parameters in the weights that the guest left out, as the publisher's own loader does."""


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
            commit = _whole(source, revision)
            found = Path(hf_hub_download(source, name, subfolder=subfolder or None, revision=commit))
        except Exception as error:
            if type(error).__name__ == "GatedRepoError":
                raise FileNotFoundError(
                    f"the hub gives {name} of {source} to those who accepted its licence: accept it at its page "
                    f"https://huggingface.co/{source}, then log in with `hf auth login`, or set HF_TOKEN"
                ) from error
            raise FileNotFoundError(
                f"no file {name} of {source} at {revision or 'its newest revision'}, neither on this machine nor from "
                f"the hub ({type(error).__name__}); fetch it, or give a folder with {', '.join(files)} as `weights` "
                "(--weights DIR)"
            ) from error
        opened[f"{source}/{name}"] = found
        folder = found.parents[len(Path(name).parts) - 1]  # a name may contain folders
    return folder


def _whole(source: str, revision: str | None) -> str | None:
    """Return the commit that begins with ``revision`` where only its first digits are known: the hub takes no part."""
    if revision is None or not 7 <= len(revision) < 40 or set(revision) - set("0123456789abcdef"):  # noqa: PLR2004
        return revision
    from huggingface_hub import HfApi, constants

    snapshots = Path(constants.HF_HUB_CACHE) / f"models--{source.replace('/', '--')}" / "snapshots"
    commits = [folder.name for folder in snapshots.glob(f"{revision}*")]
    commits = commits or [commit.commit_id for commit in HfApi().list_repo_commits(source)]
    return next((commit for commit in commits if commit.startswith(revision)), revision)


def expect_hash(card: dict[str, Any], file: Path, expected: str | None = None) -> None:
    """Raise ValueError unless the publisher's file has the SHA-256 ``expected``; a user's own file is not checked.

    Without ``expected`` the hash of the card is used; where the card has none, the run's card gets it (``identity``).
    """
    expected = expected or card["weights"].get("sha256")
    if expected is None or card["settings"].get("weights") is not None:
        return
    found = _sha256_of(file)
    if found != expected:
        raise ValueError(
            f"expected {file.name} with SHA-256 {expected}; delete it and fetch again, or give the folder of another "
            f"as `weights` (got {found} in {file})"
        )


def skip(names: list[str]) -> None:
    """Report parameters of the weights that were left out; the card of the run lists them."""
    skipped[:] = names


def identity(card: dict[str, Any]) -> dict[str, str]:
    """Return ``sha256`` and ``revision`` of the publisher's weights that were opened, where the card has none.

    ``sha256`` is that of the list that ``sha256sum`` prints of the files, sorted by their names at the source;
    ``revision`` is the commit of the hub's repository, also where the card has its first digits. Neither is there where
    no file was opened through this module, as by models of probes, nor for a user's folder, whose hash is on the card.
    ``skipped`` names the parameters that were left out, where there are any.
    """
    found = {"skipped": ", ".join(skipped)} if skipped else {}
    if not opened:
        return found
    weights = card["weights"]
    if weights.get("sha256") is None:
        listed = "".join(f"{_sha256_of(file)}  {name}\n" for name, file in sorted(opened.items()))
        found["sha256"] = hashlib.sha256(listed.encode()).hexdigest()
    commit = _commit(weights["source"])
    if commit and commit != weights.get("revision") and commit.startswith(weights.get("revision") or ""):
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


def windowed_attention(q: Any, k: Any, v: Any, window: Sequence[int], *, causal: bool = False) -> Any:
    """Compute what the package flash-attn, which runs on GPUs alone, does with a sliding window, on any device.

    ``q``, ``k``, ``v``: ``(..., heads, frames, width)``. Frame i attends to those from i - window[0] to i + window[1],
    -1 being no limit, and if causal to none behind i. Queries go in blocks, which bounds the memory and changes nothing
    else.
    """
    import torch

    frames = q.shape[-2]
    before, after = (frames if reach < 0 else reach for reach in window)
    after = 0 if causal else after
    blocks = []
    for start in range(0, frames, QUERIES):
        end = min(start + QUERIES, frames)
        first, last = max(0, start - before), min(frames, end + after)
        distance = torch.arange(first, last, device=q.device)[None] - torch.arange(start, end, device=q.device)[:, None]
        mask = (distance >= -before) & (distance <= after)
        seen = k[..., first:last, :], v[..., first:last, :]
        blocks.append(torch.nn.functional.scaled_dot_product_attention(q[..., start:end, :], *seen, attn_mask=mask))
    return torch.cat(blocks, dim=-2)


class Device:
    """Where a guest's model computes: arrays become tensors there, and results come back as arrays."""

    def __init__(self, name: str) -> None:
        """Prepare the device ``cpu`` or ``cuda``. Raises RuntimeError where torch finds no such device.

        float32 stays float32 (TF32 has 10 bits of mantissa), and algorithms are not chosen by their time, since the
        choice changes the rounding from run to run.
        """
        import torch

        if name.startswith("cuda") and not torch.cuda.is_available():
            raise RuntimeError(
                f"expected a CUDA device that torch {torch.__version__} can use, found none; take --device cpu"
            )
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        self.name = name
        self._torch = torch

    def put(self, array: Any) -> Any:
        """Return a numpy array as a tensor on the device."""
        import numpy as np

        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self.name)

    def get(self, tensor: Any) -> Any:
        """Return a tensor as a numpy array."""
        return tensor.cpu().numpy()

    def stacked(self, arrays: Sequence[Any], code: Callable[[Any], Any]) -> list[Any]:
        """Call ``code`` on arrays of one shape as one tensor ``(arrays, ...)``; return its rows as arrays, in order.

        A batch holds arrays of equal shape only: filling up the shorter ones would change what they become.
        """
        import numpy as np

        alike: dict[tuple[int, ...], list[int]] = {}
        for index, array in enumerate(arrays):
            alike.setdefault(array.shape, []).append(index)
        out: list[Any] = [None] * len(arrays)
        for members in alike.values():
            with self._torch.inference_mode():
                rows = self.get(code(self.put(np.stack([arrays[index] for index in members]))))
            for index, row in zip(members, rows, strict=True):
                out[index] = row
        return out


def filled(audio: Any, frame: int) -> Any:
    """Return audio ``(channels, samples)`` with silence behind it up to a multiple of ``frame`` samples."""
    import numpy as np

    return np.pad(audio, ((0, 0), (0, -audio.shape[1] % frame)))
