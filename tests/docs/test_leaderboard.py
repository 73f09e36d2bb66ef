"""The guide to the leaderboard names every setting, meter and path as the service has it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from pydantic.fields import FieldInfo
from starlette.routing import Match

from codec_superb.server.app import create_app
from codec_superb.server.operations.meters import Meters
from codec_superb.server.settings import Settings

GUIDE = (Path(__file__).parents[2] / "docs/leaderboard.md").read_text(encoding="utf-8")


def _row(name: str, field: FieldInfo) -> str:
    """Make the line of the table of settings from the setting itself."""
    default = "none" if field.default is None else f"`{json.dumps(field.default, default=str)}`"
    if field.default_factory is not None:
        default = "the folder `server` in `CODEC_SUPERB_HOME`"
    assert field.description, f"{name}: a setting without a sentence below it"
    return f"| `CODEC_SUPERB_SERVER_{name.upper()}` | {default} | {field.description.replace('``', '`')} |"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_in_the_table(name: str) -> None:
    """The table has each setting with its variable, default and meaning, word for word as in the code."""
    assert _row(name, Settings.model_fields[name]) in GUIDE.splitlines()


def test_no_other_setting_is_in_the_table() -> None:
    """A setting that is gone is gone from the guide."""
    named = set(re.findall(r"^\| `CODEC_SUPERB_SERVER_(\w+)`", GUIDE, re.MULTILINE))
    assert named == {name.upper() for name in Settings.model_fields}


def test_every_meter_is_explained() -> None:
    """The table of meters is that of the service."""
    counted = set(re.findall(r"^# TYPE (codec_superb_\w+)", Meters().exposition().decode(), re.MULTILINE))
    explained = set(re.findall(r"^\| `(codec_superb_\w+)`", GUIDE, re.MULTILINE))
    assert explained == {name for name in counted if not name.endswith("_created")}


def test_every_path_exists(tmp_path: Path) -> None:
    """Each address of the guide is one that the service answers, with the method of its example."""
    app: FastAPI = create_app(Settings(storage=tmp_path))
    paths = {path.split("?")[0] for path in re.findall(r'\$SERVER(/[^"\s]*)', GUIDE)}
    paths |= set(re.findall(r"`(/(?:api/[\w/.]+|healthz|readyz|metrics-internal|submit|login|moderation))`", GUIDE))
    assert len(paths) >= 10
    for path in paths:
        scope = {"type": "http", "path": path, "method": "GET", "root_path": "", "headers": []}
        assert any(route.matches(scope)[0] is not Match.NONE for route in app.router.routes), path
