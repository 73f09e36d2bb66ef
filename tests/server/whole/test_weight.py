"""What pages weigh, and that nobody fetches twice what has not changed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import httpx2
import pytest
from support.server.tour import CODECS, Tour, pages_of
from support.timing import PATIENCE_S

LIMIT = 150_000
"""Bytes of a page with its scripts and styles, as they travel, besides plotly."""
CATALOGUE_LIMIT = 280_000
"""Bytes, unpacked, of the pages that describe each path and schema of the API, and each figure of each task."""
_ASSET = re.compile(r'(?:src|href)="(/static/[^"]+)"')
_PAIR = f"codec={CODECS[0]}&codec={CODECS[1]}"
KEPT = (
    "/api/v1/leaderboard", "/api/v1/leaderboard?source=all&metric=pesq", "/api/v1/leaderboard/chart",
    "/api/v1/leaderboard.json", "/api/v1/leaderboard.csv", "/api/v1/leaderboard.parquet", "/api/v1/codecs",
    f"/api/v1/codecs/{CODECS[0]}", f"/api/v1/codecs/{CODECS[0]}/figures/radar?category=speech",
    f"/api/v1/codecs/{CODECS[0]}/figures/distribution?category=speech&metric=pesq", f"/api/v1/compare?{_PAIR}",
    f"/api/v1/compare/figure?{_PAIR}", "/api/v1/charts/rate", "/api/v1/charts/rate.csv",
    "/api/v1/charts/metrics?source=tiny", "/api/v1/charts/distribution?dataset=voices",
)  # fmt: skip
"""Answers of the API that come from memory."""
MADE_ANEW = ("clip", "conditions", "custom", "diff", "listen", "login", "submission", "submit")
"""Pages that carry a form of this visitor, or that few look at twice: all others come from memory."""
GZIP = {"accept-encoding": "gzip"}


@pytest.fixture(scope="module")
def client(tour: Tour) -> Iterator[httpx2.Client]:
    """Open a client that asks as browsers do."""
    with httpx2.Client(base_url=tour.address, headers={"accept": "text/html, */*"}, timeout=PATIENCE_S) as opened:
        yield opened


def travelled(client: httpx2.Client, path: str) -> int:
    """Bytes of an answer on the wire."""
    with client.stream("GET", path, headers=GZIP) as answer:
        assert answer.status_code == 200, path
        return sum(map(len, answer.iter_raw()))


def test_every_page_is_light(client: httpx2.Client, tour: Tour) -> None:
    """Page, styles and scripts are under 150 kB compressed; the page alone is even unpacked."""
    for name, path in pages_of(tour).items():
        html = client.get(path).text
        assert len(html.encode()) < (CATALOGUE_LIMIT if name in ("api", "metrics") else LIMIT), name
        assets = {url for url in _ASSET.findall(html) if "plotly" not in url}
        assert assets, name
        assert sum(travelled(client, url) for url in (path, *assets)) < LIMIT, name


def test_what_stands_in_every_page_is_kept_for_good(client: httpx2.Client, tour: Tour) -> None:
    """Styles, scripts and plotly have their hash in their name; browsers never ask again."""
    html = client.get("/").text
    for url in {*_ASSET.findall(html), *re.findall(r'data-plotly="([^"]+)"', html)}:
        answer = client.get(url, headers=GZIP)
        assert "immutable" in answer.headers["cache-control"], url
        assert answer.headers.get("content-encoding") == "gzip" or len(answer.content) < 1000, url


def test_what_has_not_changed_is_not_sent_again(client: httpx2.Client, tour: Tour) -> None:
    """Every page and answer from memory has an entity tag in either form, and 304 has no body."""
    pages = [path for name, path in pages_of(tour).items() if name not in MADE_ANEW]
    for path in (*pages, *KEPT):
        for coding in ("gzip", "identity"):
            first = client.get(path, headers={"accept-encoding": coding})
            assert first.status_code == 200, path
            assert first.headers.get("content-encoding", "identity") in {coding, "identity"}, path
            assert first.headers["vary"] == "Accept-Encoding", path
            again = client.get(path, headers={"accept-encoding": coding, "if-none-match": first.headers["etag"]})
            assert (again.status_code, again.content) == (304, b""), path
            assert again.headers["etag"] == first.headers["etag"], path


def test_everything_of_some_size_is_compressed(client: httpx2.Client, tour: Tour) -> None:
    """Pages and JSON of a kilobyte or more, whoever made them; unpacked they are what others get."""
    for path in (*pages_of(tour).values(), *KEPT, "/api/openapi.json", f"/api/v1/submissions/{tour.versions[1]}"):
        plain = client.get(path, headers={"accept-encoding": "identity"})
        if len(plain.content) < 1000 or "parquet" in plain.headers["content-type"]:
            continue
        with client.stream("GET", path, headers=GZIP) as packed:
            assert packed.headers["content-encoding"] == "gzip", path
            content = gzip.decompress(b"".join(packed.iter_raw()))
        if "csrf" not in plain.text:
            assert content == plain.content, path
