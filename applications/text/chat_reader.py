"""Backend ``endpoint-chat``: a generative reader behind an address that speaks OpenAI's chat completions.

``endpoint-chat:NAME`` reads the same kind of configuration as ``endpoint:NAME``. No published service was reached from
the development machine: the form follows the documentation and is tested against a server of the tests.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from functools import cached_property

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Model, Prediction, SecondStage, Setting, TextQuestion
from codec_superb.applications.text.answers import NO_ANSWER, answer_of_json
from codec_superb.applications.text.endpoint import endpoint_model
from codec_superb.applications.text.endpoint_settings import EndpointSettings, read_endpoint
from codec_superb.applications.text.sending import Sender
from codec_superb.applications.text.tokens import check_text

NAME = "endpoint-chat"
TASK = (
    "You are given a question, as a speech recogniser heard it, and a passage with its title. Answer with the shortest "
    "span of the passage that answers the question, copied exactly. If the passage holds no answer, it is "
    f'"{NO_ANSWER}". Reply with a JSON object of one key, "answer", and nothing else.'
)


class ChatReader(SecondStage):
    """Asks a server each question by itself, at temperature 0."""

    _sender: Sender | None = None

    @cached_property
    def settings(self) -> EndpointSettings:
        """The configuration. Raises MissingModel."""
        found = read_endpoint(NAME, self.variant, self.weights)
        if found.api != "openai":
            raise MissingModel(f"{NAME}:{self.variant}: expected api: openai, got {found.api}; correct it")
        return found

    def prepare(self) -> Model:
        """Read the configuration and look for the key; ask nothing. Raises MissingModel."""
        self.settings.key()
        model = endpoint_model(NAME, self.settings)
        task = hashlib.sha256(TASK.encode()).hexdigest()
        shown: dict[str, Setting] = {"api": "openai chat", "temperature": 0, "instruction_sha256": task}
        sha256 = hashlib.sha256(f"{model.sha256} {task}".encode()).hexdigest()
        return dataclasses.replace(model, sha256=sha256, settings=shown)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it runs elsewhere
        """Open the connection."""
        self._sender = Sender(self.settings)

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Prediction | Exception]:
        """Ask one after the other. Raises ModelUnusable where the server is not there, or refuses the key."""
        return [self._one(question) for question in questions]

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._sender is not None:
            self._sender.close()

    def _one(self, question: TextQuestion) -> Prediction | Exception:
        assert self._sender is not None
        asked = {"question": question.text, "title": question.title, "passage": question.context}
        try:
            text = json.dumps(asked, ensure_ascii=False)
            check_text(text)
            reply = self._sender.send("", {
                "model": self.settings.model,
                "temperature": 0,
                "response_format": {"type": "json_object"},
                "messages": [{"role": "system", "content": TASK}, {"role": "user", "content": text}],
            })  # fmt: skip
            content = reply["choices"][0]["message"]["content"]
        except PredictionFailed as error:
            return error
        except (KeyError, TypeError, IndexError) as error:
            return PredictionFailed(
                f"{self.settings.model}: expected a chat completion, got another answer ({error!r})"
            )
        return answer_of_json(content) if isinstance(content, str) else ""
