"""Filters, order, ranks and pages of the board, on submissions in a database."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete
from support.profile import examples
from support.server.board import Probed, make_submission

from codec_superb.server.board.entries import has_open_weights
from codec_superb.server.board.snapshot import Snapshot, load_snapshot
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.models import Result
from codec_superb.server.database.session import Database
from codec_superb.server.leaderboard.answers import board_json
from codec_superb.server.leaderboard.exports import flat_rows
from codec_superb.server.leaderboard.select import select, select_all
from codec_superb.server.leaderboard.state import SORTS, parse
from codec_superb.web.figures.rate import hover_text
from codec_superb.web.quantity import SCORE
from codec_superb.web.report.columns import rate_note
from codec_superb.web.senders import most_sent
from codec_superb.web.site.board.choices import BoardView


def view(snapshot: Snapshot, **chosen: Any) -> BoardView:
    """Answer a query."""
    return select(snapshot, parse([(name, str(value)) for name, value in chosen.items()]))


def names(snapshot: Snapshot, **chosen: Any) -> list[str]:
    """Name the codecs of an answer, in order."""
    return [row.result.codec for row in view(snapshot, **chosen).rows]


RANKED = ["opus_24k", "opus_12k", "secret", "encodec_6k", "opus_6k"]
UNRANKED = ["elsewhere", "partial", "alone"]


class TestRanks:
    """Who has a rank, and which."""

    def test_those_on_the_common_datasets_have_ranges_of_ranks(self, snapshot: Snapshot) -> None:
        """Overlapping intervals of ±0.02 share places; the best comes first, those without a rank last by value."""
        found = view(snapshot)
        assert [row.result.codec for row in found.rows] == RANKED + UNRANKED
        ranks = {row.result.codec: row.result.rank for row in found.rows}
        assert ranks["opus_24k"] == (1, 3)
        assert ranks["opus_12k"] == (1, 3)
        assert ranks["secret"] == (1, 4)
        assert ranks["encodec_6k"] == (3, 4)
        assert ranks["opus_6k"] == (5, 5)
        assert found.ranked_datasets == ("mini",)
        assert found.rank_basis == "intervals"

    def test_every_other_row_says_why_it_has_none(self, snapshot: Snapshot) -> None:
        """Other datasets, failed clips and a missing interval are named; such rows are shown all the same."""
        reasons = {row.result.codec: row.unranked for row in view(snapshot).rows if row.result.rank is None}
        assert reasons == {
            "elsewhere": "run on further datasets besides those ranked",
            "partial": "incomplete: 3 of 20 clips failed",
            "alone": "no interval: all or nearly all clips are of one speaker or recording",
        }
        mixed = {row.result.codec: row for row in select_all(snapshot, parse([("source", "all")])).rows}
        assert mixed["alone"].result.rank is not None
        assert mixed["partial"].result.rank is None
        assert mixed["partial"].unranked == "incomplete: 3 of 20 clips failed"
        rows = view(snapshot, dataset="other").rows
        assert [row.result.rank for row in rows] == [(1, 1)]

    def test_ranks_are_those_of_the_chosen_metric(self, snapshot: Snapshot) -> None:
        """A distance ranks upside down, and its codecs come in that order."""
        by_mel = view(snapshot, metric="mel")
        values = [row.result.summary.metrics["mel"].mean for row in by_mel.rows if row.result.rank]
        assert values == sorted(values, key=lambda value: value or math.nan)
        ranked = [row.result.rank for row in by_mel.rows if row.result.rank]
        assert ranked[0][0] == 1
        assert all(first[0] <= second[0] for first, second in pairwise(ranked))

    def test_a_filter_makes_a_class_and_a_search_does_not(self, snapshot: Snapshot) -> None:
        """Ranks are among what passes the filters; searching finds a row with the rank it has."""
        within = view(snapshot, kbps_max=7)
        assert [row.result.rank for row in within.rows] == [(1, 2), (1, 2), (3, 3)]
        assert [row.result.rank for row in view(snapshot, search="encodec_6").rows] == [(3, 4)]

    def test_results_on_another_state_of_a_dataset_are_not_ranked_together(self, snapshot: Snapshot) -> None:
        """The hash of the manifest tells states of one dataset apart."""
        entry = next(entry for entry in snapshot.runs if entry.codec == "opus_6k")
        figures = {key: value._replace(states=("f" * 64,)) for key, value in entry.figures.items()}
        other = replace(entry, codec="zz_newer", figures=figures)
        changed = Snapshot(snapshot.revision, (*snapshot.runs, other))
        row = next(row for row in view(changed).rows if row.result.codec == "zz_newer")
        assert row.unranked == "run on another state of a dataset"

    def test_values_by_another_definition_are_not_ranked_together(self, snapshot: Snapshot) -> None:
        """An older PESQ keeps a codec out of the ranks by PESQ and by the score, not by Mel."""
        entry = next(entry for entry in snapshot.runs if entry.codec == "opus_6k")
        other = replace(entry, codec="zz_older", definitions={**entry.definitions, "pesq": "0"})
        changed = Snapshot(snapshot.revision, (*snapshot.runs, other))
        unranked = {
            metric: next(row for row in view(changed, metric=metric).rows if row.result.codec == "zz_older").unranked
            for metric in ("pesq", "score", "mel")
        }
        assert unranked == {
            "pesq": "PESQ by another version of its definition",
            "score": "Overall score by another version of its definition",
            "mel": "",
        }

    def test_a_result_without_a_metric_of_the_score_has_no_value(self, snapshot: Snapshot) -> None:
        """Nothing was measured by another definition: PESQ alone was."""
        entry = next(entry for entry in snapshot.runs if entry.codec == "opus_6k")
        figures = {key: value._replace(score=(None, None, None)) for key, value in entry.figures.items()}
        other = replace(entry, codec="zz_pesq", figures=figures, definitions={"pesq": entry.definitions["pesq"]})
        changed = Snapshot(snapshot.revision, (*snapshot.runs, other))
        row = next(row for row in view(changed).rows if row.result.codec == "zz_pesq")
        assert row.unranked == "no value of Overall score"


class TestFilters:
    """Each filter alone."""

    def test_bitrates(self, snapshot: Snapshot) -> None:
        """Both ends belong to the range of measured bitrates."""
        assert set(names(snapshot, kbps_min=9, kbps_max=11.11)) == {"elsewhere", "partial", "alone"}
        assert names(snapshot, kbps_min=24.24) == ["opus_24k"]

    def test_tokens_per_second(self, snapshot: Snapshot) -> None:
        """A codec without tokens lies in no range of them."""
        assert names(snapshot, tps_min=1) == ["secret", "encodec_6k"]
        assert names(snapshot, tps_max=599) == []

    def test_sampling_rates(self, snapshot: Snapshot) -> None:
        """Any of the rates will do."""
        assert names(snapshot, rates=24000) == ["secret", "encodec_6k"]
        both = select(snapshot, parse([("rates", "24000"), ("rates", "48000")]))
        assert both.total == 8

    def test_open_weights(self, snapshot: Snapshot) -> None:
        """A path on somebody's machine is not open."""
        assert set(names(snapshot, open_weights=1)) == set(RANKED + UNRANKED) - {"secret"}

    def test_causal(self, snapshot: Snapshot) -> None:
        """Only codecs whose card says so."""
        causal = {row.result.codec for row in view(snapshot).rows if row.causal}
        assert "secret" not in causal
        assert set(names(snapshot, causal=1)) == causal

    def test_search(self, snapshot: Snapshot) -> None:
        """Name, title and family are looked into, whatever the case."""
        assert set(names(snapshot, search="OPUS")) == {"opus_6k", "opus_12k", "opus_24k"}
        assert names(snapshot, search="mine") == ["secret"]
        assert set(names(snapshot, search="Encodec")) == {"encodec_6k", "secret"}

    def test_sources(self, snapshot: Snapshot) -> None:
        """Submissions, the verified ones, and each published table are apart unless all are asked for."""
        assert names(snapshot, source="verified") == ["opus_12k"]
        assert view(snapshot, source="table3").total == 19
        assert view(snapshot, source="tiny").total == 34
        assert view(snapshot, source="ultraeval").total == 9
        assert view(snapshot, source="all").total == 8 + 19 + 34 + 9 - 21  # which two tables have
        assert {row.source for row in view(snapshot).rows} == {"self-reported", "verified"}

    def test_dataset_and_category(self, snapshot: Snapshot) -> None:
        """A dataset's own results, a category's own codecs."""
        assert names(snapshot, dataset="other") == ["elsewhere"]
        assert "elsewhere" not in names(snapshot, category="music")


