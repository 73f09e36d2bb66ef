"""Chats behind an address: what is sent, what is kept, what each fault of a server costs, and what it may cost."""

from __future__ import annotations

import base64
import io
import re
import socket
import wave
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.applications.model_server import ModelServer, ok

from codec_superb.applications.errors import AnswerBroken, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Item, Reply, Sound, Terms
from codec_superb.applications.task_definitions.messages import Message, Part
from codec_superb.applications.text import sending
from codec_superb.applications.text.sending import Clock, rate_hold, retry_after
from codec_superb.applications.understanding.chats import kept
from codec_superb.applications.understanding.chats.endpoint import EndpointChat
from codec_superb.applications.understanding.chats.purse import Purse
from codec_superb.applications.understanding.chats.settings import Prices
from codec_superb.pipeline.probing.clip import checked_answer
from codec_superb.pipeline.probing.predictions import needs_prediction

KEY = "s3cret-of-the-tests"
MESSAGES = (Message("system", (Part("text", "Be brief."),)), Message("user", (Part("audio"), Part("text", "Which?"))))
USAGE = {"prompt_tokens": 42, "completion_tokens": 3, "prompt_tokens_details": {"audio_tokens": 32}}


@dataclass
class FakeTime:
    """A clock that sleeps at once and notes for how long."""

    time: float = 0.0
    step: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        """Give it in the form that chats take."""
        return Clock(self.now, self.sleep, lambda: 0.5)

    def now(self) -> float:
        """Tell the time."""
        self.time += self.step
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(round(seconds, 3))
        self.time += seconds


def said(text: str | None, **more: Any) -> tuple[int, dict[str, str], bytes]:
    """Answer as a chat completion."""
    choice = {"message": {"content": text}, "finish_reason": "stop"} | more.pop("choice", {})
    return ok({"choices": [choice], "usage": USAGE, "system_fingerprint": "fp1"} | more)


def sound(number: int = 0) -> Sound:
    """Make one second of sound, different for each number."""
    samples = np.sin(np.arange(16_000, dtype=np.float32) / (9 + number)).astype(np.float32)
    return Sound(Item(f"c{number}", "audio"), samples, None, MESSAGES)


def opened(server: ModelServer, folder: Path, time: FakeTime | None = None, **settings: Any) -> EndpointChat:
    """Return a chat that is ready."""
    settings = {"retries": 6, "backoff_s": 1.0, "key_variable": "TOY_KEY"} | settings
    chat = EndpointChat(server.configure(folder, **settings))
    chat.clock = (time or FakeTime()).clock()  # type: ignore[misc]
    chat.load(chat.prepare(), "cpu", 1)
    return chat


