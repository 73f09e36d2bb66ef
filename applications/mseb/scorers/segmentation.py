"""Segmentation: the salient terms of an utterance with their times, chosen from the words that a recogniser heard.

Options of the task: ``collection`` and ``label``, the true terms and the clip's own label that names their list;
``offered`` and ``offered_label``, for the variant in which terms with their times are given and only the choice is
asked for. Rarity comes from the collection ``idf`` where the dataset has one (id = word, weight), else from wordfreq.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

from codec_superb.applications.asr.word_times import Word, read
from codec_superb.applications.interface import ClipOutcome, Item, ProbeScores, ScoringInput, Setting
from codec_superb.applications.mseb.saliency import MOST, Rarity, from_table, from_wordfreq, salient_terms
from codec_superb.applications.mseb.scorers.lookup import Listed, collection_of, lists_of
from codec_superb.applications.mseb.scorers.sides import UNKNOWN, own_label, taking_part
from codec_superb.applications.mseb.segments import TOLERANCES, hits, matched, ordered_gain, word_errors
from codec_superb.applications.probe import SIDES, Probe

IDF = "idf"
_ORDER_TOLERANCE = TOLERANCES["100"]
"""Of the detections that are right."""


def score(probe: Probe, question: ScoringInput) -> ProbeScores:
    """Return, of each clip, what its chosen terms hit, on both sides and where the true words are chosen from.

    An answer that is no list of words with times has failed; one without words is an answer. Clips without true terms
    are left out.
    """
    truths = _terms(probe, question, "collection")
    offers = _terms(probe, question, "offered") if probe.option("offered") else {}

    def why(item: Item) -> str:
        name = own_label(item, probe.option("label"))
        if not truths.get(name):
            return f"no list of terms is called {name!r}"
        return "" if all(word.start >= 0 for word in truths[name]) else "the clip's terms have no times"

    items, outcomes = taking_part(probe, question, why, of_text=True)
    rarities: dict[str | None, Rarity] = {}
    settings: dict[str, Setting] = {"terms": MOST, "rarity": _source(question), "map_tolerance_s": _ORDER_TOLERANCE}
    for item in items:
        rarity = rarities.setdefault(item.language, _rarity(question, item.language))
        truth = truths[own_label(item, probe.option("label"))]
        choose = _chooser(item, rarity, offers.get(own_label(item, probe.option("offered_label")), ()), probe)
        sided = []
        try:
            for side in SIDES:
                heard = read(str(getattr(question, side)[item.clip]))
                sided.append(_kept(truth, choose(heard)) | {"no_answer": float(not heard)})
        except ValueError as error:
            outcomes[item.clip] = ClipOutcome("failed", f"words with times: {error}")
            continue
        shared = {"terms": float(len(truth)), "words": float(word_errors(truth, truth)[0])}
        outcomes[item.clip] = ClipOutcome("ok", "", shared, *sided)
    return ProbeScores(outcomes, settings=settings)


def _chooser(
    item: Item, rarity: Rarity, offered: Sequence[Word], probe: Probe
) -> Callable[[Sequence[Word]], list[Word]]:
    if not probe.option("offered"):
        return lambda heard: salient_terms(heard, rarity, item.language)
    return lambda heard: _selected(offered, heard, rarity, item.language)


def _selected(offered: Sequence[Word], heard: Sequence[Word], rarity: Rarity, language: str | None) -> list[Word]:
    """Return the rarest of the offered terms that were heard, with the times of the offer."""
    known = {word.text.lower(): word for word in offered}
    chosen = salient_terms(heard, lambda word: rarity(word) if word in known else None, language)
    return [known[word.text]._replace(confidence=word.confidence) for word in chosen]


def _terms(probe: Probe, question: ScoringInput, option: str) -> dict[str, list[Word]]:
    return {name: _words(listed) for name, listed in lists_of(collection_of(probe, question, option)).items()}


def _words(listed: Listed) -> list[Word]:
    return [
        Word(row.text, -1.0 if row.start is None else row.start, -1.0 if row.end is None else row.end, 1.0)
        for row in listed.rows
    ]


def _rarity(question: ScoringInput, language: str | None) -> Rarity:
    table = question.collections.get(IDF)
    if table is None:
        return from_wordfreq(language)
    return from_table({row.id: row.weight for row in table.rows() if row.weight is not None})


def _source(question: ScoringInput) -> str:
    return f"collection {IDF}" if IDF in question.collections else f"wordfreq {version('wordfreq')}"


def _kept(truth: Sequence[Word], found: Sequence[Word]) -> dict[str, float]:
    kept = {"gain": ordered_gain(truth, found), "word_errors": float(word_errors(truth, found)[1])}
    for name, tolerance in TOLERANCES.items():
        of = hits(truth, found, tolerance)
        kept |= {f"both_{name}": float(of.both), f"times_{name}": float(of.times), f"term_{name}": float(of.terms)}
    right = matched(truth, found, _ORDER_TOLERANCE)
    for place in range(MOST):
        is_there = place < len(found)
        kept[f"confidence_{place + 1}"] = found[place].confidence if is_there else UNKNOWN
        kept[f"right_{place + 1}"] = float(right[place]) if is_there else 0.0
    return kept
