"""Models behind an address: the three forms of request, broken answers, busy servers, and a key that nobody sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.applications.model_server import Asked, ModelServer, model_server, ok

from codec_superb.applications.errors import ApplicationError, MissingModel, ModelUnusable, PredictionFailed
from codec_superb.applications.interface import Item, TextQuestion
from codec_superb.applications.text.chat_reader import ChatReader
from codec_superb.applications.text.endpoint import Endpoint, even_parts

KEY = "s3cret-of-the-tests"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Give a server, and a key in the environment."""
    monkeypatch.setenv("TOY_KEY", KEY)
    with model_server() as found:
        yield found


def row(text: str) -> list[float]:
    """Return the vector that the server gives for a text."""
    return [float(len(text)), float(text.count("a")), 1.0]


def embeddings(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    """Answer as OpenAI's embeddings, in another order."""
    rows = [{"index": at, "embedding": row(text)} for at, text in enumerate(asked.body["input"])]
    return ok({"object": "list", "data": rows[::-1]})


def opened(server: ModelServer, folder: Path, **settings: Any) -> Endpoint:
    """Return a loaded encoder."""
    encoder = Endpoint(server.configure(folder, **settings))
    encoder.load(encoder.prepare(), "cpu", 1)
    return encoder


class TestForms:
    """What the three services are asked, and how their answers are read."""

    def test_openai(self, server: ModelServer, tmp_path: Path) -> None:
        """Batches; vectors belong to texts by their index; the key as a bearer."""
        server.answer = embeddings
        encoder = opened(server, tmp_path, key_variable="TOY_KEY", batch=2, dimensions=3)
        texts = ["a", "bb", "", "aaa", "c"]
        np.testing.assert_array_equal(encoder.embed(texts, "query"), [row(text) for text in texts])
        assert [len(asked.body["input"]) for asked in server.asked] == [2, 2, 1]
        first = server.asked[0]
        assert first.path == "/v1"
        assert first.headers["authorization"] == f"Bearer {KEY}"
        assert first.body == {"model": "toy", "input": ["a", "bb"], "encoding_format": "float", "dimensions": 3}

    def test_gemini(self, server: ModelServer, tmp_path: Path) -> None:
        """``batchEmbedContents`` with the key in its header, prompts as published, documents cleaned."""
        server.answer = lambda asked: ok({
            "embeddings": [{"values": row(of["content"]["parts"][0]["text"])} for of in asked.body["requests"]]
        })  # fmt: skip
        prompts = {"query": "task: search result | query: {text}", "document": "title: {title} | text: {text}"}
        encoder = opened(
            server, tmp_path, api="gemini", key_variable="TOY_KEY", prompts=prompts, clean_documents=True, dimensions=3
        )
        encoder.embed(["Who?"], "query")
        encoder.embed([encoder.document("The Page", "Born[12] in {title}  Rome.")], "document")
        encoder.embed([encoder.document("", "x")], "document")
        encoder.embed(["As Is [1]"], "sentence")
        assert {asked.path for asked in server.asked} == {"/v1:batchEmbedContents"}
        assert {asked.headers["x-goog-api-key"] for asked in server.asked} == {KEY}
        assert all("authorization" not in asked.headers for asked in server.asked)
        assert server.asked[0].body["requests"][0]["model"] == "models/toy"
        assert server.asked[0].body["requests"][0]["outputDimensionality"] == 3
        assert [asked.body["requests"][0]["content"]["parts"][0]["text"] for asked in server.asked] == [
            "task: search result | query: Who?",
            "title: the page | text: born in {title} rome.",
            "title: none | text: x",
            "As Is [1]",
        ]

    def test_vertex(self, server: ModelServer, tmp_path: Path) -> None:
        """Gecko's ``predict``."""
        server.answer = lambda asked: ok({
            "predictions": [{"embeddings": {"values": row(of["content"])}} for of in asked.body["instances"]]
        })  # fmt: skip
        encoder = opened(server, tmp_path, api="vertex", unit_length=True)
        found = encoder.embed(["aa", "b"], "query")
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
        assert server.asked[0].path == "/v1:predict"
        assert "authorization" not in server.asked[0].headers

    def test_a_long_text_is_the_mean_of_its_parts(self, server: ModelServer, tmp_path: Path) -> None:
        """As the settings say, which name no key and no address."""
        server.answer = embeddings
        encoder = opened(server, tmp_path, max_characters=20, key_variable="TOY_KEY")
        text = "aaaa bbbb cccc dddd eeee ffff"
        parts = even_parts(text, 20)
        assert parts == ["aaaa bbbb cccc", "dddd eeee ffff"]
        np.testing.assert_allclose(encoder.embed([text], "query")[0], np.mean([row(part) for part in parts], axis=0))
        model = encoder.prepare()
        assert model.name == "endpoint:toy"
        told = json.dumps([model.name, model.sha256, dict(model.settings)])
        assert KEY not in told
        assert "TOY_KEY" not in told
        assert "127.0.0.1" not in told


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200), limit=st.integers(16, 40))
def test_parts_hold_the_whole_text(text: str, limit: int) -> None:
    """None is too long, and nothing but spaces at the seams is lost."""
    parts = even_parts(text, limit)
    assert max(map(len, parts)) <= limit
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


