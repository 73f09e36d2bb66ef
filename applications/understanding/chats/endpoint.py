"""Backend ``chat``: a chat behind an address, described by a file; OpenAI's chat completions, or Gemini's form.

A request that was answered is never sent again, whatever run or task it belongs to; only ``--overwrite`` asks anew.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from typing import Any

from codec_superb.applications.errors import ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Model, Prediction, Reply, Setting, Sound
from codec_superb.applications.one_by_one import one_by_one
from codec_superb.applications.text.endpoint_settings import read_settings
from codec_superb.applications.text.sending import Clock, Refused, Sender
from codec_superb.applications.understanding.chat import Chat
from codec_superb.applications.understanding.chats.kept import keep, kept
from codec_superb.applications.understanding.chats.purse import Purse
from codec_superb.applications.understanding.chats.requests_made import Request, answer_in, estimated, request_of
from codec_superb.applications.understanding.chats.settings import ChatSettings
from codec_superb.data_manifests.home import codec_superb_home

NAME = "chat"


class EndpointChat(Chat):
    """Asks a server; ``chat:NAME`` names its configuration."""

    remote = True
    batch_seconds = 240.0
    clock = Clock()

    @cached_property
    def settings(self) -> ChatSettings:
        """The configuration. Raises MissingModel."""
        return read_settings(ChatSettings, NAME, self.variant, self.weights)

    @property
    def family(self) -> str:
        """As the configuration says."""
        return self.settings.family

    def prepare(self) -> Model:
        """Read the configuration and look for the key; ask nothing. Raises MissingModel."""
        self.settings.key()
        shown: dict[str, Setting] = {
            "audio": self.settings.audio,
            "longest_s": self.settings.longest_s,
            **{f"decoding_{name}": value for name, value in sorted(self.settings.decoding.items())},
        }
        sha256 = hashlib.sha256(self.settings.decides().encode()).hexdigest()
        return Model(f"{NAME}:{self.settings.model}", sha256, shown, remote=True)

    def load(self, model: Model, device: str, threads: int) -> None:  # noqa: ARG002 -- it runs elsewhere
        """Open the session."""
        self._sender = Sender(self.settings, self.clock)
        self._lock = threading.Lock()
        self._purse = Purse(self.settings.model, self.settings.prices)
        self._busy: dict[str, threading.Lock] = {}
        self._ended: ModelUnusable | None = None

    def foretell(self, seconds: Sequence[float], letters: int) -> str:
        """Return what asking about sounds of these lengths costs at most."""
        prices = self.settings.prices
        tokens = [estimated(self.settings, length, letters) for length in seconds]
        cost = sum(prices.cost(*of) for of in tokens)
        return (
            f"{self.settings.model}: {len(tokens)} requests, at most {sum(map(sum, tokens))} tokens, some {cost:.2f} "
            f"{prices.currency}; answers that are kept cost nothing"
        )

    def predict(self, batch: Sequence[Sound]) -> Sequence[Prediction | Exception]:
        """Answer; several clips at a time where the configuration says so, the sides of one after each other.

        After a ModelUnusable nothing more is sent: a server that is away would be waited for with every sound.
        """
        self._ended = None
        clips = [list(of) for _, of in groupby(batch, key=lambda sound: sound.item.clip)]
        with ThreadPoolExecutor(self.settings.parallel) as threads:
            found = list(threads.map(lambda sounds: one_by_one(self.reply, sounds), clips))
        return [answer for of in found for answer in of]

    def reply(self, sound: Sound) -> Reply:
        """Answer from what is kept, or ask. Raises PredictionFailed, ModelUnusable."""
        request = request_of(self.settings, sound)
        key = request.key(self.settings.url)
        with self._lock:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:  # clips of the same sound are asked about once
            answer = None if self.terms.anew else kept(key)
            answer = self._asked(request, key) if answer is None else answer
        return self._read(answer, request)

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def _read(self, answer: dict[str, Any], request: Request) -> Reply:
        if "refused" in answer:
            raise PredictionFailed(answer["refused"])
        text, facts = answer_in(self.settings, answer["found"], request.tokens)
        return Reply(text, {**facts, "seconds": answer["seconds"]})

    def _asked(self, request: Request, key: str) -> dict[str, Any]:
        if self._ended is not None:
            raise self._ended
        most = self.settings.prices.cost(*request.tokens)
        try:
            return self._sent(request, key, most)
        except ModelUnusable as error:
            self._ended = error
            raise

    def _sent(self, request: Request, key: str, most: float) -> dict[str, Any]:
        """Send and keep. Raises ModelUnusable where nothing can be kept: others would be paid for nothing too."""
        self._purse.promise(self.terms, most)
        cost = 0.0
        try:
            try:
                answer, cost = self._answered(request, most)
                keep(key, answer)
                return answer
            finally:
                self._purse.settle(self.terms, key, most, cost)
        except OSError as error:
            raise ModelUnusable(
                f"{self.settings.model}: an answer cannot be kept in {codec_superb_home() / 'chats'}: "
                f"{error.strerror}; free space, or let it be written, and run it again"
            ) from error

    def _answered(self, request: Request, most: float) -> tuple[dict[str, Any], float]:
        """Return the server's answer in the form that is kept, and what it did cost."""
        begun = self.clock.now()
        try:
            found = self._sender.send(request.method, request.body, sum(request.tokens))
        except Refused as error:
            return {"refused": str(error)}, 0.0
        answer = {"found": found, "seconds": round(self.clock.now() - begun, 3)}
        try:
            return answer, float(answer_in(self.settings, found, request.tokens)[1]["cost"])
        except PredictionFailed:  # a filter's refusal may be charged
            return answer, most
