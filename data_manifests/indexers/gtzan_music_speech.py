"""GTZAN music/speech collection: ``music_speech/{music_wav,speech_wav}/*.wav``, 64 clips each."""

from __future__ import annotations

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate, present_splits
from codec_superb.data_manifests.manifest import ManifestLabels

CLASSES = {"music_wav": "music", "speech_wav": "speech", "music": "music", "speech": "speech"}
"""Folder -> class. The archive has the first two; copies of it drop the ending."""


def find(request: IndexRequest) -> Listing:
    """List all clips with their class."""
    base = locate(request.root, tuple(f"{folder}/*" for folder in CLASSES), ("music_speech",))
    listing = Listing(base)
    folders = ("music_wav", "speech_wav") if any(base.glob("*_wav")) else ("music", "speech")
    for folder in present_splits(base, folders, listing):
        for path in audio_below(base / folder, {".wav", ".au"}):
            kind = CLASSES[folder]
            listing.add(path, ManifestLabels(events=(kind,), extra={"class": kind}), below=base)
    return listing
