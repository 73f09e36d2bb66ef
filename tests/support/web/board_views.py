"""Answers of the leaderboard for tests of its page: any number of codecs, of every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from support.web.report import make_points, make_results

from codec_superb.web.figures.pareto import pareto_front
from codec_superb.web.rows import BoardRow, CodecResult
from codec_superb.web.site.board.choices import BoardState, BoardView, Choices

_NAMES = ("score", "stft", "mel", "pesq", "stoi", "si_sdr", "sdr", "estoi")


def board_results(copies: int = 1) -> list[CodecResult]:
    """Make fourteen results of speech, as often as asked, with names of their own, best first."""
    found = make_results(make_points("speech", 12))
    many = [
        replace(row, codec=f"{row.codec}_{copy}" if copy else row.codec, title=f"{row.title} {copy or ''}".strip())
        for copy in range(copies)
        for row in found
    ]
    return sorted(many, key=lambda row: -(row.summary.score.value or 0))


def board_row(result: CodecResult, number: int = 0, **changes: Any) -> BoardRow:
    """Make a published submission of a result; every fifth was verified."""
    verified = number % 5 == 0
    row = BoardRow(
        result=result,
        source="verified" if verified else "self-reported",
        source_label="verified" if verified else "self-reported",
        source_url=None,
        submission=f"abcdefgh{number:04}",
        received="2026-11-21",
        submitter="Sound Lab",
        sampling_rate=16000 if number % 2 else 44100,
        kind="lossless" if result.lossless else "classical",
        open_weights=True,
        causal=bool(number % 2),
        undefined=sum(estimate.undefined for estimate in result.summary.metrics.values()),
        unranked="",
    )
    return replace(row, **changes)


def board_view(state: BoardState | None = None, rows: Sequence[BoardRow] | None = None, **changes: Any) -> BoardView:
    """Make an answer that shows ``rows``; by default fourteen codecs."""
    shown = [board_row(result, n) for n, result in enumerate(board_results())] if rows is None else list(rows)
    view = BoardView(
        state=state or BoardState(),
        rows=shown,
        total=len(shown),
        page_size=50,
        ranked_datasets=("librispeech", "mini"),
        choices=Choices(
            datasets=("librispeech", "mini"),
            metrics=_NAMES,
            rates=(8000, 16000, 44100, 48000),
            sources=(
                ("runs", "All submissions", len(shown)),
                ("verified", "Verified submissions", 3),
                ("table3", "Codec-SUPERB, Table 3", 19),
                ("all", "Everything, mixed", len(shown) + 19),
            ),
        ),
        revision="7",
        updated="2026-11-21" if shown else None,
    )
    return replace(view, **changes)


def front_of(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Find the rows on the Pareto front of the overall score, lossless ones aside."""
    lossy = [row for row in rows if not row.result.lossless]
    values = [row.result.summary.score.value or 0.0 for row in lossy]
    return [lossy[n] for n in pareto_front([row.result.kbps for row in lossy], values, higher_is_better=True)]
