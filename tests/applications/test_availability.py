"""What each backend needs is known without importing or fetching anything."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from codec_superb.applications.availability import availability
from codec_superb.applications.backends import BACKENDS, CODEC, NO_FILE, OWN_FILE
from codec_superb.applications.model_files import embedded_models


def test_every_backend_has_its_packages_and_every_embedded_model_its_backend() -> None:
    """A new backend or model is not forgotten here."""
    assert {row.model for row in BACKENDS.values()} - {"", NO_FILE, OWN_FILE, CODEC} == set(embedded_models())
    assert {row.name for row in BACKENDS.values()} == set(BACKENDS)


def test_the_modules_exist_under_these_names() -> None:
    """Where everything is installed, nothing is called missing: no name is spelled wrongly."""
    assert not {name for row in BACKENDS.values() for name in row.packages if importlib.util.find_spec(name) is None}


def test_a_model_that_is_not_here_is_said_to_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty home a model of a package file is announced with its size, and looking fetches nothing."""
    monkeypatch.setenv("CODEC_SUPERB_HOME", str(tmp_path))
    found = availability(BACKENDS["dnsmos"])
    assert (found.state, found.licence) == ("fetches", "MIT")
    assert found.detail == "9 MB are fetched at first use"
    assert not list(tmp_path.iterdir())


def test_missing_packages_come_with_the_command() -> None:
    """The extra that brings them is named."""
    found = availability(replace(BACKENDS["dnsmos"], packages=("onnxruntime", "no_such_package")))
    assert found.state == "needs packages"
    assert found.detail == "without no_such_package: pip install 'codec-superb[probes]'"
