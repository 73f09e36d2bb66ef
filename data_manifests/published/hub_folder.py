"""Files of a dataset repository of the Hugging Face hub at one commit, fetched by its client ``huggingface_hub``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.data_manifests.errors import FetchError, WriteError
from codec_superb.data_manifests.hub.hub_files import quiet_client
from codec_superb.data_manifests.hub.reach import endpoint, refusal
from codec_superb.data_manifests.manifest import HubFolder, is_wanted
from codec_superb.data_manifests.progress import OnProgress, ProgressUpdate
from codec_superb.missing_package import not_installed


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The files that a download takes of a repository."""

    commit: str
    sizes: dict[str, int]
    """Bytes by path."""


def list_files(hub: HubFolder, commit: str) -> HubFiles:
    """Ask the hub for the files of a repository at ``commit`` ('' for the newest).

    Raises FetchError that says what to do: the hub cannot be reached, has no such repository, or gives its files
    only to those who accepted its licence.
    """
    address = f"{endpoint()}/api/datasets/{hub.repo}"
    if why := refusal(address, f"datasets/{hub.repo}"):
        raise FetchError(f"{hub.repo} cannot be fetched: {why}")
    info = _asked(hub, Path(), lambda api: api.dataset_info(hub.repo, revision=commit or None, files_metadata=True))
    every = {file.rfilename: int(file.size or 0) for file in info.siblings or ()}
    sizes = {name: size for name, size in sorted(every.items()) if is_wanted(name, hub.files)}
    if not sizes:
        raise FetchError(f"{hub.repo} has no file {' or '.join(hub.files)} at {info.sha}: it is laid out otherwise now")
    first = f"{endpoint()}/datasets/{hub.repo}/resolve/{info.sha}/{next(iter(sizes))}"
    if why := refusal(first, f"datasets/{hub.repo}"):
        raise FetchError(f"{hub.repo} cannot be fetched: {why}")
    return HubFiles(str(info.sha), sizes)


def fetch_files(hub: HubFolder, files: HubFiles, folder: Path, progress: OnProgress) -> None:
    """Fetch what is not yet in ``folder``, one file after another; the client resumes a broken one.

    Raises FetchError, and WriteError where the disk is full.
    """
    total, done = sum(files.sizes.values()), 0
    for name, size in files.sizes.items():
        _asked(hub, folder, lambda api, name=name: api.hf_hub_download(  # type: ignore[misc]
            hub.repo, name, repo_type="dataset", revision=files.commit, local_dir=folder,
        ))  # fmt: skip
        found = (folder / name).stat().st_size
        if size and found != size:
            raise FetchError(
                f"{hub.repo}: {name} came with {found} bytes, expected {size}; delete it and prepare again"
            )
        done += found
        progress(ProgressUpdate("download", done, max(total, done), name))


def _asked(hub: HubFolder, folder: Path, call: Callable[[Any], Any]) -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise FetchError(not_installed(hub.repo, "huggingface_hub", "huggingface_hub", extra="datasets")) from error
    try:
        with quiet_client():
            return call(huggingface_hub.HfApi(endpoint=endpoint()))
    except Exception as error:  # besides its own, the client raises those of its HTTP library, which versions differ in
        if isinstance(error, OSError) and error.errno:
            raise WriteError(Path(error.filename or folder), error) from error
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FetchError(f"{hub.repo} cannot be fetched: {reason}; run the same command again: it goes on") from error
