"""The names under which clips leave this program, and under which their resyntheses come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from codec_superb.data_manifests.audio.audio_file import AUDIO_SUFFIXES
from codec_superb.pipeline.runs.audio_store import file_name

WAV = ".wav"


def without_ending(name: str, endings: Collection[str] = AUDIO_SUFFIXES) -> str:
    """Return a path without its ending, where that is one of ``endings``; any other dot is part of the name."""
    ending = PurePosixPath(name).suffix
    return name[: -len(ending)] if ending.lower() in endings else name


def reference_names(clips: Iterable[str]) -> dict[str, str]:
    """Return the relative path of each clip's exported file: its id with the ending ``.wav``.

    The ending of an audio file in the id is replaced (``a.flac`` gives ``a.wav``) unless two clips of the dataset would
    then have one name: all keep theirs in that case (``a.flac.wav``).
    """
    ids = list(clips)
    bare = {clip: without_ending(clip) for clip in ids}
    names = bare if len(set(bare.values())) == len(ids) else {clip: clip for clip in ids}
    return {clip: file_name(name, WAV) for clip, name in names.items()}
