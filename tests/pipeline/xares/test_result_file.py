"""``admin xares``: records of ``xares run --json`` in, listed and out; strange files are one sentence."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.server.xares import make_records

from codec_superb.applications.xares.result import XaresResult
from codec_superb.cli.main import call
from codec_superb.pipeline.errors import PipelineError
from codec_superb.pipeline.xares.result_file import FILE_LIMIT, read_results


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a record as the command prints it."""
    path = tmp_path / "whisper.json"
    path.write_text(json.dumps(make_records()[0].model_dump(mode="json")), encoding="utf-8")
    return path


def test_a_record_is_read_as_it_was_written(file: Path) -> None:
    """Seeds are numbers again; a folder holds several."""
    assert read_results([file]) == read_results([file.parent]) == [make_records()[0]]


def test_maintainers_import_list_and_remove(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is imported is listed with its figures and source until it is removed."""
    storage = ["--storage", str(tmp_path / "storage")]
    assert call(["admin", "xares", "import", str(file), "--source", "our run", *storage]) == 0
    assert "decoder tiny; references: 7 values" in capsys.readouterr().out
    assert call(["admin", "xares", "list", "--json", *storage]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["values"], entry["source"]) == (7, "our run")
    assert call(["admin", "xares", "remove", entry["result"], *storage]) == 0
    assert call(["admin", "xares", "remove", entry["result"], *storage]) != 0
    assert "no imported result" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"n": 150', '"n": 150, "n": 150', "each name once"),
        ('"n": 150', '"n": NaN', "finite numbers"),
        ('"n": 150', '"n": -1', "figures.0.n"),
        ('"n": 150', '"n": "150"', "figures.0.n"),
        ('"n": 150', '"n": 150, "rank": 1', "rank is unknown"),
        ('"42": 99.3', '"42": 12.0', "clips.value"),
        ('"42": 99.3', '"7": 99.3', "expected seeds of its decoders, got 7"),
        ('"schema_version": 1', '"schema_version": 2', "schema_version"),
        ('"mode": "references"', '"mode": "best"', "mode"),
        ('"encoder": "faster', '"encoder": "\\u0000faster', "encoder"),
        ('"encoder": "faster', '"encoder": "\\ud800faster', "surrogate"),
        ('"random": false', '"random": ' + "[" * 5000 + "]" * 5000, "levels of nesting"),
        ("und_xares_sound_accuracy_pct", "und_xares_language_accuracy_pct", ""),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_one_sentence(file: Path, old: str, new: str, says: str) -> None:
    """The file is named with what was expected."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1) if says else text.replace('"mini"', '"phone_prompts"').replace(old, new))
    with pytest.raises(PipelineError) as refused:
        read_results([file])
    told = str(refused.value)
    assert told.startswith(f"{file}: ")
    assert (says or "expected each figure once") in told
    assert "\n" not in told
    assert len(told) < 500


def test_as_many_figures_as_a_record_may_have_are_read_at_once() -> None:
    """Figures are compared with each other in one pass: ten thousand take no longer than they take to read."""
    record = make_records()[0].model_dump(mode="json")
    figures = [record["figures"][0] | {"dataset": f"set {number}"} for number in range(10_000)]
    began = time.process_time()
    assert len(XaresResult.model_validate(record | {"figures": figures}).figures) == 10_000
    assert time.process_time() - began < 2


def test_what_is_no_record_is_refused(file: Path, tmp_path: Path) -> None:
    """An empty folder, a missing file, a huge one, bytes, and two records of one name."""
    (tmp_path / "empty").mkdir()
    huge = tmp_path / "huge.json"
    huge.write_bytes(b" " * (FILE_LIMIT + 1))
    noise = tmp_path / "noise.json"
    noise.write_bytes(b"\xff\xfe{}")
    for paths, says in (
        ([tmp_path / "empty"], "found none"),
        ([tmp_path / "nothing"], "cannot be read"),
        ([huge], "expected at most"),
        ([noise], "expected UTF-8"),
        ([file, file], "leave one out"),
    ):
        with pytest.raises(PipelineError, match=says):
            read_results(paths)


RECORD = make_records()[0].model_dump_json()


@given(st.integers(0, len(RECORD)), st.sampled_from(["", "}", '"', "0", "null", "-", "\\"]))
def test_no_damage_is_more_than_a_refusal(tmp_path_factory: pytest.TempPathFactory, at: int, put: str) -> None:
    """A file cut or changed anywhere is read as a record or refused, never anything else."""
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_text(RECORD[:at] + put + RECORD[at + len(put) :] if put else RECORD[:at], encoding="utf-8")
    try:
        (found,) = read_results([path])
    except PipelineError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 -- both ends are right
    else:
        assert isinstance(found, XaresResult)
