"""OpenSinger: ``{ManRaw,WomanRaw}/<singer>_<song>/<singer>_<song>_<n>.wav``, lyrics in a ``.txt`` beside each."""

from __future__ import annotations

from pathlib import Path

from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.manifest import ManifestLabels

GENDERS = {"ManRaw": "male", "WomanRaw": "female"}


def find(request: IndexRequest) -> Listing:
    """List the clips of the manifest's singers (``ManRaw/25``) with singer, song and lyrics."""
    base = locate(request.root, tuple(GENDERS), ("OpenSinger",))
    listing = Listing(base)
    for singer in request.partition.splits:
        folders = sorted(path for path in base.glob(f"{singer}_*") if path.is_dir())
        if not folders:
            listing.notes.append(f"no folder {singer}_SONG is in {base}: all clips of this singer are missing")
        for folder in folders:
            _take_song(listing, folder, base)
    return listing


def _take_song(listing: Listing, folder: Path, base: Path) -> None:
    gender = folder.parent.name
    number, _, song = folder.name.partition("_")
    lyrics = {path.stem for path in folder.glob("*.txt")}
    for path in audio_below(folder, {".wav"}):
        text = _lyrics(path.with_suffix(".txt"), listing) if path.stem in lyrics else None
        extra = {"gender": GENDERS[gender], "song": song}
        labels = ManifestLabels(text=text, language="zh", speaker=f"{gender}_{number}", extra=extra)
        listing.add(path, labels, below=base, labelled=text is not None)
        lyrics.discard(path.stem)
    listing.missing.extend(f"{gender}/{folder.name}/{name}" for name in sorted(lyrics))


def _lyrics(path: Path, listing: Listing) -> str | None:
    try:
        return " ".join(path.read_text(encoding="utf-8-sig").split())
    except UnicodeDecodeError:
        listing.notes.append(f"the lyrics of {path.parent.name}/{path.stem} are no UTF-8 text and left out")
        return None
