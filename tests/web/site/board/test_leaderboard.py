"""The leaderboard's page as HTML: the state in every link, names that do no harm, the chart in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.html import elements, forbidden, links, query_of, unnamed_controls
from support.web.board_views import board_results, board_row, board_view, front_of
from support.web.results import changed, estimate, score

from codec_superb.web.site.board.choices import BoardState, BoardView, Choices
from codec_superb.web.site.board.page import leaderboard_page
from codec_superb.web.site.page import PageContext

CHROME = PageContext(title="Leaderboard", path="/", version="0.1.0")
EVIL = "</script>\"'><img src=x onerror=alert(1)><b>&amp;"
FILTERED = BoardState(
    category="speech", metric="pesq", dataset="mini", kbps_min=1.5, kbps_max=64.0, rates=(16000, 48000),
    open_weights=True, search="a&b c", sort="kbps", descending=True,
)  # fmt: skip
FILTERS = {
    "metric": "pesq", "dataset": "mini", "kbps_min": "1.5", "kbps_max": "64", "rates": "48000", "open_weights": "1",
    "search": "a&b c",
}  # fmt: skip


def page_of(view: BoardView) -> str:
    """Render a view with its front."""
    return leaderboard_page(view, front_of(view.rows), CHROME)


class TestLinks:
    """Everything that was chosen stays in the address."""

    def test_headings_keep_the_filters(self) -> None:
        """Sorting by another column changes nothing but the order."""
        found = links(page_of(board_view(FILTERED)))
        assert query_of(found["STOI ↑"]) == {**FILTERS, "sort": "stoi"}

    def test_a_heading_has_one_id_whatever_is_sorted_by(self) -> None:
        """The link that was pressed keeps the focus, although its column stands elsewhere afterwards."""
        places = set()
        for sort in ("kbps", "stoi"):
            html = page_of(board_view(BoardState(sort=sort)))
            headings = elements(html, "th")
            places.add(next(place for place, each in enumerate(headings) if each.text.strip().startswith("STOI")))
            (stoi,) = elements(html, "a", id="sort-stoi")
            assert "STOI" in stoi.text
        assert len(places) == 2

    def test_exports_and_chart_hold_what_is_shown(self) -> None:
        """The files carry the whole state, the chart all of it but the order."""
        html = page_of(board_view(FILTERED))
        for label in ("CSV", "JSON", "Parquet"):
            url = links(html)[label]
            assert url.startswith(f"/api/v1/leaderboard.{label.lower()}?")
            assert query_of(url) == {**FILTERS, "sort": "kbps", "descending": "1"}
        figure = elements(html, "div", id="board-chart")[0].attributes["data-figure"]
        assert query_of(figure) == FILTERS

    def test_a_tab_leaves_behind_what_belongs_to_the_other_category(self) -> None:
        """Dataset, metric and order may not exist in the other category; the filters stay."""
        kept = {name: value for name, value in FILTERS.items() if name not in {"metric", "dataset"}}
        assert query_of(links(page_of(board_view(FILTERED)))["Music"]) == {"category": "music", **kept}

    def test_defaults_are_left_out(self) -> None:
        """What nobody chose is not in an address."""
        found = links(page_of(board_view()))
        assert found["Speech"] == "/"
        assert found["PESQ MOS-LQO ↑"] == "/?sort=pesq"

    def test_pages_keep_everything(self) -> None:
        """The second page is the second page of the same table."""
        found = links(page_of(board_view(FILTERED, total=120)))
        assert query_of(found["2"]) == {**FILTERS, "sort": "kbps", "descending": "1", "page": "2"}
        assert query_of(found["Next"])["page"] == "2"
        assert "Previous" not in found

    def test_a_filter_changes_back_to_the_first_page(self) -> None:
        """Page 3 of other rows may not exist."""
        found = links(page_of(board_view(replace(FILTERED, page=3), total=150)))
        assert all("page" not in query_of(found[label]) for label in ("Music", "STOI ↑", "Clear all"))

    def test_each_chip_takes_its_own_filter_away(self) -> None:
        """All others stay, and clearing all keeps category, metric and source."""
        found = links(page_of(board_view(FILTERED)))
        whole = {**FILTERS, "sort": "kbps", "descending": "1"}
        without = {
            "“a&b c” ×, remove this filter": {"search"},
            "dataset mini ×, remove this filter": {"dataset"},
            "1.5 to 64 kbps ×, remove this filter": {"kbps_min", "kbps_max"},
            "open weights ×, remove this filter": {"open_weights"},
        }
        for label, names in without.items():
            assert query_of(found[label]) == {name: value for name, value in whole.items() if name not in names}
        assert query_of(found["48 kHz ×, remove this filter"])["rates"] == "16000"
        assert query_of(found["Clear all"]) == {"metric": "pesq"}


class TestSorting:
    """Headings say and turn the order."""

    def test_one_heading_says_the_order(self) -> None:
        """Without a choice it is that of the metric, best first."""
        sorted_by = [each for each in elements(page_of(board_view()), "th") if "aria-sort" in each.attributes]
        assert [(each.text.strip(), each.attributes["aria-sort"]) for each in sorted_by] == [("Score", "descending")]

    def test_lower_is_better_sorts_upwards(self) -> None:
        """A distance begins with its smallest."""
        html = page_of(board_view(BoardState(metric="mel")))
        heading = next(each for each in elements(html, "th") if "aria-sort" in each.attributes)
        assert heading.text.split() == ["Mel", "distance", "↓"]
        assert heading.attributes["aria-sort"] == "ascending"

    def test_the_current_heading_turns_round(self) -> None:
        """Pressed again it gives the opposite order, and then its own again."""
        first = links(page_of(board_view(BoardState(sort="kbps"))))["Bitrate kbps"]
        assert query_of(first) == {"sort": "kbps", "descending": "1"}
        second = links(page_of(board_view(BoardState(sort="kbps", descending=True))))["Bitrate kbps"]
        assert query_of(second) == {"sort": "kbps"}

    def test_columns_have_the_names_of_the_service(self) -> None:
        """Columns that the report calls otherwise are sorted under the name that the service knows."""
        found = links(page_of(board_view()))
        assert query_of(found["TPS 1/s"]) == {"sort": "tokens_per_second"}
        assert query_of(found["Encode RTF"]) == {"sort": "encode_rtf"}


class TestRows:
    """What a row says."""

    def test_a_submission_links_to_its_codec_and_can_be_chosen(self) -> None:
        """Name, page, and a box for the comparison."""
        html = page_of(board_view())
        assert links(html)["Opus 12"] == "/codecs/opus_12k"
        boxes = elements(html, "input", type="checkbox", name="codec")
        assert len(boxes) == 14
        assert {each.attributes["form"] for each in boxes} == {"compare"}

    def test_published_figures_are_marked_and_cannot_be_chosen(self) -> None:
        """They lead to their codec, the page to their paper; they carry the mark, their bitrate is called nominal."""
        result = changed(board_results()[3], codec="table3:E3", clips=0, failed=0, rank=None)
        row = board_row(
            result, 1, source="published", source_label="Table 3", source_url="https://example.org/paper",
            submission=None, received=None, unranked="no value of Overall score",
        )  # fmt: skip
        html = page_of(board_view(BoardState(source="table3"), [row], rank_basis="values"))
        assert links(html)[result.title] == "/codecs/E3"
        assert links(html)["Table 3"] == "https://example.org/paper"
        assert not elements(html, "input", name="codec")
        assert not elements(html, "form", action="/compare")
        assert "Clipped samples" not in links(html)
        assert elements(html, "span", title="Table 3: published, not re-run here.")
        assert [each.text for each in elements(html, "small")][:2] == [result.family, "nominal"]

    def test_a_codec_without_a_rank_says_why(self) -> None:
        """The dash in its place has the reason."""
        results = board_results()
        rows = [board_row(results[0]), board_row(replace(results[1], rank=None), unranked="run on mini only")]
        (cell,) = elements(page_of(board_view(rows=rows)), "td", title="run on mini only")
        assert cell.text == "–"

    @pytest.mark.parametrize(
        ("changes", "mark"),
        [({"largest_lag": 20}, "lag 20 samples"), ({"complete": False}, "partial"), ({"lossless": True}, "ceiling")],
    )
    def test_marks(self, changes: dict[str, object], mark: str) -> None:
        """What a reader must know of a number stands beside the name."""
        plain = changed(board_results()[3], lossless=False, complete=True, largest_lag=0)
        marked = board_row(changed(plain, **changes), 1)
        shown = [
            each.text
            for each in elements(page_of(board_view(rows=[marked])), "span")
            if "badge" in each.attributes.get("class", "")
        ]
        assert shown == ["self-reported", mark]
        assert mark not in page_of(board_view(rows=[board_row(plain, 1)])).split("<tbody>")[1].split("</tbody>")[0]

    def test_verified_runs_are_marked(self) -> None:
        """Only those that the maintainers ran again."""
        html = page_of(board_view())
        marks = [each for each in elements(html, "span") if each.attributes.get("class") == "badge good"]
        assert len(marks) == 3

    def test_columns_without_a_value_are_left_out(self) -> None:
        """Nobody has tokens here, so nobody reads of them."""
        rows = [board_row(changed(result, tokens_per_second=None)) for result in board_results()]
        assert "TPS 1/s" not in links(page_of(board_view(rows=rows)))


class TestWords:
    """The page without its chart."""

    def test_the_front_is_listed(self) -> None:
        """Each codec of the front with bitrate and value, from the lowest bitrate up."""
        view = board_view()
        html = page_of(view)
        listed = [each.text for each in elements(html, "li") if " kbps, " in each.text]
        assert [text.split(":")[0] for text in listed] == [row.result.title for row in front_of(view.rows)]
        assert listed[0].startswith("Codec2 700C: 0.70 kbps, 0.6")

    def test_no_chart_without_bitrates(self) -> None:
        """A chart of nothing is not drawn; the page says why."""
        rows = [board_row(changed(result, kbps=None)) for result in board_results()]
        html = leaderboard_page(board_view(rows=rows), [], CHROME)
        assert not elements(html, "div", id="board-chart")
        assert "none of these codecs has both a bitrate and a value" in html

    def test_nothing_yet(self) -> None:
        """An empty board says how to fill it, and what else there is to see."""
        html = page_of(board_view(rows=[]))
        assert "codec-superb submit" in html
        assert "Codec-SUPERB, Table 3" in links(html)

    def test_nothing_fits(self) -> None:
        """Filters that leave nothing are named, with a way out."""
        html = page_of(board_view(BoardState(kbps_min=900.0), rows=[]))
        assert "No codec fits these filters" in html
        assert links(html)["clear all of them"] == "/"
        assert links(html)["Codec-SUPERB, Table 3"] == "/?source=table3"

    def test_a_choice_without_rows_stays_in_its_picker(self) -> None:
        """The form always says what the page shows."""
        none = Choices(datasets=(), metrics=(), rates=(), sources=())
        html = page_of(board_view(FILTERED, rows=[], choices=none))
        chosen = [each.attributes["value"] for each in elements(html, "option") if "selected" in each.attributes]
        assert {"mini", "pesq"} <= set(chosen)
        assert len([each for each in elements(html, "input", name="rates") if "checked" in each.attributes]) == 2


class TestMarkUp:
    """Safe, reachable, small."""

    def test_hostile_names_stay_text(self) -> None:
        """Names come from strangers: in text, attributes and addresses they are harmless."""
        result = changed(board_results()[0], codec=EVIL, title=EVIL, family=EVIL, datasets=(EVIL,))
        row = board_row(result, 1, submitter=EVIL, unranked=EVIL, source_label=EVIL)
        choices = Choices(datasets=(EVIL,), metrics=("score",), rates=(), sources=(("runs", EVIL, 1),))
        view = board_view(BoardState(search=EVIL, dataset=EVIL), [row], choices=choices, ranked_datasets=(EVIL,))
        html = page_of(view)
        assert "<img" not in html
        assert forbidden(html) == []
        assert links(html)[EVIL].startswith("/codecs/%3C%2Fscript%3E")

    def test_nothing_that_the_policy_blocks(self) -> None:
        """No inline script, style or handler."""
        assert forbidden(page_of(board_view(FILTERED))) == []

    def test_every_control_has_a_name(self) -> None:
        """Whoever cannot see the page hears what a field is."""
        assert unnamed_controls(page_of(board_view(FILTERED))) == []

    def test_ids_are_unique(self) -> None:
        """Labels and descriptions point at one thing."""
        ids = [
            each.attributes["id"]
            for each in elements(page_of(board_view(FILTERED, total=200)))
            if "id" in each.attributes
        ]
        assert len(ids) == len(set(ids))

    def test_fifty_rows_stay_below_150_kilobytes(self) -> None:
        """Long names, every column filled, every mark set."""
        long = estimate(1234.567, -1234.567, 12345.678, 12345, 123, 45, 678.9)
        results = [
            changed(
                result, codec=f"{result.codec}_{'x' * 40}", title=f"{result.title} {'y' * 40}", complete=False,
                largest_lag=123, failed=7, tokens_per_second=123.4, clips=12345,
                score=score(1234.567, -1234.567, 12345.678),
                metrics=dict.fromkeys(result.summary.metrics, long),
            )
            for result in board_results(4)[:50]
        ]  # fmt: skip
        html = page_of(board_view(FILTERED, [board_row(result, n) for n, result in enumerate(results)], total=5000))
        assert len(html.encode()) < 150_000


class TestKeptRows:
    """Rows whose mark-up is kept by their identity."""

    def test_look_like_rows_that_are_written_anew(self) -> None:
        """Ranks, reasons and the marked column are those of each page, whatever page a row was first written for."""
        rows = [board_row(result, n) for n, result in enumerate(board_results())]
        known = [replace(row, identity=f"kept/{n}") for n, row in enumerate(rows)]
        for metric, rank, reason in (("score", (1, 2), ""), ("pesq", None, "run on <mini> only"), ("mel", (3, 3), "")):
            state = BoardState(metric=metric)
            altered = [
                [replace(row, result=replace(row.result, rank=rank), unranked=reason) for row in these[1:]]
                + [replace(these[0], result=replace(these[0].result, rank=(1, 1)))]
                for these in (rows, known)
            ]
            anew, kept = (page_of(board_view(state, these)) for these in altered)
            assert kept == anew
            assert ("run on &lt;mini&gt; only" in kept) == bool(reason)
