"""Print the outcome of a stage as text or JSON; failed clips give the exit code 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codec_superb.cli.console import note
from codec_superb.cli.options import plain_path
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.pipeline.runs.outcome import FailedClip, RunOutcome

CLIPS_FAILED = 3
SHOWN = 20


def as_data(outcomes: Sequence[RunOutcome]) -> list[dict[str, Any]]:
    """Return outcomes as plain data for ``--json``."""
    return [
        {
            "run": str(outcome.path), "codec": outcome.codec, "dataset": outcome.dataset, "stage": outcome.stage,
            "asked": outcome.asked, "done": outcome.done, "reused": outcome.reused,
            "failed": [failed._asdict() for failed in outcome.failed],
            "metrics": {
                key: {"ok": counts.ok, "undefined": counts.undefined, "failed": counts.failed}
                for key, counts in outcome.metrics.items()
            },
            "probes": {
                key: {"ok": counts.ok, "left_out": counts.left_out, "failed": counts.failed}
                for key, counts in outcome.probes.items()
            },
        }
        for outcome in outcomes
    ]  # fmt: skip


def print_outcomes(outcomes: Sequence[RunOutcome]) -> None:
    """Print one line per run, then the failed clips."""
    for outcome in outcomes:
        parts = [count(outcome.asked, "clip"), f"{outcome.done} done now"]
        parts += [f"{outcome.reused} finished before"] if outcome.reused else []
        parts += [
            f"{key} undefined on {counts.undefined}" for key, counts in outcome.metrics.items() if counts.undefined
        ]
        parts += [f"{key} left out {counts.left_out}" for key, counts in outcome.probes.items() if counts.left_out]
        parts += [f"{len(outcome.failed)} failed"] if outcome.failed else []
        note(f"{outcome.stage} {plain_path(outcome.path)}: {', '.join(parts)}")
    print_failures(outcomes)


def print_failures(outcomes: Sequence[RunOutcome]) -> None:
    """Print the failures, each once: a failure that several codecs or stages share is one line."""
    by_cause: dict[tuple[str, FailedClip], dict[str, None]] = {}
    for outcome in outcomes:
        for failed in outcome.failed:
            by_cause.setdefault((outcome.dataset, failed), {})[outcome.codec] = None
    for (dataset, failed), codecs in list(by_cause.items())[:SHOWN]:
        who = next(iter(codecs)) if len(codecs) == 1 else f"{len(codecs)} runs"
        note(f"  failed: {who} / {dataset} / {failed.clip} ({failed.stage}): {failed.reason}")
    if len(by_cause) > SHOWN:
        note(f"  and {len(by_cause) - SHOWN} more; all are in clips.parquet, and in the output of --json")


def exit_code(outcomes: Sequence[RunOutcome]) -> int:
    """Return 0 when everything requested was done, 3 when clips failed."""
    return CLIPS_FAILED if any(outcome.failed for outcome in outcomes) else 0
