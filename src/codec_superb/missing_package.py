"""The error message for a missing package, shared by all parts: what needs it, and the command that installs it."""

from __future__ import annotations

import shlex


def not_installed(user: str, packages: str | None, *requirements: str, extra: str = "") -> str:
    """Return the one sentence of an error: ``user`` needs ``packages``; each is one name or several with "and".

    ``requirements`` are what pip is to install; ``extra`` names an extra of this package in their place.
    """
    verb = "are" if " and " in (packages or "") else "is"
    command = shlex.join(["pip", "install", *([f"codec-superb[{extra}]"] if extra else requirements)])
    return f"{user} {'need' if ' and ' in user else 'needs'} {packages}, which {verb} not installed: {command}"
