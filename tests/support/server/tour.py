"""A whole service to walk through: real codecs on synthesised sound, uploaded to a running server, and its people."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect
from support.audio import speech_like
from support.pipeline.stats import known_clips
from support.pipeline.submissions import reseal, rewrite
from support.server.board import Probed, make_empty_files, make_submission
from support.timing import PATIENCE_S
from support.web.site import running_site, visitor

from codec_superb.metrics.table import Category
from codec_superb.pipeline.comparison.results import load_results
from codec_superb.pipeline.conditions.record import parse_condition
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.scoring.stage import score
from codec_superb.pipeline.submission.facts.clips import KnownClip, KnownDataset
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submitter
from codec_superb.server.app import create_app
from codec_superb.server.database.session import Database
from codec_superb.server.datasets.service import DatasetFacts, add
from codec_superb.server.people import tokens
from codec_superb.server.settings import Settings

CODECS = ("opus_16k", "opus_32k", "mp3_64k")
"""Codecs that are on the board from the start."""
LATER = "codec2_3200"
"""A codec that a story uploads."""
PLACES: Mapping[str, Sequence[Category]] = {"voices": ("speech",), "scenes": ("audio", "music")}
CLIPS = 4
"""Clips of a dataset in one category."""
_RATE = 16000
_SCORED = ("stft", "mel", "pesq", "stoi", "f0corr")
_OTHERS = {"encodec": (1.5, 3.0, 6.0, 12.0), "mp3": (32.0, 128.0), "lc3": (16.0, 24.0, 32.0), "codec2": (0.7, 1.2)}
"""Codecs without clip rows, so that the board is as full as a real one: nominal kbps by family."""


@dataclass(frozen=True)
class Files:
    """Submission files of real runs."""

    board: tuple[Path, ...]
    """Of :data:`CODECS`, the first of them twice: a partial version and a whole one."""
    later: Path
    """Of :data:`LATER`."""
    strangers: tuple[Path, Path]
    """Of two codecs that nobody has sent yet, for moderators to judge."""
    known: Mapping[str, KnownDataset]
    conditions: tuple[Path, ...]
    """Of the first of :data:`CODECS` under conditions."""

    def wrong(self, folder: Path) -> Path:
        """Write a copy of ``later`` whose author improved a score after packing."""
        return _edited(self.later, folder / "improved.zip", _improve)

    def named(self, name: str, folder: Path) -> Path:
        """Write a copy of ``later`` under another name, so that each story has a codec and a family of its own.

        In the family of the catalogue's codec it would wait for a moderator.
        """

        def rename(document: dict[str, Any]) -> None:
            document["codec"] |= {"name": name, "family": name, "title": name.replace("_", " ").capitalize()}

        return _edited(self.later, folder / f"{name}.zip", rename)


@dataclass(frozen=True)
class Tour:
    """A running service and what is in it."""

    address: str
    files: Files
    submit: str
    """Secret of a token that may submit."""
    moderate: str
    """Secret of a moderator's token."""
    versions: tuple[str, ...]
    """Ids of the uploaded submissions, in the order of ``files.board``."""
    pending: str
    """Id of an anonymous submission that stays in the queue."""
    database: str

    def send(self, file: Path, *, token: str = "") -> dict[str, Any]:
        """Upload a file as a program does; return the receipt."""
        header = {"content-type": "application/zip"} | ({"authorization": f"Bearer {token}"} if token else {})
        url = f"{self.address}/api/v1/submissions"
        answer = httpx2.post(url, content=file.read_bytes(), headers=header, timeout=PATIENCE_S)
        assert answer.status_code == 201, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    @contextmanager
    def visit(self, browser: Browser, width: int = 1280, scheme: str = "light", **options: Any) -> Iterator[Page]:
        """Open a window on the service."""
        with visitor(browser, self.address, width, scheme=scheme, **options) as page:
            yield page


def log_in(page: Page, secret: str) -> None:
    """Log a moderator in by the form."""
    page.goto("/login")
    page.get_by_label("API token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/moderation")


