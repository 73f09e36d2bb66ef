"""VoxCeleb1 test set: ``wav/<speaker>/<video>/NNNNN.wav``, trial lists ``veri_test.txt`` and ``veri_test2.txt``.

The test set is the 40 people whose names begin with E: the speakers id10270 to id10309. The trial lists are published
beside the archive; both are stored with the clip list where present, since the original (37,720 trials) and the
cleaned one (37,611) give different error rates.
"""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, clip_id, locate
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.trials import Trial

PUBLISHED_TRIALS = {"veri_test": 37_720, "veri_test2": 37_611}
TEST_SPEAKERS = frozenset(f"id{number}" for number in range(10_270, 10_310))
# speaker, YouTube's id of the video, number of the utterance in it
_CLIP = re.compile(r"(id\d{5})/([^/]+)/(\d{5})\.wav")


def find(request: IndexRequest) -> Listing:
    """List the clips of the test speakers, and the trials between them."""
    base = locate(request.root, ("wav/id102[789]?", "wav/id1030?"), ("vox1_test_wav", "vox1_test", "VoxCeleb1", "test"))
    wav = base / "wav"
    listing = Listing(base)
    for folder in sorted(path for path in wav.iterdir() if path.name in TEST_SPEAKERS):
        for path in audio_below(folder, {".wav"}):
            _add(listing, path, wav)
    for name in PUBLISHED_TRIALS:
        _read_list(listing, name, (base, request.root, base.parent))
    if not listing.trials:
        listing.notes.append(f"no trial list: put veri_test2.txt into {base} and index again to verify speakers")
    _compare(listing)
    return listing


def _add(listing: Listing, path: Path, wav: Path) -> None:
    name = path.relative_to(wav).as_posix()
    match = _CLIP.fullmatch(name)
    if match is None:
        listing.extra.append(name)
        return
    labels = ManifestLabels(language=None, speaker=match[1], extra={"video": match[2]})
    listing.add(path, labels, below=wav)


def _read_list(listing: Listing, name: str, places: tuple[Path, ...]) -> None:
    path = next((place / f"{name}.txt" for place in places if (place / f"{name}.txt").is_file()), None)
    if path is None:
        return
    trials = [_trial(line, f"{path} line {number}") for number, line in read_lines(path)]
    listing.trials[name] = trials
    listing.notes.append(f"{path.name}: {len(trials)} trials ({PUBLISHED_TRIALS[name]} published)")


def _trial(line: str, where: str) -> Trial:
    fields = line.split()
    if len(fields) != 3 or fields[0] not in {"0", "1"} or not all(map(_CLIP.fullmatch, fields[1:])):  # noqa: PLR2004 - its fields
        raise LayoutError(f"{where}: expected 0 or 1 and two clips idNNNNN/VIDEO/NNNNN.wav, got {line!r}")
    first, second = (clip_id(Path(name), Path()) for name in fields[1:])
    return Trial(same=fields[0] == "1", enrolment=first, test=second)


def _compare(listing: Listing) -> None:
    found = {clip.id for clip in listing.found}
    tried = {clip for trials in listing.trials.values() for trial in trials for clip in (trial.enrolment, trial.test)}
    listing.missing.extend(sorted(tried - found))
