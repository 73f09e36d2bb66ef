"""The converter of UltraEval-Audio's registry: its layout in small, what has no equal, and the public registry."""

from __future__ import annotations

import csv
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from codec_superb.applications.errors import ApplicationError
from codec_superb.applications.interface import Item
from codec_superb.applications.task_definitions.messages import Message
from codec_superb.applications.understanding.conversion.prompts import classes_of, renamed
from codec_superb.applications.understanding.conversion.ultraeval import convert, equals, read_registry
from codec_superb.applications.understanding.measures.table import MEASURES
from codec_superb.applications.understanding.processes.table import PROCESSES
from codec_superb.applications.understanding.registry import read_folder
from codec_superb.applications.understanding.templates import render
from codec_superb.cli.main import run

MIRROR = Path(__file__).resolve().parents[4] / ".mirror" / "OpenBMB+UltraEval-Audio" / "repo"
"""A bare copy of the public repository beside the checkout."""
SOUND = {"type": "audio", "value": "{{WavPath}}"}


def _asks(text: str) -> dict[str, object]:
    return {
        "class": "a.Prompt",
        "args": {"template": [{"role": "user", "contents": [SOUND, {"type": "text", "value": text}]}]},
    }


def _task(**args: object) -> dict[str, object]:
    return {"class": "a.EvalTaskCfg", "args": {"agg": "acc", "evaluator": "prefix-match", **args}}


REGISTRY = {
    "dataset": {"pets": {"class": "h.Hub", "args": {"name": "x/pets", "default_task": "Which-Pet", "ref_col": "kind"}}},
    "prompt": {
        "pet": _asks("Is it one of ['cat', 'dog']?"),
        "letters": _asks("{{QuestionText}} A. {{choice_a}} C. {{ choice_c | default('none') }} by {{speaker_name}}"),
        "clone": {"class": "a.Prompt", "args": {"template": {"text": "{{text}}", "prompt_audio": "{{WavPath}}"}}},
        "continue": {"class": "a.Prompt", "args": {"template": "<audio>{{WavPath}}</audio>"}},
    },
    "process": {"lookup": {"class": "a.Lookup", "args": {}}},
    "evaluator": {
        "prefix-match": {"class": "a.PrefixMatch", "args": {}},
        "RTF": {"class": "a.RTFExtractor", "args": {}},
        "own": {"class": "a.Own", "args": {}},
    },
    "agg": {"acc": {"class": "a.ACC", "args": {}}},
    "eval_task": {
        "Which-Pet": _task(dataset="pets", prompt="pet"),
        "letters": _task(dataset="gone", prompt="letters"),
        "spell": _task(dataset="pets", prompt="absent"),
        "steps": _task(dataset="pets", prompt="pet", post_process=["lookup"]),
        "speed": _task(dataset="pets", prompt="pet", evaluator="RTF"),
        "mine": _task(dataset="pets", prompt="pet", evaluator="own"),
        "cloned": _task(dataset="pets", prompt="clone"),
    },
}  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """Return a registry with the published layout."""
    for kind, entries in REGISTRY.items():
        (tmp_path / "registry" / kind).mkdir(parents=True)
        (tmp_path / "registry" / kind / "some.yaml").write_text(yaml.safe_dump(entries))
    return tmp_path


def test_a_registry_becomes_tasks_that_the_program_reads(registry: Path, tmp_path: Path) -> None:
    """What has an equal is read back and renders; all else is listed with its reason."""
    with pytest.raises(SystemExit) as left:
        run(["tasks", "convert", str(registry), "--out", str(tmp_path / "out")])
    assert not left.value.code
    found = read_folder(tmp_path / "out").definitions()
    assert set(found) == {"which_pet", "letters"}
    pet = found["which_pet"].task
    assert (pet.label, pet.classes, pet.measure.name) == ("extra:kind", ("cat", "dog"), "prefix-match")
    assert found["letters"].task.needs == ("choices", "extra:speaker_name", "question")
    item = Item("a", "speech", question="Who?", choices=("Ann", "Bob"), extra=(("speaker_name", "Eve"),))
    (message,) = render(found["letters"].prompt("default"), item)
    assert isinstance(message, Message)
    assert [part.kind for part in message.parts] == ["audio", "text"]
    assert message.parts[1].text == "Who? A. Ann C. none by Eve"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "conversion.csv").read_text())))
    remarks = {row["name"]: row["remark"] for row in rows if row["kind"] == "task"}
    assert {name: words for name, words in remarks.items() if name not in ("Which-Pet", "letters")} == {
        "spell": "its prompt absent does not exist",
        "steps": "lookup is of the class Lookup, which has no equal",
        "speed": "the speed of a chat says nothing of a codec",
        "mine": "own is of the class Own, which has no equal",
        "cloned": "its prompt clone has no equal",
    }
    assert "its dataset gone does not exist, and no other names it" in remarks["letters"]
    assert [row["converted"] for row in rows if row["name"] == "continue"] == [""]