class TestTrouble:
    """Servers that are busy, broken, or not there."""

    def test_a_busy_server_is_asked_again(self, server: ModelServer, tmp_path: Path) -> None:
        """429 and 503 with a time to wait, then the answer; more often than allowed, and the stage ends."""
        busy = iter([(429, {"Retry-After": "0"}, b"slow down"), (503, {}, b"")])
        server.answer = lambda asked: next(busy, None) or embeddings(asked)
        encoder = opened(server, tmp_path)
        assert encoder.embed(["a"], "query").shape == (1, 3)
        assert len(server.asked) == 3
        server.answer = lambda _: (429, {}, b"")
        with pytest.raises(ModelUnusable, match=r"toy: the server is busy or fails \(status 429\), after 3 tries"):
            encoder.embed(["a"], "query")

    @pytest.mark.parametrize(
        ("answer", "match"),
        [
            ((200, {}, b"<html>"), "expected JSON, got 6 bytes.*after 3 tries"),
            ((200, {}, b'{"data": [{"index": 0, "emb'), "expected JSON"),
            (ok({"error": "no"}), "the server answers with an error"),
            (ok({"result": "no"}), "expected vectors in the answer"),
            (ok([]), "expected vectors in the answer"),
            (ok({"data": []}), "expected 1 vectors, got 0"),
            (ok({"data": [{"index": 0, "embedding": [1.0, None, 2.0]}]}), "finite numbers"),
            (ok({"data": [{"index": 0, "embedding": ["x", 1.0, 2.0]}]}), "expected vectors in the answer"),
            (ok({"data": [{"index": 0, "embedding": []}]}), "finite numbers"),
            ((200, {}, b'{"data": [{"index": 0, "embedding": [NaN, 1, 2]}]}'), "finite numbers"),
            ((400, {}, b"too long"), r"refuses the request \(400\)"),
        ],
    )
    def test_a_broken_answer_costs_its_text(
        self, server: ModelServer, tmp_path: Path, answer: tuple[int, dict[str, str], bytes], match: str
    ) -> None:
        """No JSON, cut off, of another form, without numbers, or a refusal."""
        server.answer = lambda asked: answer if asked.body["input"] == ["bad"] else embeddings(asked)
        encoder = opened(server, tmp_path)
        good, bad = encoder.answer([TextQuestion(Item("c", "speech"), text) for text in ("good", "bad")])
        assert isinstance(good, np.ndarray)
        assert isinstance(bad, PredictionFailed)
        with pytest.raises(PredictionFailed, match=match):
            encoder.embed(["bad"], "query")

    def test_other_dimensions_end_the_stage(self, server: ModelServer, tmp_path: Path) -> None:
        """Every text would have them."""
        server.answer = embeddings
        encoder = opened(server, tmp_path, dimensions=4)
        with pytest.raises(ApplicationError, match="expected vectors of 4 numbers, as its configuration says, got 3"):
            encoder.embed(["a"], "query")

    def test_a_refused_key_is_not_shown(self, server: ModelServer, tmp_path: Path) -> None:
        """The variable is named, its content is not; a redirection is not followed with the key."""
        server.answer = lambda _: (401, {}, b"who are you?")
        encoder = opened(server, tmp_path, key_variable="TOY_KEY")
        with pytest.raises(ModelUnusable, match=r"refuses the key in TOY_KEY \(401\)") as refused:
            encoder.embed(["a"], "query")
        assert KEY not in str(refused.value)
        server.answer = lambda _: (302, {"Location": "http://127.0.0.1:9/"}, b"")
        with pytest.raises(ModelUnusable, match="got status 302"):
            encoder.embed(["a"], "query")

    def test_a_server_that_is_not_there(self, tmp_path: Path) -> None:
        """One sentence, without a traceback of three libraries."""
        with model_server() as server:
            pass
        encoder = opened(server, tmp_path, retries=0)
        with pytest.raises(ModelUnusable, match=r"^toy: the server does not answer \(ConnectionError\), after 1 tries"):
            encoder.embed(["a"], "query")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"url": "ftp://x/y"}, "url: .*begins with https"),
        ({"url": "https://x/y?key=1"}, "the key belongs into key_variable"),
        ({"url": "https://me:you@x/y"}, "the key belongs into key_variable"),
        ({"prompts": {"query": "no place"}}, r"expected \{text\} in it"),
        ({"prompts": {"asking": "{text}"}}, "prompts.asking"),
        ({"api": "soap"}, "api: "),
        ({"key": "in plain"}, "key: Extra inputs"),
        ({"key_variable": "NO_SUCH_VARIABLE"}, "set the environment variable NO_SUCH_VARIABLE"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(tmp_path: Path, settings: dict[str, Any], match: str) -> None:
    """Which setting, what was expected, before anything is asked."""
    file = ModelServer("http://127.0.0.1:9/v1").configure(tmp_path, **settings)
    with pytest.raises(MissingModel, match=match):
        Endpoint(file).prepare()


def test_a_configuration_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the home or in the folder of weights; what is missing is named with its place."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    with pytest.raises(MissingModel, match=r"endpoint:toy: cannot read .*/endpoints/toy\.yaml: No such file"):
        Endpoint("toy").prepare()
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "toy.yaml").write_text("url: http://127.0.0.1:9\nmodel: big\n")
    assert Endpoint("toy").prepare().name == "endpoint:big"
    (tmp_path / "toy.yaml").write_text("]")
    with pytest.raises(MissingModel, match="is no YAML file"):
        Endpoint("toy", tmp_path).prepare()
    with pytest.raises(MissingModel, match="name a configuration"):
        Endpoint().prepare()


