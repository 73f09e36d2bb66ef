"""What a chat behind an address is sent, and how its answers are read: pure functions, two forms.

OpenAI's chat completions (``POST /chat/completions``; parts ``input_audio``, and ``audio_url`` as vLLM's) and
Gemini's ``generateContent`` with ``inlineData``. Nothing here was sent to a published service; see
docs/understanding-endpoints.md.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import wave
from typing import Any, NamedTuple, Protocol

import numpy as np

from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Samples, Setting, Sound
from codec_superb.applications.task_definitions.messages import Message
from codec_superb.applications.understanding.chats.settings import ChatSettings, Prices

RATE = 16_000
_FULL_SCALE = 32_768.0  # of 16-bit PCM
# finish_reason of OpenAI's chats, finishReason of Gemini's
_FILTERED = {"content_filter", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII"}
_MOST_TOKENS = 10**9
"""Of one answer; a server that counts more, or fewer than none, has not counted."""
_SHOWN = 80
"""Characters of an answer that is none."""
_CHARACTERS_A_TOKEN = 3
"""For estimates: English has some four, other languages fewer."""


class Request(NamedTuple):
    """One request, without secrets."""

    method: str
    """Behind the base address."""
    body: dict[str, Any]
    tokens: tuple[int, int, int]
    """Estimated: of text, of sound, of the longest answer."""

    def key(self, url: str) -> str:
        """Return the SHA-256 of the canonical request."""
        written = json.dumps([url + self.method, self.body], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(written.encode()).hexdigest()


class Usage(NamedTuple):
    """Tokens of one answer."""

    text: int
    audio: int
    answer: int


def wav_bytes(samples: Samples) -> bytes:
    """Return mono ``(samples,)`` at 16 kHz as a WAV file of 16 bits; what exceeds [-1, 1] is cut."""
    whole = np.clip(np.rint(samples.astype(np.float64) * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(whole.astype("<i2").tobytes())
    return file.getvalue()


def request_of(settings: ChatSettings, sound: Sound) -> Request:
    """Return what a sound and its messages are asked with. Raises PredictionFailed for a sound that is too long."""
    seconds = sound.samples.size / RATE
    if seconds > settings.longest_s:
        raise PredictionFailed(f"expected at most {settings.longest_s:g} s of sound, got {seconds:.1f} s")
    data = base64.b64encode(wav_bytes(sound.samples)).decode("ascii")
    letters = sum(len(part.text) for message in sound.messages for part in message.parts)
    tokens = estimated(settings, seconds, letters)
    if settings.audio == "gemini":
        return Request(f"/models/{settings.model}:generateContent", _gemini(settings, sound.messages, data), tokens)
    return Request("/chat/completions", _completion(settings, sound.messages, data), tokens)


def estimated(settings: ChatSettings, seconds: float, letters: int) -> tuple[int, int, int]:
    """Return the tokens of a request at most: text, sound, answer."""
    return letters_to_tokens(letters), int(np.ceil(seconds * settings.audio_tokens_per_s)), settings.answer_tokens


def _completion(settings: ChatSettings, messages: tuple[Message, ...], data: str) -> dict[str, Any]:
    sound = {
        "input_audio": {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
        "audio_url": {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{data}"}},  # RFC 2397
    }[settings.audio]
    told = [
        {
            "role": message.role,
            "content": [
                sound if part.kind == "audio" else {"type": "text", "text": part.text} for part in message.parts
            ],
        }
        for message in messages
    ]
    decoding: dict[str, Setting] = settings.decoding or {"temperature": 0, "max_tokens": settings.answer_tokens}
    return {"model": settings.model, "messages": told, **decoding}


def _gemini(settings: ChatSettings, messages: tuple[Message, ...], data: str) -> dict[str, Any]:
    def parts(message: Message) -> list[dict[str, Any]]:
        sound = {"inlineData": {"mimeType": "audio/wav", "data": data}}
        return [sound if part.kind == "audio" else {"text": part.text} for part in message.parts]

    decoding = settings.decoding or {"temperature": 0, "maxOutputTokens": settings.answer_tokens}
    turns = [
        {"role": "model" if message.role == "assistant" else "user", "parts": parts(message)}
        for message in messages
        if message.role != "system"
    ]
    system = [part for message in messages if message.role == "system" for part in parts(message)]
    told = {"systemInstruction": {"parts": system}} if system else {}
    return {"contents": turns, "generationConfig": dict(decoding), **told}


class Answering(Protocol):
    """What must be known of a chat to read its answer."""

    @property
    def model(self) -> str:
        """Its name, for messages."""

    @property
    def audio(self) -> str:
        """Form of its sound, which tells the form of its answers."""

    @property
    def prices(self) -> Prices:
        """What tokens cost."""


def letters_to_tokens(letters: int) -> int:
    """Return the tokens of a text at most."""
    return 16 + -(-letters // _CHARACTERS_A_TOKEN)


def answer_in(settings: Answering, found: Any, tokens: tuple[int, int, int]) -> tuple[str, dict[str, Setting]]:
    """Return the text of an answer, and its facts. Raises PredictionFailed for a filter's refusal or another form."""
    try:
        text, finish, usage, print_of = (_read_gemini if settings.audio == "gemini" else _read_completion)(found)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
        shown = json.dumps(found, ensure_ascii=False)[:_SHOWN]
        raise PredictionFailed(
            f"{settings.model}: expected a chat's answer, got JSON of another form: {shown}"
        ) from error
    if finish in _FILTERED:
        raise PredictionFailed(f"{settings.model}: the server's filter refuses ({finish})")
    if not isinstance(text, str):
        raise PredictionFailed(f"{settings.model}: expected a text, got none (it ended by {finish})")
    if usage and not all(0 <= count <= _MOST_TOKENS for count in usage):
        usage = None
    counted = usage or Usage(tokens[0], tokens[1], -(-len(text) // _CHARACTERS_A_TOKEN))
    facts: dict[str, Setting] = {
        "finish": finish, "tokens_text": counted.text, "tokens_audio": counted.audio, "tokens_answer": counted.answer,
        "cost": round(settings.prices.cost(*counted), 9), "currency": settings.prices.currency,
        "fingerprint": print_of,
    }  # fmt: skip
    return text, facts if usage else {**facts, "tokens_estimated": True}


def _read_completion(found: Any) -> tuple[Any, str, Usage | None, str]:
    choice = found["choices"][0]
    content = choice["message"]["content"]
    text = "".join(part["text"] for part in content) if isinstance(content, list) else content
    usage = None
    if told := found.get("usage"):
        audio = int((told.get("prompt_tokens_details") or {}).get("audio_tokens") or 0)
        usage = Usage(int(told["prompt_tokens"]) - audio, audio, int(told.get("completion_tokens") or 0))
    return text, _word(choice.get("finish_reason")), usage, _print_of(found, "system_fingerprint", "model")


def _read_gemini(found: Any) -> tuple[Any, str, Usage | None, str]:
    usage = None
    if told := found.get("usageMetadata"):
        rows = told.get("promptTokensDetails") or ()
        audio = sum(int(row["tokenCount"]) for row in rows if row["modality"] == "AUDIO")
        # Gemini charges what it thinks as output
        answer = int(told.get("candidatesTokenCount") or 0) + int(told.get("thoughtsTokenCount") or 0)
        usage = Usage(int(told["promptTokenCount"]) - audio, audio, answer)
    name = _print_of(found, "modelVersion")
    if blocked := (found.get("promptFeedback") or {}).get("blockReason"):
        return None, "SAFETY" if blocked not in _FILTERED else str(blocked), usage, name
    candidate = found["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or ()
    return "".join(part.get("text", "") for part in parts), _word(candidate.get("finishReason")), usage, name


def _print_of(found: Any, *names: str) -> str:
    """Return what tells one state of the server's model from another."""
    return " ".join(_word(found[name]) for name in names if found.get(name))


def _word(told: Any) -> str:
    """Return a word of the server as journals and pages can hold it: short, and printable."""
    return "".join(letter for letter in str(told or "")[:100] if letter.isprintable())
