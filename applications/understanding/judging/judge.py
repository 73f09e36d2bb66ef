"""A judge: a model of texts behind an address that speaks OpenAI's chat completions.

``--judge NAME`` reads the same kind of configuration as ``endpoint:NAME``. No published judge was reached from the
development machine: the form follows the documentation and is tested against a server of the tests.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import MissingModel, PredictionFailed
from codec_superb.applications.interface import Model
from codec_superb.applications.text.endpoint_settings import read_endpoint
from codec_superb.applications.text.sending import Sender
from codec_superb.applications.understanding.judging.roles import Request

NAME = "judge"
MOST_TOKENS = 512
"""Of a reply."""
_DATED = re.compile(r"20\d\d-?\d\d-?\d\d")


class TextJudge:
    """Asks a server each question by itself."""

    def __init__(self, variant: str, weights: Path | None = None) -> None:
        """Read the configuration; ask nothing. Raises MissingModel."""
        self.settings = read_endpoint(NAME, variant, weights)
        if self.settings.api != "openai":
            raise MissingModel(f"{NAME}:{variant}: expected api: openai, got {self.settings.api}; correct it")
        self._sender = Sender(self.settings)

    @property
    def model(self) -> Model:
        """Identity: the address, and the model's name there, which should be a dated one."""
        name = self.settings.model
        sha256 = hashlib.sha256(f"{self.settings.url} {name} {MOST_TOKENS}".encode()).hexdigest()
        return Model(f"{NAME}:{name}", sha256, {"dated": bool(_DATED.search(name)), "max_tokens": MOST_TOKENS})

    def reply(self, request: Request) -> str:
        """Return the reply to a request.

        Raises PredictionFailed where there is none to this request; ModelUnusable where the server is not there.
        """
        body: dict[str, Any] = {
            "model": self.settings.model,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.sample,
            "max_tokens": MOST_TOKENS,
            "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": request.text}],
        }
        try:
            content = self._sender.send("", body)["choices"][0]["message"]["content"]
        except (KeyError, TypeError, IndexError) as error:
            raise PredictionFailed(f"{self.settings.model}: expected a chat completion, got another answer") from error
        if not isinstance(content, str):
            raise PredictionFailed(f"{self.settings.model}: expected a text, got {type(content).__name__}")
        return content

    def close(self) -> None:
        """Close the connection."""
        self._sender.close()