def pages_of(tour: Tour) -> dict[str, str]:
    """Name a path of every kind of page that anybody may see."""
    first, second = tour.versions[:2]
    codecs = "&".join(f"codec={name}" for name in CODECS)
    return {
        "board": "/", "board tiny": "/?source=tiny", "board table3": "/?source=table3&category=music",
        "board ultraeval": "/?source=ultraeval", "board all": "/?source=all&metric=pesq",
        "board empty": "/?kbps_min=900",
        "board applications": "/?metric=asr_wer_pct", "codec probed": "/codecs/lc3_24k",
        "compare probed": "/compare?codec=lc3_16k&codec=lc3_32k&codec=mp3_32k",
        "codec": "/codecs/opus_16k", "literature": "/codecs/Mimi%20(8bit)",
        "chooser": "/compare", "compare": f"/compare?{codecs}", "listen": f"/compare/listen?{codecs}&seed=one",
        "clip": f"/compare/clip?{codecs}&dataset=voices&clip=speech0.wav",
        "chart rate": "/charts?chart=rate", "chart applications": "/charts?chart=applications",
        "chart metrics": "/charts?chart=metrics", "chart clips": "/charts?chart=clips&dataset=voices",
        "chart distribution": "/charts?chart=distribution&dataset=voices",
        "datasets": "/datasets", "private": "/private", "custom": "/custom", "conditions": "/conditions",
        "metrics": "/metrics", "ranking": "/ranking", "state": "/snapshots/3",
        "submit": "/submit", "about": "/about", "api": "/api/docs",
        "submission": f"/submissions/{second}", "diff": f"/submissions/{first}/diff/{second}", "login": "/login",
    }  # fmt: skip


def settle(page: Page) -> None:
    """Bring every chart into view, as a reader does, and wait until it is drawn."""
    for chart in page.locator("[data-figure]:visible").all():
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("data-state", "drawn")


@contextmanager
def running_tour(folder: Path, files: Files) -> Iterator[Tour]:
    """Start the service, upload what the codecs gave; anonymous uploads are allowed."""
    settings = Settings(
        database=f"sqlite:///{folder / 'board.sqlite'}", storage=folder / "storage", secret_key="x" * 40,
        anonymous_uploads=True, uploads_per_hour=100_000, computations_per_minute=100_000, logins_per_hour=1000,
    )  # fmt: skip
    app = create_app(settings)
    with running_site(settings, app) as address:
        submit, moderate = _fill(app.state.database, files, settings.files)
        empty = Tour(address, files, submit, moderate, (), "", settings.database_url)
        versions = tuple(empty.send(file, token=submit)["id"] for file in files.board)
        for file in files.conditions:
            empty.send(file, token=submit)
        pending = empty.send(files.strangers[0])["id"]
        yield Tour(address, files, submit, moderate, versions, pending, settings.database_url)


def _fill(database: Database, files: Files, folder: Path) -> tuple[str, str]:
    """Register the datasets, fill the board up, and make tokens: one to submit, one to moderate."""
    with database.transaction(write=True) as session:
        for name, known in files.known.items():
            add(session, DatasetFacts(name, name.title(), "CC0-1.0", known))
        for family, rates in _OTHERS.items():
            for rate in rates:
                tokens_a_second = {"tokens_per_second": 75 * rate / 0.75} if family == "encodec" else {}
                make_submission(
                    session, f"{family}_{rate:g}k".replace(".", "_"), rate, min(0.95, 0.6 + 0.05 * math.log2(2 * rate)),
                    card={"family": family}, result=tokens_a_second,
                    status="verified" if rate > 100 else "self-reported",
                    applications=_probed(family, rate),
                )  # fmt: skip
        make_empty_files(session, folder)
        made = [
            tokens.create(session, f"{scope}ter", (scope,), actor="the tests")[1] for scope in ("submit", "moderate")
        ]
    return made[0], made[1]


def _probed(family: str, rate: float) -> list[Probed]:
    """Make figures of two families of codecs, a word error rate by two recognisers."""
    if family not in {"lc3", "mp3"}:
        return []
    backend, sha256 = ("faster-whisper:tiny.en", "ab" * 32) if family == "lc3" else ("openai-whisper:large", "cd" * 32)
    return [
        Probed("asr_wer_pct", 4.0 + 60 / rate, 4.0, backend=backend, sha256=sha256),
        Probed("sim_pct", 100 - 90 / rate, 100.0, backend="resemblyzer", sha256="ef" * 32),
    ]


