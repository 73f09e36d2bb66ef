"""BibTeX from the references that cards, manifests and tables give as text; nothing is added to what they say.

A reference reads ``AUTHORS, "TITLE", WHERE, YEAR``, several are set apart by semicolons. Authors, title, year and arXiv
identifier become fields, everything else stands in ``howpublished`` word for word; a reference without a quoted title
becomes the note of an entry that is named for what it describes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codec_superb.web.paper.latex import latex_comment, latex_text

_TITLED = re.compile(r'^(?P<authors>.*?),? ?"(?P<title>[^"]+)"(?:,? (?P<rest>.*))?$')
# arXiv's identifiers since April 2007: YYMM.NNNN, with five digits behind the point since January 2015
_ARXIV = re.compile(r"\barXiv:(\d{4}\.\d{4,5})\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_INITIAL = re.compile(r"^(?:[A-Z]\.[- ]?)+ ?\w")
_SURNAME = re.compile(r"^(?:(?:Le|De|Van|van|von|de) )?[^\W\d][\w'’-]+$")
_END = "}\n"
_ARTICLES = {"the", "and", "for", "with"}
_KEY = re.compile(r"(@\w+\s*\{\s*)([^,\s]+)(?=\s*,)")


@dataclass(frozen=True, slots=True)
class Cited:
    """Something that a run used, and what is known about its publication."""

    kind: str
    """``benchmark``, ``program``, ``codec``, ``dataset``, ``metric``, ``application`` or ``model``."""
    name: str
    """What is cited, for the comment: ``opus_12k``."""
    title: str
    """Title of the entry where the reference has none."""
    reference: str = ""
    """Reference as text; '' where there is none."""
    bibtex: str = ""
    """Finished entry of a manifest, taken over as it is."""
    url: str = ""
    used: str = ""
    """Implementation that was used, for the note of every entry."""
    facts: tuple[str, ...] = field(default_factory=tuple)
    """Further facts for the note of an entry that has no titled reference: hash, licence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry."""

    key: str
    text: str
    """Without its notes, and with a NUL in place of the key."""
    notes: tuple[str, ...] = ()
    """Facts for the field ``note``, which entries of one publication join."""


def bibliography(cited: Iterable[Cited]) -> str:
    """Write one entry a publication, with a comment that says what of the runs it stands for."""
    users: dict[str, list[str]] = {}
    notes: dict[str, dict[str, None]] = {}
    entries: dict[str, Entry] = {}
    for one in cited:
        for entry in entries_of(one):
            known = entries.setdefault(entry.text, entry)
            users.setdefault(known.text, []).append(f"{one.kind} {one.name}")
            notes.setdefault(known.text, {}).update(dict.fromkeys(entry.notes))
    taken: dict[str, int] = {}
    parts = []
    for entry in entries.values():
        taken[entry.key] = taken.get(entry.key, 0) + 1
        again = "" if taken[entry.key] == 1 else "abcdefghijklmnopqrstuvwxyz"[(taken[entry.key] - 1) % 26]
        told = ", ".join(dict.fromkeys(users[entry.text]))
        text = entry.text.replace("\0", f"{entry.key}{again}", 1)
        note = "; ".join(map(latex_text, notes[entry.text]))
        if note:
            text = f"{text.removesuffix(_END)}  note = {{{note}}},\n{_END}"
        parts.append(latex_comment(told) + text)
    return "\n".join(parts)


def entries_of(cited: Cited) -> list[Entry]:
    """Make the entries of one thing."""
    if cited.bibtex:
        found = _KEY.search(cited.bibtex)
        key = found[2] if found else _slug(cited.title)
        text = _KEY.sub("\\1\0", cited.bibtex.strip(), count=1)
        return [Entry(key, text + "\n")]
    groups = _groups(cited.reference)
    if not groups:
        return [_untitled(cited)]
    return [_entry(cited, match, rest) for match, rest in groups]


def _groups(reference: str) -> list[tuple[re.Match[str], list[str]]]:
    """Find the references with a title, each with the parts that follow it."""
    groups: list[tuple[re.Match[str], list[str]]] = []
    for part in (part.strip() for part in re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', reference)):
        match = _TITLED.match(part)
        if match:
            groups.append((match, []))
        elif groups:
            groups[-1][1].append(part)
    return groups


def _entry(cited: Cited, match: re.Match[str], more: Sequence[str]) -> Entry:
    authors, title, rest = match["authors"], match["title"], match["rest"] or ""
    whole = "; ".join([rest, *more]) if rest else "; ".join(more)
    arxiv = _ARXIV.search(whole)
    where = _ARXIV.sub("", rest)
    years = _YEAR.findall(where) or _YEAR.findall(_ARXIV.sub("", whole))
    year = years[-1] if years else ""
    place = re.sub(rf"[,\s]*\b{year}$", "", where.strip(" ,")) if year else where
    names, number = authors_of(authors)
    fields = {
        "author": names,
        "title": f"{{{latex_text(title)}}}",
        "howpublished": latex_text(place.strip(" ,;")),
        "number": latex_text(number),
        "year": year,
        "eprint": arxiv[1] if arxiv else "",
        "archiveprefix": "arXiv" if arxiv else "",
        # the address is that of the implementation, where there is one, and not of the publication
        "url": "" if arxiv or cited.used else cited.url,
    }
    notes = [*filter(None, map(_without_id, more)), *_used(cited)]
    first = next((word for word in re.findall(r"[^\W\d_]{3,}", title) if word.lower() not in _ARTICLES), "")
    return Entry(
        _slug(f"{_surname(authors)}{year}{first}") or _slug(cited.name), _written("misc", fields), tuple(notes)
    )


def _without_id(text: str) -> str:
    return _ARXIV.sub("", text).strip(" ,;")


def _used(cited: Cited) -> list[str]:
    return [", ".join(filter(None, (f"used here: {cited.used}", cited.url)))] if cited.used else []


def _untitled(cited: Cited) -> Entry:
    """Make an entry of what has no titled reference: named for the thing, with the address and all that is said."""
    arxiv = _ARXIV.search(cited.reference)
    fields = {
        "key": latex_text(cited.title),  # what an entry without an author is sorted by
        "title": f"{{{latex_text(cited.title)}}}",
        "eprint": arxiv[1] if arxiv else "",
        "archiveprefix": "arXiv" if arxiv else "",
        "howpublished": latex_text(cited.reference),
        "url": cited.url,
    }
    notes = [*cited.facts, *([cited.used] if cited.used else [])]
    return Entry(_slug(f"{cited.kind}{cited.name}"), _written("misc", fields), tuple(notes))


def authors_of(text: str) -> tuple[str, str]:
    """Return BibTeX's list of authors, and the number of a standard; an organisation is one author, in braces."""
    standard = re.match(r"^(ITU-T) (Recommendation .+)$", text)
    if standard:
        return f"{{{standard[1]}}}", standard[2]
    others = text.endswith("et al.")
    people = [one for one in re.split(r", | and |, and ", text.removesuffix("et al.").strip(" ,")) if one]
    several = others or len(people) > 1
    if not all(_INITIAL.match(one) or (several and _SURNAME.match(one)) for one in people):
        return (f"{{{latex_text(text)}}}" if text else ""), ""
    # a surname of two words is one name, and no first name with a last one
    names = [f"{{{latex_text(one)}}}" if " " in one and not _INITIAL.match(one) else latex_text(one) for one in people]
    return " and ".join([*names, *(["others"] if others else [])]), ""


def _surname(authors: str) -> str:
    first = re.split(r", | and | et al\.", authors)[0]
    return first.split()[-1] if _INITIAL.match(first) else "".join(first.split()[:2])


def _slug(text: str) -> str:
    """Make a key of letters and digits."""
    # Unicode gives ø and ł no decomposition
    plain = unicodedata.normalize("NFKD", text.replace("ø", "o").replace("ł", "l"))
    return re.sub(r"[^a-z0-9]", "", plain.encode("ascii", "ignore").decode().lower()) or "reference"


def _written(kind: str, fields: dict[str, str]) -> str:
    # an address is no text: only what would end the field is encoded
    lines = [
        f"  {name} = {{{value.replace('{', '%7B').replace('}', '%7D') if name == 'url' else value}}},\n"
        for name, value in fields.items()
        if value
    ]
    return f"@{kind}{{\0,\n{''.join(lines)}{_END}"