class TestPublishedTables:
    """Literature on the board."""

    def test_a_table_is_ranked_by_its_values(self, snapshot: Snapshot) -> None:
        """DAC at 24 kbps leads Table 3 on speech, EnCodec at 1.5 kbps is last; every row says where it comes from."""
        found = view(snapshot, source="table3")
        assert found.rank_basis == "values"
        assert (found.rows[0].result.codec, found.rows[0].result.rank) == ("table3:D2", (1, 1))
        assert found.rows[-1].result.codec == "table3:E1"
        assert found.rows[0].result.summary.score.value == 0.864
        assert {row.source for row in found.rows} == {"published"}
        assert found.rows[0].source_url == "https://arxiv.org/abs/2402.13071"

    def test_everything_mixed_is_ranked_by_value_and_says_so(self, snapshot: Snapshot) -> None:
        """Only on demand, and marked."""
        found = select_all(snapshot, parse([("source", "all")]))
        assert found.rank_basis == "mixed"
        values = [row.result.summary.score.value for row in found.rows if row.result.rank]
        assert values == sorted(values, key=lambda value: -(value or 0))

    def test_applications_can_be_chosen(self, snapshot: Snapshot) -> None:
        """Word error rate ranks upside down and is offered where the source has it."""
        found = view(snapshot, source="table3", metric="asr_wer_pct")
        assert found.rows[0].applications["asr_wer_pct"].value.mean == 2.96
        assert found.rows[0].result.rank == (1, 1)
        assert "asr_wer_pct" in found.choices.metrics
        assert "asr_wer_pct" not in view(snapshot).choices.metrics
        assert view(snapshot, source="ultraeval").rows[0].result.codec == "ultraeval:Spark"
        chinese = view(snapshot, source="ultraeval", dataset="aishell1", metric="ultra_utmos")
        assert {row.unranked for row in chinese.rows} == {"no value of UltraEval: UTMOS"}

    def test_an_unknown_bitrate_lies_in_no_range(self, snapshot: Snapshot) -> None:
        """Codecs whose table does not state it are filtered out, and their bitrate is not a number."""
        assert view(snapshot, source="ultraeval", kbps_min=0).total == 0
        assert math.isnan(view(snapshot, source="ultraeval").rows[0].result.kbps)


