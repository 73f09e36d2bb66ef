"""Retrieval, reranking and reasoning: what is kept of a clip, whatever the order of clips and candidates."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.applications.known_texts import collections_of, question
from support.pipeline.stats import row

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item, ProbeScores, ScoringInput, TextQuestion
from codec_superb.applications.mseb.scorers import reasoning, reranking, retrieval
from codec_superb.applications.results import ApplicationAggregate
from codec_superb.applications.table import PROBES
from codec_superb.applications.text.command_reader import CommandReader
from codec_superb.data_manifests.collections import CollectionRow
from codec_superb.pipeline.aggregates.applications import aggregate_applications
from codec_superb.pipeline.tables.rows import ProbeValue

TINY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
DOCUMENTS = {"one": [1.0, 0.0], "two": [0.0, 1.0], "three": [0.6, 0.6]}


def figures(key: str, scored: ProbeScores) -> dict[str, ApplicationAggregate]:
    """Return the figures of a probe as the service computes them of rows, by the end of their keys."""
    rows = [
        row(clip, dataset="d", probes={key: ProbeValue(
            status=of.status, reason=of.reason, shared=dict(of.shared), reference=dict(of.reference),
            resynthesis=dict(of.resynthesis),
        )})
        for clip, of in scored.outcomes.items()
    ]  # fmt: skip
    return {one.figure.removeprefix(f"{key}_"): one for one in aggregate_applications(rows, ())}


def both(figure: ApplicationAggregate) -> tuple[float | None, float | None]:
    """Return reference and resynthesis."""
    return figure.reference.value, figure.resynthesis.value


def spoken(clip: str, text: str | None = None, **extra: str) -> Item:
    """Return a clip of speech with labels of its own."""
    return Item(clip, "speech", text, "en", extra=tuple(sorted(extra.items())))


def vector(*numbers: float) -> np.ndarray:
    """Return a prediction."""
    return np.array(numbers, np.float32)


def ranks(scored: ProbeScores, clip: str) -> tuple[float, ...]:
    """Return the ranks of a clip; which of equal documents comes first does depend on their order."""
    found = scored.outcomes[clip]
    return found.reference["rank"], found.resynthesis["rank"], found.shared["oracle_rank"]


class TestRetrieval:
    """Ranks among all documents."""

    PROBE = PROBES["mseb_retrieval_passage"]

    def ask(self, folder: Path, items: list[Item], *sides: Mapping[str, Any], **others: Any) -> ScoringInput:
        """Ask about four passages, two of which have one text."""
        rows = [CollectionRow(name, text=name) for name in DOCUMENTS] + [CollectionRow("again", text="two")]
        texts = DOCUMENTS | {"which is two": [0.1, 1.0]}
        return question(items, *sides, collections=collections_of(folder, {"passages": rows}), vectors=texts, **others)

    def test_ranks_on_both_sides_and_of_the_oracle(self, tmp_path: Path) -> None:
        """All ids of an equal text are relevant; a clip without a transcript has no oracle; silence is counted."""
        items = [spoken("a", "which is two", passage="two"), spoken("b", passage="one\nthree")]
        heard = {"reference": {"a": "which is two", "b": "x"}, "resynthesis": {"a": " ", "b": "x"}}
        reference = {"a": vector(0, 1), "b": vector(0, 1)}
        resynthesis = {"a": vector(1, 0), "b": vector(1, 0)}
        scored = retrieval.score(self.PROBE, self.ask(tmp_path, items, reference, resynthesis, heard=heard))
        a, b = scored.outcomes["a"], scored.outcomes["b"]
        assert (a.reference["rank"], a.resynthesis["rank"], a.shared["oracle_rank"]) == (1, 3, 1)
        assert (b.reference["rank"], b.resynthesis["rank"], b.shared["oracle_rank"]) == (3, 1, -1)
        found = figures(self.PROBE.key, scored)
        assert both(found["mrr"]) == pytest.approx(((1 + 1 / 3) / 2,) * 2)
        assert both(found["em"]) == (0.5, 0.5)
        assert both(found["no_answer"]) == (0.0, 0.5)
        assert both(found["oracle_mrr"]) == (1.0, 1.0)

    def test_what_takes_no_part_says_why(self, tmp_path: Path) -> None:
        """No label, an id that is not there, a codec that failed, an answer of another kind, and no number."""
        items = [spoken("a"), spoken("b", passage="nine"), *(spoken(clip, passage="one") for clip in "cdef")]
        given_vectors = {"c": vector(1, 0), "d": "text", "e": vector(np.nan, 0), "f": vector(1, 0)}
        asked = self.ask(tmp_path, items, given_vectors, failures={"c": "the codec raised"})
        found = {clip: (of.status, of.reason) for clip, of in retrieval.score(self.PROBE, asked).outcomes.items()}
        assert found == {
            "a": ("left_out", "the clip has no label passage"),
            "b": ("left_out", "the collection passages has no row for the clip's label"),
            "c": ("failed", "the codec raised"),
            "d": ("failed", "expected a vector on the reference, got a text"),
            "e": ("failed", "the vector on the reference has a number that is not finite"),
            "f": ("ok", ""),
        }

    def test_vectors_of_several_models_are_an_error(self, tmp_path: Path) -> None:
        """Before anything is searched; so is a model that encodes no texts."""
        items = [spoken("a", passage="one")]
        with pytest.raises(ApplicationError, match="vectors of one length, got 2 and 3"):
            retrieval.score(self.PROBE, self.ask(tmp_path, items, {"a": vector(1, 0)}, {"a": vector(1, 0, 0)}))
        collections = collections_of(tmp_path, {"passages": [CollectionRow("one", text="one")]})
        with pytest.raises(ApplicationError, match="name one such as faster-whisper"):
            retrieval.score(self.PROBE, question(items, {"a": vector(1, 0)}, collections=collections))

    @TINY
    @given(st.integers(0, 99))
    def test_orders_say_nothing_and_identity_loses_nothing(self, tmp_path: Path, seed: int) -> None:
        """Clips and documents in any order give the same ranks; the same sound on both sides has a loss of 0."""
        draw = np.random.default_rng(seed)
        names = [f"p{n}" for n in range(12)]
        texts = {name: draw.integers(-2, 3, 3).astype(float).tolist() for name in names}
        items = [spoken(f"c{n}", names[n], passage=names[n]) for n in range(6)]
        answers = {item.clip: draw.integers(-2, 3, 3).astype(np.float32) for item in items}

        def outcomes(order: list[str], clips: list[Item]) -> ProbeScores:
            rows = [CollectionRow(name, text=name) for name in order]
            collections = collections_of(tmp_path, {"passages": rows})
            return retrieval.score(self.PROBE, question(clips, answers, collections=collections, vectors=texts))

        scored = outcomes(names, items)
        turned = outcomes(draw.permutation(names).tolist(), items[::-1])
        assert all(ranks(turned, item.clip) == ranks(scored, item.clip) for item in items)
        found = figures(self.PROBE.key, scored)
        assert {one.loss.value for one in found.values()} == {0.0}
        scores = {item.clip: {name: float(answers[item.clip] @ texts[name]) for name in names} for item in items}
        for item in items:
            of = scores[item.clip]
            rank = sum(of[name] >= of[item.extra[0][1]] for name in names)
            assert scored.outcomes[item.clip].reference["rank"] == rank

    def test_an_index_stands_for_all_documents_and_is_measured(self, tmp_path: Path) -> None:
        """One that finds all changes no number; of one that finds two documents alone the rest is not found."""
        items = [spoken(clip, passage=name) for clip, name in zip("abc", DOCUMENTS, strict=True)]
        answers = {"a": vector(3, 1), "b": vector(1, 2), "c": vector(-1, -1)}
        exact = retrieval.score(self.PROBE, self.ask(tmp_path, items, answers))
        assert exact.settings["search"] == "exact"
        assert "search_recall10" not in exact.settings

        def scored(*rows: int) -> ProbeScores:
            asked = self.ask(tmp_path, items, answers, index=lambda queries, _: np.array([rows] * len(queries)))
            return retrieval.score(self.PROBE, asked)

        every = scored(3, 2, 1, 0)
        assert every.outcomes == exact.outcomes
        assert every.settings == exact.settings | {
            "search": "test", "search_recall10": 1.0, "search_recall_queries": 3, "search_recall_seed": 0,
        }  # fmt: skip
        some = scored(0, 2)
        assert [some.outcomes[clip].reference["rank"] for clip in "abc"] == [1, 3, 2]
        assert some.settings["search_recall10"] == 0.5

    def test_recall_is_that_of_the_references_whatever_a_codec_gave(self, tmp_path: Path) -> None:
        """A codec that failed on a clip has the settings of another, so that both can be ranked."""
        items = [spoken(clip, passage="two") for clip in "abcd"]
        reference = {"a": vector(3, 2), "b": vector(1, 2), "c": vector(-1, -1)}

        def settings_of(resynthesis: dict[str, Any], **failures: str) -> Mapping[str, Any]:
            asked = self.ask(
                tmp_path, items, reference, resynthesis, failures={"d": "gone"} | failures,
                index=lambda queries, documents: np.argsort(-queries @ documents.T)[:, 2:],
            )  # fmt: skip
            return retrieval.score(self.PROBE, asked).settings

        whole = settings_of({clip: vector(0, 1) for clip in "abc"})
        assert whole["search_recall10"] < 1
        assert settings_of({"a": vector(1, 0)}, b="gone", c="gone") == whole


class TestReranking:
    """Near texts in order."""

    PROBE = PROBES["mseb_reranking_query"]
    TEXTS = ("a b c", "a b d", "x y z")

    def ask(self, folder: Path, answer: np.ndarray, order: tuple[int, ...] = (0, 1, 2), **others: Any) -> ScoringInput:
        """Ask about one clip, whose candidates have the answer's numbers as scores."""
        rows = [CollectionRow(str(n), list="q", text=self.TEXTS[n]) for n in order]
        vectors = {text: np.eye(3)[n].tolist() for n, text in enumerate(self.TEXTS)}
        items = [spoken("a", "a b c", candidates="q")]
        collections = collections_of(folder, {"candidates": rows})
        return question(items, {"a": answer}, collections=collections, vectors=vectors, **others)

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
    def test_the_known_answer(self, tmp_path: Path, order: tuple[int, ...]) -> None:
        """Truth second of three, two words of three right: MAP .5, MRR .5, WER 1/3, candidate errors 1; oracle 1."""
        found = figures(self.PROBE.key, reranking.score(self.PROBE, self.ask(tmp_path, vector(2, 3, 1), order)))
        assert both(found["map"]) == both(found["mrr"]) == (0.5, 0.5)
        assert both(found["wer_pct"]) == pytest.approx((100 / 3,) * 2)
        assert both(found["cer_pct"]) == (100.0, 100.0)
        assert both(found["oracle_map"]) == (1.0, 1.0)

    def test_ties_count_against_the_truth(self, tmp_path: Path) -> None:
        """All scores equal: the truth is last, and what comes first is wrong."""
        kept = reranking.score(self.PROBE, self.ask(tmp_path, vector(1, 1, 1))).outcomes["a"].reference
        assert (kept["rank"], kept["precision"], kept["word_errors"]) == (3, pytest.approx(1 / 3), 1)

    def test_a_candidate_without_wrong_words_is_relevant_but_not_the_text(self, tmp_path: Path) -> None:
        """After normalising, punctuation is no difference: MAP 1, MRR 1/2."""
        rows = [CollectionRow("0", list="q", text="a b"), CollectionRow("1", list="q", text="A, b!")]
        collections = collections_of(tmp_path, {"candidates": rows})
        vectors = {"a b": [1.0], "A, b!": [2.0]}
        asked = question([spoken("a", "a b", candidates="q")], {"a": vector(1)}, None, collections, vectors)
        kept = reranking.score(self.PROBE, asked).outcomes["a"].reference
        assert (kept["precision"], kept["rank"], kept["word_errors"]) == (1.0, 2.0, 0.0)

    def test_lists_that_do_not_fit_leave_the_clip_out(self, tmp_path: Path) -> None:
        """A list that is not there, and one without the clip's text."""
        asked = self.ask(tmp_path, vector(1, 2, 3))
        items = [spoken("a", "a b c", candidates="other"), spoken("b", "nobody said", candidates="q")]
        answers = {clip: vector(1, 2, 3) for clip in "ab"}
        other = ScoringInput("d", items, answers, answers, collections=asked.collections, vectors=asked.vectors)
        found = [of.reason for of in reranking.score(self.PROBE, other).outcomes.values()]
        assert found == ["no list of candidates is called 'other'", "the clip's text is none of its candidates"]

    def test_salient_terms_among_others(self, tmp_path: Path) -> None:
        """Two true terms of four, first and third: NDCG at three .9197, average precision 5/6."""
        probe = PROBES["mseb_reranking_terms"]
        rows = {
            "term_candidates": [CollectionRow(str(n), list="q", text=text) for n, text in enumerate("pqrs")],
            "terms": [CollectionRow(str(n), list="q", text=text) for n, text in enumerate("PR")],
        }
        collections = collections_of(tmp_path, rows)
        vectors = {text: np.eye(4)[n].tolist() for n, text in enumerate("pqrs")}
        items = [spoken("a", terms="q", term_candidates="q")]
        scored = reranking.score_terms(probe, question(items, {"a": vector(4, 3, 2, 1)}, None, collections, vectors))
        found = figures(probe.key, scored)
        assert both(found["ndcg3"])[0] == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3)))
        assert both(found["map"])[0] == pytest.approx(5 / 6)
        assert "oracle_map" not in found


