"""Decoding settings shared by the Whisper backends: options, language of a clip, and how parts are joined.

Decoding is greedy and deterministic: one hypothesis, temperature 0, no second attempt at another temperature, no text
of an earlier part as a prompt, no timestamps. Each part is padded with silence to 30 s before its spectrogram is taken,
as the model was trained. Repetitions are not suppressed: the model's output is scored as it is.
"""

from __future__ import annotations

from codec_superb.applications.asr.segmenting import LONGEST_S, SHORTEST_S
from codec_superb.applications.errors import PredictionFailed
from codec_superb.applications.interface import Item, Setting

WINDOW = 480_000
"""Samples of the model's input: 30 s at 16 kHz."""
MOST_TOKENS = 224
"""Tokens of a transcript of one part, half of the decoder's context: the original's own limit."""

SETTINGS: dict[str, Setting] = {
    "decoding": "greedy",
    "temperature": 0.0,
    "fallback": False,
    "condition_on_previous_text": False,
    "timestamps": False,
    "suppressed": "blank at the start, symbols that are not speech",
    "repetition_guard": False,
    "most_tokens": MOST_TOKENS,
    "segment_shortest_s": SHORTEST_S,
    "segment_longest_s": LONGEST_S,
    "language": "of the clip, detected by the model where it has none",
}
"""Settings that determine a transcript besides the weights; each backend adds its precision."""

# iw, in and jw are withdrawn codes of ISO 639 for he, id and jv; Whisper kept jw alone.
_OTHER_NAMES = {"cmn": "zh", "nb": "no", "jv": "jw", "fil": "tl", "iw": "he", "in": "id"}
"""Language subtags for which Whisper has another name."""


def whisper_language(item: Item) -> str | None:
    """Return the clip's language as Whisper names it, from its BCP 47 tag (``en-GB``: ``en``); None if not known."""
    tag = (item.language or "").strip().replace("_", "-").lower()
    primary = tag.partition("-")[0]
    # ISO 639: undetermined, multiple languages, no linguistic content.
    if primary in {"", "und", "mul", "zxx"}:
        return None
    return _OTHER_NAMES.get(primary, primary)


def check_english(item: Item, model: str) -> None:
    """Raise PredictionFailed for a clip in another language than the only one that a model knows."""
    language = whisper_language(item)
    if language not in {None, "en"}:
        raise PredictionFailed(f"{model} knows English alone and {item.clip} is {item.language}: name another model")


def unknown_language(item: Item, model: str) -> PredictionFailed:
    """Make the error for a language that a multilingual model does not know."""
    return PredictionFailed(f"{model} does not know the language {item.language} of {item.clip}: name another model")


def joined(parts: list[str]) -> str:
    """Join the transcripts of a sound's parts; the normaliser of languages without spaces removes them again."""
    return " ".join(filter(None, (part.strip() for part in parts)))