class TestOrder:
    """Sorting and paging."""

    @pytest.mark.parametrize(
        ("sort", "first"), [("kbps", 6.06), ("compression_ratio", 6.06), ("nominal_kbps", 6.06), ("codec", 11.11)]
    )
    def test_each_column_has_its_own_best_order(self, snapshot: Snapshot, sort: str, first: float) -> None:
        """Cheapest first, most compressed first, names from A."""
        assert view(snapshot, sort=sort).rows[0].result.kbps == pytest.approx(first)

    def test_the_order_can_be_turned(self, snapshot: Snapshot) -> None:
        """Turning reverses the order of distinct values."""
        up = [row.result.kbps for row in view(snapshot, sort="kbps", descending=0).rows]
        assert up == sorted(up)
        assert [row.result.kbps for row in view(snapshot, sort="kbps", descending=1).rows] == up[::-1]

    def test_what_has_no_value_is_last_either_way(self, snapshot: Snapshot) -> None:
        """Tokens per second are known of two codecs."""
        for descending in (0, 1):
            assert set(names(snapshot, sort="tokens_per_second", descending=descending)[:2]) == {"secret", "encodec_6k"}

    def test_pages_part_the_rows(self, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
        """All pages together are all rows, once and in order; a page beyond is empty."""
        whole = [row.result.codec for row in select_all(snapshot, parse([("source", "all")])).rows]
        monkeypatch.setattr("codec_superb.server.leaderboard.select.PAGE_SIZE", 30)
        assert [names(snapshot, source="all", page=page) for page in (1, 2)] == [whole[:30], whole[30:]]
        assert names(snapshot, source="all", page=3) == []
        assert len(set(whole)) == view(snapshot, source="all").total

    def test_every_sort_key_works(self, snapshot: Snapshot) -> None:
        """No column that is offered fails, on any source."""
        for sort in SORTS:
            for source in ("runs", "all"):
                assert view(snapshot, sort=sort, source=source).total >= 8


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ({"kind": "classical"}, True),
        ({"kind": "lossless", "weights": None}, True),
        ({"kind": "neural"}, None),
        ({"kind": "neural", "weights": {"source": "facebook/encodec_24khz"}}, True),
        ({"kind": "neural", "weights": {"source": "https://example.org/w.pt"}}, True),
        ({"kind": "neural", "weights": {"source": "random"}}, False),
        ({"kind": "neural", "weights": {"source": "./w.pt"}}, False),
        ({"kind": "neural", "weights": {"source": "local:my_checkpoint"}}, False),
        ({"kind": "neural", "weights": {"source": "C:\\w.pt"}}, False),
    ],
)
def test_open_weights_are_told_from_the_card(card: dict[str, Any], expected: bool | None) -> None:
    """The documented rule, kind by kind."""
    assert has_open_weights(card) is expected


