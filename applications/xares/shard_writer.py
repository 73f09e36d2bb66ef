"""Writes datasets of the program as WebDataset shards, which XARES-LLM and ``xares train --data`` read."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import soundfile

from codec_superb.applications.clips import item_of
from codec_superb.applications.errors import MissingLabels
from codec_superb.data_manifests import Clip, open_dataset
from codec_superb.data_manifests.files import write_atomically

_LABELS = ("text", "language", "speaker", "emotion", "events", "answers")


class Written(NamedTuple):
    """What became of a dataset."""

    samples: int
    shards: int
    written: int
    """Shards that were not there before, or held something else."""
    left_out: int
    """Clips without the label."""


def write_shards(dataset: str, label: str, out: Path, per_shard: int) -> Written:
    """Write every clip that has ``label``, in the order of ids; a shard that is the same already is left alone.

    Sound is FLAC of 24 bits at the clip's own rate and channels; JSON holds ``label``, ``id``, ``licence`` and
    ``attribution``. Raises DatasetError for the dataset, MissingLabels where no clip has the label.
    """
    if label not in _LABELS and not label.startswith("extra:"):
        raise MissingLabels(f"expected a label of {', '.join(_LABELS)} or extra:NAME, got {label!r}")
    opened = open_dataset(dataset)
    clips = [opened.clip(clip_id) for clip_id in sorted(opened.clip_ids())]
    texts = {clip.id: item_of(clip).label(label) for clip in clips}
    own = [clip for clip in clips if texts[clip.id]]
    if not own:
        raise MissingLabels(
            f"{dataset}: expected clips with the label {label}, got none; see codec-superb datasets list"
        )
    parts = [own[at : at + per_shard] for at in range(0, len(own), per_shard)]
    written = 0
    for number, part in enumerate(parts):
        file = out / f"{opened.name}_{number:06d}.tar.gz"
        content = _packed([_sample(at, clip, texts[clip.id]) for at, clip in enumerate(part, number * per_shard)])
        # one of another label or size has the same name
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, content)
            written += 1
    return Written(len(own), len(parts), written, len(clips) - len(own))


def _sample(number: int, clip: Clip, text: str | tuple[str, ...] | None) -> tuple[str, bytes, dict[str, Any]]:
    audio, rate = clip.load()
    flac = io.BytesIO()
    soundfile.write(flac, audio.T, rate, format="FLAC", subtype="PCM_24")
    label = list(text) if isinstance(text, tuple) and len(text) > 1 else text[0] if isinstance(text, tuple) else text
    said = {"label": label, "id": clip.id, "licence": clip.licence, "attribution": clip.attribution}
    # a dot would end the key, a slash would make a folder; ustar has names of 100 bytes
    return f"{number:06d}_{re.sub(r'[^A-Za-z0-9_-]', '_', clip.id)[:60]}", flac.getvalue(), said


def _packed(samples: Sequence[tuple[str, bytes, dict[str, Any]]]) -> bytes:
    """Return a shard of sounds with their JSON, the same bytes each time: no times, owners, or name in gzip's head."""
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", mtime=0, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.USTAR_FORMAT) as shard,
    ):
        for key, flac, said in samples:
            text = json.dumps(said, ensure_ascii=False, sort_keys=True).encode()
            for name, data in ((f"{key}.flac", flac), (f"{key}.json", text)):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                shard.addfile(info, io.BytesIO(data))
    return content.getvalue()
