"""CREMA-D: ``AudioWAV/<actor>_<sentence>_<emotion>_<level>.wav``; all labels are in the file names.

Where ``SentenceFilenames.csv`` is beside the folder, clips that it lists and that are absent count as missing.
"""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import read_rows
from codec_superb.data_manifests.manifest import ManifestLabels

# six emotions and twelve sentences (Cao et al., IEEE Trans. Affective Computing 5(4), 2014)
EMOTIONS = {
    "ANG": "anger",
    "DIS": "disgust",
    "FEA": "fear",
    "HAP": "happiness",
    "NEU": "neutral",
    "SAD": "sadness",
}
SENTENCES = {
    "IEO": "It's eleven o'clock",
    "TIE": "That is exactly what happened",
    "IOM": "I'm on my way to the meeting",
    "IWW": "I wonder what this is about",
    "TAI": "The airplane is almost full",
    "MTI": "Maybe tomorrow it will be cold",
    "IWL": "I would like a new alarm clock",
    "ITH": "I think I have a doctor's appointment",
    "DFA": "Don't forget a jacket",
    "ITS": "I think I've seen this before",
    "TSI": "The surface is slick",
    "WSI": "We'll stop in a couple of minutes",
}
# XX is "unspecified" in CREMA-D's README; one published file has a single X.
LEVELS = {"LO": "low", "MD": "medium", "HI": "high", "XX": "unspecified", "X": "unspecified"}
_CLIP = re.compile(r"(\d{4})_([A-Z]{3})_([A-Z]{3})_([A-Z]{1,2})")
_LIST = "SentenceFilenames.csv"


def find(request: IndexRequest) -> Listing:
    """List all clips with sentence, actor and intended emotion."""
    base = locate(request.root, "AudioWAV", ("CREMA-D", "CREMA-D-master"))
    folder = base / "AudioWAV"
    listing = Listing(base)
    for path in audio_below(folder, {".wav"}):
        labels = _labels(path.stem)
        if labels is None:
            listing.extra.append(path.relative_to(folder).as_posix())
        else:
            listing.add(path, labels, below=folder)
    if (base / _LIST).is_file():
        listed = {row["Filename"] for _, row in read_rows(base / _LIST, ("Filename",))}
        listing.missing.extend(sorted(listed - {Path(clip.id).name for clip in listing.found}))
    return listing


def _labels(stem: str) -> ManifestLabels | None:
    match = _CLIP.fullmatch(stem)
    if match is None or match[2] not in SENTENCES or match[3] not in EMOTIONS or match[4] not in LEVELS:
        return None
    actor, sentence, emotion, level = match.groups()
    extra = {"level": LEVELS[level], "sentence": sentence}
    return ManifestLabels(
        text=SENTENCES[sentence], language="en", speaker=actor, emotion=EMOTIONS[emotion], extra=extra
    )
