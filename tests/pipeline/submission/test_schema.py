"""The schema: exported, documented, strict, and in step with what the code computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.pipeline.stats import KEYS, card, draw_rows, sha, write_run

from codec_superb.metrics.noise.random_numbers import SEED
from codec_superb.pipeline.statistics.bootstrap import REPLICATES
from codec_superb.pipeline.statistics.jackknife import METHOD
from codec_superb.pipeline.submission.archive import read_archive
from codec_superb.pipeline.submission.pack import pack
from codec_superb.pipeline.submission.schema import Bootstrap, Submission, Submitter, json_schema

EXPORTED = Path(__file__).parents[3] / "docs" / "submission.schema.json"


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    """Give a packed submission.json as plain data."""
    run = write_run(tmp_path, draw_rows(1, 9), card=card())
    packed = pack([run], tmp_path / "a.zip", submitter=Submitter(name="A"))
    return dict(json.loads(read_archive(packed)["submission.json"]))


def test_the_exported_schema_is_current() -> None:
    """``docs/submission.schema.json`` is what the models say; write it anew with ``python -m`` as its page tells."""
    assert EXPORTED.read_bytes() == json_schema()


def test_every_field_of_the_schema_is_documented() -> None:
    """A person who reads the JSON Schema finds a sentence at each field, those of card and provenance included."""
    schema = json.loads(json_schema())
    models = {"Submission": schema, **schema["$defs"]}
    assert {"Card", "Provenance", "DatasetAggregate"} < set(models)
    missing = [
        f"{name}.{field}"
        for name, model in models.items()
        for field, about in model.get("properties", {}).items()
        if "description" not in about
    ]
    assert missing == []


def test_every_object_of_the_schema_is_closed() -> None:
    """No model takes a field that it does not know."""
    schema = json.loads(json_schema())
    models = [schema, *(entry for entry in schema["$defs"].values() if entry["type"] == "object")]
    assert all(model["additionalProperties"] is False for model in models)


def test_the_bootstrap_of_the_schema_is_the_one_that_is_computed() -> None:
    """Everybody's intervals are computed with the same method, seed and number of replicates."""
    assert Bootstrap().model_dump() == {"method": METHOD, "seed": SEED, "replicates": REPLICATES}


def test_a_document_comes_back_as_it_went(document: dict[str, Any]) -> None:
    """Written and read again, strictly, a submission is equal and its seal holds."""
    found = Submission.model_validate_json(json.dumps(document), strict=True)
    assert json.loads(found.to_json()) == document
    assert found.content_sha256 == found.content_hash()


@pytest.mark.parametrize(
    "change",
    [
        {"format": 4},
        {"format": "1"},
        {"kind": "mixed"},
        {"created": "yesterday"},
        {"created": "2025-01-02T03:04:05"},
        {"submitter": {"name": ""}},
        {"submitter": {"name": "A", "password": "x"}},
        {"datasets": []},
        {"clips_sha256": "abc"},
        {"metrics": {f"m{n}": "1" for n in range(41)}},
        {"bootstrap": {"method": METHOD, "seed": 1, "replicates": 1000}},
        {"bootstrap": {"method": METHOD, "seed": 0, "replicates": 10}},
        {"samples": [{}]},
        {"surprise": 1},
        {"codec": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_does_not_follow_the_schema_is_refused(document: dict[str, Any], change: dict[str, Any]) -> None:
    """Other versions, free text for dates, unknown fields, other bootstraps: each is an error."""
    with pytest.raises(ValidationError):
        Submission.model_validate_json(json.dumps(document | change), strict=True)


def test_a_number_is_not_taken_from_text(document: dict[str, Any]) -> None:
    """Strict: ``"3"`` is no count and ``3.5`` is none either."""
    for wrong in ("3", 3.5, True, -1):
        document["datasets"][0]["ok"] = wrong
        with pytest.raises(ValidationError, match=r"datasets\.0\.ok"):
            Submission.model_validate_json(json.dumps(document), strict=True)


def test_a_document_names_the_dataset_but_not_where_it_lies(document: dict[str, Any]) -> None:
    """Location and category of a run's own folder stay on the machine."""
    (dataset,) = document["datasets"]
    assert not {"location", "category"} & set(dataset)
    assert dataset["manifest_hash"] == sha("mini")
    assert sorted(document["metrics"]) == sorted(KEYS)


def test_an_equal_number_is_no_literal_integer(document: dict[str, Any]) -> None:
    """1.0, 1e0, true and "1" are refused where the schema has 1: other readers would tell them apart."""
    whole = json.dumps(document)
    for name, value in (("format", "1"), ("seed", "0"), ("replicates", "1000")):
        assert whole.count(f'"{name}": {value}') == 1
        for other in (f"{value}.0", f"{value}e0", "true" if value == "1" else "false", f'"{value}"'):
            with pytest.raises(ValidationError, match=name):
                Submission.model_validate_json(whole.replace(f'"{name}": {value}', f'"{name}": {other}'), strict=True)