def test_results_of_a_category_that_were_never_stored_leave_the_codec_out(tmp_path: Path) -> None:
    """A submission without results in the category has no row there and is no error."""
    url = f"sqlite:///{tmp_path / 'leaderboard.sqlite'}"
    upgrade(url)
    database = Database(url)
    with database.transaction(write=True) as session:
        make_submission(session, "opus_6k")
        session.execute(delete(Result).where(Result.category == "music"))
    with database.transaction() as session:
        taken = load_snapshot(session, None)
    database.close()
    assert names(taken, category="music") == []
    assert names(taken) == ["opus_6k"]


@examples(40)
@given(kept=st.sets(st.integers(0, 7)), renewed=st.sets(st.integers(0, 7)), asked=st.sets(st.sampled_from(SORTS)))
def test_arrays_taken_over_are_those_that_reading_anew_gives(
    snapshot: Snapshot, kept: set[int], renewed: set[int], asked: set[str]
) -> None:
    """Whatever codecs leave, come and change, the next revision's answers are those of a snapshot without a past."""
    first = Snapshot(1, tuple(snapshot.runs[i] for i in sorted(kept)))
    numbers = [key for key in asked if key not in {"codec", "family", "source"}]
    for key in numbers:
        first.frame("speech", "", "runs").numbers(key)
    for key in {*numbers} & {"score", "pesq", "mel"}:
        first.frame("speech", "", "runs").ends(key)
    runs = tuple(
        replace(entry, figures={key: value._replace(kbps=1.5, clips=7) for key, value in entry.figures.items()})
        if i in renewed else entry
        for i, entry in enumerate(snapshot.runs)
    )  # fmt: skip
    following, afresh = Snapshot(2, runs, first.frames()), Snapshot(2, runs)
    for key in numbers:
        query = [("sort", key)]
        assert select_all(following, parse(query)) == select_all(afresh, parse(query))
    np.testing.assert_array_equal(
        following.frame("speech", "", "runs").numbers("kbps"), afresh.frame("speech", "", "runs").numbers("kbps")
    )