class TestReasoning:
    """Answers by spans."""

    PROBE = PROBES["mseb_reasoning_span"]

    def ask(self, folder: Path, count: int = 20) -> ScoringInput:
        """Ask questions whose references score about 1 where there is an answer, about 0 where there is none."""
        rows = [CollectionRow("0", list="q", text="right span"), CollectionRow("1", list="q", text="wrong")]
        vectors = {"right span": [1.0, 0.0], "wrong": [0.0, 1.0]}
        items = [spoken(f"c{n:02}", spans="q", span="right span" if n % 2 else "No Answer") for n in range(count)]
        draw = np.random.default_rng(0).normal(0, 0.05, count)
        reference = {item.clip: vector(n % 2 + draw[n], -1) for n, item in enumerate(items)}
        resynthesis = {clip: answer * 0.7 for clip, answer in reference.items()}
        return question(items, reference, resynthesis, collections_of(folder, {"spans": rows}), vectors)

    def test_the_threshold_is_that_of_the_references_on_both_sides(self, tmp_path: Path) -> None:
        """References are all answered rightly; what is a little weaker is not cut off by a threshold of its own."""
        asked = self.ask(tmp_path)
        scored = reasoning.score(self.PROBE, asked)
        limit = scored.settings["threshold"]
        assert isinstance(limit, float)
        assert 0.1 < limit < 0.65
        found = figures(self.PROBE.key, scored)
        assert both(found["gmean_f1"]) == both(found["f1"]) == (1.0, 1.0)
        fewer = ScoringInput(
            "d", asked.items, asked.reference, {}, dict.fromkeys(list(asked.reference)[:3], "gone"),
            collections=asked.collections, vectors=asked.vectors,
        )  # fmt: skip
        assert reasoning.score(self.PROBE, fewer).settings == {}  # nothing is left to score
        some = {clip: answer for clip, answer in asked.resynthesis.items() if clip != "c00"}
        without = ScoringInput(
            "d", asked.items, asked.reference, some, {"c00": "gone"}, collections=asked.collections,
            vectors=asked.vectors,
        )  # fmt: skip
        assert reasoning.score(self.PROBE, without).settings["threshold"] == limit

    ITEMS = tuple(
        spoken(clip, span=span, context="x") for clip, span in zip("abc", ("1 km", "No Answer", "y"), strict=True)
    )

    def test_a_generated_answer_is_scored_as_it_is(self) -> None:
        """The empty one is invalid: it counts 0 and is counted."""
        probe = PROBES["mseb_reasoning_generative"]
        reference = {"a": "1 km", "b": "No Answer", "c": "y"}
        asked = question(list(self.ITEMS), reference, reference | {"c": ""})
        found = figures(probe.key, reasoning.score_generated(probe, asked))
        assert both(found["invalid"]) == (0.0, pytest.approx(1 / 3))
        assert both(found["f1"]) == (1.0, pytest.approx(2 / 3))
        assert both(found["gmean_f1"]) == (1.0, pytest.approx(0.5 ** (2 / 3)))

    def test_the_answers_of_a_program_are_scored(self, tmp_path: Path) -> None:
        """What a real program writes goes through the reader; prose is invalid, a wrong word costs its share."""
        lines = {
            "right": ['{"answer": "1 km"}', '"No Answer"', '{"answer": "y"}'],
            "wrong": ['{"answer": "1 mile"}', '{"answer": "No Answer"}', "It is y."],
        }
        found = {}
        for name, written in lines.items():
            file = tmp_path / name
            file.write_text(f"#!{sys.executable}\nfor line in {written!r}:\n    input()\n    print(line, flush=True)\n")
            file.chmod(0o755)
            reader = CommandReader(str(file))
            reader.load(reader.prepare(), "cpu", 1)
            given = reader.answer([TextQuestion(item, "q", "t", "c") for item in self.ITEMS])
            reader.close()
            found[name] = {item.clip: answer for item, answer in zip(self.ITEMS, given, strict=True)}
        probe = PROBES["mseb_reasoning_generative"]
        asked = question(list(self.ITEMS), found["right"], found["wrong"])
        shown = figures(probe.key, reasoning.score_generated(probe, asked))
        assert both(shown["f1"]) == (1.0, pytest.approx(0.5))  # of 1/2, 1 and 0
        assert both(shown["invalid"]) == (0.0, pytest.approx(1 / 3))