@pytest.mark.parametrize("audio", ["input_audio", "audio_url"])
def test_a_completion(server: ModelServer, tmp_path: Path, audio: str) -> None:
    """Messages in order, 16-bit mono at 16 kHz, decoding; the answer with its facts; asked once, anew if told so."""
    server.answer = lambda _: said("a dog")
    chat = opened(server, tmp_path, audio=audio, prices={"text": 1.0, "audio": 10.0, "answer": 100.0})
    (reply,) = chat.predict([sound()])
    assert isinstance(reply, Reply)
    assert (reply, reply.facts["finish"], reply.facts["fingerprint"]) == ("a dog", "stop", "fp1")
    assert reply.facts["cost"] == pytest.approx((10 * 1.0 + 32 * 10.0 + 3 * 100.0) / 1e6)
    asked = server.asked[0]
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"]) == ("toy", 0, 256)
    assert asked.body["messages"][0] == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    part, text = asked.body["messages"][1]["content"]
    assert text == {"type": "text", "text": "Which?"}
    data = part["input_audio"]["data"] if audio == "input_audio" else part["audio_url"]["url"].partition(",")[2]
    with wave.open(io.BytesIO(base64.b64decode(data))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        heard = np.frombuffer(file.readframes(20_000), "<i2") / 32_768
    np.testing.assert_allclose(heard, sound().samples, atol=2 / 32_768)
    assert chat.predict([sound()]) == [reply]
    assert len(server.asked) == 1
    chat.terms = Terms(anew=True)
    chat.predict([sound()])
    assert len(server.asked) == 2
    chat.close()


def test_gemini(server: ModelServer, tmp_path: Path) -> None:
    """``inlineData``, the key in its header, the system's words apart; a blocked question costs its clip."""
    usage = {
        "promptTokenCount": 42, "candidatesTokenCount": 3,
        "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 32}],
    }  # fmt: skip
    answer = {
        "candidates": [{"content": {"parts": [{"text": "a "}, {"text": "dog"}]}, "finishReason": "STOP"}],
        "usageMetadata": usage, "modelVersion": "toy-001",
    }  # fmt: skip
    server.answer = lambda _: ok(answer)
    chat = opened(server, tmp_path, audio="gemini")
    (reply,) = chat.predict([sound()])
    assert isinstance(reply, Reply)
    assert (reply, reply.facts["tokens_audio"], reply.facts["fingerprint"]) == ("a dog", 32, "toy-001")
    asked = server.asked[0]
    assert (asked.path, asked.headers["x-goog-api-key"]) == ("/v1/models/toy:generateContent", KEY)
    assert asked.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert asked.body["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "audio/wav"
    server.answer = lambda _: ok({"promptFeedback": {"blockReason": "SAFETY"}})
    (refused,) = chat.predict([sound(1)])
    assert "filter refuses" in str(refused)


BUSY = (429, {"Retry-After": "7"}, b"")


@pytest.mark.parametrize(
    ("faults", "slept"),
    [
        ([BUSY], [7]),
        ([(408, {}, b""), (409, {}, b""), (425, {}, b""), (500, {}, b""), (503, {}, b""), (504, {}, b"")],
         [1, 2, 4, 8, 16, 32]),
        ([(0, {}, b""), (200, {"Content-Length": "999"}, b'{"choices"'), (200, {}, b'{"choi'),
          (200, {"Content-Type": "text/html"}, b"<html>")], [1, 2, 4, 8]),
    ],
)  # fmt: skip
def test_a_fault_is_waited_out(server: ModelServer, tmp_path: Path, faults: list[Any], slept: list[float]) -> None:
    """Busy, broken, reset, cut off, no JSON: asked again, at the server's time or at doubling ones."""
    script, time = iter(faults), FakeTime()
    server.answer = lambda _: next(script, None) or said("a dog")
    assert opened(server, tmp_path, time).predict([sound()]) == ["a dog"]
    assert time.slept == slept
    assert len(server.asked) == len(faults) + 1


@pytest.mark.parametrize(
    ("answer", "kind", "match", "asked"),
    [
        ((400, {}, b'{"error": "bad key s3cret-of-the-tests"}'), PredictionFailed, r"\(400\).*\[key\]", 1),
        (said("", choice={"finish_reason": "content_filter"}), PredictionFailed, "filter refuses", 1),
        (ok({"choices": []}), PredictionFailed, "expected a chat's answer", 1),
        (said(None), PredictionFailed, "expected a text, got none", 1),
        ((200, {}, b" " * 70_000), PredictionFailed, "expected at most 65536 bytes", 1),
        ((200, {}, b"<html>"), AnswerBroken, "expected JSON.*after 7 tries; the same command asks again", 7),
        (ok({"error": {"message": "busy: s3cret-of-the-tests"}}), AnswerBroken, r"with an error: .*busy: \[key\]", 7),
        ((401, {}, b""), ModelUnusable, "refuses the key in TOY_KEY", 1),
        ((403, {}, b""), ModelUnusable, "refuses the key in TOY_KEY", 1),
        ((404, {}, b""), ModelUnusable, "correct model and url", 1),
        ((302, {"Location": "http://192.0.2.1/"}, b""), ModelUnusable, "got status 302", 1),
        ((500, {}, b""), ModelUnusable, "after 7 tries; what is answered is kept", 7),
        ((0, {}, b""), ModelUnusable, "does not answer", 7),
        ((429, {"Retry-After": "86400"}, b""), ModelUnusable, "asks to wait 86400 s", 1),
    ],
)
def test_what_a_fault_costs(
    server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    kind: type,
    match: str,
    asked: int,
) -> None:
    """A clip, or the run; the key is in no message, and in no file."""
    monkeypatch.setattr(sending, "LARGEST", 1 << 16)
    server.answer = lambda _: answer
    chat = opened(server, tmp_path)
    (found,) = chat.predict([sound()])
    assert isinstance(found, kind)
    assert re.search(match, str(found))
    assert len(server.asked) == asked
    if kind is PredictionFailed and asked == 1:
        chat.predict([sound()])
        assert len(server.asked) == 1, "a refusal is kept too"
    if kind is AnswerBroken:
        assert needs_prediction(checked_answer(found))
        server.answer = lambda _: said("a dog")
        assert chat.predict([sound()]) == ["a dog"], "nothing of it is kept"
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert KEY not in str(found)
    assert not any(KEY.encode() in content for content in files)


def test_an_answer_that_trickles_in_is_not_waited_for(server: ModelServer, tmp_path: Path) -> None:
    """Each byte comes within ``timeout_s``, the whole answer does not."""
    server.answer = lambda _: said("a dog")
    time = FakeTime()
    server.between = lambda: time.sleep(5.0)
    chat = opened(server, tmp_path, time, timeout_s=30.0, retries=1)
    (found,) = chat.predict([sound()])
    assert re.search("the answer takes longer than 30 s", str(found))
    assert len(server.asked) == 2
    server.between = None
    assert chat.predict([sound()]) == ["a dog"]


@pytest.mark.parametrize(("status", "asked"), [(503, 7), (401, 1)])
def test_a_server_that_is_away_is_waited_for_once(server: ModelServer, tmp_path: Path, status: int, asked: int) -> None:
    """The rest of a batch ends with it, but for what is kept; the next batch may try again."""
    server.answer = lambda _: said("a dog")
    time = FakeTime()
    chat = opened(server, tmp_path, time)
    chat.predict([sound(3)])
    server.asked.clear()
    server.answer = lambda _: (status, {}, b"")
    found = chat.predict([sound(number) for number in range(5)])
    assert [isinstance(answer, ModelUnusable) for answer in found] == [True, True, True, False, True]
    assert len(server.asked) == asked
    assert len(time.slept) == asked - 1
    server.answer = lambda _: said("a cat")
    assert chat.predict([sound()]) == ["a cat"]


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens": -5, "completion_tokens": -3}',
        '{"prompt_tokens": 5, "completion_tokens": 1' + "0" * 400 + "}",
        '{"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"audio_tokens": 32}}',
    ],
)  # fmt: skip
def test_impossible_counts_are_estimated(server: ModelServer, tmp_path: Path, usage: str) -> None:
    """Negative tokens would add to the budget; what the server says beside them is cut to what a page can show."""
    words = '"finish_reason": "stop\\ud800", "message": {"content": "a dog"}'
    server.answer = lambda _: (200, {}, f'{{"choices": [{{{words}}}], "usage": {usage}}}'.encode())
    chat = opened(server, tmp_path, prices={"answer": 1e6})
    chat.terms = Terms("one", budget=1e3)
    (found,) = chat.predict([sound()])
    assert isinstance(found, Reply)
    assert (found, found.facts["tokens_answer"], found.facts["finish"]) == ("a dog", 2, "stop")
    assert found.facts["tokens_estimated"]
    assert kept.paid("one")[0] == 2