class TestChat:
    """The generative reader."""

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('{"answer": "in 1889"}', "in 1889"),
            (' {"answer": "No Answer"}\n', "No Answer"),
            ('"No Answer"', "No Answer"),
            ('{"answer": ""}', ""),
            ("in 1889", ""),
            ('{"answer": ["a"]}', ""),
            ('{"reply": "a"}', ""),
            ("[" * 100_000, ""),
            (None, ""),
        ],
    )
    def test_what_does_not_parse_is_an_invalid_answer(
        self, server: ModelServer, tmp_path: Path, content: str | None, expected: str
    ) -> None:
        """The server is told question, title and passage; an empty transcript is asked too."""
        server.answer = lambda _: ok({"choices": [{"message": {"content": content}}]})
        reader = ChatReader(server.configure(tmp_path, key_variable="TOY_KEY"))
        reader.load(reader.prepare(), "cpu", 1)
        asked = TextQuestion(Item("c", "speech"), "", "Eiffel Tower", "It opened in 1889.")
        assert reader.answer([asked]) == [expected]
        body = server.asked[0].body
        assert (body["model"], body["temperature"]) == ("toy", 0)
        told = json.loads(body["messages"][1]["content"])
        assert told == {"question": "", "title": "Eiffel Tower", "passage": "It opened in 1889."}
        reader.close()

    def test_another_answer_costs_its_clip(self, server: ModelServer, tmp_path: Path) -> None:
        """No completion; a text that is refused before it is sent."""
        server.answer = lambda _: ok({"choices": []})
        reader = ChatReader(server.configure(tmp_path))
        reader.load(reader.prepare(), "cpu", 1)
        first, second = reader.answer([
            TextQuestion(Item("c", "speech"), "x"), TextQuestion(Item("d", "speech"), "x" * 10_000_000)
        ])  # fmt: skip
        assert "expected a chat completion" in str(first)
        assert "at most" in str(second)
        assert len(server.asked) == 1
        with pytest.raises(MissingModel, match="expected api: openai, got gemini"):
            ChatReader(server.configure(tmp_path, api="gemini")).prepare()
