"""A judge: a model of texts behind an address that speaks OpenAI's chat completions.

``--judge NAME`` reads the same kind of configuration as ``endpoint:NAME``. No published judge was reached from the
development machine: the form follows the documentation and is tested against a server of the tests.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from codec_superb.applications.errors import MissingModel
from codec_superb.applications.interface import Model, Terms
from codec_superb.applications.text.endpoint_settings import EndpointSettings, read_settings
from codec_superb.applications.text.sending import Sender
from codec_superb.applications.understanding.chats.purse import Purse
from codec_superb.applications.understanding.chats.requests_made import answer_in, letters_to_tokens
from codec_superb.applications.understanding.chats.settings import Prices
from codec_superb.applications.understanding.judging.roles import Request

NAME = "judge"
MOST_TOKENS = 512
"""Of a reply."""
_DATED = re.compile(r"20\d\d-?\d\d-?\d\d")  # as in gpt-4o-2024-08-06


class JudgeSettings(EndpointSettings):
    """The file, checked."""

    prices: Prices = Prices()

    @property
    def audio(self) -> str:
        """The form of OpenAI; a judge hears nothing."""
        return "input_audio"


class TextJudge:
    """Asks a server each question by itself."""

    terms = Terms()
    """What the user said of the command: the money that it may spend."""

    def __init__(self, variant: str, weights: Path | None = None) -> None:
        """Read the configuration; ask nothing. Raises MissingModel."""
        self.settings = read_settings(JudgeSettings, NAME, variant, weights)
        if self.settings.api != "openai":
            raise MissingModel(f"{NAME}:{variant}: expected api: openai, got {self.settings.api}; correct it")
        self._sender = Sender(self.settings)
        self._purse = Purse(self.settings.model, self.settings.prices)

    @property
    def model(self) -> Model:
        """Identity: the address, and the model's name there, which should be a dated one."""
        name = self.settings.model
        sha256 = hashlib.sha256(f"{self.settings.url} {name} {MOST_TOKENS}".encode()).hexdigest()
        return Model(f"{NAME}:{name}", sha256, {"dated": bool(_DATED.search(name)), "max_tokens": MOST_TOKENS})

    def reply(self, request: Request) -> str:
        """Return the reply to a request.

        Raises PredictionFailed where there is none to this request; ModelUnusable where the server is not there, or the
        budget does not suffice.
        """
        body: dict[str, Any] = {
            "model": self.settings.model,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.sample,
            "max_tokens": MOST_TOKENS,
            "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": request.text}],
        }
        tokens = letters_to_tokens(len(request.system) + len(request.text)), 0, MOST_TOKENS
        most, cost = self.settings.prices.cost(*tokens), 0.0
        self._purse.promise(self.terms, most)
        try:
            found = self._sender.send("", body)
            cost = most  # what cannot be read may be charged
            text, facts = answer_in(self.settings, found, tokens)
            cost = float(facts["cost"])
            return text
        finally:
            self._purse.settle(self.terms, request.key, most, cost)

    def close(self) -> None:
        """Close the connection."""
        self._sender.close()
