"""Access to reference audio inside a worker: open the dataset once per process, load clips as mono."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.base_codec import fitting
from codec_superb.data_manifests import Category, Clip, Dataset, open_dataset
from codec_superb.data_manifests.catalogue import is_plugged, manifest_names
from codec_superb.data_manifests.objects.urls import checked_url, is_url
from codec_superb.pipeline.errors import PipelineError, RunFolderError
from codec_superb.pipeline.runs.info import DatasetInfo

REASON_LIMIT = 500


class DatasetSpec(NamedTuple):
    """What a worker needs to open a dataset, and the manifest hash that it must have."""

    spec: str
    category: Category | None
    manifest_hash: str


@lru_cache(maxsize=8)
def dataset_of(spec: DatasetSpec) -> Dataset:
    """Open a dataset once per process and hash. Raises PipelineError when it has changed since the parent opened it."""
    dataset = open_dataset(spec.spec, category=spec.category)
    # a worker opens the dataset itself; the parent may have opened another state
    if dataset.manifest_hash != spec.manifest_hash:
        raise PipelineError(f"the dataset {dataset.name} changed during the run; run the command again")
    return dataset


def dataset_of_run(info: DatasetInfo) -> Dataset:
    """Open the dataset of a run again, by its name or from its folder.

    Raises RunFolderError when its clips are not those of the run, DatasetError when it is not on this machine.
    """
    dataset = open_dataset(info.location or info.name, category=info.category)
    refuse_other_state(dataset, info)
    return dataset


def refuse_other_state(dataset: Dataset, info: DatasetInfo) -> None:
    """Raise RunFolderError unless ``dataset`` has the manifest hash of a run."""
    if dataset.manifest_hash != info.manifest_hash:
        raise RunFolderError(
            f"the dataset {info.name} has changed since the run was made: expected manifest hash "
            f"{info.manifest_hash[:12]}…, got {dataset.manifest_hash[:12]}…; call resynth again"
        )


def location_of(spec: str) -> str | None:
    """Return how a dataset that is none of the benchmark's is opened again: absolute path, URL, or a plug-in's name."""
    if spec in manifest_names():
        return None
    if is_url(spec):
        return checked_url(spec)
    path = Path(spec).expanduser()
    return spec if is_plugged(spec) and not path.is_file() else str(path.absolute())


def refuse_output_inside(spec: str, dataset: Dataset, out: Path) -> None:
    """Refuse an output folder inside a dataset's folder, where what is written would become clips of the next call.

    Raises PipelineError.
    """
    place = location_of(spec)
    if (
        place is not None
        and not is_url(place)
        and not is_plugged(spec)
        and out.resolve().is_relative_to(Path(place).resolve())
    ):
        raise PipelineError(f"the output folder {out} lies inside the dataset {dataset.name}; choose another one")


def load_mono(clip: Clip) -> tuple[NDArray[np.float32], int]:
    """Decode a clip to the mean of its channels, shape ``(samples,)``, and its rate in Hz.

    Raises AudioFileError for a file that cannot be decoded, StoreError where its store gives nothing at all.
    """
    audio, rate = clip.load()
    return to_mono(audio), rate


def to_mono(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of the channels of ``(channels, samples)``, shape ``(samples,)``; a single channel comes back unchanged."""
    mono: NDArray[np.float32] = fitting.to_mono(audio)[0]
    return mono


def reason_of(error: BaseException, clip: Clip | None = None) -> str:
    """Return an error's text in a reproducible form: without local paths and memory addresses, valid UTF-8."""
    text = str(error) or type(error).__name__
    if clip is not None:
        text = text.replace(str(clip.path), clip.id).replace(repr(str(clip.path))[1:-1], clip.id)
    # addresses of objects in messages differ from run to run, and would make rows differ
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}\b", "0x…", text)
    # file names that are no UTF-8 hold lone surrogates (PEP 383), which UTF-8 cannot encode
    return text.encode("utf-8", "backslashreplace").decode()[:REASON_LIMIT]