@pytest.mark.parametrize(
    ("text", "said"),
    [("- a", "expected names with class and args"), ("a: 1", "a: expected class and args"), ("a: [", "expected YAML")],
)
def test_a_registry_that_is_none_is_refused(registry: Path, text: str, said: str) -> None:
    """The message names the file; a folder without tasks is no registry."""
    (registry / "registry" / "prompt" / "wrong.yaml").write_text(text)
    with pytest.raises(ApplicationError, match=f"wrong.yaml: {said}"):
        read_registry(registry)
    with pytest.raises(ApplicationError, match="expected a registry with a folder eval_task"):
        read_registry(registry / "registry" / "prompt")


def test_templates_keep_all_but_their_names() -> None:
    """Loops, filters and own variables of a template stay as they were."""
    needs: set[str] = set()
    loop = "{% for choice in choices %}{{ 'AB'[loop.index0] }}. {{ choice.question | upper }}{% endfor %} question\n"
    assert renamed(loop, equals()["variables"], needs) == loop.rstrip("\n")
    assert needs == {"choices"}
    asked = [{"contents": [{"type": "text", "value": "a digit [0-9], one of [0,1,2], or either 'x' or 'y'"}]}]
    assert classes_of(asked) == ["0", "1", "2"]


@pytest.mark.skipif(not MIRROR.is_dir(), reason="needs a copy of the public repository UltraEval-Audio")
def test_the_public_registry(tmp_path: Path) -> None:
    """Its 116 tasks: those whose measures the program has are read; the others have reasons, 19 lack their dataset."""
    packed = subprocess.run(["git", "archive", "HEAD", "registry"], cwd=MIRROR, capture_output=True, check=False).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path, filter="data")
    entries = read_registry(tmp_path)
    done = convert(entries)
    assert {kind: len(found) for kind, found in entries.items()} == {
        "eval_task": 116, "dataset": 160, "prompt": 261, "process": 13, "evaluator": 125, "agg": 19,
    }  # fmt: skip
    tasks = [row for row in done.rows if row.kind == "task"]
    assert len(tasks) == 116
    assert sum(bool(row.converted) for row in tasks) == 101
    without = {name for name, of in entries["eval_task"].items() if of.args["dataset"] not in entries["dataset"]}
    assert len(without) == 19
    never = [
        row.name for row in tasks
        if not row.converted and "there is no measure" not in row.remark and "no post-processor" not in row.remark
    ]  # fmt: skip
    assert sorted(never) == [
        "asr-3o", "asr-zh-3o", "cv3_emotion_zeroshot", "cv3_emotion_zeroshot_en", "cv3_emotion_zeroshot_zh",
        "inference", "only-infer", "speech-quality", "sst2jp", "tts_rtf", "voice_clone_rtf",
    ]  # fmt: skip
    for row in tasks:
        if row.converted:
            assert row.name not in without or "does not exist" in row.remark
    (tmp_path / "tasks.yaml").write_text(yaml.safe_dump_all([*done.prompts, *done.tasks]))
    assert len(read_folder(tmp_path / "tasks.yaml").definitions()) == 101  # beside those that are shipped
    unknown = [row.remark for row in tasks if "there is no measure" in row.remark or "no post-processor" in row.remark]
    assert not [words for words in unknown if any(f"measure {name}," in words for name in MEASURES)]
    assert not [words for words in unknown if any(words.endswith(f"post-processor {name}") for name in PROCESSES)]
