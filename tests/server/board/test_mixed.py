"""One row for a configuration that a submission and published figures both have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.server.board import make_submission

from codec_superb.pipeline.literature.tables import published_table
from codec_superb.server.board.entries import board_row
from codec_superb.server.board.published import published_entry
from codec_superb.server.board.snapshot import Snapshot, load_snapshot
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.database.session import Database
from codec_superb.server.leaderboard.answers import board_json
from codec_superb.server.leaderboard.select import select_all
from codec_superb.web.rows import BoardRow
from codec_superb.web.site.board.choices import BoardState

NAME = "encodec_24k_6bps"
"""In the paper's table as E3, and in the re-run under its own name."""
TWICE = 21
"""Configurations of speech that two tables have."""


def test_tables_alone_list_a_configuration_once() -> None:
    """On an empty board the row with the most values stands for both: it names the other's score, has its bitrate.

    Application metrics that it takes over are ranked with those of their table, on whose datasets they rest.
    """
    snapshot = Snapshot(0, ())
    for category, rows in (("speech", 41), ("audio", 34), ("music", 34)):
        codecs = [row.result.codec for row in select_all(snapshot, BoardState(source="all", category=category)).rows]
        names = [published_table(table).codec(codec).runs_as for table, _, codec in (c.partition(":") for c in codecs)]
        used = [name for each in names for name in each]
        assert (len(codecs), len(used)) == (rows, len(set(used)))
    speech = {row.result.codec: row for row in select_all(snapshot, BoardState(source="all")).rows}
    assert speech["tiny:dac_44k"].also == ("0.802 (Codec-SUPERB, Table 3)",)
    assert (speech["tiny:dac_44k"].result.summary.kbps, speech["tiny:dac_44k"].result.nominal_kbps) == (8.0, 8.0)
    for metric, table in (("asr_wer_pct", "table3"), ("ultra_average", "ultraeval")):
        mixed, alone = (select_all(snapshot, BoardState(source=source, metric=metric)) for source in ("all", table))
        ranks = [[row.result.rank for row in view.rows if metric in row.applications] for view in (mixed, alone)]
        assert ranks[0] == ranks[1] != []
        assert mixed.ranked_datasets == alone.ranked_datasets


def test_a_configuration_is_listed_once(tmp_path: Path) -> None:
    """A submission stands for the figures that papers have of it, names them, and keeps its own.

    A namesake does not, nor a partial one. Where the submission has no results of a category, the published ones stay.
    """
    url = f"sqlite:///{tmp_path / 'board.sqlite'}"
    upgrade(url)
    database = Database(url)
    with database.transaction(write=True) as session:
        make_submission(session, NAME, 6.0, 0.7, card={"family": "encodec"}, datasets={"mini": ["speech"]})
        make_submission(session, "unicodec_24k", 6.0, 0.7, card={"family": "mine"})
        few = {"card": {"family": "sqcodec"}, "result": {"complete": False}}
        make_submission(session, "sqcodec_16k_3kbps", 3.0, 0.6, **few)
        make_submission(session, "mimi_32cb", 4.4, 0.8, card={"family": "mimi"})
    with database.transaction() as session:
        snapshot = load_snapshot(session, None)
    database.close()

    def listed(state: BoardState) -> dict[str, BoardRow]:
        return {row.result.codec: row for row in select_all(snapshot, state).rows}

    speech, music = (listed(BoardState(source="all", category=category)) for category in ("speech", "music"))
    alone = {source: listed(BoardState(source=source)) for source in ("runs", "table3", "tiny", "ultraeval")}
    assert not {"table3:E3", f"tiny:{NAME}", "ultraeval:Mimi (32bit)"} & set(speech)
    assert {"table3:E3", f"tiny:{NAME}", NAME} & set(music) == {f"tiny:{NAME}"}
    assert len(speech) == sum(map(len, alone.values())) - 3 - TWICE + 1  # 1: the submission's two tables count as one
    assert {"unicodec_24k", "tiny:unicodec_24k"} <= set(speech)
    assert {"sqcodec_16k_3kbps", "tiny:sqcodec_16k_3kbps"} <= set(speech)
    scores = [alone[table][codec].result.summary.score.value for table, codec in
              (("table3", "table3:E3"), ("tiny", f"tiny:{NAME}"))]  # fmt: skip
    labels = [alone[table][codec].source_label for table, codec in
              (("table3", "table3:E3"), ("tiny", f"tiny:{NAME}"))]  # fmt: skip
    assert speech[NAME].also == tuple(f"{score:.3f} ({label})" for score, label in zip(scores, labels, strict=True))
    assert alone["runs"][NAME].also == ()
    published = alone["ultraeval"]["ultraeval:Mimi (32bit)"].applications
    assert speech["mimi_32cb"].applications == published != {}
    assert b'"also":["0.' in board_json(select_all(snapshot, BoardState(source="all", search=NAME)))


def test_a_row_is_known_by_which_figures_were_run_again() -> None:
    """A newer attestation may cover as many others: what was written of the row before is not shown for it."""
    entry = published_entry("table3:E3")
    of = entry.applications[""]

    def identity(*own: str) -> str:
        rows = {key: replace(row, published=False, own_word="x" * (key in own)) for key, row in of.items()}
        return board_row(replace(entry, applications={"": rows}), "speech", "", None, "").identity

    assert identity("asr_wer_pct") == identity("asr_wer_pct")
    assert len({identity(), identity("asr_wer_pct"), identity("asv_eer_pct")}) == 3
