"""Task files of strangers: errors by line, bombs, names over sources, templates, and what templates see."""

from __future__ import annotations

import json
import time
from pathlib import Path

import jsonschema
import pytest
import yaml
from jinja2 import TemplateError
from support.stranger import ROOT

from codec_superb import plugins
from codec_superb.applications.interface import Item
from codec_superb.applications.plugged import adopt
from codec_superb.applications.table import PROBES
from codec_superb.applications.task_definitions.schema import json_schema
from codec_superb.applications.task_definitions.template import LONGEST, rendered
from codec_superb.applications.understanding.registry import TaskError, own_registry, read_folder
from codec_superb.applications.understanding.templates import render

_TASK = """
task: dog_or_cat
title: Dog or cat
label: events
classes: [dog, cat]
prompt: "Which animal is it? One of: {{ classes | join(', ') }}."
after:
  - first_line
  - first_line
measure: prefix-match
"""
_KNOWN = {
    "question": "q" * 60_000, "choices": ["a", "b"], "classes": [f"c{n}" for n in range(1024)], "extra": {"a": "x"},
    "language": "en",
}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("label:", "lable:", "line 4: lable is unknown, did you mean label?"),
        ("task:", "taks:", "line 2: taks is unknown, did you mean task?"),
        ("events", "evnts", "line 4: label: there is no label 'evnts'; did you mean events?"),
        ("[dog, cat]", "[dog, yes]", "line 5: classes.1: expected a valid string, got True; YAML takes yes"),
        ("[dog, cat]", "[Dog, dog]", "line 5: classes: 'dog' is there already as 'Dog'"),
        ("  - first_line\nm", "  - frst_line\nm", "line 9: there is no post-processor 'frst_line'; did you mean"),
        ("measure: prefix-match", "measure:\n  name: prefix-match\n  sharp: 1", "line 12: prefix-match: "),
        ("prompt: ", "prompt:\n  default: choose_class\n  qwen: chose_class\n# ", "line 8: prompt.qwen: there is no"),
        ("classes |", "clases |", "line 6: template, line 1: there is no variable 'clases'; did you mean classes?"),
        ("classes | join", "classes.all | join", "line 6: template, line 1: classes has no field 'all'"),
        ("title:", "task: other\ntitle:", "line 3: expected YAML: the key task is given twice"),
        ("[dog, cat]", "&a [dog, *a]", "line 5: expected YAML: write *a out"),
        ("[dog, cat]", "[" * 100_000, "line 5: expected YAML: expected at most"),
        ("[dog, cat]", f"[{'a,' * 100_000}]", "line 5: expected YAML: expected at most"),
        ("[dog, cat]", "a" * (1 << 20), "expected at most 1048576 bytes"),
        ("dog_or_cat", "mini_animals", "task mini_animals was given before, at tasks/sound.yaml line 2; rename"),
        ("[dog, cat]", "dog, cat", "line 5: classes: expected a list, got 'dog, cat'"),
        ("[dog, cat]", f"[{', '.join(f'c{n}' for n in range(1025))}]", "at most 1024 of them, not 1025, got"),
        ("label:", "categories: []\nlabel:", "line 4: categories: "),
        ("measure: prefix-match", "measure:", "measure: expected names with values, got None"),
        ("Dog or cat", "2026-13-45", "line 3: expected YAML: month must be in 1..12"),
        ("Dog or cat", '"\\e[31mred"', r"line 3: title: expected text of one line without control characters, got"),
        ("[dog, cat]", '["a\\u202eb", cat]', "line 5: classes: expected text without control characters"),
        ("title: Dog", "title: !!python/object/apply:os.system [true]\nx: Dog", "could not determine a constructor"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Nested fields too; a bomb ends at once."""
    (tmp_path / "task.yaml").write_text(_TASK.replace(old, new, 1))
    started = time.process_time()
    with pytest.raises(TaskError) as caught:
        read_folder(tmp_path).definitions()
    assert said in str(caught.value).replace("task.yaml line", "task.yaml: line")
    assert time.process_time() - started < 2


def test_a_copy_of_a_shipped_task_is_that_task(tmp_path: Path) -> None:
    """And is ranked like it."""
    shipped = ROOT / "applications" / "understanding" / "tasks" / "sound.yaml"
    (tmp_path / "mine.yaml").write_text(shipped.read_text())
    assert set(adopt((), [tmp_path])) <= {row.key for row in PROBES.values() if row.definition and not row.origin}


def test_a_distribution_brings_tasks_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are known by name without an import; the same name in a file of one's own shows both places."""
    info, package = tmp_path / "site" / "garden-1.2.dist-info", tmp_path / "site" / "garden"
    for folder in (info, package / "tasks"):
        folder.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[codec_superb.tasks]\ngarden = garden:tasks\ngone = garden:gone\n")
    (package / "__init__.py").write_text("raise RuntimeError\n")
    (package / "tasks" / "dogs.yaml").write_text(_TASK)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    plugins.forget()
    try:
        with pytest.warns(plugins.PluginWarning, match=r"entry point gone .* of garden 1\.2"):
            (key,) = adopt(["dog_or_cat"])
        assert key.startswith("und_dog_or_cat_")
        assert adopt(["und_dog_or_cat"]) == (key,)
        (tmp_path / "mine.yaml").write_text(_TASK.replace("Dog or", "Dog and"))
        with pytest.raises(TaskError, match=r"mine\.yaml line 2.*given before, at .*dogs\.yaml \(garden 1\.2\) line 2"):
            adopt((), [tmp_path / "mine.yaml"])
    finally:
        plugins.forget()


@pytest.mark.parametrize(
    "text",
    [
        "{% include '/etc/passwd' %}", "{% import '/etc/passwd' as a %}", "{% extends '/etc/passwd' %}",
        "{{ ''.__class__ }}", "{{ question.__class__.__mro__ }}", "{{ question | attr('__class__') }}",
        "{{ question['__class__'] }}", "{{ choices | map(attribute='__class__') | list }}",
        "{{ choices | sort(attribute='__class__') }}", "{{ choices | join(attribute='__class__') }}",
        "{{ cycler.__init__.__globals__ }}", "{{ joiner() }}", "{{ lipsum.__globals__ }}", "{{ namespace() }}",
        "{{ self._TemplateReference__context }}", "{{ dict(a=1) }}", "{{ extra.items() }}", "{{ extra.items }}",
        "{{ choices.append('x') }}", "{% for a in choices %}{{ loop.__class__ }}{% endfor %}",
        "{% for a in choices recursive %}{{ loop(choices) }}{% endfor %}", "{{ _read }}", "{{ question | _steps(0) }}",
        "{{ '{0.__class__}'.format(1) }}", "{{ '%0999999999d' % 1 }}", "{{ 'a' * 10 ** 9 }}", "{{ 9 ** 9 ** 9 }}",
        "{{ question | center(999999999) }}", "{{ question ~ question }}", "{{ question + question }}",
        "{% set a = 'b' %}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{% call f() %}{% endcall %}",
        "{% for a in range(10 ** 9) %}{% endfor %}", "{{ classes | join(question) }}",
        "{{ question | replace('q', question) }}", "{{ question | replace('', question) }}",
        "{{ question | list | join(question) }}", "{% for a in classes %}{{ question }}{% endfor %}",
        "{% for a in classes %}{% for b in classes %}{% for c in classes %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in classes %}{% for b in classes %}{{ question in question }}{% endfor %}{% endfor %}",
        "{% for a in classes %}" + "{{ question | sort | join }}" * 300 + "{% endfor %}",
        "{{ " + "(" * 60_000 + " }}", "{{ " + "[" * 60_000, "{{ " + "9" * 60_000 + " }}", "{#" * 30_000,
        "{{ question" + " | upper" * 8_000 + " }}", "{% if question %}" * 100 + "{% endif %}" * 100,
        "{% for a in [1] %}" * 21 + "{% endfor %}" * 21, "{{ question }}" * 2, "x" * (LONGEST + 1),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_a_hostile_template_ends_in_an_error(text: str) -> None:
    """No file, no attribute, no memory, and at most two seconds of processor time."""
    started = time.process_time()
    with pytest.raises((TemplateError, TypeError)):
        rendered(text, _KNOWN)
    assert time.process_time() - started < 2


def test_templates_of_the_usual_kind_render() -> None:
    """Loops with letters, defaults, conditions, items."""
    known = {**_KNOWN, "question": "Which?"}
    listed = "{% for choice in choices %}{{ 'ABC'[loop.index0] }}. {{ choice }};{% endfor %}"
    assert rendered(listed, known) == "A. a;B. b;"
    assert rendered("{{ extra.a }}{{ extra['a'] }}{{ extra.b | default('None') }}{{ extra.c is defined }}", known) == (
        "xxNoneFalse"
    )
    assert rendered("{% if language == 'en' %}{{ question | upper }}{% endif %}", known) == "WHICH?"
    assert rendered("{% for c in classes %}{{ loop.index + 1 }},{% endfor %}", known).startswith("2,3,4")


def test_no_shipped_prompt_tells_the_right_answer() -> None:
    """What is asked is the same whatever the clip's own label is."""
    for name, definition in own_registry().definitions().items():
        task = definition.task
        question = {"question": "Which?", "choices": ("one", "two", "three")}
        for family in definition.prompts:
            asked = set()
            for answer in ("one", "two"):
                kind, _, own = task.label.partition(":")
                extra = [(need.partition(":")[2], "given") for need in task.needs if need.startswith("extra:")]
                labels = {"extra": (*extra, (own, answer))} if own else {"extra": tuple(extra)}
                if not own:
                    labels[kind] = (answer,) if kind in {"events", "answers"} else answer
                item = Item("clip", "speech", **{"language": "en", **question, **labels})  # type: ignore[arg-type]
                asked.add(render(definition.prompt(family), item))
            assert len(asked) == 1, (name, family)


def test_the_schema_is_current_and_takes_every_shipped_file() -> None:
    """``docs/task.schema.json``: write it anew with ``python -m`` as the page about tasks tells."""
    assert (ROOT / "docs" / "task.schema.json").read_bytes() == json_schema()
    schema = jsonschema.Draft202012Validator(json.loads(json_schema()))
    folder = ROOT / "applications" / "understanding"
    for file in (*folder.glob("tasks/*.yaml"), *folder.glob("prompts/*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            assert list(schema.iter_errors(document)) == [], file
    assert not schema.is_valid({"task": "a", "title": "A", "label": "text", "prompt": "b", "measure": "c", "x": 1})
