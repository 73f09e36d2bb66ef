"""Sounds of runs, lossless: a clip's reference from its dataset, and the resyntheses that the runs stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.listening.sounds import ClipSounds, Floats
from codec_superb.pipeline.runs.audio_store import read_audio
from codec_superb.pipeline.runs.dataset_access import dataset_of_run, load_mono
from codec_superb.pipeline.runs.folder import RunFolder, find_runs
from codec_superb.pipeline.submission.listening import is_redistributable, round_robin
from codec_superb.pipeline.tables.rows import ClipRow


def sounds_of_runs(
    place: Path, codecs: Sequence[str], *, dataset: str | None, clips: Sequence[str], most: int, any_licence: bool
) -> Iterator[ClipSounds]:
    """Yield the clips that all codecs resynthesised: those named, or up to ``most`` of all categories by turns.

    Clips whose licence does not allow passing them on are left out unless ``any_licence``. Raises PipelineError where
    a codec has no run (of ``dataset``) below ``place``, where there are several datasets to choose from, where a named
    clip is missing and where none is left; DatasetError where the references are not on this machine.
    """
    folders = _folders(place, codecs, dataset)
    opened = dataset_of_run(folders[codecs[0]].info().dataset)
    rows = {codec: {row.clip: row for row in folder.rows() if row.status == "ok"} for codec, folder in folders.items()}
    shared = [row for clip, row in rows[codecs[0]].items() if all(clip in found for found in rows.values())]
    missing = [clip for clip in clips if clip not in {row.clip for row in shared}]
    if missing:
        raise PipelineError(f"expected clips that all of {', '.join(codecs)} resynthesised, got {', '.join(missing)}")
    free = [row for row in shared if any_licence or is_redistributable(opened.clip(row.clip).licence)]
    chosen = clips or [row.clip for row in list(round_robin(free))[:most]]
    if not chosen:
        raise PipelineError("no clip is left: none is shared by all codecs under a licence that allows passing it on")
    for name in chosen:
        clip = opened.clip(name)
        reference, rate = load_mono(clip)
        resyntheses = {codec: _resynthesis(folders[codec], found[name], rate) for codec, found in rows.items()}
        credit = f"{clip.attribution}{'. ' if clip.attribution else ''}Licence: {clip.licence}"
        yield ClipSounds(name, rate, reference, resyntheses, credit)


def _folders(place: Path, codecs: Sequence[str], dataset: str | None) -> dict[str, RunFolder]:
    """Find the finished clean run of each codec on the dataset; the same state of it for all."""
    found: dict[str, dict[str, RunFolder]] = {}
    for folder in find_runs([place]):
        info = folder.info()
        if info.condition is None and info.card.name in codecs and dataset in {None, info.dataset.name}:
            found.setdefault(info.dataset.name, {})[info.card.name] = folder
    whole = [name for name, its in found.items() if set(its) == set(codecs)]
    if len(whole) != 1:
        raise PipelineError(
            f"expected runs of {', '.join(codecs)} on one dataset below {place}, got "
            f"{', '.join(sorted(whole)) or 'none with all of them'}; name it: `dataset: NAME`"
        )
    folders = found[whole[0]]
    if len({folder.info().dataset.manifest_hash for folder in folders.values()}) > 1:
        raise PipelineError(f"the runs on {whole[0]} are of different states of it; call resynth again")
    return {codec: folders[codec] for codec in codecs}


def _resynthesis(folder: RunFolder, row: ClipRow, rate: int) -> Floats:
    audio, own = read_audio(folder.audio_path(row.clip), row.resynthesis_sha256 or "")
    if own != rate:
        raise PipelineError(f"{row.clip}: expected a resynthesis at the reference's {rate} Hz, got {own} Hz")
    return audio
