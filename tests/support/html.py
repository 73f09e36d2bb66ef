"""Reads pages in tests: elements with their attributes and text, and what no page may contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

_VOID = {"input", "meta", "link", "br", "hr", "img", "path", "circle"}


@dataclass
class Element:
    """One element; ``text`` is all of the text inside."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[str] = field(default_factory=list)
    """Tags of the elements around it, outermost first."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Element] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, inside=[each.tag for each in self._open])
        self.found.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


def elements(html: str, tag: str = "", **wanted: str) -> list[Element]:
    """Find elements by tag and attributes; an underscore in an attribute's name stands for a hyphen."""
    reader = _Reader()
    reader.feed(html)
    exact = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
    return [
        each
        for each in reader.found
        if tag in {"", each.tag} and all(each.attributes.get(name) == value for name, value in exact.items())
    ]


def links(html: str) -> dict[str, str]:
    """Return the addresses of a page by the text of the link, spaces made single."""
    return {" ".join(each.text.split()): each.attributes["href"] for each in elements(html, "a") if each.text.strip()}


def query_of(url: str) -> dict[str, str]:
    """Read the query of an address."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def forbidden(html: str) -> list[str]:
    """List what the policy of the site would block: inline scripts, event handlers, style elements and attributes."""
    faults = []
    for each in elements(html):
        faults += [f"{each.tag} {name}" for name in each.attributes if name == "style" or name.startswith("on")]
        if each.tag == "style" or (each.tag == "script" and "src" not in each.attributes):
            faults.append(f"inline {each.tag}")
        if each.attributes.get("href", "").startswith("javascript:"):
            faults.append("a script as an address")
    return faults


def unnamed_controls(html: str) -> list[str]:
    """List form controls without a label, a title or a name for assistive programs."""
    labelled = {each.attributes.get("for") for each in elements(html, "label")}
    controls = [each for tag in ("input", "select", "textarea") for each in elements(html, tag)]
    return [
        str(each.attributes)
        for each in controls
        if each.attributes.get("type") != "hidden"
        and each.attributes.get("id") not in labelled
        and "aria-label" not in each.attributes
        and "label" not in each.inside
    ]
