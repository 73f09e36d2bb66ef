"""The page of private sets and a codec's section on a phone: nobody is kept out, nothing sticks out."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.server.private import add_gaps, add_private_set
from support.web.site import accessibility_faults, running_site, visitor

from codec_superb.server.app import create_app
from codec_superb.server.database.migrate import upgrade
from codec_superb.server.settings import Settings

GAPS = {"opus_16k": 0.02, "mp3_64k": 0.03, "lc3_32k": 0.025, "speex_8k": 0.035, "codec2_1200": -0.03, "fitted_1": 0.2}


@pytest.mark.sample(1, among="pages without barriers")
def test_pages_have_no_barriers(browser: Browser, tmp_path: Path) -> None:
    """No serious fault of axe-core, no sideways scrolling, and the mark is read."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'board.sqlite'}", storage=tmp_path, secret_key="x" * 40)
    upgrade(settings.database_url)
    app = create_app(settings)
    with running_site(settings, app) as address:
        with app.state.database.transaction(write=True) as session:
            add_gaps(session, add_private_set(session), GAPS | {"broken_1": None})
        app.state.board.refresh()
        with visitor(browser, address, 390, scheme="dark") as page:
            for path in ("/private", "/codecs/fitted_1"):
                page.goto(path)
                assert accessibility_faults(page) == []
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                assert page.get_by_text("gap stands out").first.is_visible()
