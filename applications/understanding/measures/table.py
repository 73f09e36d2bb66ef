"""The table of measures: a name in a task file, the function that makes it, and the kind of what it keeps of a clip.

A target is a maker ``(arguments, cases) -> measure``, called once for the clips of a run with all their cases (some
measures weigh words by how many clips have them); a measure is a pure function ``(answer, case) -> Result`` of a
post-processed answer, with the result type of its kind (:mod:`codec_superb.applications.understanding.cases`). Of a
judged measure the target reads the replies about one answer (``judging/reading.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codec_superb.applications.task_definitions.definition import Use
from codec_superb.applications.understanding.cases import Case, Result
from codec_superb.plugins import load

Measure = Callable[[str, Case], Result]
KindName = Literal[
    "choice", "labels", "edits", "characters", "bleu", "instructions", "value", "rating", "pair", "scores", "iwer",
    "icer",
]  # fmt: skip
_HERE = "codec_superb.applications.understanding.measures"
_JUDGED = "codec_superb.applications.understanding.judging.reading"


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One row of the table."""

    name: str
    kind: KindName
    target: str
    """``module:function``."""
    summary: str
    arguments: tuple[str, ...] = ()
    """Names of the arguments that it takes."""
    required: tuple[str, ...] = ()
    """Those that it cannot do without."""
    version: str = "1"
    """A change of numbers changes it."""
    extra: str = ""
    """Extra of this package that it needs."""
    of_corpus: bool = False
    """Whether the measure of a side is made with all answers of that side: its maker takes them as a third argument."""
    joint: bool = False
    """Whether a clip's numbers depend on the labels of the other clips of the run."""
    models: str = ""
    """``module:function`` -> names and hashes of the models that it needs; '' for none but the program's own."""
    judged: bool = False
    """Whether another model judges: a second pass with a journal of its own."""


