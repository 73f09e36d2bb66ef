"""Audio SNIPS: ``{train,valid,test}/<voice>-snips-<split>-<n>.wav`` and ``all.iob.snips.txt``.

This is the layout that the SUPERB recipe creates from the published MP3 files. A line of ``all.iob.snips.txt`` is the
clip's name, ``BOS``, the words, ``EOS``, a tab, and one slot label for each of these, the last being the intent.
"""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate, present_splits
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

TEXTS = "all.iob.snips.txt"


def find(request: IndexRequest) -> Listing:
    """List the clips of the manifest's splits with text, voice, intent and slots."""
    base = locate(request.root, TEXTS, ("SNIPS", "snips", "audio_snips"))
    listing = Listing(base)
    labels = _labels(base / TEXTS)
    for split in present_splits(base, request.partition.splits, listing):
        _take_split(listing, base, split, labels)
    return listing


def _take_split(listing: Listing, base: Path, split: str, labels: dict[str, ManifestLabels]) -> None:
    names = set()
    for path in audio_below(base / split, {".wav", ".mp3", ".flac"}):
        names.add(path.stem)
        voice = ManifestLabels(language="en", speaker=path.stem.split("-")[0], extra={"split": split})
        listing.add(path, labels.get(path.stem, voice), below=base, labelled=path.stem in labels)
    voices = {name.split("-")[0] for name in names}
    # all.iob.snips.txt lists 16 voices; a voice without any file in the split was left out on purpose.
    wanted = {name for name in labels if f"-snips-{split}-" in name and name.split("-")[0] in voices}
    listing.missing.extend(f"{split}/{name}" for name in sorted(wanted - names))


def _labels(path: Path) -> dict[str, ManifestLabels]:
    labels: dict[str, ManifestLabels] = {}
    for number, line in read_lines(path):
        words, _, tags = line.partition("\t")
        name, *text = words.split()
        *slots, intent = tags.split() or [""]
        if name.count("-") < 3 or text[:1] != ["BOS"] or text[-1:] != ["EOS"] or not intent:  # noqa: PLR2004 - its fields
            raise LayoutError(f"{path} line {number}: expected NAME BOS words EOS, a tab and labels, got {line[:80]!r}")
        if name in labels:
            raise LayoutError(f"{path} line {number}: {name} is given twice")
        voice, _, split, _ = name.split("-", 3)
        extra = {"intent": intent, "slots": " ".join(slots[1:]), "split": split}
        labels[name] = ManifestLabels(text=" ".join(text[1:-1]), language="en", speaker=voice, extra=extra)
    return labels
