"""Runs a prediction for each sound of a batch in turn, so that no prediction depends on the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from codec_superb.applications.errors import OutOfMemory, PredictionFailed
from codec_superb.applications.interface import Prediction, Sound
from codec_superb.applications.memory import raises_out_of_memory


def one_by_one(answer: Callable[[Sound], Prediction], batch: Sequence[Sound]) -> list[Prediction | Exception]:
    """Return ``answer`` of each sound, in order; what it raises stands in the place of its answer.

    A sound without samples is a PredictionFailed. Raises OutOfMemory where a single sound is too large.
    """
    return [_answered(answer, sound) for sound in batch]


def _answered(answer: Callable[[Sound], Prediction], sound: Sound) -> Prediction | Exception:
    if not sound.samples.size:
        return PredictionFailed(f"{sound.item.clip}: expected sound, got no samples")
    try:
        with raises_out_of_memory(sound.item.clip):
            return answer(sound)
    except OutOfMemory:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a model's library raises, it costs this sound alone
        return error
