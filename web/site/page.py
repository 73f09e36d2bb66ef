"""Renders a page of the leaderboard: a template of ``templates/site`` in the common frame."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from codec_superb.web import text
from codec_superb.web.report.columns import estimate_cell
from codec_superb.web.site.assets import asset_url
from codec_superb.web.theme import DARK, LIGHT, SYMBOL_PATHS


@dataclass(frozen=True, slots=True)
class PageContext:
    """The frame around a page."""

    title: str
    """Of the browser's window, without the name of the site."""
    path: str
    """Path of the request: marks the current entry of the navigation."""
    version: str
    """Of the program."""
    account: str | None = None
    """Name of the logged-in account."""
    home: str = "/moderation"
    """First page of that account."""
    csrf: str | None = None
    """Token that forms of this page carry in a hidden field ``csrf``."""
    local: str | None = None
    """Folder of runs on this machine that is shown in place of submissions."""
    revision: str = ""
    """Of those runs when the page was made: it is loaded anew where they have another."""
    description: str = ""
    """One sentence for search engines and previews."""


def render(template: str, page_context: PageContext, **context: Any) -> str:
    """Render ``templates/site/<template>``; it sees ``page_context``, ``asset_url``, ``text`` and ``context``."""
    return environment().get_template(template).render(page_context=page_context, **context)


@cache
def preload() -> None:
    """Read all assets and compile all templates, which the first visitor would wait for otherwise."""
    asset_url("plotly.js")
    for name in environment().list_templates():
        environment().get_template(name)


@cache
def environment() -> Environment:
    """Return the one environment of the pages: everything is escaped, an unknown name is an error."""
    made = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("codec_superb.web", "templates/site"),
                # what pages and the report share, by the same names
                PrefixLoader({"shared": PackageLoader("codec_superb.web", "templates/shared")}),
            ]
        ),
        autoescape=True,  # Jinja2 escapes nothing by default
        undefined=StrictUndefined,  # by default an unknown name is written as nothing
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(asset_url=asset_url, text=text, estimate_cell=estimate_cell, light=LIGHT, dark=DARK)
    made.globals["symbols"] = json.dumps(dict(SYMBOL_PATHS), separators=(",", ":"))
    return made
