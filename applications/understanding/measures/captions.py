"""Measures of texts against several right ones: BLEU, ROUGE-L, CIDEr."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.task_definitions.definition import Argument
from codec_superb.applications.understanding.cases import Case, LeftOut, NGrams
from codec_superb.applications.understanding.measures.table import Measure
from codec_superb.applications.understanding.texts.tokens import TOKENIZERS, bleu_of, words

_ORDERS = range(1, 5)  # runs of one to four tokens, in BLEU and in CIDEr
_COCO_BETA = 1.2
"""Weight of recall in the F measure of image captions."""
_SIGMA = 6.0
"""Of CIDEr-D's penalty for a difference in length, in tokens."""
NGram = tuple[str, ...]


def bleu(arguments: Mapping[str, Argument], _: Sequence[Case]) -> Measure:
    """Keep the ten counts of BLEU over sacreBLEU's tokens; ``tokenizer`` is 13a (the default), zh, char or ja-mecab.

    Papineni et al. 2002; Post 2018. Raises MissingPackage; ApplicationError for another tokeniser.
    """
    tokenizer = str(arguments.get("tokenizer", TOKENIZERS[0]))
    if tokenizer not in TOKENIZERS:
        raise ApplicationError(f"bleu: expected a tokenizer among {', '.join(TOKENIZERS)}, got {tokenizer}; change it")
    counts = bleu_of(tokenizer)

    def measure(answer: str, case: Case) -> NGrams | LeftOut:
        found = counts.corpus_score([answer], [[truth] for truth in case.truth])
        if not found.ref_len:
            return LeftOut("no right answer has a token")
        return NGrams(tuple(found.counts), tuple(found.totals), found.sys_len, found.ref_len)

    return measure


def rouge_l(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """F1 of the longest common subsequence of words, the best of the right answers, 0 to 100 (Lin 2004)."""

    def measure(answer: str, case: Case) -> float | None:
        given = words(answer)
        return 100.0 * max(_f1(given, words(truth)) for truth in case.truth) if given else None

    return measure


def rouge_l_coco(_: Mapping[str, Argument], __: Sequence[Case]) -> Measure:
    """As captions are scored: the best precision and the best recall, recall weighing 1.2² as much, 0 to 100."""

    def measure(answer: str, case: Case) -> float | None:
        given = words(answer)
        if not given:
            return None
        pairs = [(_common(given, words(truth)), len(words(truth))) for truth in case.truth]
        precision = max(common for common, _ in pairs) / len(given)
        recall = max(common / length if length else 0.0 for common, length in pairs)
        below = recall + _COCO_BETA**2 * precision
        return 100.0 * (1 + _COCO_BETA**2) * precision * recall / below if below else 0.0

    return measure


def cider(_: Mapping[str, Argument], cases: Sequence[Case]) -> Measure:
    """CIDEr-D of an answer, 0 to 10 (Vedantam, Zitnick, Parikh 2015); runs are weighed over the labels of all clips.

    So it depends on which clips take part, and of one clip alone it is 0.
    """
    frequency: Counter[NGram] = Counter()
    for case in cases:
        frequency.update({run for truth in case.truth for run in _runs(words(truth))})
    log_clips = math.log(max(1, len(cases)))

    def measure(answer: str, case: Case) -> float | None:
        given = words(answer)
        if not given:
            return None
        one = _weighed(given, frequency, log_clips)
        scores = [
            _similarity(one, _weighed(label, frequency, log_clips), len(given) - len(label))
            for label in (words(truth) for truth in case.truth)
        ]
        return min(10.0, 10.0 * sum(scores) / len(scores))  # the factor 10 is CIDEr-D's own

    return measure


def _f1(given: Sequence[str], label: Sequence[str]) -> float:
    common = _common(given, label)
    return 2.0 * common / (len(given) + len(label)) if common else 0.0


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for token in one:
        diagonal = 0
        for at, against in enumerate(other, 1):
            above = row[at]
            row[at] = diagonal + 1 if token == against else max(above, row[at - 1])
            diagonal = above
    return row[-1]


def _runs(tokens: Sequence[str]) -> Counter[NGram]:
    return Counter(tuple(tokens[at : at + n]) for n in _ORDERS for at in range(len(tokens) - n + 1))


def _weighed(tokens: Sequence[str], frequency: Mapping[NGram, int], log_clips: float) -> dict[NGram, float]:
    return {run: count * (log_clips - math.log(max(1, frequency[run]))) for run, count in _runs(tokens).items()}


def _similarity(one: Mapping[NGram, float], label: Mapping[NGram, float], longer: int) -> float:
    """Mean over the orders of the clipped cosine."""
    total = 0.0
    for n in _ORDERS:
        norms = [math.sqrt(sum(value**2 for run, value in of.items() if len(run) == n)) for of in (one, label)]
        if not all(norms):
            continue
        # CIDEr-D clips a run's weight at that of the label, so that repeating it gains nothing
        dot = sum(min(value, label[run]) * label[run] for run, value in one.items() if len(run) == n and run in label)
        total += dot / (norms[0] * norms[1])
    return total / len(_ORDERS) * math.exp(-(longer**2) / (2 * _SIGMA**2))
