"""``Result``: tables, figures, rows, sounds and files of one codec or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.pipeline.run_codecs import Plain
from support.pipeline.runs import speech_folder

import codec_superb as cs
from codec_superb.pipeline.comparison.codecs import compare
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.runs.folder import RunFolder
from codec_superb.pipeline.submission.check import check
from codec_superb.web.text import percent, signed


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of runs of two codecs on four clips, as ``evaluate`` leaves it."""
    folder = tmp_path_factory.mktemp("api")
    clips = speech_folder(folder / "clips", 4, seconds=0.6)
    for codec in ("g711_alaw", Plain):
        cs.evaluate(codec, clips, metrics=["mel", "stoi"], out=folder / "runs", workers=0, progress=False)
    return folder / "runs"


@pytest.fixture(scope="module")
def both(runs: Path) -> cs.Result:
    """Load them."""
    return cs.load(runs)


def test_one_codec_or_several(both: cs.Result, runs: Path) -> None:
    """A result is taken apart and put together; what is of one codec asks which one is meant."""
    assert both.codecs == ("g711_alaw", "plain")
    assert [one.codecs for one in both] == [("g711_alaw",), ("plain",)]
    joined = both["plain"] + cs.load(runs / "g711_alaw")
    assert joined.codecs == both.codecs
    assert both["plain"].card == Plain.card
    with pytest.raises(PipelineError, match=r"one codec, got g711_alaw, plain"):
        both.flat()
    with pytest.raises(KeyError, match="plain"):
        both["opus_12k"]


def test_numbers_are_those_of_the_rows(both: cs.Result) -> None:
    """Means, intervals and counts; the frame of clips has every row."""
    result = both["g711_alaw"]
    rows = list(RunFolder(result.folders[0]).rows())
    values = [row.metrics["mel"].value for row in rows]
    found = result.metrics["speech"]["mel"]
    assert found.mean == pytest.approx(np.mean([value for value in values if value is not None]))
    assert found.low is not None
    assert found.low < found.mean < (found.high or 0)
    frame = both.to_pandas()
    assert list(frame["codec"]) == ["g711_alaw", "plain"]
    assert frame.loc[0, "mel"] == found.mean
    assert list(frame["bit_source"]) == ["measured", "measured"]
    clips = both.to_pandas("clips")
    assert list(clips[clips.codec == "g711_alaw"]["mel"]) == values
    assert both.to_pandas("applications").empty
    with pytest.raises(PipelineError, match="codecs, clips, applications"):
        both.to_pandas("rows")  # type: ignore[arg-type]


def test_tables_show_every_codec_and_escape_names(both: cs.Result) -> None:
    """Text for a terminal, HTML for a notebook; a text from outside is no mark-up."""
    text, page = repr(both), both._repr_html_()
    for word in ("g711_alaw", "plain", "64.0", "4/4", "mel ↓"):
        assert word in text
        assert word in page
    assert page.count("<table") == page.count("</table>") == 1
    assert "&lt;b&gt;" in cs.api.rendering.Table("<b>", ("<b>",), ((("<b>", "<b>"),),)).as_html()


def test_a_plot_has_a_point_for_each_codec(both: cs.Result) -> None:
    """A figure of Plotly, of a metric that there is."""
    figure = both.plot("mel")
    assert {x for trace in figure.data if trace.meta["role"] == "family" for x in trace.x} == {64.0, 256.0}
    with pytest.raises(PipelineError, match=r"pesq: expected score or a metric of this result: .*mel"):
        both.plot("pesq")


def test_a_comparison_is_that_of_the_command_line(both: cs.Result, runs: Path) -> None:
    """Another codec is run on the same clips with the same metrics; the numbers are those of ``compare``."""
    expected = compare(runs / "plain", runs / "g711_alaw")
    comparison = both["plain"].compare("g711_alaw", workers=0, progress=False)
    assert comparison.report == expected
    assert both["plain"].compare(both["g711_alaw"]).report == expected
    frame = comparison.to_pandas()
    assert set(frame.figure) == {"mel", "stoi"}
    assert (frame.difference == frame["first"] - frame["second"]).all()
    assert "plain (first) against g711_alaw (second)" in repr(comparison)
    assert "stoi" in comparison._repr_html_()
    assert "first better" in repr(comparison)
    cells = {line.split()[0]: line for line in repr(comparison).splitlines() if line.startswith(("mel", "stoi"))}
    for one in expected.datasets[0].metrics:
        assert one.result is not None
        assert f" {signed(one.result.difference, 3)} " in cells[one.metric]  # as the command line writes it
        assert f" {percent(one.result.first_better)} " in cells[one.metric]
    with pytest.raises(PipelineError, match="speech, audio or music, got 'foo'"):
        both.plot("mel", "foo")  # type: ignore[arg-type]


def test_clips_have_their_sound(both: cs.Result) -> None:
    """Both sides of a clip score what its row says; a submission has no sound."""
    clip = both["g711_alaw"].clips[0]
    reference, rate = clip.reference()
    resynthesis, same = clip.resynthesis()
    assert rate == same == 16000
    assert cs.score(reference, resynthesis, rate, "mel")["mel"] == pytest.approx(clip.values["mel"], rel=1e-12)
    assert clip.id in repr(clip)


def test_files_are_those_of_the_command_line(both: cs.Result, tmp_path: Path) -> None:
    """A submission passes its check and can be loaded again; the report is a page."""
    saved = both["g711_alaw"].save(tmp_path / "mine.zip")
    assert check(saved).ok
    loaded = cs.load(saved)
    assert loaded.flat() == both["g711_alaw"].flat()
    with pytest.raises(PipelineError, match="holds no sound"):
        loaded.clips[0].resynthesis()
    with pytest.raises(PipelineError, match="holds no sound"):
        cs.probe(loaded, "asr", progress=False)
    page = both.report(tmp_path / "report.html", title="Two codecs").read_text()
    assert "Two codecs" in page


def test_a_temporary_run_lives_as_long_as_what_rests_on_it(tmp_path: Path) -> None:
    """Without ``out`` the folder of a run goes with the last result that has it."""
    clips = speech_folder(tmp_path / "clips", 1, seconds=0.6)
    first = cs.evaluate(Plain, clips, metrics=["mel"], workers=0, progress=False)
    joined, folder = (
        first + cs.evaluate("g711_alaw", clips, metrics=["mel"], workers=0, progress=False),
        first.folders[0],
    )
    del first
    assert folder.is_dir()
    second = joined["g711_alaw"]
    del joined
    assert second.folders[0].is_dir()
    gone = second.folders[0]
    del second
    assert not folder.exists()
    assert not gone.exists()
