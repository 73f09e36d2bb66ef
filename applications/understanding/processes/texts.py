"""Post-processors that cut, clean and normalise texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from codec_superb.applications.asr.normalise import normalised_words
from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.texts.chinese import written_out

_TAG = re.compile(r"<\|[^|>]{0,200}\|>")
_NEGATED = re.compile(r"\b(?:not|isn't|is no)\b", re.IGNORECASE)
_STATED = re.compile(r"\banswer(?:\s+is|\s*:)\s*\W{0,4}(yes|no)\b", re.IGNORECASE)
_BEGUN = re.compile(r"^\W*(yes|no|是的|是|不是|否|不)(?![^\W\d_a-z])(?![a-z])", re.IGNORECASE)
_ENDED = re.compile(r"(?:^|[.!?\n:])\s*\W{0,3}(yes|no)\W*$", re.IGNORECASE)
_SAID_NO = frozenset({"no", "不是", "否", "不"})


def first_line(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the first line that is not empty, stripped."""
    return next((line.strip() for line in answer.splitlines() if line.strip()), "")


def lower(answer: str, _: Mapping[str, Argument]) -> str:
    """Return it in lower case."""
    return answer.lower()


def strip_punctuation(answer: str, _: Mapping[str, Argument]) -> str:
    """Put spaces for punctuation and symbols of any script, apostrophes inside words aside, and join runs of spaces."""
    kept = (
        letter if letter == "'" or unicodedata.category(letter)[0] not in "PS" else " "
        for letter in answer.replace("’", "'")
    )
    words = (word.strip("'") for word in "".join(kept).split())
    return " ".join(word for word in words if word)


def strip_tags(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Put a space for each ``<|…|>``, join spaces, none before ``!,.?;:``; with ``spaces: none`` no space at all."""
    plain = " ".join(_TAG.sub(" ", answer).split())
    if arguments.get("spaces") == "none":
        return plain.replace(" ", "")
    return re.sub(r" +([!,.?;:])", r"\1", plain)


def cut_at(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Return what stands before the first of ``texts``; all of it where none occurs."""
    places = [answer.find(text) for text in texts_of(arguments["texts"]) if text in answer]
    return answer[: min(places, default=len(answer))]


def after_text(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Return what stands behind the last ``text``, stripped; all of it where it does not occur."""
    _, found, rest = answer.rpartition(str(arguments["text"]))
    return rest.strip() if found else answer


def eliminate(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Take ``texts`` out wherever they occur, in the order given, and strip the rest."""
    for text in texts_of(arguments["texts"]):
        answer = answer.replace(text, "")
    return answer.strip()


def phrase(answer: str, arguments: Mapping[str, Argument]) -> str:
    """Return the one of ``phrases`` that occurs as whole words, whatever the case; '' for none and for several.

    One that lies inside a longer one that occurs is not counted: of ``cough`` and ``throat cough`` the latter.
    """
    found = named(answer, texts_of(arguments["phrases"]))
    return found[0] if len(found) == 1 else ""


def named(answer: str, phrases: tuple[str, ...]) -> list[str]:
    """Return the phrases that occur as whole words and lie in no longer one that does, in their own order."""
    rest, found = " ".join(answer.casefold().split()), set()
    for wanted in sorted({text for text in phrases if text.strip()}, key=lambda text: (-len(text), text)):
        plain = " ".join(wanted.casefold().split())
        pattern = rf"{_edge(plain[0], before=True)}{re.escape(plain)}{_edge(plain[-1], before=False)}"
        rest, times = re.subn(pattern, "\n", rest)
        if times:
            found.add(wanted)
    return [text for text in dict.fromkeys(phrases) if text in found]


def _edge(letter: str, *, before: bool) -> str:
    """Return what must not stand beside a phrase: a letter of a word; scripts without spaces have no such edge."""
    if not letter.isalnum() or letter >= "\u2e80":
        return ""
    return r"(?<![^\W_\u2e80-\uffff])" if before else r"(?![^\W_\u2e80-\uffff])"


def yes_no(answer: str, _: Mapping[str, Argument]) -> str:
    """Return ``yes`` or ``no`` as the answer states, begins or ends with it; '' where it does not, or says both."""
    first = _STATED.search(answer)
    stated = {str(said).lower() for said in _STATED.findall(answer)}
    if first and len(stated) == 1 and not _NEGATED.search(answer[: first.start()]):
        return stated.pop()
    edges = [str(found.group(1)).lower() for found in (_BEGUN.search(answer), _ENDED.search(answer)) if found]
    read = {"no" if said in _SAID_NO else "yes" for said in edges}
    return read.pop() if len(read) == 1 else ""


def text_normalizer(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the words by Whisper's basic normaliser."""
    return " ".join(normalised_words(answer, None))


def en_text_normalizer(answer: str, _: Mapping[str, Argument]) -> str:
    """Return the words by Whisper's English normaliser."""
    return " ".join(normalised_words(answer, "en"))


def zh_text_normalizer(answer: str, _: Mapping[str, Argument]) -> str:
    """Return it with numbers written out in Chinese and spaces for punctuation."""
    return written_out(answer)


def texts_of(argument: Argument) -> tuple[str, ...]:
    """Return an argument that is a text or several, without empty ones."""
    several = argument if isinstance(argument, tuple) else (argument,)
    return tuple(str(text) for text in several if str(text))
