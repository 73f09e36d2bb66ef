"""Listening tests in the database, and people who take them and judge by what they hear."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from codec_superb.cli.listening_sounds import stimuli
from codec_superb.pipeline.listening.sounds import ClipSounds, decode
from codec_superb.server.database.listening import Rating
from codec_superb.server.database.session import Database
from codec_superb.server.listening_tests.definition import Definition, TestSettings
from codec_superb.server.listening_tests.service import advance, create

RATE = 16_000
SECONDS = 0.4
NOISE: Mapping[str, float] = {"fine_24k": 0.003, "fair_12k": 0.03, "poor_6k": 0.15}
"""Codecs of the tests, the best first, and the noise that each adds."""

Floats = NDArray[np.float32]
Judge = Callable[[Mapping[str, Floats]], dict[str, str]]
"""From the sounds of a question by label to the fields of an answer."""


def noisy_clip(name: str, length: float = SECONDS) -> ClipSounds:
    """Make a clip of voiced sound, through codecs that add noise."""
    random = np.random.default_rng(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
    time = np.arange(round(RATE * length)) / RATE
    partials = sum(np.sin(2 * np.pi * 150 * k * time + random.uniform(0, 6)) / k**0.5 for k in range(1, 50))
    reference = (0.05 * np.asarray(partials)).astype(np.float32)
    codecs = {
        codec: (reference + level * random.standard_normal(reference.size)).astype(np.float32)
        for codec, level in NOISE.items()
    }
    return ClipSounds(name, RATE, reference, codecs, "By the tests. Licence: CC0-1.0")


def add_test(
    session: Session, kind: str, clips: int = 3, *, state: str = "open", length: float = SECONDS, **fields: Any
) -> str:
    """Store a test of noisy clips, with sounds as the command makes them; return its id."""
    sounds = [noisy_clip(f"mini/clip{number}", length) for number in range(clips)]
    definition = Definition.model_validate({
        "kind": kind, "title": f"A test by {kind.upper()}", "codecs": list(NOISE), "training": 0,
        "per_address": 1000, **fields,
    })  # fmt: skip
    found = tuple(sound.clip for sound in sounds)
    settings = TestSettings(**definition.model_dump(), found=found, source="Made by the tests.", seed=1)
    made = list(stimuli(definition, sounds, {}, len(settings.gold_clips)))
    test = create(session, settings, made, actor="tests")
    for step in {"draft": (), "open": ("open",), "closed": ("open", "closed")}[state]:
        advance(session, test.id, step, actor="tests")
    return test.id


def fair(random: np.random.Generator) -> Judge:
    """Make a listener who judges by the noise that is heard, and errs a little."""

    def judge(sounds: Mapping[str, Floats]) -> dict[str, str]:
        if "X" in sounds:
            far = {label: float(np.std(sounds[label] - sounds["X"])) for label in "AB"}
            return {"choice": min(far, key=lambda label: far[label])}
        if "Reference" in sounds:
            noise = {label: float(np.std(its - sounds["Reference"])) for label, its in sounds.items()}
        else:
            noise = {label: _noise_of(its) for label, its in sounds.items()}
        found = {label: _quality(its, random) for label, its in noise.items() if label != "Reference"}
        if len(found) == 1:
            return {"rating-A": str(int(np.clip(round(found["A"] / 20), 1, 5)))}
        fields = {f"rating-{label}": str(round(value)) for label, value in found.items()}
        return fields | {"choice": max("AB", key=lambda label: found[label])}

    return judge


def _quality(noise: float, random: np.random.Generator) -> float:
    """Rate noise of a standard deviation from 0 to 100; 100 where there is none."""
    return 100.0 if noise < 1e-3 else float(np.clip(95 - 18 * np.log(noise / 1e-3) + random.normal(0, 2), 0, 89))


def _noise_of(sound: Floats) -> float:
    """Estimate the noise of one sound alone by what lies between its partials."""
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    return float(np.quantile(spectrum, 0.25) / (0.76 * np.sqrt(sound.size * 0.375 / 2)))


def clicker(random: np.random.Generator) -> Judge:
    """Make somebody who clicks anywhere."""

    def judge(sounds: Mapping[str, Floats]) -> dict[str, str]:
        rated = [label for label in sounds if label != "Reference"]
        fields = {f"rating-{label}": str(random.integers(1, 6 if len(rated) == 1 else 101)) for label in rated}
        return fields | {"choice": str(random.choice(["A", "B"]))}

    return judge


def question(client: TestClient, test: str) -> dict[str, Any]:
    """Read the current question: its number and the addresses of its sounds by label; without one it is empty."""
    page = client.get(f"/listening/{test}/question").text
    found = re.search(r'name="trial" value="(\d+)"', page)
    if found is None:
        return {}
    sounds = re.findall(r'<audio [^>]*src="([^"]+)" aria-label="([^"]+)"', page)
    return {"trial": found[1], "sounds": {label: html.unescape(url) for url, label in sounds}, "page": page}


def hear(client: TestClient, asked: Mapping[str, Any]) -> dict[str, Floats]:
    """Fetch and decode the sounds of a question."""
    return {label: decode(client.get(url).content, label)[0] for label, url in asked["sounds"].items()}


def take(client: TestClient, test: str, judge: Judge, most: int = 1000, **about: str) -> int:
    """Take a test as a new participant, up to ``most`` questions; return how many were answered."""
    client.cookies.clear()
    assert client.post(f"/listening/{test}/start", data=about or {"x": ""}, follow_redirects=False).status_code == 303
    for number in range(most):
        asked = question(client, test)
        if not asked:
            return number
        fields = judge(hear(client, asked)) | {"trial": asked["trial"], "seconds": "3.5"}
        sent = client.post(f"/listening/{test}/question", data=fields, follow_redirects=False)
        assert sent.status_code == 303, sent.text
    return most


def begin(client: TestClient, test: str, **about: str) -> dict[str, Any]:
    """Begin as somebody new and return the first question."""
    client.cookies.clear()
    client.post(f"/listening/{test}/start", data={"x": "", **about})
    return question(client, test)


def whole(asked: dict[str, Any], value: str = "50") -> dict[str, str]:
    """Write an answer that rates every sound the same."""
    rated = (label for label in asked["sounds"] if label != "Reference")
    return {"trial": asked["trial"], "seconds": "2"} | {f"rating-{label}": value for label in rated}


def kept(database: Database) -> int:
    """Count the ratings."""
    with database.transaction() as session:
        return session.scalar(select(func.count(Rating.id))) or 0
