"""BibTeX entries of codecs, results and datasets: ``@misc`` with the fields that the card or the submission has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from codec_superb.base_codec.card import Card
from codec_superb.pipeline.submission.schema import SubmittedDataset
from codec_superb.server.codecs.facts import web_address
from codec_superb.server.database.models import Submission
from codec_superb.server.names import catalogue
from codec_superb.web.site.codec.view import Citation

_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip
# braces are words, since BibTeX counts them behind a backslash too
_ENTRY = re.compile(r"@\w+\s*\{")


def tex(text: str) -> str:
    """Escape a text for TeX, on one line."""
    return " ".join(text.translate(_SPECIAL).split())


def entry(key: str, fields: Sequence[tuple[str, str]]) -> str:
    """Write a ``@misc`` entry; empty fields are left out. Values must be safe for TeX."""
    # BibTeX takes no blank, comma, brace, quote, # or % in a key
    safe = re.sub(r"[^A-Za-z0-9_.:-]", "-", key)
    lines = [f"  {name} = {{{value}}}," for name, value in fields if value]
    return "\n".join([f"@misc{{{safe},", *lines, "}"])


def _url(address: str) -> str:
    r"""Quote an address for ``\url``: only what would end its group, or start a comment, is encoded."""
    quoted = address.replace("\\", "%5C").replace("{", "%7B").replace("}", "%7D")
    return rf"\url{{{quoted}}}"


def codec_citation(card: Card) -> Citation:
    """Cite the codec by its card, one's own in so many words; without authors where the card names none."""
    paper_address = web_address(card.paper)
    paper = _url(paper_address) if paper_address else tex(card.paper)
    page = web_address(card.homepage)
    said = "" if card.name in catalogue.cards() else "According to its card: "
    fields = [
        ("title", f"{{{tex(card.title)}}}"),
        ("year", str(card.year or "")),
        ("howpublished", _url(page) if page else tex(card.homepage)),
        ("note", f"{said}{tex(card.standard)}. {paper}. {tex(card.version)}"),
    ]
    return Citation("The codec", entry(card.name, fields))


def result_citation(submission: Submission, title: str, base_url: str, today: date) -> Citation:
    """Cite the results: version, account, address and date of access."""
    name = submission.codec.name
    fields = [
        # Braces within the braces: BibTeX takes the name as one and splits it nowhere.
        ("author", f"{{{tex(submission.account.name)}}}" if submission.account else ""),
        ("title", f"{{Codec-SUPERB leaderboard: {tex(title)}, results version {submission.version}}}"),
        ("year", str(submission.received.year)),
        ("month", submission.received.strftime("%b").lower()),
        ("howpublished", _url(f"{base_url.rstrip('/')}/submissions/{submission.id}")),
        ("note", f"Submission {submission.id}, received {submission.received:%Y-%m-%d}, status {submission.status}"),
        ("urldate", today.isoformat()),  # biblatex's field; its dates are ISO 8601
    ]
    return Citation("These results", entry(f"codec-superb-{name}-v{submission.version}", fields))


def dataset_citations(datasets: Sequence[SubmittedDataset]) -> list[Citation]:
    """Cite each dataset: by its own BibTeX entry, its citation text in a ``@misc``, or its homepage."""
    found = []
    for dataset in datasets:
        page = web_address(dataset.homepage or "")
        if dataset.citation and _ENTRY.match(dataset.citation.strip()):
            found.append(Citation(f"Dataset {dataset.title}", dataset.citation.strip()))
        elif dataset.citation or page:
            fields = [
                ("title", f"{{{tex(dataset.title)}}}"),
                ("howpublished", _url(page) if page else ""),
                ("note", tex(dataset.citation or "")),
            ]
            found.append(Citation(f"Dataset {dataset.title}", entry(f"dataset-{dataset.name}", fields)))
    return found
