"""Runs probed by a chat behind an address: kills, faults and budgets change no row, nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import soundfile
from support.applications.model_server import Asked, ModelServer, model_server, ok
from support.audio import speech_like
from support.pipeline.drive import start
from support.pipeline.killing import finish, killed
from support.profile import amount

from codec_superb.applications.errors import ApplicationError
from codec_superb.pipeline.probing.stage import probe
from codec_superb.pipeline.resynthesis.stage import resynthesise
from codec_superb.pipeline.runs.folder import RunFolder

CLIPS, SIDES = 6, 2
KEY = "s3cret-of-the-tests"
TASK = """
task: dog_or_cat
title: Dog or cat
label: events
classes: [dog, cat]
categories: [audio]
prompt: "Dog or cat?"
measure: prefix-match
"""


def name_of(asked: Asked) -> str:
    """Return the hash of a request."""
    return hashlib.sha256(json.dumps(asked.body, sort_keys=True).encode()).hexdigest()


def answer(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    """Answer by the hash of the sound, so that the answer is always the same."""
    text = "dog" if int(name_of(asked)[:2], 16) % 2 else "cat"
    return ok({
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "system_fingerprint": "fp1",
        "usage": {"prompt_tokens": 10, "completion_tokens": 1},
    })  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Resynthesise six clips once; tests work on copies."""
    place = tmp_path_factory.mktemp("plain")
    data = place / "data"
    data.mkdir()
    for number in range(CLIPS):
        soundfile.write(data / f"c{number}.wav", speech_like(0.3 + number / 50, 16_000, seed=number), 16_000)
    rows = [f"c{number}.wav,{'dog' if number % 2 else 'cat'},audio" for number in range(CLIPS)]
    (data / "labels.csv").write_text("\n".join(["path,events,category", *rows]) + "\n")
    (place / "task.yaml").write_text(TASK)
    resynthesise(["g711_alaw"], [str(data)], out=place / "runs", workers=1)
    return place


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModelServer, str]]:
    """Give a server that answers, and the name of the chat."""
    with model_server() as server:
        server.answer = answer
        more = {"retries": 6, "key_variable": "TOY_KEY", "parallel": 2, "prices": {"answer": 1e6}, "answer_tokens": 1}
        yield server, f"chat:{server.configure(tmp_path, **more)}"


def order_of(place: Path, backend: str, **more: Any) -> dict[str, Any]:
    """Return the order of a stage in a process of its own."""
    return {
        "stage": "probe", "out": str(place / "runs"), "applications": [], "backends": [backend], "datasets": [],
        "tasks": [str(place / "task.yaml")], **more,
    }  # fmt: skip


def rows_of(place: Path) -> tuple[Any, Any]:
    """Return the rows of the one run, and how it was probed."""
    (info,) = place.rglob("run.json")
    folder = RunFolder(info.parent)
    told = {key: of.model_dump() for key, of in folder.info().probes.items()}
    return [row.model_dump(mode="json") for row in folder.rows()], told


