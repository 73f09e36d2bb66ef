"""What ``tokens lm`` asks and prints: a learning curve of each codec, and its codebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codec_superb.applications.token_models.configuration import configuration_named
from codec_superb.applications.token_models.patterns import pattern_named
from codec_superb.applications.token_models.training import TokenTraining
from codec_superb.applications.training.loop import OnStep
from codec_superb.cli.console import TerminalProgress, note, print_table
from codec_superb.cli.options import Device
from codec_superb.cli.selection import dataset_spec
from codec_superb.metrics.results import Score
from codec_superb.pipeline.token_models.run import Asked, TokenModelResult
from codec_superb.pipeline.workers.devices import trained_on

CURVE = ("training", "tokens", "bits a token", "seeds", "95 % interval", "perplexity", "kbps", "of nominal")
BOOKS = ("codebook", "entries", "bits a token", "95 % interval", "perplexity")


def asked_of(
    codec: str, datasets: Sequence[str], model: str, pattern: str, seeds: Sequence[int], shares: Sequence[float],
    device: Device, weights: Path | None,
) -> Asked:  # fmt: skip
    """Return what is asked of one codec. Raises UnknownApplication, ApplicationError for names and files."""
    configuration = configuration_named(model)
    return Asked(
        codec, tuple(dataset_spec(name) for name in datasets), configuration,
        pattern_named(pattern or configuration.pattern), tuple(dict.fromkeys(seeds)), tuple(sorted({*shares})),
        weights, trained_on(device),
    )  # fmt: skip


def shown(training: TokenTraining, progress: TerminalProgress) -> OnStep:
    """Show the steps of one model as a bar."""
    begun: list[int] = []

    def on_step(step: int, _loss: float) -> None:
        if not begun:
            seconds = sum(of.seconds for of in training.clips)
            title = f"{training.codec}: {training.configuration.model}, {seconds / 60:.1f} min, seed {training.seed}"
            progress.start(title, training.steps, step - 1)
        begun.append(step)
        progress.advance()

    return on_step


def print_result(found: TokenModelResult) -> None:
    """Print the curve, then the codebooks under the first seed's model of most sound."""
    last = found.readings[-1].figures
    marks = ", random weights" if found.random else ""
    title = (
        f"{found.codec}{marks}: {found.model}, {found.pattern}; held out by {found.held_out_by}: {last.clips} clips in "
        f"{last.clusters} clusters, {last.seconds / 60:.1f} min; {found.speakers_in_both} speakers in both parts"
    )
    rows = []
    for point in found.curve():
        first = next(of.figures for of in found.readings if of.share == point.share)
        spread = f"{min(point.bits.values()):.3f} to {max(point.bits.values()):.3f}"
        kbps = sum(point.kbps.values()) / len(point.kbps)
        rows.append(
            (
                f"{point.training_seconds / 60:.1f} min", f"{point.training_tokens:,}", f"{point.mean:.3f}", spread,
                _interval(first.bits), f"{2**point.mean:.2f}", f"{kbps:.3f}", f"{kbps / first.nominal_kbps:.1%}",
            )
        )  # fmt: skip
    print_table(title, CURVE, rows, numbers_from=1)
    best = next(of for of in found.readings if of.share == found.curve()[-1].share)
    books = [
        (f"{of.codebook}", f"{of.entries}", f"{of.bits.value:.3f}", _interval(of.bits), f"{of.perplexity.value:.2f}")
        for of in best.figures.codebooks
    ]
    print_table("", BOOKS, books, numbers_from=0)
    for clip, reason in found.failed.items():
        note(f"{clip}: {reason}")


def _interval(of: Score) -> str:
    return "–" if of.low is None or of.high is None else f"{of.low:.3f} to {of.high:.3f}"
