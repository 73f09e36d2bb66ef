"""LibriCount: ``test/<speakers>_<name>.wav`` with 0 to 10 speakers, and a ``.json`` of the same name beside each."""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import expect_type, read_json
from codec_superb.data_manifests.manifest import ManifestLabels

# LibriCount10 0dB (Stöter et al., 2018)
MOST_SPEAKERS = 10
_CLIP = re.compile(r"(\d{1,2})_.+")


def find(request: IndexRequest) -> Listing:
    """List all clips with the number of speakers, and who they are."""
    base = locate(request.root, ("test/*.wav", "[0-9]_*.wav"), ("LibriCount10-0dB", "libricount10"))
    folder = base / "test" if (base / "test").is_dir() else base
    listing = Listing(base)
    on_disk = set()
    for path in audio_below(folder, {".wav"}):
        match = _CLIP.fullmatch(path.stem)
        if match is None or int(match[1]) > MOST_SPEAKERS:
            listing.extra.append(path.relative_to(folder).as_posix())
            continue
        on_disk.add(path.stem)
        _add(listing, path, folder, int(match[1]))
    listing.missing.extend(sorted({path.stem for path in folder.glob("*_*.json")} - on_disk))
    return listing


def _add(listing: Listing, path: Path, folder: Path, count: int) -> None:
    speakers = _speakers(path.with_suffix(".json"), count)
    labels = ManifestLabels(
        language="en",
        speaker="+".join(speakers) or None if speakers is not None else None,
        extra={"speakers": str(count)},
    )
    listing.add(path, labels, below=folder, labelled=speakers is not None)


def _speakers(path: Path, count: int) -> list[str] | None:
    """Return the LibriSpeech speakers of a clip, or None where the publisher's file is not there."""
    if not path.is_file():
        return None
    people = expect_type(read_json(path), list, path, "the whole")
    speakers = [str(expect_type(person, dict, path, "a speaker").get("speaker_id")) for person in people]
    if len(speakers) != count:
        raise LayoutError(f"{path}: expected {count} speakers, as its name says, got {len(speakers)}")
    return speakers
