"""``codec-superb doctor``: check the installation (packages, codecs, models, storage) and say how to fix it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import typer

from codec_superb import __version__
from codec_superb.cli.console import print_json, print_table
from codec_superb.cli.options import JsonOption
from codec_superb.web.text import count

if TYPE_CHECKING:
    from codec_superb.base_codec.card import Card

OLDEST_PYTHON = (3, 11)  # requires-python of pyproject.toml
ENOUGH_BYTES = 2 * 1024**3
MODULES = {"pyyaml": "yaml", "PyYAML": "yaml", "lc3py": "lc3"}
"""Import names of packages whose distribution name differs."""
OTHER_EXTRAS = {
    "probes": ("faster_whisper", "onnxruntime", "whisper_normalizer", "webrtcvad", "pocketsphinx"),
    "applications": ("torch", "transformers", "whisper", "speechbrain", "torchaudio", "visqol"),
    "praat": ("parselmouth",),
    "datasets": ("datasets",),
    "server": ("fastapi", "sqlalchemy"),
}
"""Import names of what the extras install that no codec needs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    subject: str
    state: Literal["ok", "optional", "fault"]
    detail: str


def command(as_json: JsonOption = False) -> None:
    """Check this machine: packages, codecs, models, storage; exit 3 when something that is needed is missing."""
    findings = [finding for look in CHECKS for finding in look()]
    if as_json:
        print_json({"version": __version__, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table("", ("", "", ""), [(f.state, f.subject, f.detail) for f in findings], numbers_from=3, folds=True)
    if any(finding.state == "fault" for finding in findings):
        raise typer.Exit(3)


def _python() -> list[Finding]:
    good = sys.version_info >= OLDEST_PYTHON
    detail = f"{platform.python_version()} on {platform.platform()}"
    return [Finding("Python", "ok" if good else "fault", detail if good else f"{detail}; 3.11 or newer is needed")]


def _packages() -> list[Finding]:
    """Check that every core requirement is installed in the required version and can be imported."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        lines = metadata.requires("codec-superb") or []
    except metadata.PackageNotFoundError:
        return [Finding("codec-superb", "fault", "runs from a folder without being installed: pip install -e .")]
    findings = []
    for line in lines:
        requirement = Requirement(line)
        # PEP 508: requirements of an extra carry the marker extra == "…"
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            findings.append(Finding(requirement.name, "fault", f"not installed: pip install '{requirement}'"))
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            detail = f"{version}, wanted {requirement.specifier}: pip install '{requirement}'"
        elif reason := _cannot_import(MODULES.get(requirement.name, requirement.name.replace("-", "_"))):
            detail = f"{version} cannot be imported ({reason}): pip install --force-reinstall '{requirement}'"
        else:
            detail = version
        findings.append(Finding(requirement.name, "ok" if detail == version else "fault", detail))
    return findings


def _cannot_import(module: str) -> str:
    """Import a module and return why that fails; '' when it succeeds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever a broken package raises
        return f"{type(error).__name__}: {error}"
    return ""


def _extras() -> list[Finding]:
    from codec_superb.base_codec.readiness import EXTRA_MODULES

    findings = []
    for extra, modules in {**EXTRA_MODULES, **OTHER_EXTRAS}.items():
        # find_spec looks for a top-level name without importing it
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        detail = f"without {', '.join(missing)}: pip install 'codec-superb[{extra}]'" if missing else "installed"
        findings.append(Finding(f"extra {extra}", "optional" if missing else "ok", detail))
    return findings


def _codecs() -> list[Finding]:
    """Encode and decode a tenth of a second with one codec of each family."""
    import numpy as np

    from codec_superb.base_codec import registry, system
    from codec_superb.base_codec.weights import has_checkpoint

    by_family: dict[str, list[str]] = {}
    for name in registry.names():
        by_family.setdefault(registry.card(name).family, []).append(name)
    noise = np.random.default_rng(0).normal(0, 0.1, (1, 1600)).astype(np.float32)
    findings = []
    for family, names in by_family.items():
        if registry.card(names[0]).isolation is not None:
            findings.append(_isolated(registry.card(names[0]), count(len(names), "setting")))
            continue
        if has_checkpoint(registry.card(names[0])):
            findings.append(_neural(family, names))
            continue
        if sentence := system.missing(registry.card(names[0])):
            findings.append(Finding(f"codec {family}", "optional", f"{count(len(names), 'setting')}: {sentence}"))
            continue
        try:
            codec = registry.open_codec(names[0])
            codec.decode(codec.encode(noise, 16000))
            codec.close()
            findings.append(Finding(f"codec {family}", "ok", f"{count(len(names), 'setting')}"))
        except Exception as error:  # noqa: BLE001 - the doctor reports whatever is wrong
            findings.append(Finding(f"codec {family}", "fault", f"{type(error).__name__}: {error}"))
    return findings


def _isolated(card: Card, settings: str) -> Finding:
    """Check whether an isolated family's environment is built, and what building it needs; weights are not checked."""
    from codec_superb.base_codec.isolation.environment import find_environment
    from codec_superb.base_codec.isolation.lock import current_platform, open_lock

    assert card.isolation is not None
    lock = open_lock(card.isolation.lock)
    environment = find_environment(lock)
    subject, weights = f"codec {card.family}", _weights_of(card)
    if environment.state == "built":
        return Finding(subject, "ok", f"{settings}, environment {lock.name} built; {weights} (not checked)")
    told = [f"{settings}, environment {lock.name} {environment.state}: codec-superb codecs env build {lock.name}"]
    if not lock.fits_here:
        told.append(f"which is for {lock.platform}, and this is {current_platform()}")
    if lock.repositories:
        told.append("git fetches its code" if shutil.which("git") else "git fetches its code, and there is no git here")
    return Finding(subject, "optional", "; ".join([*told, weights]))


def _weights_of(card: Card) -> str:
    """Say where an isolated codec's weights come from."""
    from codec_superb.base_codec.errors import MissingWeights
    from codec_superb.base_codec.weight_folders import shared_folder

    try:
        shared = shared_folder(card)
    except MissingWeights:  # the variable has a line of its own
        shared = None
    if shared is not None:
        return f"weights in {shared}"
    return f"weights: {card.weights.source}" if card.weights else "no weights"


def _neural(family: str, names: list[str]) -> Finding:
    """Check for a neural codec's packages and weights without loading them, which would take gigabytes."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.errors import CodecError
    from codec_superb.base_codec.readiness import EXTRA_MODULES
    from codec_superb.base_codec.weights import EXTRA, locate_weights

    extra = registry.card(names[0]).extra or EXTRA
    missing = [module for module in EXTRA_MODULES[extra] if importlib.util.find_spec(module) is None]
    if missing:
        detail = f"{count(len(names), 'setting')}, without {', '.join(missing)}: pip install 'codec-superb[{extra}]'"
        return Finding(f"codec {family}", "optional", detail)
    try:
        checkpoint = locate_weights(registry.card(names[0]), download=False)
    except CodecError as error:
        return Finding(f"codec {family}", "optional", f"{count(len(names), 'setting')}, needs weights: {error}")
    return Finding(f"codec {family}", "ok", f"{count(len(names), 'setting')}, weights in {checkpoint.folder}")


def _applications() -> list[Finding]:
    """Check for the packages and files of each probe model; nothing is loaded or downloaded."""
    from codec_superb.applications.availability import availability
    from codec_superb.applications.backends import BACKENDS

    findings = []
    for name, entry in BACKENDS.items():
        found = availability(entry)
        detail = f"{', '.join(entry.probes)}: {found.detail}"
        findings.append(Finding(f"model {name}", "ok" if found.state == "ready" else "optional", detail))
    return findings


def _storage() -> list[Finding]:
    import tempfile

    from codec_superb.data_manifests.home import codec_superb_home

    folder = codec_superb_home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # permissions alone do not tell: a file system may be mounted read-only
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        detail = f"{folder} cannot be written ({error.strerror}): datasets that are there can be used, none prepared"
        return [Finding("CODEC_SUPERB_HOME", "optional", detail)]
    free = shutil.disk_usage(folder).free
    detail = f"{folder}, {free / 1024**3:.1f} GiB free"
    return [Finding("CODEC_SUPERB_HOME", "ok" if free > ENOUGH_BYTES else "optional", detail)]


def _confinement() -> list[Finding]:
    """Say what the kernel would keep from the process that checks uploads, where the service is installed."""
    if any(importlib.util.find_spec(name) is None for name in OTHER_EXTRAS["server"]):
        return []
    from codec_superb.server.ingest.sandbox import offered

    offer = offered()
    return [Finding("checks of uploads", "ok" if offer.landlock and offer.seccomp else "optional", str(offer))]


def _weights_folder() -> list[Finding]:
    """Say which families have weights in the folder that ``CODEC_SUPERB_WEIGHTS`` names."""
    from codec_superb.base_codec import registry
    from codec_superb.base_codec.errors import MissingWeights
    from codec_superb.base_codec.weight_folders import VARIABLE, shared_folder

    given = os.environ.get(VARIABLE)
    if not given:
        return [Finding(VARIABLE, "ok", "not set: weights are looked for where cards say, and fetched from there")]
    cards = [card for card in map(registry.card, registry.names()) if card.weights is not None]
    try:
        found = sorted({card.family for card in cards if shared_folder(card) is not None})
    except MissingWeights as error:
        return [Finding(VARIABLE, "fault", str(error))]
    told = f"weights of {', '.join(found)}" if found else "weights of no codec, which needs a folder of its name there"
    return [Finding(VARIABLE, "ok" if found else "optional", f"{given}: {told}")]


CHECKS: tuple[Callable[[], list[Finding]], ...] = (
    _python, _packages, _extras, _codecs, _weights_folder, _applications, _confinement, _storage,
)  # fmt: skip
