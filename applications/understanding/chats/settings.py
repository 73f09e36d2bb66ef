"""Configuration of a chat behind an address: a YAML file with its model, form, limits and prices, never its key.

``chat:NAME`` reads ``<home>/endpoints/NAME.yaml``, ``--weights DIR`` looks for ``DIR/NAME.yaml``, and
``chat:path/to/file.yaml`` is that file. docs/understanding-endpoints.md explains the fields.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codec_superb.applications.interface import Setting
from codec_superb.applications.task_definitions.definition import DEFAULT
from codec_superb.applications.text.endpoint_settings import Connection


class Prices(BaseModel):
    """Money for a million tokens, in one currency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: float = Field(default=0.0, ge=0)
    audio: float = Field(default=0.0, ge=0)
    answer: float = Field(default=0.0, ge=0)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")  # ISO 4217

    def cost(self, text: int, audio: int, answer: int) -> float:
        """Return what tokens cost."""
        return (text * self.text + audio * self.audio + answer * self.answer) / 1e6


class ChatSettings(Connection):
    """The file, checked."""

    url: str
    """Base address: what stands before ``/chat/completions``, or before ``/models/NAME:generateContent``."""
    model: str = Field(min_length=1, max_length=200)
    """Dated where the server has dated ones: an undated name is another model next month."""
    audio: Literal["input_audio", "audio_url", "gemini"] = "input_audio"
    """Form of the sound: OpenAI's part, a data URI as vLLM's, or Gemini's ``inlineData`` with its form of requests."""
    longest_s: float = Field(default=120.0, gt=0)
    """Seconds of sound at most; a longer clip fails."""
    decoding: dict[str, Setting] = Field(default={})
    """Put into the request as it stands; temperature 0 and 256 tokens where it is empty."""
    family: str = DEFAULT
    """Whose prompts it is asked with."""
    prices: Prices = Prices()
    audio_tokens_per_s: float = Field(default=32.0, gt=0)
    """For estimates, and for the cost where the server does not count; 32 are Gemini's."""
    answer_tokens: int = Field(default=256, ge=1)
    """Of an answer at most, for estimates."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    parallel: int = Field(default=1, ge=1, le=64)
    """Clips that are asked about at a time; the sides of one clip always follow each other."""

    @property
    def gemini(self) -> bool:
        """Whether the key is sent in Gemini's header."""
        return self.audio == "gemini"

    @property
    def rates(self) -> tuple[int | None, int | None]:
        """Requests and tokens of a minute at most."""
        return self.requests_per_minute, self.tokens_per_minute

    def decides(self) -> str:
        """Return what determines an answer, as JSON: address, model, form, longest sound, decoding."""
        return self.model_dump_json(include={"url", "model", "audio", "longest_s", "decoding"})
