"""Jinja templates of strangers, in its sandbox: no loader, no file, no network, a limit of size."""

from __future__ import annotations

import functools

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 65_536
"""Characters of a template, and of what it renders to."""


@functools.lru_cache(maxsize=256)
def compiled(text: str) -> Template:
    """Return the template of a text. Raises jinja2.TemplateSyntaxError."""
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    return environment.from_string(text)
