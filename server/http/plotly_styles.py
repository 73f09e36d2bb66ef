"""Hashes of the inline styles that plotly.js writes at run time, for the Content-Security-Policy.

Found in Chromium with every kind of chart of the site: an empty ``<style>`` that it fills through the CSS object model,
which CSP does not restrict; the style sheet of its map library, set when it is loaded; and on images (heat maps) a
style attribute with all vendor spellings of pixelated rendering. A hash allows exactly that text, so that injected
styles are still blocked, which ``'unsafe-inline'`` would not do.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256

from codec_superb.web.site.assets import asset, asset_url

_SHEET = re.compile(rb"\.textContent=(?:'([^'\\]*)'|\"([^\"\\]*)\"),document\.head\.appendChild")
_RENDERINGS = (
    "optimizeSpeed", "-moz-crisp-edges", "-o-crisp-edges", "-webkit-optimize-contrast", "optimize-contrast",
    "crisp-edges", "pixelated",
)  # fmt: skip


@cache
def style_sources() -> tuple[str, str]:
    """Return the sources for ``style-src-elem`` and ``style-src-attr`` that plotly.js needs."""
    plotly = asset(asset_url("plotly.js").rsplit("/", 1)[-1])
    assert plotly is not None
    sheets = sorted({single or double for single, double in _SHEET.findall(plotly.content)})
    pixels = "".join(f"image-rendering: {value}; " for value in _RENDERINGS).encode()
    return " ".join(map(_source, (b"", *sheets))), " ".join(("'unsafe-hashes'", _source(b""), _source(pixels)))


def _source(style: bytes) -> str:
    return f"'sha256-{b64encode(sha256(style).digest()).decode()}'"
