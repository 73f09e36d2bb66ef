"""Checks of trials, ranks, counts and frames: of clips that take part, and as many as the clip rows count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codec_superb.applications.probe import LARGEST_COUNT, PARTS, SIDES, SIGNED
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.aggregates.evidence import by_dataset_and_probe
from codec_superb.pipeline.submission.check_frames import check_frames
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.tables.rows import ClipRow, CountsRow, FramesRow, KeptRow, PairRow
from codec_superb.pipeline.tables.stored_rows import have_probes

_SLACK = 1e-9
"""Of sums of shares, which are rounded."""
_AGAIN = "probe the run again, then pack; trials and ranks are not edited by hand"
MOST_CLASSES = 2000
"""Classes of a dataset: AudioSet has 527, and the cost of aggregation grows with clips times classes."""
MOST_TRIALS = 200_000
"""Trials of a submission: intervals cost up to 40 microseconds of processor time each, since their curves are drawn
for every group of clips that is left out. A list that ``probe`` builds has 50,000, Vox1-O of VoxCeleb1 37,611."""


def check_pairs(rows: Sequence[ClipRow], pairs: Sequence[KeptRow], findings: Findings) -> bool:
    """Check the pairs and frames of every dataset and probe; whether figures can be computed from them."""
    faults = findings.count
    taking: dict[tuple[str, str], dict[str, ClipRow]] = {}
    for row in rows if have_probes(rows) else ():
        for key, entry in row.probes.items():
            if entry.status == "ok" and key in PROBES and PROBES[key].pairs:
                taking.setdefault((row.dataset, key), {})[row.clip] = row
    groups = by_dataset_and_probe(pairs)
    trials = sum(len(mine) for (_, key), mine in groups.items() if PROBES[key].pairs == "trials")
    if trials > MOST_TRIALS:
        findings.add("pairs.parquet", f"at most {MOST_TRIALS} trials", trials, "probe with a shorter list of trials")
        return False
    for dataset, key in sorted(taking.keys() | groups.keys()):
        clips, mine = taking.get((dataset, key), {}), groups.get((dataset, key), ())
        where, pairs_of = f"pairs.parquet: {dataset}: {key}", [row for row in mine if isinstance(row, PairRow)]
        if PROBES[key].pairs == "frames":
            frames = [row for row in mine if isinstance(row, FramesRow)]
            check_frames(clips, frames, f"vectors.parquet: {dataset}: {key}", findings)
        elif PROBES[key].pairs == "trials":
            _check_trials(clips, pairs_of, where, findings)
        elif PROBES[key].pairs == "counts":
            _check_named(clips, [row for row in mine if isinstance(row, CountsRow)], where, findings)
        else:
            _check_ranks(clips, pairs_of, where, findings)
    return findings.count == faults


def _check_trials(clips: dict[str, ClipRow], trials: Sequence[PairRow], where: str, findings: Findings) -> None:
    """Two clips each, and as many of each clip as its row says. A published list may name a trial twice."""
    counts: Counter[str] = Counter()
    seen: dict[tuple[str, str], PairRow] = {}
    for trial in trials:
        place = f"{where}: {trial.left}, {trial.right}"
        counts.update((trial.left, trial.right))
        if trial.left not in clips or trial.right not in clips:
            findings.add(place, "clips on which the probe is ok", "others", _AGAIN)
        if trial.left == trial.right:
            findings.add(place, "two clips", "one", _AGAIN)
        if trial.enrol_clean is None:
            findings.add(f"{place}: enrol_clean", "the score against the original as enrolment", None, _AGAIN)
        if seen.setdefault((trial.left, trial.right), trial) != trial:
            findings.add(place, "one answer and one score for each trial", "two that differ", _AGAIN)
    _check_counts(clips, counts, "trials", where, findings)


def _check_ranks(clips: dict[str, ClipRow], ranks: Sequence[PairRow], where: str, findings: Findings) -> None:
    """Whole ranks among the clips, each clip once in a class, and as many of each clip as its row says."""
    counts: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    classes: dict[str, list[PairRow]] = {}
    for rank in ranks:
        place = f"{where}: {rank.left}, {rank.right}"
        counts[rank.left] += 1
        classes.setdefault(rank.right, []).append(rank)
        if rank.left not in clips:
            findings.add(place, "a clip on which the probe is ok", "another", _AGAIN)
        if (rank.left, rank.right) in seen:
            findings.add(place, "one rank of a clip within a class", "another", _AGAIN)
        seen.add((rank.left, rank.right))
        if not rank.target or rank.enrol_clean is not None:
            findings.add(place, "target true and no enrol_clean for a rank", "not so", _AGAIN)
        for side in SIDES:
            value = getattr(rank, side)
            if not 1 <= value <= len(clips) or not float(value).is_integer():
                findings.add(f"{place}: {side}", f"a whole rank of 1 to {len(clips)}, its clips", value, _AGAIN)
    if len(classes) > MOST_CLASSES:
        findings.add(where, f"at most {MOST_CLASSES} classes", len(classes), _AGAIN)
    for name, members in classes.items():
        _check_class(members, f"{where}: {name}", findings)
    _check_counts(clips, counts, "labels", where, findings)


def _check_named(clips: dict[str, ClipRow], rows: Sequence[CountsRow], where: str, findings: Findings) -> None:
    """Each name of a clip once, with a total, and as many of each clip as its row says."""
    counts: Counter[str] = Counter()
    # clips of a codec have the same names
    ends = {names: _ends(names) for names in {row.names for row in rows}}
    for row in rows:
        place = f"{where}: {row.clip}"
        if row.clip not in clips:
            findings.add(place, "a clip on which the probe is ok", "another", _AGAIN)
        if row.clip in counts or len(set(row.names)) < len(row.names):
            findings.add(place, "a count of a clip once", "another", _AGAIN)
        counts[row.clip] += len(row.names)
        totals, values = row.numbers
        possible = (totals >= 0) & (totals <= LARGEST_COUNT)
        for at in np.flatnonzero(~possible):
            expected = f"a total of 0 to {LARGEST_COUNT:g}"
            findings.add(f"{place}, {row.names[at]}: reference", expected, float(totals[at]), _AGAIN)
        least, times, more = ends[row.names]
        most = times * totals + more
        for at in np.flatnonzero(possible & ~((values >= least) & (values <= most))):
            expected = f"{least[at]:g} to {most[at]:g}"
            findings.add(f"{place}, {row.names[at]}: resynthesis", expected, float(values[at]), _AGAIN)
    _check_counts(clips, counts, "counts", where, findings)


def _ends(names: Sequence[str]) -> NDArray[np.float64]:
    """Return what counts may be, ``(3, names)``: the least; how many times the total and how much more the most is."""
    return np.array([_ends_of(name) for name in names]).T


def _ends_of(name: str) -> tuple[float, float, float]:
    if name.startswith(PARTS):
        return 0.0, 1 + _SLACK, 0.0
    if name == "bits:coded:all":  # the coder sends what it does not shorten as it is, and says so in a bit
        return 0.0, 1 + _SLACK, 2.0
    return -LARGEST_COUNT if name.startswith(SIGNED) else 0.0, 0.0, LARGEST_COUNT


def _check_class(ranks: Sequence[PairRow], where: str, findings: Findings) -> None:
    """Ties count against a clip, so the k-th best of a class has a rank of k at least."""
    for side in SIDES:
        ordered = sorted(getattr(rank, side) for rank in ranks)
        # the k-th best clip of a class has k clips of that class at its rank or before it, itself included
        early = [rank for place, rank in enumerate(ordered, start=1) if rank < place]
        if early:
            findings.add(f"{where}: {side}", "as many clips at a rank or before it as it says", early[0], _AGAIN)


def _check_counts(clips: dict[str, ClipRow], counts: Counter[str], field: str, where: str, findings: Findings) -> None:
    key = where.rpartition(": ")[2]
    for clip, row in clips.items():
        said = row.probes[key].shared[field]
        if said != counts[clip]:
            place = f"clips.parquet: {row.dataset}/{clip}: {key}.{field}"
            findings.add(place, f"{counts[clip]}, counted in pairs.parquet", said, _AGAIN)
