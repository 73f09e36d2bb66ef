"""Speech Commands v1: ``<word>/<speaker>_nohash_<n>.wav``, 30 words; ``_background_noise_`` holds no commands."""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

WORDS = (
    *("bed", "bird", "cat", "dog", "down", "eight", "five", "four", "go", "happy", "house", "left", "marvin", "nine"),
    *("no", "off", "on", "one", "right", "seven", "sheila", "six", "stop", "three", "tree", "two", "up", "wow"),
    *("yes", "zero"),
)
"""The words of version 0.01; version 0.02 has five more, which are not part of this dataset."""

SPLIT_LISTS = {"testing_list.txt": "test", "validation_list.txt": "validation"}
# the first eight digits are a hash that stands for the speaker (Warden, arXiv:1804.03209)
_CLIP = re.compile(r"([0-9a-f]{8})_nohash_(\d+)\.wav")


def find(request: IndexRequest) -> Listing:
    """List the spoken words with word, speaker and the publisher's split."""
    inner = ("speech_commands_v0.01", "SpeechCommands/speech_commands_v0.01")
    base = locate(request.root, WORDS, inner)
    listing = Listing(base)
    splits = _splits(base)
    # _background_noise_ holds long recordings without words.
    for folder in sorted(path for path in base.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))):
        for path in audio_below(folder, {".wav"}):
            _add(listing, path, base, splits)
    on_disk = {f"{clip.id}.wav" for clip in listing.found}
    listing.missing.extend(sorted(name.removesuffix(".wav") for name in splits if name not in on_disk))
    return listing


def _add(listing: Listing, path: Path, base: Path, splits: dict[str, str]) -> None:
    name = path.relative_to(base).as_posix()
    word = path.parent.name
    match = _CLIP.fullmatch(path.name)
    if match is None or word not in WORDS:
        listing.extra.append(name)
        return
    extra = {"split": splits.get(name, "train")} if splits else {}
    labels = ManifestLabels(text=word, language="en", speaker=match[1], events=(word,), extra=extra)
    listing.add(path, labels, below=base)


def _splits(base: Path) -> dict[str, str]:
    """Return the split by relative path, from the lists that the archive holds; empty where it holds none."""
    present = [(base / name, split) for name, split in SPLIT_LISTS.items() if (base / name).is_file()]
    return {line.strip(): split for path, split in present for _, line in read_lines(path)}
