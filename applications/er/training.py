"""Train the heads of a dataset on its references: features of every clip, then one head for each fold.

Features are kept beside the heads during training, so that an interrupted run resumes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.er.emotions import IEMOCAP_CLASSES, class_of
from codec_superb.applications.er.folds import COUNT, SEED, Folds, make_folds
from codec_superb.applications.er.head import EPOCHS, LEARNING_RATE, WEIGHT_DECAY, train_head
from codec_superb.applications.er.head_store import FILE, Heads, folder_of, save_heads
from codec_superb.applications.errors import MissingLabels, PredictionFailed
from codec_superb.applications.interface import Item
from codec_superb.data_manifests.errors import AudioFileError
from codec_superb.data_manifests.files import locked

_VERSION = 2
"""Version of the training procedure; any change of its numbers changes it."""
_FEATURES = "features.npy"
_JOURNAL = "features.txt"


@dataclass(frozen=True, slots=True)
class HeadTraining:
    """What is to be trained."""

    class_of: Mapping[str, str]
    """Clip id to class, of the clips that take part; sorted by id."""
    folds: Folds

    def key(self, model_sha256: str) -> str:
        """Return the identity of the heads: model, clips with classes and folds, and how they are trained.

        Sixteen hexadecimal digits. The clip's id stands for its audio: a dataset that changes audio must change the id.
        """
        said = {
            "version": _VERSION,
            "model": model_sha256,
            "clips": [[clip, name, self.folds.of[clip]] for clip, name in self.class_of.items()],
            "training": [EPOCHS, LEARNING_RATE, WEIGHT_DECAY, SEED],
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def plan_training(items: Sequence[Item]) -> HeadTraining:
    """Return which clips take part, with class and fold. Raises MissingLabels where training is impossible."""
    found = {item.clip: class_of(item.emotion, IEMOCAP_CLASSES) for item in items if item.emotion}
    classes = {clip: name for clip, name in sorted(found.items()) if name is not None}
    if len(set(classes.values())) < 2:  # noqa: PLR2004 -- one class is nothing to tell apart
        raise MissingLabels(
            f"wavlm-emotion: expected clips of at least two of {', '.join(IEMOCAP_CLASSES)}, "
            f"got {', '.join(sorted({item.emotion for item in items if item.emotion})) or 'no emotion'}"
        )
    folds = make_folds([item for item in items if item.clip in classes])
    for fold in range(folds.count):
        if len({name for clip, name in classes.items() if folds.of[clip] != fold}) < 2:  # noqa: PLR2004 -- as above
            raise MissingLabels(
                f"wavlm-emotion: without one {folds.by} of {folds.count}, clips of a single class are left to train "
                f"on; expected at least two of {', '.join(IEMOCAP_CLASSES)} in every {COUNT - 1} of {COUNT} folds"
            )
    return HeadTraining(classes, folds)


def train_heads(task: HeadTraining, key: str, pooled: Callable[[str], NDArray[np.float32]]) -> None:
    """Train the heads of ``key`` unless that is done; ``pooled`` gives the features of a clip by its id.

    A clip whose reference cannot be read, or is too short, is not trained on. Raises MissingLabels where too few are
    left.
    """
    folder = folder_of(key)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        if is_trained(key):
            return
        features, known = _features(folder, list(task.class_of), pooled)
        save_heads(folder / FILE, _heads(task, features, known))
        for name in (_FEATURES, _JOURNAL):
            (folder / name).unlink(missing_ok=True)


def is_trained(key: str) -> bool:
    """Whether the heads are on this machine."""
    return (folder_of(key) / FILE).is_file()


def _heads(task: HeadTraining, features: NDArray[np.float32], known: NDArray[np.bool_]) -> Heads:
    numbers = np.array([IEMOCAP_CLASSES.index(name) for name in task.class_of.values()])
    folds = np.array([task.folds.of[clip] for clip in task.class_of])
    heads = []
    for fold in range(task.folds.count):
        mine = known & (folds != fold)
        if np.unique(numbers[mine]).size < 2:  # noqa: PLR2004 -- one class is nothing to tell apart
            raise MissingLabels("wavlm-emotion: too few references can be read: clips of a single class are left")
        heads.append(train_head(np.asarray(features[mine]), numbers[mine], len(IEMOCAP_CLASSES)))
    return Heads(dict(task.folds.of), tuple(heads))


def _features(
    folder: Path, clips: Sequence[str], pooled: Callable[[str], NDArray[np.float32]]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return features ``(clips, layers, dimensions)`` and whether each clip has some, resuming an earlier call.

    The journal has a line for each clip that is done: ``+`` with features, ``-`` without.
    """
    file, journal = folder / _FEATURES, folder / _JOURNAL
    done = journal.read_text() if journal.is_file() and file.is_file() else ""
    features = np.lib.format.open_memmap(file, mode="r+") if "+" in done else None
    with journal.open("w") as lines:
        lines.write(done)
        for place in range(len(done), len(clips)):
            try:
                found = pooled(clips[place])
            except (PredictionFailed, AudioFileError):
                lines.write("-")
                lines.flush()
                continue
            if features is None:
                features = _allocated(file, (len(clips), *found.shape))
            features[place] = found
            # Before its mark: a mark stands for features that are on the disk.
            features.flush()
            lines.write("+")
            lines.flush()
    marks = journal.read_text()
    if features is None:
        raise MissingLabels("wavlm-emotion: none of the references can be read, so that nothing can be trained")
    return features, np.array([mark == "+" for mark in marks])


def _allocated(file: Path, shape: tuple[int, ...]) -> np.memmap[Any, np.dtype[np.float32]]:
    """Make a file of zeros with room for all of an array, and map it.

    Storing into a map on a full disk is a signal (SIGBUS) that ends the process; writing is an error that says so.
    """
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for _ in range(shape[0]):
            out.write(np.zeros(shape[1:], "<f4").tobytes())
    return np.lib.format.open_memmap(file, mode="r+")
