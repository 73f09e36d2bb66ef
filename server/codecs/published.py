"""What published tables say of a codec: figures with their source, never mixed with what was measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codec_superb.pipeline.literature.records import PublishedCodec, PublishedTable
from codec_superb.pipeline.literature.tables import literature, published_as
from codec_superb.server.codecs import published_tables
from codec_superb.web.site.codec.view import CodecView, Fact, Mark, PublishedView
from codec_superb.web.text import kbps

Published = tuple[PublishedTable, PublishedCodec]


def published_names() -> list[str]:
    """List the ids of all published codecs."""
    return [codec.id for table in literature() for codec in table.codecs]


def entries_of(name: str, family: str | None = None) -> list[Published]:
    """Find the rows of tables that are this very configuration; ``family`` is a measured codec's.

    For a measured codec these are the rows that name it (``runs_as``), unless it only shares the name of the
    catalogue's codec and is of another family. A name that nobody has measured may also be the id of a row (a dot
    counts as an underscore), which leads to the rows that are the same as it.
    """
    ours = list(published_as(name, family))
    if family is not None:
        return ours
    every = [(table, codec) for table in literature() for codec in table.codecs]
    own = [(table, codec) for table, codec in every if _folded(codec.id) == _folded(name)]
    ids = {codec.id for _, codec in own} | {codec.same_as for _, codec in own if codec.same_as}
    return [(table, codec) for table, codec in every if codec.id in ids or codec.same_as in ids] or ours


def _folded(name: str) -> str:
    return name.replace(".", "_")


def published_views(entries: Iterable[Published]) -> list[PublishedView]:
    """Describe each table's figures."""
    return [
        PublishedView(
            id=codec.id, label=table.label, configuration=codec.configuration, citation=table.citation, url=table.url,
            statement=table.statement, differs=table.differs, figures=published_tables.figures(table, codec),
            applications=published_tables.applications(table, codec),
        )
        for table, codec in entries
    ]  # fmt: skip


def published_page(entries: Sequence[Published], name: str) -> CodecView:
    """Make the view of a codec that nobody has submitted: what is published, and nothing else."""
    own = next((codec for _, codec in entries if _folded(codec.id) == _folded(name)), entries[0][1])
    sources = " and ".join(dict.fromkeys(table.label for table, _ in entries))
    return CodecView(
        name=own.id,
        title=own.name,
        family=own.family,
        summary=f"Known here from {sources} alone.",
        marks=[Mark("published, not re-run here", "Nobody has submitted results of it; the figures are a paper’s.")],
        submission=None,
        card=_facts([codec for _, codec in entries], own),
        published=published_views(entries),
    )


def _facts(codecs: Sequence[PublishedCodec], own: PublishedCodec) -> list[Fact]:
    rate = next((codec.kbps for codec in codecs if codec.kbps is not None), None)
    sampling = next((codec.sampling_rate for codec in codecs if codec.sampling_rate is not None), None)
    ids = " and ".join(dict.fromkeys(codec.id for codec in codecs))
    return [
        Fact("Name", ids, "as the tables call it"),
        Fact("Family", own.family),
        Fact("Configuration", own.configuration),
        Fact("Bitrate", "not stated" if rate is None else f"{kbps(rate)} kbps", "as stated; not measured"),
        Fact("Sampling rate", "not stated" if sampling is None else f"{sampling:,} Hz"),
    ]
