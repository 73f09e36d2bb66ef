"""Indexers: one module per publisher's folder layout, each of which finds the clips of its dataset and their labels.

A module has one public function, ``find(request) -> Listing``. It reads the publisher's own files (transcripts,
tables, file names), decodes no audio, and keeps apart four things: clips of the partition that are there, clips that
the publisher lists and that are not there (``missing``), audio in the partition's folders that the publisher does
not list (``extra``), and everything else, which belongs to other splits and is passed over in silence.
"""

from __future__ import annotations

import importlib
import pkgutil

from codec_superb.data_manifests.errors import ManifestError
from codec_superb.data_manifests.indexers.listing import IndexRequest, Listing
from codec_superb.plugins import load

_HELPERS = {"listing", "tables"}
LAYOUTS: tuple[str, ...] = tuple(sorted({module.name for module in pkgutil.iter_modules(__path__)} - _HELPERS))
"""Names that a manifest's ``source.layout`` may have: the modules of this package, each under its own name."""


def find_clips(layout: str, request: IndexRequest) -> Listing:
    """Return what the indexer of ``layout`` finds in the request's folder.

    Raises LayoutError when the folder is not laid out so, and ManifestError for a layout that does not exist.
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
