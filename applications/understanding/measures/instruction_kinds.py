"""The 25 kinds of instruction of IFEval, by their published identifiers (Zhou et al. 2023, table 1 and appendix).

Each is a pure function of an answer and the parameters, by their published names. Sentences end at ``.``, ``!``, ``?``
or their full-width forms that are not behind an abbreviation or a number; words are runs of letters, digits and ``_``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Given = Mapping[str, Any]
IsKept = Callable[[str, Given], bool]
LANGUAGE: Final = "language:response_language"
_WORD: Final = re.compile(r"\w+")
_ABBREVIATIONS: Final = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|inc|ltd|co|e\.g|i\.e|no|fig|approx|u\.s|[a-z])\.(?=\s+\S)", re.IGNORECASE
)
_SENTENCE: Final = re.compile(r"[^.!?。！？]*[.!?。！？]+[\"'”’)\]]*(?=\s|$|[^\x00-\x7f])|[^.!?。！？]+$")
_STARTS: Final = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_NONE_IS_ENOUGH: Final = {"less than": False, "at least": True}


def _compared(found: int, wanted: Any, relation: Any) -> bool:
    return found >= int(wanted) if _NONE_IS_ENOUGH[str(relation)] else found < int(wanted)


def _times(text: str, pattern: str) -> int:
    return len(re.findall(pattern, text, re.IGNORECASE))


def sentences(text: str) -> int:
    """Return the number of sentences."""
    shielded = _ABBREVIATIONS.sub(lambda found: found.group().replace(".", "_"), text)
    shielded = re.sub(r"(?<=\d)\.(?=\d)", "_", shielded)
    return sum(1 for found in _SENTENCE.findall(shielded) if re.search(r"\w", found))


def _existence(text: str, given: Given) -> bool:
    return all(_times(text, re.escape(word)) for word in _texts(given["keywords"]))


def _frequency(text: str, given: Given) -> bool:
    return _compared(_times(text, re.escape(str(given["keyword"]).strip())), given["frequency"], given["relation"])


def _forbidden(text: str, given: Given) -> bool:
    return not any(_times(text, rf"\b{re.escape(word)}\b") for word in _texts(given["forbidden_words"]))


def _letters(text: str, given: Given) -> bool:
    sign = str(given["letter"]).lower()
    if len(sign) != 1:
        raise ValueError(f"expected one letter, got {sign}")
    return _compared(text.lower().count(sign), given["let_frequency"], given["let_relation"])


def language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language by langdetect, '' where it has none; the same every time."""
    import langdetect

    factory = langdetect.DetectorFactory
    factory.seed = 0  # langdetect draws at random without it
    try:
        return str(langdetect.detect(text))
    except langdetect.LangDetectException:
        return ""


def _in_language(text: str, given: Given) -> bool:
    return language(text) in {str(given["language"]), ""}


def _sentences(text: str, given: Given) -> bool:
    return _compared(sentences(text), given["num_sentences"], given["relation"])


def _paragraphs(text: str, given: Given) -> bool:
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", text)]
    inner = parts[1:] if parts and not parts[0] else parts
    inner = inner[:-1] if inner and not inner[-1] else inner
    return all(inner) and len(inner) == int(given["num_paragraphs"])


def _words(text: str, given: Given) -> bool:
    return _compared(len(_WORD.findall(text)), given["num_words"], given["relation"])


def _first_word(text: str, given: Given) -> bool:
    parts = [part.strip() for part in re.split(r"\n\n", text) if part.strip()]
    at = int(given["nth_paragraph"])
    if len(parts) != int(given["num_paragraphs"]) or not 1 <= at <= len(parts):
        return False
    word = parts[at - 1].split()[0].lstrip("'\"“‘")
    return re.split(r"[.,?!'\"”’]", word)[0].lower() == str(given["first_word"]).lower()


