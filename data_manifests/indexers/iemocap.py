"""IEMOCAP: ``Session<n>/sentences/wav/<dialogue>/*.wav``, emotions and words in ``Session<n>/dialog``.

``dialog/EmoEvaluation/<dialogue>.txt`` has a line ``[start - end]<TAB>utterance<TAB>emotion<TAB>[v, a, d]`` for each
utterance, ``dialog/transcriptions/<dialogue>.txt`` a line ``utterance [start-end]: words``. An utterance on which the
annotators did not agree (``xxx``) has no emotion here; its code stays in ``emotion_code``.
"""

from __future__ import annotations

import re
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, audio_below, locate
from codec_superb.data_manifests.indexers.tables import read_lines
from codec_superb.data_manifests.manifest import ManifestLabels

# five sessions of two actors each (Busso et al., 2008)
SESSIONS = tuple(f"Session{number}" for number in range(1, 6))
EMOTIONS = {
    "ang": "anger",
    "dis": "disgust",
    "exc": "excitement",
    "fea": "fear",
    "fru": "frustration",
    "hap": "happiness",
    "neu": "neutral",
    "oth": "other",
    "sad": "sadness",
    "sur": "surprise",
}
NO_AGREEMENT = "xxx"
_EVALUATION = re.compile(r"\[\d+\.\d+ - \d+\.\d+\]\t(\S+)\t(\w+)\t\[([\d.]+), ([\d.]+), ([\d.]+)\]\s*")
_WORDS = re.compile(r"(Ses\d\d[FM]_\S+) \[[\d.]+-[\d.]+\]: ?(.*)")


def find(request: IndexRequest) -> Listing:
    """List the utterances of the five sessions with speaker, text and emotion."""
    markers = tuple(f"{session}/sentences/wav" for session in SESSIONS)
    base = locate(request.root, markers, ("IEMOCAP_full_release", "IEMOCAP"))
    listing = Listing(base)
    for session in SESSIONS:
        if (base / session / "sentences" / "wav").is_dir():
            _take_session(listing, base, session)
        else:
            listing.notes.append(f"{session}/sentences/wav is not in {base}: all of its clips are missing")
    return listing


def _take_session(listing: Listing, base: Path, session: str) -> None:
    dialog = base / session / "dialog"
    emotions = _emotions(dialog / "EmoEvaluation")
    texts = _texts(dialog / "transcriptions")
    found = set()
    for path in audio_below(base / session / "sentences" / "wav", {".wav"}):
        utterance = path.stem
        found.add(utterance)
        # Names are Ses01F_impro01_F000 or Ses01F_script01_1_M012.
        extra = {"session": session, "act": "improvised" if "impro" in utterance else "scripted"}
        code = emotions.get(utterance, {})
        labels = ManifestLabels(
            text=texts.get(utterance),
            language="en",
            # Both people of a session speak in each dialogue; the letter of the turn says who this is.
            speaker=utterance[:5] + utterance.split("_")[-1][0],
            emotion=EMOTIONS.get(code.get("emotion_code", NO_AGREEMENT)),
            extra=extra | code,
        )
        below = base / session / "sentences" / "wav"
        listing.add(path, labels, below=below, labelled=utterance in emotions)
    listing.missing.extend(f"{name.rsplit('_', 1)[0]}/{name}" for name in sorted(emotions.keys() - found))


def _emotions(folder: Path) -> dict[str, dict[str, str]]:
    """Return the labels of each utterance; other lines of the files are votes of single annotators."""
    emotions: dict[str, dict[str, str]] = {}
    for path in _text_files(folder):
        for number, line in read_lines(path):
            if not line.startswith("["):
                continue
            match = _EVALUATION.fullmatch(line)
            if match is None or match[2] not in {*EMOTIONS, NO_AGREEMENT}:
                expected = "[start - end], utterance, emotion and [v, a, d] with tabs between"
                raise LayoutError(f"{path} line {number}: expected {expected}, got {line!r}")
            scales = zip(("valence", "activation", "dominance"), match.groups()[2:], strict=True)
            emotions[match[1]] = {"emotion_code": match[2], **dict(scales)}
    return emotions


def _texts(folder: Path) -> dict[str, str]:
    """Return the words of each utterance; lines of another form are remarks of the transcriber."""
    matches = (_WORDS.fullmatch(line) for path in _text_files(folder) for _, line in read_lines(path))
    return {match[1]: match[2].strip() for match in matches if match is not None}


def _text_files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.glob("Ses*.txt") if path.is_file())
    if not files:
        raise LayoutError(f"expected the publisher's files Ses*.txt in {folder}, there is none")
    return files
