"""Checks of frames: they belong to clips that take part, as many as each row says, and no more than are aggregated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from codec_superb.applications.mseb.frame_sample import most_frames
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.tables.rows import ClipRow, FramesRow

_AGAIN = "probe the run again, then pack; frames are not edited by hand"


def check_frames(clips: Mapping[str, ClipRow], rows: Sequence[FramesRow], where: str, findings: Findings) -> None:
    """Check the frames of one probe on one dataset against the clips on which it is ok.

    ``where`` ends with the probe's key.
    """
    key = where.rpartition(": ")[2]
    named = Counter(row.clip for row in rows)
    for name, times in named.items():
        if name not in clips:
            findings.add(f"{where}: {name}", "a clip on which the probe is ok", "another", _AGAIN)
        if times > 1:
            findings.add(f"{where}: {name}", "the frames of a clip once", f"{times} rows", _AGAIN)
    kept = {row.clip: row.kept for row in rows}
    for clip, row in clips.items():
        said = row.probes[key].shared["frames"]
        if said != kept.get(clip, 0):
            place = f"clips.parquet: {row.dataset}/{clip}: {key}.frames"
            findings.add(place, f"{kept.get(clip, 0)}, counted in vectors.parquet", said, _AGAIN)
    for of in rows:
        clip_row = clips.get(of.clip)
        # a hop is a sample at least, and some models fill short clips up
        most = max(clip_row.samples or 0, clip_row.sampling_rate or 0) if clip_row else of.frames
        if of.frames > most:
            expected = f"at most {most} frames: a sample each, or those of a second where the clip is shorter"
            findings.add(f"{where}: {of.clip}: frames", expected, of.frames, _AGAIN)
    sizes = sorted({row.dimensions for row in rows})
    if len(sizes) > 1:
        findings.add(where, "frames of one number of dimensions", sizes, _AGAIN)
    most, total = most_frames(max(sizes, default=1)), sum(row.kept for row in rows)
    if total > most:  # a distance of sets costs the square of their frames
        findings.add(where, f"at most {most} frames of {max(sizes)} numbers", total, _AGAIN)
