"""Asterisk's telephone prompts in Debian's packages: words said alone, and the same announcements in five languages.

A package ``asterisk-core-sounds-<language>-wav`` holds recordings of one voice as 8 kHz, 16-bit WAV, below a folder
that names language, country, sex and voice (``en_US_f_Allison``). It has no texts; of words said alone the name of the
file tells what is said: ``digits/7`` a number, ``digits/day-0`` Sunday, ``digits/mon-0`` January, ``phonetic/a_p`` the
spelling word of a letter (ICAO). Two sets of clips are taken:

- English words, each with four words of its own kind to choose from, of which it is one;
- announcements that all five packages have and that last at least :data:`SECONDS` in each, the shortest in English:
  equal contents, so that nothing but the language (and with it the voice) tells the five apart.

The split ``training`` is the shortest of the other announcements, from :data:`TRAINING_SECONDS` on: sound for models
that are then tried on those above.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from codec_superb.data_manifests.errors import LayoutError
from codec_superb.data_manifests.files import write_atomically
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, locate
from codec_superb.data_manifests.manifest import ManifestLabels
from codec_superb.data_manifests.packages.archive import select_members

PACKAGE = "asterisk-core-sounds-{}-wav_*_all.deb"
LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "ru": "Russian"}
_LICENCES = {"ru": "CC-BY-3.0"}
"""Where a package's own file ``copyright`` states another than the manifest's."""
OF_A_LANGUAGE = 30
SECONDS = 1.5
TRAINING, OF_A_LANGUAGE_IN_TRAINING, TRAINING_SECONDS = "training", 130, 1.0
CHOICES = 4
QUESTION = "Which of these words is said?"
_MEMBER = re.compile(r"usr/share/asterisk/sounds/(\w+)/([\w./-]+)\.wav")
_SINGLE = ("digits/", "letters/", "phonetic/", "silence/")
"""Folders of words, letters and silence: no announcements."""

_NUMBERS = (  # noqa: SIM905
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).split()
_DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()  # noqa: SIM905
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_LETTERS = (  # noqa: SIM905
    "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo "
    "sierra tango uniform victor whiskey x-ray yankee zulu"
).split()
_KINDS = {"number": _NUMBERS, "day": _DAYS, "month": _MONTHS, "letter": _LETTERS}

_Recordings = dict[str, bytes]
"""Name of a prompt -> file."""


def words() -> dict[str, tuple[str, str]]:
    """Return kind and word of each English recording of a word, by the name of the file."""
    numbers = {
        f"digits/{value}": ("number", word)
        for value, word in zip([*range(20), *range(20, 91, 10)], _NUMBERS, strict=True)
    }
    days = {f"digits/day-{at}": ("day", word) for at, word in enumerate(_DAYS)}
    months = {f"digits/mon-{at}": ("month", word) for at, word in enumerate(_MONTHS)}
    return {**numbers, **days, **months, **{f"phonetic/{word[0]}_p": ("letter", word) for word in _LETTERS}}


def choices_of(kind: str, word: str) -> tuple[str, ...]:
    """Return the four words to choose from: the word and three of its kind, spread over it; places take turns."""
    known = _KINDS[kind]
    at = known.index(word)
    step = len(known) // CHOICES
    others = [known[(at + step * number) % len(known)] for number in range(1, CHOICES)]
    others.insert(at % CHOICES, word)
    return tuple(others)


def find(request: IndexRequest) -> Listing:
    """Store the recordings and list them with their labels.

    Raises LayoutError when a package is not in the folder or lacks recordings, FetchError and ManifestError when it
    cannot be read.
    """
    packages = {language: _read(request.root, language) for language in LANGUAGES}
    listing = Listing(request.store)
    of_language = {language: recordings for language, (recordings, _) in packages.items()}
    tried = announcements(of_language)
    if TRAINING in request.partition.splits:
        others = announcements(of_language, OF_A_LANGUAGE_IN_TRAINING, TRAINING_SECONDS, besides=tried)
        _store_announcements(listing, others, packages)
        return listing
    english, voice = packages["en"]
    known = words()
    if missing := sorted(known.keys() - english.keys()):
        raise LayoutError(f"{PACKAGE.format('en')}: expected {len(known)} words, of which {missing[0]} is missing")
    for name, (kind, word) in known.items():
        labels = ManifestLabels(
            text=word, language="en", speaker=voice, extra={"kind": kind, kind: word},
            question=QUESTION, choices=choices_of(kind, word), answers=(word,),
        )  # fmt: skip
        _store(listing, f"words/{kind}/{word.lower()}", english[name], labels)
    _store_announcements(listing, tried, packages)
    return listing


def announcements(
    packages: dict[str, _Recordings],
    count: int = OF_A_LANGUAGE,
    seconds: float = SECONDS,
    besides: Sequence[str] = (),
) -> list[str]:
    """Return the names of the prompts that are taken of each language, none of ``besides``.

    Raises LayoutError where there are too few.
    """
    shared = set.intersection(*(set(recordings) for recordings in packages.values())).difference(besides)
    there = [name for name in sorted(shared) if not name.startswith(_SINGLE)]
    lasting = [
        (_seconds(packages["en"][name]), name)
        for name in there
        if all(_seconds(of[name]) >= seconds for of in packages.values())
    ]
    if len(lasting) < count:
        raise LayoutError(f"expected {count} announcements that all packages have, got {len(lasting)}")
    return sorted(name for _, name in sorted(lasting)[:count])


def _read(root: Path, language: str) -> tuple[_Recordings, str]:
    """Return the recordings of a package, and the name of their voice."""
    pattern = PACKAGE.format(language)
    path = next(locate(root, pattern).glob(pattern))
    found: _Recordings = {}
    voice = ""
    for name, content in select_members(path, lambda name: _MEMBER.fullmatch(name) is not None):
        match = _MEMBER.fullmatch(name)
        assert match is not None
        voice, found[match[2]] = match[1].rsplit("_", 1)[-1], content
    return found, voice


def _seconds(content: bytes) -> float:
    import soundfile

    try:
        return float(soundfile.info(io.BytesIO(content)).duration)
    except soundfile.LibsndfileError:
        return 0.0


def _store_announcements(listing: Listing, names: Sequence[str], packages: dict[str, tuple[_Recordings, str]]) -> None:
    for name in names:
        for language, (recordings, speaker) in packages.items():
            labels = ManifestLabels(
                language=language, speaker=speaker, extra={"announcement": name, "language_name": LANGUAGES[language]}
            )
            _store(listing, f"languages/{language}/{name}", recordings[name], labels)


def _store(listing: Listing, name: str, content: bytes, labels: ManifestLabels) -> None:
    path = listing.root / f"{name}.wav"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    listing.add(
        path, labels, below=listing.root, attribution=f"Asterisk core sounds, voice {labels.speaker}",
        licence=_LICENCES.get(labels.language or ""),
    )  # fmt: skip
