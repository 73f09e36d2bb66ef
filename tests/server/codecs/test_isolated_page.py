"""Pages of isolated codecs: codebooks of several sizes, bytes beside tokens, code from a repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.server.codec_page import packed, store
from support.web.site import running_site, visitor

from codec_superb.base_codec import registry
from codec_superb.server.app import create_app
from codec_superb.server.database.session import Database
from codec_superb.server.settings import Settings

SAID = {
    "unicodec_24k": ("unicodec @ git+https://github.com/mesolitica/UniCodec-fix@", "1 codebook of 16,384 entries"),
    "dualcodec_12hz_8cb": ("8 codebooks of 16,384 + 4,096 + 4,096", "100 per second over all codebooks", "12.5 Hz"),
    "spark_bicodec": ("384 bits, 0.038 kbps on ten seconds", "50 per second over all codebooks", "0.65 kbps"),
}

SIDE_BITS = {"spark_bicodec": 384}


@pytest.mark.sample(1, among="pages fit")
def test_their_pages_say_what_they_are_and_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    """Requirements, codebooks and rates are there in full, and nothing is wider than a screen of 390 pixels."""
    files = []
    for name in SAID:
        fields = registry.card(name).model_dump(exclude={"name"})
        files.append(
            packed(tmp_path / name, name, samples=0, card_fields=fields, tokens=800, side_bits=SIDE_BITS.get(name, 0))
        )
    settings = Settings(storage=tmp_path / "storage")
    app = create_app(settings)
    with running_site(settings, app) as site:
        database = Database(settings.database_url)
        with database.transaction(write=True) as session:
            for file in files:
                store(session, settings.files, file)
        for width in (1280, 390):
            with visitor(browser, site, width=width) as page:
                for name, sentences in SAID.items():
                    page.goto(f"/codecs/{name}")
                    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
                    text = page.locator("main").inner_text()
                    assert [s for s in sentences if s not in text] == [], text
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
        database.close()