def _placeholders(text: str, given: Given) -> bool:
    return len(re.findall(r"\[[^\[\]]*\]", text)) >= int(given["num_placeholders"])


def _postscript(text: str, given: Given) -> bool:
    marker = str(given["postscript_marker"]).strip().lower()
    plain = re.sub(r"\s", "", marker).replace(".", "")
    dotted = r"\.?\s?".join(re.escape(sign) for sign in plain) if plain in {"ps", "pps"} else re.escape(marker)
    return re.search(rf"^\s*{dotted}", text, re.IGNORECASE | re.MULTILINE) is not None or marker in text.lower()


def _bullets(text: str, given: Given) -> bool:
    return len(re.findall(r"^\s*(?:\*[^*\n]|-)", text, re.MULTILINE)) == int(given["num_bullets"])


def _one_of_three(text: str, _: Given) -> bool:
    return any(start in text for start in _STARTS)


def _highlights(text: str, given: Given) -> bool:
    strong = [found for found in re.findall(r"\*\*([^\n*]+)\*\*", text) if found.strip()]
    weak = [found for found in re.findall(r"\*([^\n*]+)\*", re.sub(r"\*\*[^\n*]+\*\*", " ", text)) if found.strip()]
    return len(strong) + len(weak) >= int(given["num_highlights"])


def _sections(text: str, given: Given) -> bool:
    splitter = re.escape(str(given["section_spliter"]).strip())
    return len(re.findall(rf"\s?{splitter}\s?\d+\s?", text)) >= int(given["num_sections"])


def _json(text: str, _: Given) -> bool:
    plain = re.sub(r"^\s*```(?:json)?|```\s*$", "", text.strip(), flags=re.IGNORECASE)
    try:
        json.loads(plain)
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str, _: Given) -> bool:
    return any(found.strip("<> ") for found in re.findall(r"<<[^\n]+?>>", text))


def _two(text: str, _: Given) -> bool:
    parts = [part.strip() for part in text.split("******")]
    inner = [part for at, part in enumerate(parts) if part or 0 < at < len(parts) - 1]
    return len(inner) == 2 and all(inner) and inner[0] != inner[1]  # noqa: PLR2004 -- two answers


def _repeats(text: str, given: Given) -> bool:
    return text.strip().lower().startswith(str(given["prompt_to_repeat"]).strip().lower())


def _ends(text: str, given: Given) -> bool:
    return text.strip().strip('"').lower().endswith(str(given["end_phrase"]).strip().lower())


def _quoted(text: str, _: Given) -> bool:
    plain = text.strip()
    return len(plain) > 1 and plain.startswith('"') and plain.endswith('"')


def _capital_words(text: str, given: Given) -> bool:
    found = [word for word in re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text) if word.isupper()]
    return _compared(len(found), given["capital_frequency"], given["capital_relation"])


def _capitals(text: str, _: Given) -> bool:
    return text.isupper()


def _small(text: str, _: Given) -> bool:
    return text.islower()


def _no_comma(text: str, _: Given) -> bool:
    return "," not in text


def _texts(given: Any) -> list[str]:
    if not isinstance(given, list) or not given:
        raise TypeError(f"expected a list of words, got {given!r:.40}")
    return [str(word) for word in given]


INSTRUCTIONS: Final[Mapping[str, IsKept]] = {
    "keywords:existence": _existence,
    "keywords:frequency": _frequency,
    "keywords:forbidden_words": _forbidden,
    "keywords:letter_frequency": _letters,
    LANGUAGE: _in_language,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": _words,
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:constrained_response": _one_of_three,
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _json,
    "detectable_format:title": _title,
    "combination:two_responses": _two,
    "combination:repeat_prompt": _repeats,
    "startend:end_checker": _ends,
    "startend:quotation": _quoted,
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": _capitals,
    "change_case:english_lowercase": _small,
    "punctuation:no_comma": _no_comma,
}
"""By identifier. Upper and lower case are asked of English texts, whose language is not tested again."""
