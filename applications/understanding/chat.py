"""The contract of chats: models that take texts and sounds and answer with a text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from codec_superb.applications.interface import Backend, Prediction, Reply, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.task_definitions.definition import DEFAULT


class Chat(Backend):
    """A chat: found, loaded and closed like any backend, and asked with ``sound.messages``.

    The identity that ``prepare`` returns is of the loaded model with its decoding (``max_new_tokens``,
    ``temperature``); the prompt is added to it for each task, so that ten tasks load a model once.
    """

    @property
    def family(self) -> str:
        """Whose prompts it is asked with, where a task has them: ``qwen2_audio``. Known after ``prepare``."""
        return DEFAULT

    @abstractmethod
    def reply(self, sound: Sound) -> Reply:
        """Answer ``sound.messages``, in which audio parts stand for ``sound.samples``.

        Raises PredictionFailed where there is no answer for this clip; ModelUnusable where there is none for any.
        """

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer one after the other: a batch may change the words of large models. Raises OutOfMemory."""
        return one_by_one(self.reply, batch)