def test_what_was_not_followed_is_handed_on(snapshot: Snapshot) -> None:
    """A frame that nobody asked for in one revision is still there for the next, and let go once it is followed."""
    first = Snapshot(1, snapshot.runs)
    first.frame("music", "", "runs").numbers("score")
    third = Snapshot(3, snapshot.runs, Snapshot(2, snapshot.runs, first.frames()).frames())
    third.frame("music", "", "runs")
    assert ("music", "", "runs", "score") not in third.before
    assert ("music", "", "runs", "score") in third.frames()


def test_a_bitrate_that_nobody_counted_has_no_rank(tmp_path: Path) -> None:
    """It is shown with the reason, in table, API and exports, however high it scores; measured ones are ranked."""
    url = f"sqlite:///{tmp_path / 'leaderboard.sqlite'}"
    upgrade(url)
    database = Database(url)
    with database.transaction(write=True) as session:
        make_submission(session, "opus_6k", 6.0, 0.70)
        make_submission(session, "declared", 6.0, 0.99, card={"bit_source": "declared"})
        make_submission(session, "unknown", None, 0.98, card={"bit_source": "unknown"})
    with database.transaction() as session:
        shown = view(load_snapshot(session, None))
    database.close()
    rows = {row.result.codec: row for row in shown.rows}
    assert {name: (row.result.rank, row.unranked) for name, row in rows.items()} == {
        "opus_6k": ((1, 1), ""),
        "declared": (None, "its bitrate is declared, not measured"),
        "unknown": (None, "its bitrate is not stated"),
    }
    assert shown.rows[0].result.codec == "opus_6k"
    sources = {"opus_6k": "measured", "declared": "declared", "unknown": "unknown"}
    assert {row["codec"]: row["bit_source"] for row in flat_rows(shown)} == sources
    assert {row["codec"]: row["bit_source"] for row in json.loads(board_json(shown))["rows"]} == sources
    assert rate_note(rows["declared"].result) == "declared"
    assert rate_note(rows["unknown"].result) == "not stated"
    estimate = SCORE.of(rows["declared"].result)
    assert estimate
    assert " kbps declared<br>" in hover_text(rows["declared"].result, estimate, SCORE)


def test_one_account_does_not_decide_what_is_ranked(database: Database) -> None:
    """Its codecs by a model of its own, on datasets of its own choice, count once and take nobody out of the order."""
    honest, own = (Probed("asr_wer_pct", 5.0, 4.0, sha256=sha256 * 64) for sha256 in "ab")
    with database.transaction(write=True) as session:
        mini, other = {"mini": ["speech"]}, {"other": ["speech"]}
        for number in range(4):
            make_submission(session, f"mine_{number}", 4.0, owner="mallory", datasets=mini | other, applications=[own])
            make_submission(session, f"few_{number}", owner=f"n{number}", datasets=other, result={"complete": False})
        make_submission(session, "opus_24k", 24.0, owner="ann", applications=[honest])
        make_submission(session, "opus_12k", 12.0, owner="bob", applications=[honest])
    with database.transaction() as session:
        board = load_snapshot(session, None)
    for chosen in ({}, {"metric": "asr_wer_pct", "dataset": "mini"}):
        assert {row.result.codec for row in view(board, **chosen).rows if row.result.rank} == {"opus_24k", "opus_12k"}
    assert most_sent([("theirs", "mallory")] * 4 + [("ours", "ann"), ("ours", "bob")]) == "ours"
    assert most_sent([("first", ""), ("second", ""), ("second", "")]) == "second"