@pytest.mark.sample(2, among="answers of chats in runs")
def test_a_run(plain: Path, tmp_path: Path, chat: tuple[ModelServer, str]) -> None:
    """Both sides of a clip follow each other; the sum of costs, the state of the server, and no key in any file."""
    server, backend = chat
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    settings = Path(backend.removeprefix("chat:"))
    settings.write_text(settings.read_text().replace("parallel: 2", "parallel: 1"))
    lock, order = threading.Lock(), []

    def drifting(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        with lock:
            order.append(name_of(asked))
            late = len(order) > CLIPS * SIDES - 1
        status, headers, content = answer(asked)
        return status, headers, content.replace(b"fp1", b"fp2") if late else content

    server.answer = drifting
    asked = {"applications": [], "backends": [backend], "tasks": [place / "task.yaml"], "workers": 1}
    (outcome,) = probe([place / "runs"], **asked)
    assert [of.ok for of in outcome.probes.values()] == [CLIPS]
    assert len(order) == len(set(order)) == CLIPS * SIDES
    lengths = [len(str(of.body)) for of in server.asked]  # each clip has its own
    assert lengths[::SIDES] == lengths[1::SIDES]
    assert len(set(lengths)) == CLIPS
    _, told = rows_of(place)
    ((_, info),) = told.items()
    assert info["remote"] == {
        "answers": CLIPS * SIDES, "cost": CLIPS * SIDES, "currency": "USD", "fingerprints": ("fp1", "fp2"),
        "drifted": True,
    }  # fmt: skip
    probe([place / "runs"], **asked)
    assert len(order) == CLIPS * SIDES
    probe([place / "runs"], **asked, overwrite=True)
    assert Counter(order) == dict.fromkeys(order, 2)
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.sample(2, among="answers of chats in runs")
def test_a_judge_reads_the_answers_of_a_run(plain: Path, tmp_path: Path, chat: tuple[ModelServer, str]) -> None:
    """Once each, for both sides; a second call, and one whose judge is away, asks nobody and changes no row."""
    server, backend = chat
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    (place / "task.yaml").write_text(TASK.replace("prefix-match", "judge-reference-qa"))
    asked: dict[str, Any] = {"applications": [], "backends": [backend], "tasks": [place / "task.yaml"], "workers": 1}
    with pytest.raises(ApplicationError, match="add --judge NAME"):
        probe([place / "runs"], **asked)
    assert not server.asked
    with model_server() as judge:
        judge.answer = lambda of: ok({"choices": [{"message": {"content": f"so\n[[{said(of)}]]"}}]})
        (tmp_path / "judge").mkdir()
        name = judge.configure(tmp_path / "judge")
        probe([place / "runs"], **asked, judge=name)
        requests = {name_of(of) for of in judge.asked}
        assert len(judge.asked) == len(requests)
        assert 0 < len(requests) <= 4  # dog or cat, heard as dog or cat
        expected = rows_of(place)
        ((_, info),) = expected[1].items()
        assert info["settings"]["judge"] == "judge:toy"
        probe([place / "runs"], **asked, judge=name)
        assert len(judge.asked) == len(requests)
        probe([place / "runs"], **asked, judge=name, overwrite=True)
        assert Counter(map(name_of, judge.asked)) == dict.fromkeys(requests, 2)
    probe([place / "runs"], **asked, judge=name)
    assert rows_of(place) == expected
    right = [row["probes"][info["probe"]]["reference"]["correct"] for row in expected[0]]
    assert 0 < sum(right) < CLIPS


def said(asked: Asked) -> str:
    """Judge by rule: an answer is right where the label stands in it."""
    reference, answered = re.findall(r'"(dog|cat)"', asked.body["messages"][1]["content"])[-2:]
    return "yes" if reference == answered else "no"


@pytest.mark.sample(2, among="what is killed or has no room")
def test_a_budget_ends_a_run_that_goes_on(plain: Path, tmp_path: Path, chat: tuple[ModelServer, str]) -> None:
    """The reason is told, a second command with more finishes it, and each request was sent once."""
    server, backend = chat
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    with start(**order_of(place, backend, budget=5.0)) as process:
        _, errors = process.communicate()
    assert process.returncode != 0
    assert "of the budget of 5 USD" in errors
    assert KEY not in errors
    assert len(server.asked) == 5
    finish(order_of(place, backend))
    assert max(Counter(map(name_of, server.asked)).values()) == 1
    assert len(server.asked) == CLIPS * SIDES


@pytest.mark.sample(2, among="what is killed or has no room")
def test_kills_and_faults_change_no_row(plain: Path, tmp_path: Path, chat: tuple[ModelServer, str]) -> None:
    """Killed again and again over a server that fails in every way: the rows of an undisturbed run, asked once each.

    A request that is under way at a kill may be asked again; one that is answered and kept may not.
    """
    server, backend = chat
    calm = Path(shutil.copytree(plain, tmp_path / "calm"))
    finish(order_of(calm, backend))
    expected = rows_of(calm)
    shutil.rmtree(tmp_path / "home")
    server.asked.clear()
    server.answer = failing(moments := random.Random(5))
    place = Path(shutil.copytree(plain, tmp_path / "copy"))
    kills = sum(killed(order_of(place, backend), moments, 0.3) for _ in range(amount(1, 20)))
    before = len(list((tmp_path / "home" / "chats" / "answers").rglob("*.json")))
    server.asked.clear()
    finish(order_of(place, backend))
    assert rows_of(place) == expected
    assert len({name_of(asked) for asked in server.asked}) == CLIPS * SIDES - before
    assert kills or not before < CLIPS * SIDES


def failing(chance: random.Random) -> Callable[[Asked], tuple[int, dict[str, str], bytes]]:
    """Return a server that fails half of the time, in every way that may be tried again."""
    faults: list[tuple[int, dict[str, str], bytes]] = [
        (429, {"Retry-After": "0"}, b""), (500, {}, b""), (0, {}, b""), (200, {}, b"{"), (408, {}, b""),
        (200, {"Content-Length": "999"}, b'{"choices"'), (200, {"Content-Type": "text/html"}, b"<html>"),
    ]  # fmt: skip
    seen: Counter[str] = Counter()

    def answered(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        seen[name_of(asked)] += 1
        return answer(asked) if seen[name_of(asked)] % 3 == 0 or chance.random() < 0.5 else chance.choice(faults)

    return answered
