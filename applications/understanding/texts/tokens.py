"""Tokens of texts: sacreBLEU's for BLEU and compatible error rates, and words of any script for the other measures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from codec_superb.applications.asr.normalise import language_of, normalised_words
from codec_superb.applications.packages import require_packages
from codec_superb.applications.understanding.texts.chinese import written_out

TOKENIZERS = ("13a", "zh", "char", "ja-mecab")
"""Of sacreBLEU, as task files name them."""
_IN_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_IN_CHARACTERS}]|[^\W_{_IN_CHARACTERS}]+(?:'[^\W\d_]+)?")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation; Chinese and Japanese are taken by character."""
    # NFKC makes plain ones of full-width letters and digits
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'").lower())


def runs(text: str) -> list[str]:
    """Return runs of letters, digits and marks, and single other signs, of the NFD form in lower case."""
    found: list[str] = []
    inside = False
    for sign in unicodedata.normalize("NFD", text).lower():
        kind = unicodedata.category(sign)[0]
        if kind in "LNM" and inside:
            found[-1] += sign
        elif kind not in "ZC":
            found.append(sign)
        inside = kind in "LNM"
    return found


@cache
def bleu_of(tokenizer: str) -> Any:
    """Return sacreBLEU's measure with a tokeniser of :data:`TOKENIZERS`. Raises MissingPackage."""
    require_packages("BLEU", "probes", "sacrebleu")
    if tokenizer == "ja-mecab":
        require_packages("Japanese words", "languages", "MeCab", "ipadic")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenizer, force=True)


def tokenised(text: str, tokenizer: str) -> tuple[str, ...]:
    """Return sacreBLEU's tokens. Raises MissingPackage."""
    return tuple(bleu_of(tokenizer).tokenizer(text).split())


def ultraeval(tag: str | None) -> Callable[[str], tuple[str, ...]]:
    """Return what UltraEval-Audio compares of transcripts in the language of a BCP 47 tag.

    Whisper's English normaliser for every language, the Chinese one for ``zh`` and ``yue`` (``yue`` in simplified
    characters), then sacreBLEU's tokens: ``zh`` for both, MeCab's words for ``ja``, 13a else, in lower case. Raises
    MissingPackage where a language needs a package that is not installed.
    """
    language = {"cmn": "zh"}.get(language_of(tag), language_of(tag))
    tokenizer = {"zh": "zh", "yue": "zh", "ja": "ja-mecab"}.get(language, "13a")
    bleu_of(tokenizer)
    simple = _simplified() if language == "yue" else str

    def tokens(text: str) -> tuple[str, ...]:
        plain = simple(" ".join(normalised_words(text, "en")))
        return tokenised(written_out(plain) if tokenizer == "zh" else plain, tokenizer)

    return lambda text: tuple(token.lower() for token in tokens(text))


@cache
def _simplified() -> Callable[[str], str]:
    require_packages("Cantonese in simplified characters", "languages", "opencc")
    from opencc import OpenCC

    simplify: Callable[[str], str] = OpenCC("t2s").convert
    return simplify
