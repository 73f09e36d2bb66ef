"""The headers that every answer carries, and that the site's charts work under the policy they set."""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from playwright.sync_api import Browser
from starlette.testclient import TestClient
from support.server.people import ON_SQLITE
from support.web.site import running_site, visitor

from codec_superb.server.app import create_app
from codec_superb.server.http.headers import security_headers
from codec_superb.server.settings import Settings
from codec_superb.web.site.assets import asset_url


@ON_SQLITE
class TestEveryAnswer:
    """Whatever is asked."""

    def test_has_the_headers(self, app: FastAPI) -> None:
        """Pages, files, JSON, redirects, errors and faults of the program alike."""

        @app.get("/fault")
        def fault() -> None:
            raise RuntimeError("a fault of the test")

        expected = security_headers(app.state.settings)
        paths = ("/", "/nothing", "/login", "/moderation", "/api/openapi.json", "/api/nothing", asset_url("site.css"))
        with TestClient(app, raise_server_exceptions=False) as client:
            for path in (*paths, "/fault"):
                answer = client.get(path, headers={"accept": "text/html"}, follow_redirects=False)
                assert {name: answer.headers.get(name) for name in expected} == expected, path
                assert all(len(answer.headers.get_list(name)) == 1 for name in expected), path
        assert answer.status_code == 500

    def test_the_policy_is_strict(self, settings: Settings) -> None:
        """Nothing inline is allowed but by its hash, nothing from elsewhere, no frame, no foreign form."""
        policy = dict(part.split(" ", 1) for part in security_headers(settings)["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert "unsafe-inline" not in str(policy)
        assert "unsafe-eval" not in str(policy)
        assert "http" not in str(policy)

    def test_https(self, settings: Settings) -> None:
        """Browsers are told to stay with HTTPS where the service is reached by it, and only there."""
        assert "strict-transport-security" not in security_headers(settings)
        secure = settings.model_copy(update={"base_url": "https://example.org"})
        assert int(security_headers(secure)["strict-transport-security"].partition("=")[2]) > 10_000_000

    def test_an_endpoint_may_say_it_otherwise(self, app: FastAPI, client: TestClient) -> None:
        """A header that an endpoint sets itself stays as it is."""

        @app.get("/own")
        def own() -> Response:
            return RedirectResponse("/", headers={"Referrer-Policy": "no-referrer"})

        answer = client.get("/own", follow_redirects=False)
        assert answer.headers.get_list("referrer-policy") == ["no-referrer"]


FIGURES = (
    go.Figure(go.Scatter(x=[1, 10], y=[1, 2], error_y={"array": [1, 1]}), {"xaxis": {"type": "log"}}),
    go.Figure(go.Heatmap(z=[[1, 2], [3, 4]], text=[["a", "b"], ["c", "d"]], texttemplate="%{text}")),
    go.Figure(go.Scatterpolar(r=[1, 2, 3], theta=["a", "b", "c"], fill="toself")),
    go.Figure([go.Violin(y=[1, 2, 3, 4]), go.Box(y=[1, 2, 3]), go.Bar(x=["a"], y=[1]), go.Histogram(x=[1, 1, 2])]),
)
DRAW = """
(async () => {
  window.pictures = [];
  for (const [index, figure] of (await (await fetch("/figures")).json()).entries()) {
    await Plotly.newPlot(`chart${index}`, figure.data, figure.layout, {responsive: true, displayModeBar: true});
    pictures.push((await Plotly.toImage(`chart${index}`, {format: "png"})).length);
  }
  document.body.dataset.done = "yes";
})();
"""


@pytest.mark.sample(1, among="pages fit")
def test_charts_work_under_the_policy(browser: Browser, tmp_path: Path) -> None:
    """All kinds of charts draw, with plotly's own styles and pictures of them, and the browser complains of nothing.

    A style or script that is smuggled into the page is still blocked.
    """
    app = create_app(Settings(storage=tmp_path, secret_key="x" * 40))

    @app.get("/charts-here")
    def page() -> Response:
        boxes = "".join(f'<div id="chart{index}"></div>' for index in range(len(FIGURES)))
        scripts = f'<script src="{asset_url("plotly.js")}"></script><script src="/draw.js"></script>'
        return HTMLResponse(f'<!doctype html><link rel="icon" href="data:,"><main>{boxes}</main>{scripts}')

    @app.get("/draw.js")
    def draw() -> Response:
        return Response(DRAW, media_type="text/javascript")

    @app.get("/figures")
    def figures() -> Response:
        return Response(json.dumps([json.loads(figure.to_json()) for figure in FIGURES]), media_type="application/json")

    with running_site(app.state.settings, app) as site, visitor(browser, site) as window:
        window.goto("/charts-here")
        window.wait_for_selector("body[data-done]")  # a condition in JavaScript would need eval, which is blocked
        assert min(window.evaluate("pictures")) > 1000
        assert window.evaluate("document.getElementById('plotly.js-style-global').sheet.cssRules.length") > 20
        assert window.evaluate("getComputedStyle(document.querySelector('.modebar')).position") == "absolute"
    with running_site(app.state.settings, app) as site:
        smuggled = browser.new_page()
        smuggled.goto(f"{site}/nothing-here")
        smuggled.evaluate(
            """document.body.insertAdjacentHTML("beforeend", `<style>main { display: none }</style>
            <p id="smuggled" style="color: red">x</p><img src=x onerror="window.ran = true">`)"""
        )
        smuggled.wait_for_timeout(200)
        assert smuggled.evaluate("getComputedStyle(document.querySelector('main')).display") != "none"
        assert smuggled.evaluate("getComputedStyle(document.getElementById('smuggled')).color") != "rgb(255, 0, 0)"
        assert smuggled.evaluate("window.ran") is None
        smuggled.close()
