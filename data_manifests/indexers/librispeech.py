"""LibriSpeech: ``LibriSpeech/<split>/<speaker>/<chapter>/*.flac``, transcripts in ``*.trans.txt`` beside them."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate, present_splits
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels


def find(request: IndexRequest) -> Listing:
    """List the utterances of the manifest's splits with text and speaker."""
    splits = request.partition.splits
    base = locate(request.root, splits, ("LibriSpeech",))
    listing = Listing(base)
    for split in present_splits(base, splits, listing):
        texts = _transcripts(base / split)
        for path in audio_below(base / split, {".flac"}):
            text = texts.pop(path.stem, None)
            speaker = path.stem.split("-")[0]
            labels = ManifestLabels(text=text, language="en", speaker=speaker, extra={"split": split})
            listing.add(path, labels, below=base, labelled=text is not None)
        listing.missing.extend(f"{split}/{_place(utterance)}" for utterance in sorted(texts))
    return listing


def _transcripts(split: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in sorted(split.rglob("*.trans.txt")):
        for number, line in read_lines(path):
            # A line is '1089-134686-0000 HE HOPED THERE WOULD BE STEW FOR DINNER'.
            utterance, _, text = line.partition(" ")
            if utterance.count("-") != 2 or not text:  # noqa: PLR2004 - speaker, chapter, utterance
                raise LayoutError(f"{path} line {number}: expected SPEAKER-CHAPTER-UTTERANCE and words, got {line!r}")
            if utterance in texts:
                raise LayoutError(f"{path} line {number}: the utterance {utterance} is given twice")
            texts[utterance] = text
    return texts


def _place(utterance: str) -> str:
    speaker, chapter, _ = utterance.split("-")
    return f"{speaker}/{chapter}/{utterance}"
