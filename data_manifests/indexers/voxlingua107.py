"""VoxLingua107: ``dev/<language>/*.wav``; the languages with most clips in the development set are used.

The rule comes from the task ``vox_lingua_top10`` of the HEAR benchmark: languages are ranked by the number of their
clips in the development set, and all clips of the first ten are used. A tie at the tenth rank, which that rule
does not resolve, is broken by the language code, so that the same folder always gives the same clips.
"""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.manifest import ManifestLabels

WITHDRAWN_CODES = {"iw": "he", "jw": "jv"}
"""The publisher's codes that the IANA registry of BCP 47 marks as deprecated, and their preferred values."""


def find(request: IndexRequest) -> Listing:
    """List the clips of the most frequent languages with their language."""
    base = locate(request.root, ("dev/*/*.wav", "*/*.wav"), ("voxlingua107", "VoxLingua107"))
    languages = base / "dev" if (base / "dev").is_dir() else base
    clips = {folder.name: list(audio_below(folder, {".wav"})) for folder in _folders(languages)}
    wanted = int(str(request.options.get("languages", 10)))
    ranked = sorted(clips, key=lambda code: (-len(clips[code]), code))
    listing = Listing(base)
    _note(listing, ranked, clips, wanted)
    for code in ranked[:wanted]:
        for path in clips[code]:
            language = WITHDRAWN_CODES.get(code, code)
            labels = ManifestLabels(language=language, extra={"published_language": code})
            listing.add(path, labels, below=languages)
    return listing


def _folders(languages: Path) -> list[Path]:
    return sorted(path for path in languages.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))


def _note(listing: Listing, ranked: list[str], clips: dict[str, list[Path]], wanted: int) -> None:
    counts = ", ".join(f"{code} {len(clips[code])}" for code in ranked[:wanted])
    listing.notes.append(f"{wanted} of {len(ranked)} languages, by number of clips: {counts}")
    if len(ranked) > wanted and len(clips[ranked[wanted]]) == len(clips[ranked[wanted - 1]]):
        tied = ", ".join(code for code in ranked if len(clips[code]) == len(clips[ranked[wanted]]))
        listing.notes.append(f"place {wanted} is a tie between {tied}; it was broken by the order of the codes")
