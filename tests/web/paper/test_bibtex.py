"""References as BibTeX: known answers, every card and table of the catalogue, and names that could break an entry."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from codec_superb.applications.backends import BACKENDS
from codec_superb.applications.table import PROBES
from codec_superb.base_codec import registry
from codec_superb.metrics.table import METRICS
from codec_superb.web.paper.bibtex import Cited, authors_of, bibliography, entries_of

OPUS = (
    'J.-M. Valin, G. Maxwell, T. B. Terriberry, K. Vos, "High-Quality, Low-Delay Music Coding in the Opus Codec", '
    "135th AES Convention, 2013; IETF RFC 6716"
)


def test_known_answer() -> None:
    """Authors, title and year are fields; the place and the standard stand as the card has them."""
    text = bibliography(
        [
            Cited("codec", name, "RFC 6716", OPUS, url="https://opus-codec.org/", used="libopus 1.5")
            for name in ("opus_6k", "opus_12k")
        ]
    )
    assert text == (
        "% codec opus_6k, codec opus_12k\n"
        "@misc{valin2013high,\n"
        "  author = {J.-M. Valin and G. Maxwell and T. B. Terriberry and K. Vos},\n"
        "  title = {{High-Quality, Low-Delay Music Coding in the Opus Codec}},\n"
        "  howpublished = {135th AES Convention},\n"
        "  year = {2013},\n"
        "  note = {IETF RFC 6716; used here: libopus 1.5, https://opus-codec.org/},\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("Rix et al.", "Rix and others"),
        ("Le Roux et al.", "{Le Roux} and others"),
        ("X. Wang, M. Jiang, Z. Ma et al.", "X. Wang and M. Jiang and Z. Ma and others"),
        ("Taal, Hendriks, Heusdens and Jensen", "Taal and Hendriks and Heusdens and Jensen"),
        ("H. Siuzdak, F. Grötschla, L. A. Lanzendörfer", "H. Siuzdak and F. Grötschla and L. A. Lanzendörfer"),
        ("Qwen Team", "{Qwen Team}"),
        (
            "IMA Digital Audio Focus and Technical Working Groups",
            "{IMA Digital Audio Focus and Technical Working Groups}",
        ),
        ("ITU-T Recommendation G.711", "{ITU-T}"),
        ("", ""),
    ],
)
def test_authors(text: str, authors: str) -> None:
    """People are apart, an organisation is one name, and nobody is added."""
    assert authors_of(text)[0] == authors


def test_every_reference_of_the_catalogue_becomes_entries() -> None:
    """Each has a title and braces that close; arXiv identifiers are kept, and a quoted title is the entry's."""
    cards = [registry.card(name) for name in registry.names()]
    references = {card.paper for card in cards} | {row.paper for row in (*METRICS.values(), *PROBES.values())}
    references |= {row.paper for row in BACKENDS.values() if row.paper}
    assert len(references) > 80
    for reference in references:
        entries = entries_of(Cited("codec", "a_name", "A Title", reference, url="https://example.org/a_b", used="x 1"))
        text = "".join([*(entry.text for entry in entries), *(note for entry in entries for note in entry.notes)])
        assert len(entries) == max(1, reference.count('"') // 2), reference
        assert text.count("{") == text.count("}")
        assert set(re.findall(r"\d{4}\.\d{5}", reference)) == set(re.findall(r"\d{4}\.\d{5}", text))
        assert ("title = {{A Title}}" in text) == ('"' not in reference)
        assert all(entry.key for entry in entries)


def test_a_label_is_a_name() -> None:
    """No probe and no metric is labelled, in tables and charts, with the title of its publication."""
    for row in PROBES.values():
        assert not {row.label, *(metric.label for metric in row.metrics)} & set(re.findall('"([^"]+)"', row.paper))


def test_a_publication_has_one_entry_whatever_refers_to_it() -> None:
    """A probe and the model that answers for it name their common paper alike, also by its title without subtitle."""
    rows = {**METRICS, **{f"probe {key}": row for key, row in PROBES.items()}, **BACKENDS}
    found: dict[str, set[str]] = {}
    for name, row in rows.items():
        for entry in entries_of(Cited("model", name, name, row.paper)):
            title = re.search(r"title = \{\{(.*?)[:}]", entry.text)
            assert title is not None
            found.setdefault(title[1], set()).add(entry.text)
    assert {title: texts for title, texts in found.items() if len(texts) > 1} == {}


def test_codecs_of_one_publication_share_its_entry() -> None:
    """Two implementations of what one paper describes are both in its note."""
    cited = [
        Cited("codec", name, "T", OPUS, used=used) for name, used in (("a", "lib 1"), ("b", "lib 2"), ("c", "lib 1"))
    ]
    text = bibliography(cited)
    assert text.count("@misc") == 1
    assert "note = {IETF RFC 6716; used here: lib 1; used here: lib 2}" in text


def test_a_manifests_entry_is_taken_over_and_keys_are_apart() -> None:
    """A finished entry keeps its text; another publication under the same key gets a letter."""
    entry = "@article{key,\n  title = {One},\n}"
    one = Cited("dataset", "one", "One", bibtex=entry)
    two = replace(one, name="two", bibtex=entry.replace("One", "Two"))
    text = bibliography([one, two, replace(one, name="three")])
    assert re.findall(r"@article\{(\w+),", text) == ["key", "keyb"]
    assert "% dataset one, dataset three\n" in text
    same = [replace(one, bibtex=one.bibtex.replace("article{key", "key{key")) for one in (one, two)]
    assert re.findall(r"@key\{(\w+),", bibliography(same)) == ["key", "keyb"]


def test_names_cannot_break_an_entry() -> None:
    """Braces, comments, commands and line breaks of a user's card end no field."""
    evil = "}\n@misc{x, title={\\input{a}} % \\"
    text = bibliography([Cited("codec", evil, evil, evil, url="https://x.example/}", used=evil, facts=(evil,))])
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    # BibTeX counts braces behind a backslash too
    depths = [body[:end].count("{") - body[:end].count("}") for end in range(1, len(body))]
    assert min(depths) == 0
    assert depths.index(1) == 5  # that of @misc, which the last brace closes
    assert 0 not in depths[5:-1]
    assert not re.search(r"\\input", body)