_MATCHING, _CHOICES, _TRANSCRIPTS = f"{_HERE}.matching", f"{_HERE}.choices", f"{_HERE}.transcripts"
_CAPTIONS, _REASONING = f"{_HERE}.captions", f"{_HERE}.reasoning"
_JUDGES: tuple[tuple[str, KindName, str, str], ...] = (
    ("airbench", "scores", "airbench", "a judge scores the answer beside the right one, 1 to 10, both places"),
    ("pair", "pair", "pair", "a judge prefers the answer or the one of the label, asked in both orders"),
    ("rating", "rating", "rating_of_ten", "a judge rates the answer, 1 to 10"),
    ("reference-qa", "choice", "yes_or_no", "a judge says whether the answer states the right one"),
    ("voicebench-qa", "choice", "yes_or_no", "as judge-reference-qa, the majority of three"),
    ("open-qa", "rating", "rating_of_five", "a judge rates the answer, 1 to 5, mean of three"),
)
"""Name behind ``judge-``, kind, reader of replies, summary."""
_ROWS = (
    MeasureRow("em", "choice", f"{_MATCHING}:em", "the answer equals the label, case included; numbers by their value"),
    MeasureRow(
        "prefix-match", "choice", f"{_MATCHING}:prefix_match",
        "the answer begins with the label, whatever the case; the label is tried without spaces too",
    ),
    MeasureRow(
        "exist-match", "choice", f"{_MATCHING}:exist_match",
        "the label occurs in the answer, whatever the case, inside words too",
    ),
    MeasureRow(
        "qa-exist-match", "choice", f"{_MATCHING}:qa_exist_match",
        "the tokens of the label follow one another in the answer, whole words only",
    ),
    MeasureRow(
        "choice-strings-match", "choice", f"{_MATCHING}:choice_strings_match",
        "all words of the option and none that only other options have",
    ),
    MeasureRow(
        "choices", "choice", f"{_CHOICES}:choices", "an option by its letter or its text; the label may be either",
    ),
    MeasureRow(
        "letter", "choice", f"{_CHOICES}:letters", "the letter of an option, never one inside a word", ("letters",),
    ),
    MeasureRow("mcq_abcd", "choice", f"{_CHOICES}:letters", "as 'letter', under its published name", ("letters",)),
    MeasureRow(
        "bbh", "choice", f"{_REASONING}:bbh",
        "yes or no, (a) or (b), in sentences; 'subset' names the label with the subset", ("subset",),
    ),
    MeasureRow(
        "refusal", "choice", f"{_REASONING}:refusal", "the answer refuses; with the label 'answer', it does not",
    ),
    MeasureRow(
        "wer", "edits", f"{_TRANSCRIPTS}:wer", "word errors, character errors in Chinese, Japanese and Korean",
        extra="probes",
    ),
    MeasureRow("cer", "characters", f"{_TRANSCRIPTS}:cer", "character errors in any language"),
    MeasureRow(
        "wer:ultraeval", "edits", f"{_TRANSCRIPTS}:wer_ultraeval",
        "errors over the tokens of UltraEval-Audio, whose normaliser is Whisper's English one for every language",
        version="ultraeval-1", extra="probes",
    ),
    MeasureRow(
        "bleu", "bleu", f"{_CAPTIONS}:bleu", "BLEU over the tokens of sacreBLEU: 13a, zh, char, ja-mecab",
        ("tokenizer",), extra="probes",
    ),
    MeasureRow("rouge-l", "value", f"{_CAPTIONS}:rouge_l", "F1 of the longest common subsequence, 0 to 100"),
    MeasureRow(
        "rouge-l:coco", "value", f"{_CAPTIONS}:rouge_l_coco",
        "as captions are scored: best precision, best recall, the latter 1.2² as heavy, 0 to 100",
    ),
    MeasureRow("cider", "value", f"{_CAPTIONS}:cider", "CIDEr-D over the clips of the run, 0 to 10", joint=True),
    MeasureRow(
        "ifeval", "instructions", f"{_HERE}.instructions:ifeval",
        "instructions that a program verifies; identifiers and parameters are JSON in the dataset's own labels",
        ("instructions", "kwargs"),
    ),
    MeasureRow(
        "xares-accuracy", "choice", f"{_HERE}.xares:accuracy",
        "the answer equals the label in XARES-LLM's form of texts: lower case, no ASCII punctuation",
    ),
    MeasureRow(
        "mAP", "labels", f"{_HERE}.xares:labels",
        "labels behind one another, divided by semicolons, against those of the clip; case and punctuation count",
        ("classes",),
    ),
    MeasureRow("iwer", "iwer", f"{_HERE}.xares:word_errors", "1 − word error rate in that form, 0 at least"),
    MeasureRow(
        "icer", "icer", f"{_HERE}.xares:character_errors", "1 − character error rate in that form, spaces counted"
    ),
    MeasureRow(
        "fense", "value", f"{_HERE}.semantic:fense",
        "FENSE, 0 to 100: cosine of meaning by TinyBERT, a tenth of it where a detector is sure of errors",
        version="fense-1", extra="probes", models=f"{_HERE}.semantic:published_models",
    ),
    MeasureRow(
        "date", "value", f"{_HERE}.semantic:date",
        "DATE, 0 to 100: meaning, and how well it tells the clip from others, by TinyBERT with that detector",
        ("domain",), version="date-1", extra="probes", of_corpus=True, models=f"{_HERE}.semantic:published_models",
    ),
    MeasureRow(
        "fense:minilm", "value", f"{_HERE}.semantic:fense_minilm",
        "cosine of meaning, 0 to 100, by MiniLM and without a detector of errors: not the published FENSE",
        version="minilm-1", extra="probes",
    ),
    MeasureRow(
        "date:minilm", "value", f"{_HERE}.semantic:date_minilm",
        "meaning, and how well it tells the clip from others, 0 to 100, by MiniLM: not the published DATE",
        ("domain",), version="minilm-1", extra="probes", of_corpus=True,
    ),
    *(
        MeasureRow(f"judge-{name}", kind, f"{_JUDGED}:{reader}", summary, ("context",), judged=True)
        for name, kind, reader, summary in _JUDGES
    ),
)  # fmt: skip
MEASURES: dict[str, MeasureRow] = {row.name: row for row in _ROWS}


def check_models(name: str) -> Mapping[str, str]:
    """Return names and hashes of the models that a measure needs. Raises MissingModel, MissingPackage for the first."""
    found: Mapping[str, str] = load(MEASURES[name].models)() if MEASURES[name].models else {}
    return found


def made(use: Use, cases: Sequence[Case], answers: Mapping[str, str] | None = None) -> Measure:
    """Return the measure that a task names, for one side of the clips of a run; ``answers`` are that side's, by clip.

    Raises MissingPackage with the install command.
    """
    maker: Callable[..., Measure] = load(MEASURES[use.name].target)
    return maker(use.arguments, cases, answers or {}) if MEASURES[use.name].of_corpus else maker(use.arguments, cases)
