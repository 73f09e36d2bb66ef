"""Find and load a checkpoint of transformers: configuration, further files, and weights in either format.

A ``config.json`` with ``"codec_superb_random": true`` marks untrained weights, as for codecs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.model_files import FoundModel, find_model, sha256_of
from codec_superb.applications.packages import require_packages
from codec_superb.base_codec.torchaudio_import import mend_torchaudio
from codec_superb.base_codec.weight_folders import RANDOM_KEY

CONFIG, PREPROCESSOR = "config.json", "preprocessor_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Either will do; older repositories have only the second."""
_NAMED = 5
"""Tensors that an error names."""


@dataclass(frozen=True, slots=True)
class TransformersCheckpoint:
    """A checkpoint on this machine."""

    folder: Path
    source: str
    """Hub repository, or ``local:FOLDER`` without the path."""
    sha256: str
    """Over names and hashes of its files."""
    config: dict[str, Any]
    random: bool
    """Whether it is marked as having untrained weights."""

    def read(self, name: str) -> dict[str, Any]:
        """Return another file of it that holds a JSON object. Raises MissingModel where it holds something else."""
        return read_json(self.folder / name)


def find_checkpoint(
    backend: str, repository: str, files: Sequence[str], given: str | Path | None
) -> TransformersCheckpoint:
    """Find ``files``, the configuration and the weights in a folder, in the hub's cache or on the hub.

    Raises MissingPackage without torch or transformers, MissingModel with what to download, where to put it, and how.
    """
    require_packages(backend, "applications", "torch", "transformers")
    found, weights = _find(backend, repository, files, given)
    config = read_json(found.folder / CONFIG)
    names = (CONFIG, *files, weights)
    return TransformersCheckpoint(
        found.folder,
        found.source,
        sha256_of(found.folder / name for name in names),
        config,
        bool(config.get(RANDOM_KEY)),
    )


def _find(backend: str, repository: str, files: Sequence[str], given: str | Path | None) -> tuple[FoundModel, str]:
    """Find a checkpoint with either file of weights; the error is that of the first."""
    missing: MissingModel | None = None
    for weights in WEIGHTS:
        try:
            return find_model(backend, repository, (CONFIG, *files, weights), given=given or None), weights
        except MissingModel as error:
            missing = missing or error
    assert missing is not None
    raise missing


def read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in ``file``. Raises MissingModel where it holds something else."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MissingModel(f"{file.name} cannot be read as JSON: {error}; fetch it again") from error
    if not isinstance(data, dict):
        raise MissingModel(f"{file.name}: expected a JSON object, got {type(data).__name__}; fetch it again")
    return data


def import_transformers() -> Any:
    """Import transformers, which takes torchaudio along where there is one, whether or not that fits this torch."""
    mend_torchaudio()
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a run shows progress of its own
    return transformers


def load_network(
    class_name: str, folder: Path, device: str, threads: int, *, unused: frozenset[str] = frozenset()
) -> Any:
    """Load a network of transformers in float32 for inference.

    ``unused`` names tensors that only training needs. Raises MissingModel for a checkpoint of another network.
    """
    transformers = import_transformers()
    import torch

    from codec_superb.applications.torch_setup import set_up_torch

    set_up_torch(threads)
    try:
        network, report = getattr(transformers, class_name).from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise MissingModel(f"{folder.name} cannot be loaded as a checkpoint of {class_name}: {error}") from error
    if absent := sorted(set(report["missing_keys"]) - unused):
        more = " and more" if len(absent) > _NAMED else ""
        raise MissingModel(
            f"{folder.name} is no checkpoint of {class_name}: it lacks {', '.join(absent[:_NAMED])}{more}"
        )
    return network.to(device).eval()


def frame_samples(kernels: Sequence[int], strides: Sequence[int]) -> int:
    """Return how many samples one frame of consecutive convolutions (``conv_kernel``, ``conv_stride``) needs."""
    needed = 1
    for kernel, stride in zip(reversed(kernels), reversed(strides), strict=True):
        needed = (needed - 1) * stride + kernel
    return needed
