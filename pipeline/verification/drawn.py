"""Whether the clips of an attestation are those that its seed draws from the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from codec_superb.pipeline.verification.attestation import AttestationError
from codec_superb.pipeline.verification.draw import Placed, clips_needed, draw
from codec_superb.pipeline.verification.statement import DatasetVerdict, Statement


def check_drawn(
    statement: Statement, states: Mapping[str, str], rows: Sequence[Placed], *, by_default: bool = False
) -> None:
    """Raise AttestationError where datasets, counts or drawn clips do not follow from the file and the seed.

    ``states`` are the file's datasets with the hashes of their states, ``rows`` its clips. How many are drawn is the
    maintainer's choice; ``by_default`` demands at least as many as the default. Of a file that differs, clips that
    failed here may be missing.
    """
    named = {of.name: of.manifest_hash for of in statement.datasets}
    if statement.verdict == "agrees" and named.keys() != states.keys():
        raise AttestationError(f"expected clips of each dataset, {', '.join(sorted(states))}, got {', '.join(named)}")
    rows_of: dict[str, list[Placed]] = defaultdict(list)
    for row in rows:
        rows_of[row.dataset].append(row)
    made: dict[str, list[str]] = defaultdict(list)
    for entry in statement.clips:
        made[entry.dataset].append(entry.clip)
    for dataset in statement.datasets:
        if states.get(dataset.name) != dataset.manifest_hash:
            raise AttestationError(f"{dataset.name}: expected the state that the file names, got another")
        its = rows_of[dataset.name]
        if dataset.clips != len(its):
            raise AttestationError(f"{dataset.name}: expected {len(its)} clips, as the file has, got {dataset.clips}")
        _check_clips(statement, dataset, its, made[dataset.name], by_default=by_default)


def _check_clips(
    statement: Statement, dataset: DatasetVerdict, its: Sequence[Placed], made: Sequence[str], *, by_default: bool
) -> None:
    if statement.verdict == "differs":
        if not {row.clip for row in its}.issuperset(made):
            raise AttestationError(f"{dataset.name}: expected clips of the file, got others")
        return
    if tuple(made) != draw(its, statement.seed, dataset.drawn).get(dataset.name, ()):
        raise AttestationError(f"{dataset.name}: the clips are not those that the seed draws: they were chosen")
    if not by_default:
        return
    least = clips_needed([size for _, size in sorted(Counter(row.category for row in its).items())])  # as drawn
    if dataset.drawn < least:
        raise AttestationError(
            f"{dataset.name}: expected {least} clips or more, as many as are drawn without --clips, got {dataset.drawn}"
        )
