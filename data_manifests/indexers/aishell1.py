"""AISHELL-1: ``data_aishell/wav/<split>/<speaker>/*.wav``, words in ``transcript/aishell_transcript_v0.8.txt``.

The archive holds another archive for each speaker, ``wav/S0764.tar.gz``, which unpacks to ``wav/test/S0764``.
The transcript has one line ``BAC009S0764W0121 甚至 出现 交易`` per utterance of any split, words separated by blanks.
It does not give the split, so an utterance counts as missing only where its speaker's folder exists in the split.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate, present_splits
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

_TRANSCRIPT = "transcript/aishell_transcript_v0.8.txt"
_UTTERANCE = re.compile(r"BAC009(S\d{4})W\d{4}")


def find(request: IndexRequest) -> Listing:
    """List the utterances of the manifest's splits with text and speaker."""
    base = locate(request.root, _TRANSCRIPT, ("data_aishell",))
    listing = Listing(base)
    texts = _texts(base / _TRANSCRIPT)
    for split in present_splits(base / "wav", request.partition.splits, listing):
        _take_split(listing, base / "wav" / split, texts)
    return listing


def _take_split(listing: Listing, folder: Path, texts: dict[str, dict[str, str]]) -> None:
    speakers = [path.name for path in sorted(folder.iterdir()) if path.is_dir()]
    for speaker in speakers:
        left = texts.get(speaker, {}).copy()
        for path in audio_below(folder / speaker, {".wav"}):
            if _speaker(path.stem) != speaker:
                listing.extra.append(path.relative_to(folder.parent).as_posix())
                continue
            text = left.pop(path.stem, None)
            labels = ManifestLabels(text=text, language="zh", speaker=speaker, extra={"split": folder.name})
            listing.add(path, labels, below=folder.parent, labelled=text is not None)
        listing.missing.extend(f"{folder.name}/{speaker}/{utterance}" for utterance in sorted(left))


def _speaker(utterance: str) -> str | None:
    named = _UTTERANCE.fullmatch(utterance)
    return named[1] if named else None


def _texts(transcript: Path) -> dict[str, dict[str, str]]:
    """Return the words of each utterance, by speaker."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for number, line in read_lines(transcript):
        utterance, _, words = line.partition(" ")
        speaker = _speaker(utterance)
        if speaker is None or not words.strip():
            raise LayoutError(f"{transcript} line {number}: expected BAC009SxxxxWxxxx and words, got {line!r}")
        if utterance in texts[speaker]:
            raise LayoutError(f"{transcript} line {number}: the utterance {utterance} is given twice")
        texts[speaker][utterance] = " ".join(words.split())
    return texts
