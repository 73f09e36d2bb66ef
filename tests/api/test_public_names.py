"""The public names: what docs/python.md says there is, and nothing imported before it is used."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import codec_superb as cs
from codec_superb.applications.errors import ApplicationError
from codec_superb.cli.console import TerminalProgress
from codec_superb.metrics.table import METRICS
from codec_superb.pipeline.errors import PipelineError

DOCS = (Path(__file__).parents[2] / "docs/python.md").read_text(encoding="utf-8")
PROGRAM = """
import json, sys
before = set(sys.modules)
import codec_superb as cs
names = dir(cs)
loaded = sorted(set(sys.modules) - before)
import codec_superb.metrics.table
listed = list(cs.metrics())
from codec_superb import metrics
print(json.dumps([loaded, names, listed, list(metrics())]))
"""


def test_importing_the_package_imports_nothing_else() -> None:
    """No package beside the standard library's; ``metrics`` is a function and a package at once."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded, names, listed, again = json.loads(done.stdout)
    assert [name for name in loaded if name.startswith("codec_superb")] == ["codec_superb"]
    others = {name.partition(".")[0] for name in loaded} - {"codec_superb"} - set(sys.stdlib_module_names)
    assert others == set()
    assert set(cs.__all__) <= set(names)
    assert listed == again == list(METRICS)


def test_the_page_of_the_docs_names_what_there_is() -> None:
    """Its first table has every public name, and no other; each exists."""
    table = DOCS.split("| name | what it is |", 1)[1].split("\n\n", 1)[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    named = {match for cell in cells for match in re.findall(r"`(\w+)", cell)}
    stub = (Path(cs.__file__).with_suffix(".pyi")).read_text(encoding="utf-8")
    assert named == set(cs.__all__) == set(re.findall(r"import (\w+) as \1$", stub, re.MULTILINE))
    assert all(getattr(cs, name) is not None for name in cs.__all__)
    with pytest.raises(AttributeError, match="evaluate"):
        cs.evaluat  # type: ignore[attr-defined]  # noqa: B018 - the attribute is what is tested


def test_the_page_names_every_option_and_every_part_of_a_result() -> None:
    """Each parameter of ``evaluate`` and each public attribute of ``Result`` has its place in the docs."""
    import inspect

    for name in inspect.signature(cs.evaluate).parameters:
        assert re.search(rf"`[^`]*\b{name}\b", DOCS), name
    for name in vars(cs.Result):
        assert name.startswith("_") or re.search(rf"\b{name}\b", DOCS), name


def test_probing_takes_the_same_options_everywhere() -> None:
    """Who answers, what is asked, who judges and what it may cost: by one name and default in all four doors."""
    import inspect

    from codec_superb.cli.commands import bench, probe
    from codec_superb.pipeline.probing import stage

    wanted = inspect.signature(stage.probe).parameters
    for name in ("backends", "tasks", "judge", "budget"):
        for function in (cs.evaluate, cs.probe):
            given = inspect.signature(function).parameters[name].default
            assert (given or None) == (wanted[name].default or None), (function, name)
        for command in (bench.command, probe.command):
            option = inspect.signature(command).parameters[name.removesuffix("s") if name == "backends" else name]
            assert (option.default or None) == (wanted[name].default or None), (command, name)


def test_a_judge_is_missed_before_a_codec_runs(tmp_path: Path) -> None:
    """A judged task without a judge, with one that is not configured, and a budget that is none."""
    (tmp_path / "task.yaml").write_text(
        'task: judged\ntitle: J\nlabel: text\nprompt: "What is said here?"\nmeasure: judge-rating\n'
    )
    asked = {"tasks": tmp_path / "task.yaml", "limit": 1, "out": tmp_path / "runs", "progress": False}
    for wrong, reason in (({}, "judge=NAME"), ({"judge": "nobody"}, "nobody"), ({"budget": -1}, "at least 0")):
        with pytest.raises((ApplicationError, PipelineError), match=reason):
            cs.evaluate("g711_alaw", "mini", **(asked | wrong))  # type: ignore[arg-type]
    assert not (tmp_path / "runs").exists()


def test_a_notebook_shows_a_bar_for_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """One output is updated; names are text and no mark-up."""
    import IPython.display

    from codec_superb.api.progress import NotebookProgress, bars

    shown: list[str] = []

    class Handle:
        def update(self, what: IPython.display.HTML) -> None:
            shown.append(what.data)

    def display(what: IPython.display.HTML, display_id: bool = False) -> Handle:
        shown.append(what.data)
        return Handle()

    monkeypatch.setattr(IPython.display, "display", display)
    progress = NotebookProgress()
    progress.start("<opus> on mini", 2)
    progress.advance()
    progress.advance()
    progress.message("a & b")
    assert '<progress value="2" max="2">' in shown[-1]
    assert "&lt;opus&gt; on mini: 2/2" in shown[-1]
    assert "a &amp; b" in shown[-1]
    with bars(shown=True) as outside:
        assert type(outside) is TerminalProgress