def make_files(folder: Path) -> Files:
    """Run real codecs on synthesised sound, score and pack them; nothing is left in the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEC_SUPERB_HOME", str(folder / "home"))
        return _run_codecs(folder)


def _run_codecs(folder: Path) -> Files:
    datasets = [_synthesise(folder / name, categories) for name, categories in PLACES.items()]
    names, specs = [*CODECS, LATER, "opus_24k", "opus_48k"], [str(dataset) for dataset in datasets]
    outcomes = resynthesise(names, specs, out=folder / "runs", device="cpu", workers=1)
    conditions = [parse_condition(name) for name in ("loss:5", "loss:20", "noise:white:10")]
    under = resynthesise(CODECS[:1], specs, out=folder / "runs", conditions=conditions, device="cpu", workers=1)
    outcomes += [outcome for outcome in under if "@" in outcome.path.parent.name]
    score([outcome.path for outcome in outcomes], metrics=_SCORED, workers=1)
    runs: dict[str, list[Path]] = {}
    for outcome in outcomes:
        runs.setdefault(outcome.path.parent.name, []).append(outcome.path)
    files = {name: _packed(paths, folder / f"{name}.zip", 4) for name, paths in runs.items()}
    partial = _packed(runs[CODECS[0]][:1], folder / "partial.zip", 0)
    known = {
        path.name: KnownDataset(RunFolder(path).info().dataset.manifest_hash, _facts(path)) for path in runs[LATER]
    }
    board = (partial, *(files[name] for name in CODECS))
    lossy = tuple(file for name, file in files.items() if "@" in name)
    return Files(board, files[LATER], (files["opus_24k"], files["opus_48k"]), known, lossy)


def _facts(run: Path) -> dict[str, KnownClip]:
    """Know the lengths of a run's clips; nobody has computed which metrics they define."""
    return {name: clip._replace(undefined=None) for name, clip in known_clips(load_results(run).rows).items()}


def _packed(runs: Sequence[Path], out: Path, samples: int) -> Path:
    """Pack runs with sounds, as runs on named datasets: those on folders are packed, but no leaderboard takes them."""
    from codec_superb.data_manifests import open_dataset

    places = {run.name: RunFolder(run).info().dataset for run in runs}
    opened = {name: open_dataset(out.parent / name) for name in places}
    for run in runs:
        info = RunFolder(run).info()
        named = info.dataset.model_copy(update={"location": None, "category": None})
        RunFolder(run).write_info(info.model_copy(update={"dataset": named}))
    return pack(runs, out, submitter=Submitter(name="The testers"), samples=samples, datasets=opened)


def _synthesise(folder: Path, categories: Sequence[Category]) -> Path:
    folder.mkdir(parents=True)
    with (folder / "labels.csv").open("w", newline="") as file:
        labels = csv.writer(file)
        labels.writerow(("path", "category", "licence", "attribution"))
        for category in categories:
            for number in range(CLIPS):
                name = _name(category, number)
                soundfile.write(folder / name, _sound(category, number), _RATE)
                labels.writerow((name, category, "CC0-1.0", "synthesised by the tests"))
    return folder


def _name(category: Category, number: int) -> str:
    return f"{category}{number}.wav"


def _sound(category: Category, number: int) -> NDArray[np.float32]:
    """Make about a second of a voice, of gusts of noise, or of a chord that dies away."""
    if category == "speech":
        return speech_like(1 + number / 50, _RATE, seed=number)
    time = np.arange(round(0.7 * _RATE) + 100 * number) / _RATE
    if category == "audio":
        noise = np.random.default_rng(number).standard_normal(time.size)
        return (0.1 * noise * (1 + np.sin(2 * np.pi * 3 * time))).astype(np.float32)
    chord = sum(np.sin(2 * np.pi * 220 * step * (1 + number / 12) * time) for step in (1.0, 1.25, 1.5, 2.0))
    return np.asarray(0.15 * chord * np.exp(-2 * time), np.float32)


def _improve(document: dict[str, Any]) -> None:
    document["aggregates"]["datasets"][0]["metrics"]["mel"]["mean"] *= 0.5


def _edited(file: Path, out: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Change what a submission says and make its hashes right."""

    def edit(members: dict[str, bytes]) -> None:
        document = json.loads(members[SUBMISSION_NAME])
        change(document)
        members[SUBMISSION_NAME] = json.dumps(document).encode()
        reseal(members)

    out.write_bytes(rewrite(file, edit).getvalue())
    return out
