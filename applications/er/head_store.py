"""Trained heads on disk: one file of arrays for all folds of a dataset, and which fold each clip is held out in."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from codec_superb.applications.er.head import Head
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.home import codec_superb_home

FILE = "heads.npz"
_PARTS = tuple(part.name for part in dataclasses.fields(Head))


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of one dataset."""

    fold_of: Mapping[str, int]
    """By clip id: the fold whose head has not seen it."""
    heads: tuple[Head, ...]
    """By fold."""

    def for_clip(self, clip: str) -> Head | None:
        """Return the head that was trained without ``clip``, None for a clip that the dataset did not have."""
        fold = self.fold_of.get(clip)
        return None if fold is None else self.heads[fold]


def folder_of(key: str) -> Path:
    """Return where heads of this identity lie."""
    return codec_superb_home() / "models" / "emotion-heads" / key


def save_heads(file: Path, heads: Heads) -> None:
    """Write them, all or nothing."""
    arrays = {
        f"{name}.{fold}": getattr(head, name) for fold, head in enumerate(heads.heads) for name in _PARTS
    }  # fmt: skip
    content = io.BytesIO()
    np.savez(content, fold_of=np.array(json.dumps(dict(heads.fold_of), sort_keys=True)), **arrays)
    write_atomically(file, content.getvalue())


def load_heads(file: Path) -> Heads:
    """Read what ``save_heads`` wrote."""
    # A pickle runs code when it is loaded.
    with np.load(file, allow_pickle=False) as stored:
        fold_of = json.loads(str(stored["fold_of"]))
        count = sum(name.startswith("bias.") for name in stored.files)
        heads = tuple(Head(**{name: stored[f"{name}.{fold}"] for name in _PARTS}) for fold in range(count))
    return Heads(fold_of, heads)
