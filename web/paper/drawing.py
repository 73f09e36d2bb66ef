"""What the figures of a paper share: matplotlib on use, widths of columns, fonts, and bytes out.

Fonts are embedded as TrueType (Type 42), which publishers ask for in place of Type 3; text of SVG is drawn as paths.
The font is STIX, which fits the Times of most templates and comes with matplotlib. The same data give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal

from codec_superb.missing_package import not_installed
from codec_superb.web.errors import PaperError

Width = Literal["one", "two"]
INCHES: dict[Width, float] = {"one": 3.5, "two": 7.16}
"""Widths of a column and of a page of two, as in IEEE's templates: 3.5 in (88.9 mm) and 7.16 in (181.9 mm)."""
FORMATS = (".pdf", ".svg", ".png")
DOTS_PER_INCH = 600
"""Of PNG: what publishers ask of line art at least."""
LETTERS = 7.0
"""Size of small text in points; captions have 8 or 9."""

_STYLE = {
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "codec-superb",
    "font.family": "STIXGeneral", "mathtext.fontset": "stix", "font.size": 8.0, "axes.labelsize": 8.0,
    "xtick.labelsize": LETTERS, "ytick.labelsize": LETTERS, "legend.fontsize": LETTERS, "axes.titlesize": 8.0,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "axes.unicode_minus": True, "text.parse_math": False,
}  # fmt: skip


def checked_format(name: str) -> str:
    """Return the format of a file by its ending, without the dot. Raises PaperError for another one."""
    ending = PurePath(name).suffix.lower()
    if ending not in FORMATS:
        raise PaperError(
            f"{name}: expected a figure's file to end in {', '.join(FORMATS)}, got {ending or 'no ending'}"
        )
    return ending[1:]


def matplotlib_of(user: str) -> Any:
    """Import matplotlib without a window. Raises PaperError with the command that installs it."""
    try:
        import matplotlib as mpl
        import matplotlib.figure
    except ModuleNotFoundError as error:
        raise PaperError(not_installed(user, error.name, extra="paper")) from error
    return mpl


@contextmanager
def styled(user: str) -> Iterator[Any]:
    """Give matplotlib's class ``Figure`` within the style; nothing of the process's own settings changes."""
    mpl = matplotlib_of(user)
    with mpl.rc_context(_STYLE):
        yield mpl.figure.Figure


def written(figure: Any, format_: str, title: str) -> bytes:
    """Write a figure. Neither a date nor the version of a program is in it."""
    out = io.BytesIO()
    facts: dict[str, dict[str, str | None]] = {
        "pdf": {"Title": title, "Creator": "codec-superb", "Producer": None, "CreationDate": None},
        "svg": {"Title": title, "Creator": "codec-superb", "Date": None},
        "png": {"Title": title, "Software": None},
    }
    figure.savefig(out, format=format_, dpi=DOTS_PER_INCH, metadata=facts[format_])
    return out.getvalue()
