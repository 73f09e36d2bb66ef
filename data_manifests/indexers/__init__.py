"""Indexers: one module per publisher's folder layout, which finds the clips of a dataset and their labels.

A module has one public function, ``find(request) -> Listing``. It reads the publisher's own files (transcripts,
tables, file names), decodes no audio, and distinguishes clips of the partition that are present (``found``), clips that
the publisher lists and that are absent (``missing``), and audio in the partition's folders that the publisher does not
list (``extra``). Everything else belongs to other splits and is ignored.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from codec_superb.data_manifests.errors import LayoutError, ManifestError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing, Part
from codec_superb.plugins import load

_HELPERS = {"described", "described_tables", "listing", "nearest_texts", "parquet_rows", "stored_files", "tables"}
LAYOUTS: tuple[str, ...] = tuple(sorted({module.name for module in pkgutil.iter_modules(__path__)} - _HELPERS))
"""Names that a manifest's ``source.layout`` may have: the modules of this package, each under its own name."""

STREAMED = ("described_files", "described_rows", "described_shards", "named_files")
"""Layouts whose data may lie in a store."""


def find_clips(layout: str, request: IndexRequest) -> Listing:
    """Run the indexer of ``layout`` on the request's folder.

    Raises LayoutError when the folder has another layout, and ManifestError for an unknown one.
    ``module:function`` and ``/path/to/file.py:function`` are indexers of plug-ins.
    """
    if ":" in layout:
        found: Listing = load(layout)(request)
        return found
    if layout not in LAYOUTS:
        raise ManifestError(f"no indexer reads the layout {layout!r}; there are {', '.join(LAYOUTS)}")
    module = importlib.import_module(f"{__name__}.{layout}")
    listing: Listing = module.find(request)
    return listing


def parts_of(layout: str, request: IndexRequest) -> Iterator[Part]:
    """Return what the indexer of ``layout`` reads below the request's URL, one by one.

    Raises LayoutError for a layout that is not read from a store.
    """
    if layout not in STREAMED:
        raise LayoutError(
            f"{request.url}: the layout {layout} reads a folder of this machine, {', '.join(STREAMED)} also a "
            "store: fetch the dataset, or name a folder of audio by --dataset URL"
        )
    found: Iterator[Part] = importlib.import_module(f"{__name__}.{layout}").parts(request)
    return found
