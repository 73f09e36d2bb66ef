"""What models answer, its form in journals, and the hash that identifies a model."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Reply, Setting
from codec_superb.metrics.table import Category
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.tables import strict_json
from codec_superb.pipeline.tables.rows import PredictionLine

_FLOATS = "<f4"  # byte order of journals, whatever the machine's


class Failure(NamedTuple):
    """Why there is no prediction."""

    reason: str
    final: bool = False
    """Whether the model itself reported that it has no prediction, so that it is not called again."""


Answer = Prediction | Failure


class PredictionSet(NamedTuple):
    """The predictions and failures of one model on one side of a run, or on a dataset's references."""

    predictions: dict[str, Prediction]
    """By clip id."""
    failures: dict[str, str]
    """Reason by clip id."""


def model_digest(model: Model) -> str:
    """Return the SHA-256 (hex) over what makes predictions comparable: name, files and settings, never a path."""
    return strict_json.digest({"name": model.name, "sha256": model.sha256, "settings": dict(model.settings)})


def needs_prediction(answer: Answer | None) -> bool:
    """Whether a model must be called: there is no answer, or a failure that is not final."""
    return answer is None or (isinstance(answer, Failure) and not answer.final)


def checked(prediction: object) -> Prediction:
    """Return what a model answered.

    Raises PredictionFailed for anything but a text of whole characters or a float32 array of one or two dimensions with
    finite numbers.
    """
    if isinstance(prediction, str):
        return checked_text(prediction)
    if not isinstance(prediction, np.ndarray) or prediction.dtype != np.float32 or prediction.ndim not in {1, 2}:
        got = f"{prediction.dtype} of {prediction.shape}" if isinstance(prediction, np.ndarray) else type(prediction)
        raise PredictionFailed(f"expected a text or a float32 array of one or two dimensions from the model, got {got}")
    wrong = int(np.count_nonzero(~np.isfinite(prediction)))
    if wrong or not prediction.size:
        raise PredictionFailed(
            f"expected finite numbers from the model, got {wrong} NaN or infinite of {prediction.size}"
        )
    return prediction


def checked_text(text: str) -> str:
    """Return a text of a model. Raises PredictionFailed for half a surrogate pair, which no journal gives back."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PredictionFailed(
            f"expected a text of whole characters from the model, got half a surrogate pair at character {error.start}"
        ) from None
    return text


def check_dimensions(model: str, sides: Iterable[PredictionSet]) -> None:
    """Raise PipelineError where a model gave vectors or frames of several sizes: such lie in no common space."""
    of_size: dict[tuple[int, int], str] = {}
    for side in sides:
        for clip, found in side.predictions.items():
            if not isinstance(found, str):
                of_size.setdefault((found.ndim, found.shape[-1]), clip)
    if len(of_size) > 1:
        got = " and ".join(f"{size} numbers for {clip}" for (_, size), clip in list(of_size.items())[:2])
        raise PipelineError(
            f"{model}: expected vectors of one size for all clips, got {got}; name another model, or mend this one and "
            "call probe with --overwrite"
        )


def to_line(
    clip: str, category: Category, answer: Answer, *, sha256: str | None = None, model: str | None = None
) -> PredictionLine:
    """Return the line of a journal; ``sha256`` and ``model`` on a resynthesis."""
    text, vector, dimensions, failed, final = None, None, None, None, False
    facts: dict[str, Setting] = {}
    if isinstance(answer, Failure):
        failed, final = answer
    elif isinstance(answer, str):
        text, facts = str(answer), dict(answer.facts) if isinstance(answer, Reply) else {}
    else:
        vector = base64.b64encode(answer.astype(_FLOATS).tobytes()).decode("ascii")
        dimensions = answer.shape[1] if answer.ndim > 1 else None
    return PredictionLine(
        clip=clip, sha256=sha256, category=category, model=model, text=text, vector=vector, dimensions=dimensions,
        failed=failed, final=final, facts=facts or None,
    )  # fmt: skip


def answer_of(line: PredictionLine) -> Answer:
    """Return the answer of a line; the inverse of :func:`to_line`."""
    if line.failed is not None:
        return Failure(line.failed, line.final)
    if line.vector is not None:
        vector = np.frombuffer(base64.b64decode(line.vector), dtype=_FLOATS).astype(np.float32)
        return vector if line.dimensions is None else vector.reshape(-1, line.dimensions)
    return Reply(line.text or "", line.facts) if line.facts else line.text or ""


def split_failures(answers: Mapping[str, Answer]) -> PredictionSet:
    """Separate predictions from failures."""
    found = PredictionSet({}, {})
    for clip, answer in answers.items():
        if isinstance(answer, Failure):
            found.failures[clip] = answer.reason
        else:
            found.predictions[clip] = answer
    return found
