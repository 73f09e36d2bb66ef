"""The pinned versions go together for everybody: on the oldest Python the README names, and where torch brings CUDA."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email import message_from_string
from pathlib import Path

import pypi_simple
import pytest
import requests
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

ROOT = Path(__file__).parents[2]
PINS = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE))
OLDEST = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=") + ".0"
USERS = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "python_version": "3.11"}

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def index() -> Iterator[pypi_simple.PyPISimple]:
    """Ask the public index: a mirror or a folder of wheels would hide what a stranger gets."""
    session = requests.Session()
    session.mount("https://", HTTPAdapter(max_retries=Retry(5, backoff_factor=0.5, status_forcelist=[429, 502, 503])))
    with pypi_simple.PyPISimple(session=session) as client:
        try:
            client.get_project_page("triton")
        except requests.ConnectionError as error:
            pytest.skip(f"the public index cannot be reached: {error}")
        yield client


def test_every_pin_installs_on_the_oldest_python(index: pypi_simple.PyPISimple) -> None:
    """A release that wants 3.11.5 stops `make demo` on a Debian whose Python is 3.11.2; a withdrawn one warns."""

    def complaint(pin: tuple[str, str]) -> str | None:
        name, version = pin
        files = [file for file in index.get_project_page(name).packages if _version(file) == Version(version)]
        usable = [file for file in files if not file.is_yanked and _admits(file.requires_python)]
        return None if usable else f"{name}=={version} ({files[0].requires_python if files else 'not on the index'})"

    with ThreadPoolExecutor(8) as pool:
        assert [found for found in pool.map(complaint, PINS.items()) if found] == []


def test_the_torch_of_the_public_index_takes_the_pinned_packages(index: pypi_simple.PyPISimple) -> None:
    """There torch comes with CUDA and wants one exact triton: `make test` could not be installed with another."""
    page = index.get_project_page("torch")
    files = [file for file in page.packages if _version(file) == Version(PINS["torch"])]
    file = next(file for file in files if re.search(r"-cp311-.*x86_64\.whl$", file.filename))
    metadata = message_from_string(index.get_package_metadata(file, verify=False))
    asked = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    pins = {canonicalize_name(name): version for name, version in PINS.items()}
    ours = [r for r in asked if canonicalize_name(r.name) in pins and (r.marker is None or r.marker.evaluate(USERS))]
    assert "triton" in {r.name for r in ours}
    assert [str(r) for r in ours if not r.specifier.contains(pins[canonicalize_name(r.name)])] == []


def _version(file: pypi_simple.DistributionPackage) -> Version | None:
    try:
        return Version(file.version) if file.version else None
    except ValueError:
        return None


def _admits(requires_python: str | None) -> bool:
    return not requires_python or Requirement(f"python{requires_python}").specifier.contains(OLDEST)
