"""The API's page: types in words, examples that can be pasted, long lists of parameters once."""

from __future__ import annotations

from typing import Any

import pytest
from support.html import elements, forbidden

from codec_superb.web.site.api_page import api_page
from codec_superb.web.site.page import PageContext

CHROME = PageContext(title="API", path="/api/docs", version="0.1.0")


def document(**operations: Any) -> dict[str, Any]:
    """Make a document with one path."""
    return {"paths": {"/api/v1/things/{name}": operations}, "components": {"schemas": {}}}


def shown(**operations: Any) -> str:
    """Render it."""
    return api_page(document(**operations), "https://board.example", CHROME)


def parameter(name: str, place: str = "query", **schema: Any) -> dict[str, Any]:
    """Make a parameter."""
    return {"name": name, "in": place, "schema": schema, "required": place == "path", "description": f"About {name}."}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer at least 1, at most 9"),
        ({"enum": ["a", "b"]}, "one of a b"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number or null"),
        ({"type": "array", "items": {"type": "string"}}, "list of string"),
        ({"$ref": "#/components/schemas/Thing"}, "Thing"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}, "list of Thing"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object, each value number"),
        ({"type": "string", "format": "binary"}, "file"),
        ({"type": "integer", "default": 50}, "integer 50 unless given"),
        ({}, "anything"),
    ],
)
def test_types_are_put_into_words(schema: dict[str, Any], words: str) -> None:
    """What a value looks like, without the language of JSON schemas."""
    html = shown(get={"parameters": [parameter("p", **schema)], "responses": {}})
    cells = [" ".join(each.text.split()) for each in elements(html, "td")]
    assert cells == ["query", words, "About p."]


def test_reading_is_an_address() -> None:
    """Placeholders stand in capitals, required parameters are filled in with a value that is allowed."""
    choice = {**parameter("kind", enum=["x", "y"]), "required": True}
    html = shown(get={"parameters": [parameter("name", "path", type="string"), choice], "responses": {}})
    assert elements(html, "pre")[0].text == "curl 'https://board.example/api/v1/things/NAME?kind=x'"


@pytest.mark.parametrize(
    ("media", "sent"),
    [
        ("application/zip", "-H 'Content-Type: application/zip' --data-binary @submission.zip"),
        ("application/json", "-H 'Content-Type: application/json' -d @body.json"),
        ("multipart/form-data", "-F file=@submission.zip"),
    ],
)
def test_sending_has_a_token_and_a_body(media: str, sent: str) -> None:
    """Each kind of body has its option."""
    html = shown(post={"requestBody": {"content": {media: {"schema": {}}}}, "responses": {}})
    example = elements(html, "pre")[0].text
    assert example.startswith("curl -X POST -H 'Authorization: Bearer TOKEN' ")
    assert sent in example


def test_a_long_list_of_parameters_is_shown_once() -> None:
    """The second time it is a link to the first."""
    many = [parameter(f"p{number}", type="string") for number in range(5)]
    html = shown(get={"parameters": many, "responses": {}}, put={"parameters": many, "responses": {}})
    assert len(elements(html, "table")) == 1
    assert "The same parameters as" in elements(html, "section")[1].text


def test_hostile_words_stay_text() -> None:
    """A description is text, with names between backticks."""
    html = shown(get={"description": "<script>x</script> `name`", "responses": {"200": {"description": "<b>ok</b>"}}})
    assert forbidden(html) == []
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;ok&lt;/b&gt;" in html
