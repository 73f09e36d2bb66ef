"""Suites: a benchmark's protocol by one name. Which datasets it has is data; which clips, their manifests say."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from codec_superb import strict_yaml
from codec_superb.data_manifests.catalogue import load_manifest
from codec_superb.data_manifests.clip_list import current_index
from codec_superb.data_manifests.errors import DatasetError
from codec_superb.data_manifests.manifest import Manifest, Name, StrictModel, Text

SUITES = Path(__file__).with_name("suites.yaml")


class Suite(StrictModel):
    """One entry of ``suites.yaml``, with the datasets of the suites that it unites."""

    title: Text
    source: Text
    """Who defined it."""
    datasets: tuple[Name, ...] = Field(min_length=1)
    applications: tuple[Text, ...] = ()


@functools.cache
def suites() -> Mapping[str, Suite]:
    """Return all suites by their names."""
    entries: dict[str, dict[str, Any]] = strict_yaml.load(SUITES.read_text(encoding="utf-8"))
    for entry in entries.values():
        if parts := entry.pop("unites", ()):
            entry["datasets"] = [name for part in parts for name in entries[part]["datasets"]]
    return {name: Suite.model_validate(entry) for name, entry in entries.items()}


def suite(name: str) -> Suite:
    """Return a suite. Raises DatasetError for an unknown name, with near matches."""
    found = suites().get(name)
    if found is None:
        near = difflib.get_close_matches(name, suites(), n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise DatasetError(f"no suite is called {name!r}{meant}; expected one of {', '.join(suites())}")
    return found


def missing(chosen: Suite) -> list[Manifest]:
    """Return the manifests of the datasets that are not on this machine in their current version.

    What is fetched without a question, such as ``mini``, is never missing.
    """
    manifests = [load_manifest(name) for name in chosen.datasets]
    return [manifest for manifest in manifests if not manifest.is_fetched and current_index(manifest) is None]