def test_an_endless_count_costs_the_most_and_is_kept(server: ModelServer, tmp_path: Path) -> None:
    """An answer that cannot be read was paid all the same, and is not asked for again."""
    answer = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1e999}}'
    server.answer = lambda _: (200, {}, answer)
    chat = opened(server, tmp_path, prices={"answer": 1e6}, answer_tokens=3)
    chat.terms = Terms("one")
    for _ in range(2):
        (found,) = chat.predict([sound()])
        assert isinstance(found, PredictionFailed)
    assert (len(server.asked), kept.paid("one")[0]) == (1, 3)


@pytest.mark.parametrize("key", ["two words", "broken\nX: y", "s3cret\u2026"])
def test_a_key_that_no_header_takes(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """It is named by its variable before anything is sent, and never shown."""
    monkeypatch.setenv("TOY_KEY", key)
    with pytest.raises(MissingModel, match="visible ASCII characters in TOY_KEY") as told:
        opened(server, tmp_path)
    assert key not in str(told.value)
    assert not server.asked


def test_a_slow_answer_is_a_fault(server: ModelServer, tmp_path: Path) -> None:
    """The limit is for the whole answer, whatever the server sends in between."""
    server.answer = lambda _: said("a dog")
    (found,) = opened(server, tmp_path, FakeTime(step=200.0), retries=1).predict([sound()])
    assert "takes longer than 120 s, after 2 tries" in str(found)


def test_rates(server: ModelServer, tmp_path: Path) -> None:
    """Two requests a minute: the third waits; a server that has nothing left is given its time."""
    time = FakeTime()
    server.answer = lambda _: said("x")
    chat = opened(server, tmp_path, time, requests_per_minute=2)
    chat.predict([sound(number) for number in range(3)])
    assert time.slept == [60]
    assert rate_hold({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m6.5s"}) == 66.5
    assert rate_hold({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}) == 0.02
    assert rate_hold({"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "20s"}) == 0
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"Retry-After": "soon"}) is None


def test_a_budget_ends_the_run_where_it_can_go_on(server: ModelServer, tmp_path: Path) -> None:
    """No request that might exceed it is sent; what is answered is kept, and asked no more."""
    server.answer = lambda _: said("x")
    settings = {"prices": {"answer": 1e6}, "answer_tokens": 3, "parallel": 3}
    chat = opened(server, tmp_path, **settings)
    assert "5 requests" in chat.foretell([1.0] * 5, 20)
    chat.terms = Terms("one", budget=7.0)
    found = chat.predict([sound(number) for number in range(5)])
    assert [str(answer)[:1] for answer in found].count("x") == len(server.asked) == 2
    assert sum(isinstance(answer, ModelUnusable) for answer in found) == 3
    assert kept.paid("one")[0] == 6.0
    again = opened(server, tmp_path, **settings)
    again.terms = Terms("two", budget=9.0)
    assert [str(answer) for answer in again.predict([sound(number) for number in range(5)])] == ["x"] * 5
    assert len(server.asked) == len({repr(asked.body) for asked in server.asked}) == 5


def test_an_answer_that_cannot_be_kept_ends_the_run(server: ModelServer, tmp_path: Path) -> None:
    """It was paid for; on a full disk the others would be paid for nothing as well."""
    server.answer = lambda _: said("x")
    place = tmp_path / "home" / "chats" / "answers"
    place.parent.mkdir(parents=True)
    place.touch()
    chat = opened(server, tmp_path, parallel=1)
    found = chat.predict([sound(number) for number in range(3)])
    assert [type(answer) for answer in found] == [ModelUnusable] * 3
    assert "cannot be kept" in str(found[0])
    assert len(server.asked) == 1


def test_a_line_of_the_ledger_that_was_cut_off_stands_alone(tmp_path: Path) -> None:
    """What is written after it is read."""
    kept.pay("one", "a", "toy", 1.0)
    ledger = tmp_path / "home" / "chats" / "spent.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-9])
    kept.pay("one", "b", "toy", 2.0)
    kept.pay("one", "c", "toy", 4.0)
    assert kept.paid("one")[0] == 6.0


def test_identity_and_configuration(server: ModelServer, tmp_path: Path) -> None:
    """Limits and prices change no identity, decoding does; it is remote; a wrong field is one sentence."""
    one = opened(server, tmp_path, parallel=1).prepare()
    assert (one.name, one.remote) == ("chat:toy", True)
    assert opened(server, tmp_path, parallel=9, prices={"text": 1.0}).prepare() == one
    assert opened(server, tmp_path, decoding={"temperature": 1}).prepare().sha256 != one.sha256
    assert "longest" not in str(opened(server, tmp_path).predict([sound()]))
    (found,) = opened(server, tmp_path, longest_s=0.5).predict([sound()])
    assert str(found) == "expected at most 0.5 s of sound, got 1.0 s"
    for settings, match in (({"key": "x"}, "key: Extra"), ({"audio": "mp3"}, "audio:"), ({"url": "x"}, "https://")):
        with pytest.raises(MissingModel, match=match):
            EndpointChat(server.configure(tmp_path, **settings)).prepare()


def test_the_guard_holds() -> None:
    """No test of this folder reaches beyond loopback."""
    with pytest.raises(pytest.fail.Exception, match="reaches for"), socket.socket() as probe:
        probe.connect(("192.0.2.1", 80))


def test_what_others_pay_is_counted_on(tmp_path: Path) -> None:
    """A chat and a judge of one command, each in a process, see what the other paid; another command does not."""
    purse, terms = Purse("toy", Prices()), Terms("one", budget=6.0)
    for cost in (1.0, 2.0):
        purse.promise(terms, 3.0)
        purse.settle(terms, "key", 3.0, cost)
    kept.pay("one", "other", "judge", 2.0)
    with pytest.raises(ModelUnusable, match=r"5\.0000 of the budget of 6 USD"):
        purse.promise(terms, 1.5)
    purse.promise(Terms("two", budget=6.0), 6.0)
    assert (tmp_path / "home" / "chats" / "spent.jsonl").is_file()
