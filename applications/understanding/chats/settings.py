"""Configuration of a chat behind an address: a YAML file with its model, form, limits and prices, never its key.

``chat:NAME`` reads ``<home>/endpoints/NAME.yaml``, ``--weights DIR`` looks for ``DIR/NAME.yaml``, and
``chat:path/to/file.yaml`` is that file. docs/understanding-endpoints.md explains the fields.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from codec_superb.applications.interface import Setting
from codec_superb.applications.task_definitions.definition import DEFAULT
from codec_superb.applications.text.endpoint_settings import key_in, plain_address


class Prices(BaseModel):
    """Money for a million tokens, in one currency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: float = Field(default=0.0, ge=0)
    audio: float = Field(default=0.0, ge=0)
    answer: float = Field(default=0.0, ge=0)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")

    def cost(self, text: int, audio: int, answer: int) -> float:
        """Return what tokens cost."""
        return (text * self.text + audio * self.audio + answer * self.answer) / 1e6


class ChatSettings(BaseModel):
    """The file, checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    """Base address: what stands before ``/chat/completions``, or before ``/models/NAME:generateContent``."""
    model: str = Field(min_length=1, max_length=200)
    """Dated where the server has dated ones: an undated name is another model next month."""
    key_variable: str = ""
    """Environment variable that holds the key; '' for a server that asks for none."""
    audio: Literal["input_audio", "audio_url", "gemini"] = "input_audio"
    """Form of the sound: OpenAI's part, a data URI as vLLM's, or Gemini's ``inlineData`` with its form of requests."""
    longest_s: float = Field(default=120.0, gt=0)
    """Seconds of sound at most; a longer clip fails."""
    decoding: dict[str, Setting] = {}
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
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds for a whole answer."""
    retries: int = Field(default=6, ge=0, le=6)
    backoff_s: float = Field(default=1.0, ge=0, le=60)
    """Seconds before the first retry, doubled with each, 60 at most, plus or minus a random half."""

    @field_validator("url")
    @classmethod
    def _plain(cls, url: str) -> str:
        return plain_address(url)

    def key(self) -> str:
        """Return the key, '' where none is asked for. Raises MissingModel where the variable is not set."""
        return key_in(self.key_variable, self.model)

    def decides(self) -> str:
        """Return what determines an answer, as JSON: address, model, form, longest sound, decoding."""
        return self.model_dump_json(include={"url", "model", "audio", "longest_s", "decoding"})
