"""Synthetic packages in the layout of Debian's Asterisk core sounds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from support.datasets.package_files import deb, wav_bytes

VOICES = {
    "en": "en_US_f_Allison",
    "es": "es_MX_f_Allison",
    "fr": "fr_CA_f_June",
    "it": "it_IT_m_Carlo",
    "ru": "ru_RU_f_Ivrvoice",
}
ANNOUNCEMENTS = 32
WORDS = [
    *(f"digits/{number}" for number in [*range(21), 30, 40, 50, 60, 70, 80, 90]),
    *(f"digits/day-{number}" for number in range(7)),
    *(f"digits/mon-{number}" for number in range(12)),
    *(f"phonetic/{letter}_p" for letter in "abcdefghijklmnopqrstuvwxyz"),
]


@cache
def sound(seconds: float) -> bytes:
    """Return a tone at 8 kHz, which packs well."""
    tone = np.sin(np.arange(round(8000 * seconds)) * 0.3).astype(np.float32)[:, None]
    return wav_bytes(tone * np.float32(0.5), 8000)


def prompts_files(language: str) -> dict[str, bytes]:
    """Return the members of a package: words, announcements (two are too short in French), and one of its own."""
    files = {name: sound(0.1) for name in [*WORDS, "letters/a", "silence/5"]}
    for number in range(ANNOUNCEMENTS):
        short = language == "fr" and number in (3, 4)
        files[f"vm-say{number:02d}"] = sound(0.5 if short else 1.5 + 0.01 * number)
    files[f"only-{language}"] = sound(1.6)
    return {f"usr/share/asterisk/sounds/{VOICES[language]}/{name}.wav": content for name, content in files.items()}


def write_packages(folder: Path, **changed: dict[str, bytes]) -> None:
    """Write the five packages; ``changed`` are the members of some of them."""
    for language in VOICES:
        members = changed.get(language, prompts_files(language))
        (folder / f"asterisk-core-sounds-{language}-wav_1.6.1-1_all.deb").write_bytes(deb(members, "gz"))
