"""Journal entries of predictions, and the hash that identifies a model.

An entry is ``{"text": …}``, ``{"vector": …}`` (base64 of little-endian float32) or ``{"failed": reason}``; the last
with ``"final": true`` where the model itself reported that it has no prediction, so that it is not called again.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Prediction
from codec_superb.pipeline.tables import strict_json

FAILED = "failed"
_FINAL = "final"
_FLOATS = "<f4"


class PredictionSet(NamedTuple):
    """The predictions and failures of one model on one side of a run, or on a dataset's references."""

    predictions: dict[str, Prediction]
    """By clip id."""
    failures: dict[str, str]
    """Reason by clip id."""


def model_digest(model: Model) -> str:
    """Return the SHA-256 (hex) over what makes predictions comparable: name, files and settings, never a path."""
    return strict_json.digest({"name": model.name, "sha256": model.sha256, "settings": dict(model.settings)})


def failure(reason: str, *, final: bool = False) -> dict[str, Any]:
    """Return the journal entry of a failed prediction."""
    return {FAILED: reason, _FINAL: True} if final else {FAILED: reason}


def needs_prediction(entry: Mapping[str, Any] | None) -> bool:
    """Whether a model must be called: there is no entry, or a failure that is not final."""
    return entry is None or (FAILED in entry and not entry.get(_FINAL, False))


def to_entry(prediction: object) -> dict[str, Any]:
    """Convert a prediction to a journal entry.

    Raises PredictionFailed for anything but a text or a float32 array of one dimension with finite numbers.
    """
    if isinstance(prediction, str):
        return {"text": prediction}
    if not isinstance(prediction, np.ndarray) or prediction.dtype != np.float32 or prediction.ndim != 1:
        got = f"{prediction.dtype} of {prediction.shape}" if isinstance(prediction, np.ndarray) else type(prediction)
        raise PredictionFailed(f"expected a text or a float32 array of one dimension from the model, got {got}")
    wrong = int(np.count_nonzero(~np.isfinite(prediction)))
    if wrong or not prediction.size:
        raise PredictionFailed(
            f"expected finite numbers from the model, got {wrong} NaN or infinite of {prediction.size}"
        )
    return {"vector": base64.b64encode(prediction.astype(_FLOATS).tobytes()).decode("ascii")}


def from_entry(entry: Mapping[str, Any]) -> Prediction:
    """Convert a journal entry back to a prediction; the inverse of :func:`to_entry`."""
    if "text" in entry:
        return str(entry["text"])
    return np.frombuffer(base64.b64decode(entry["vector"]), dtype=_FLOATS).astype(np.float32)


def split_failures(entries: Mapping[str, Mapping[str, Any]]) -> PredictionSet:
    """Separate predictions from failures."""
    answers = PredictionSet({}, {})
    for clip, entry in entries.items():
        if FAILED in entry:
            answers.failures[clip] = entry[FAILED]
        else:
            answers.predictions[clip] = from_entry(entry)
    return answers
