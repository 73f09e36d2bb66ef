"""Checks of applications: how each probe was run, and what it may have kept of a clip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from codec_superb.applications.probe import SIDES, Fault, KeptClip, KeptFrames, Probe
from codec_superb.applications.received import is_shipped, task_faults
from codec_superb.applications.results import ProbeInfo, RemoteAnswers
from codec_superb.applications.table import PROBES
from codec_superb.pipeline.submission.findings import Findings
from codec_superb.pipeline.submission.schema import SUBMISSION_NAME, Submission
from codec_superb.pipeline.submission.titles import title_fault
from codec_superb.pipeline.tables.rows import ClipRow, FramesRow, KeptRow, ProbeValue
from codec_superb.pipeline.tables.stored_rows import have_probes
from codec_superb.plugins import load

_AGAIN = "probe the runs again with this version, then pack; rows are not edited by hand"
_MOST_SETTINGS = 100
_SHOWN = ("judge", "decoder", "track", "mode")
"""Settings that pages say beside a model, or group results by."""
_LARGEST = 1e15
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME_LIMIT = 200
"""Characters of the name of a model; a publisher's and its own have some 60."""
_EDGES = re.compile(r"[:+] | [:+]")
"""Of a part of a model's name: with a space there it is another name, and looks the same."""
_ELSEWHERE = "answers:"
"""What the name of a model begins with that was asked by somebody else's program, and has nothing but its name."""
_SERVED = ("chat:", _ELSEWHERE)
"""The same of all models whose weights are in nobody's hands."""
_SAID = 30.0
"""Words or characters that nobody says in a second: the fastest speakers say some 11 words, or syllables."""
_HEARD = 100.0
"""Words or characters that no model hears in a second, of which each is a frame of 10 ms."""
_CURRENCY = re.compile(r"([A-Z]{3})?")
_MOST_STATES = 100
"""States of a server's model that one run may have met."""

Declared = Mapping[str, ProbeInfo]
Frames = Mapping[tuple[str, str, str], FramesRow]
"""By dataset, clip and probe."""


def check_probes(
    rows: Sequence[ClipRow], submission: Submission, findings: Findings, pairs: Iterable[KeptRow] = ()
) -> None:
    """Check each dataset's description of its probes, and that every row has the entries that follow from it."""
    declared: dict[str, Declared] = {}
    for position, dataset in enumerate(submission.datasets):
        where = f"{SUBMISSION_NAME}: datasets.{position}.probes"
        keys = [info.probe for info in dataset.probes]
        if keys != sorted(set(keys)):
            findings.add(where, "each probe once, sorted", keys, _AGAIN)
        for number, info in enumerate(dataset.probes):
            _check_info(info, f"{where}.{number}", findings)
        declared[dataset.name] = {info.probe: info for info in dataset.probes if info.probe in PROBES}
    frames = {(of.dataset, of.clip, of.probe): of for of in pairs if isinstance(of, FramesRow)}
    for row in rows if have_probes(rows) or any(declared.values()) else ():
        _check_row(row, declared.get(row.dataset, {}), frames, findings)


def check_tasks(submission: Submission, findings: Findings) -> bool:
    """Check the definitions of tasks before anything is read by them, and return whether it may be."""
    infos = [info for dataset in submission.datasets for info in dataset.probes]
    faults = [*task_faults(infos), *_unreadable(infos)]
    for fault in faults:
        findings.add(f"{SUBMISSION_NAME}: the task {fault.place}", fault.expected, fault.got, _AGAIN)
    for info in {} if faults else {info.probe: info for info in infos if not is_shipped(info)}.values():
        if info.definition is not None:
            told = f"{info.definition.task.title}, {info.version}, answered by {info.backend}"
            findings.note(f"{info.probe}: a custom task ({told}): shown, never ranked")
    return not faults


def _unreadable(infos: Iterable[ProbeInfo]) -> Iterator[Fault]:
    """Find titles and versions of tasks that a page cannot show in their place."""
    for info in {info.probe: info for info in infos if info.definition is not None and not is_shipped(info)}.values():
        assert info.definition is not None
        task = info.definition.task
        for name, text in (("title", task.title), ("version", task.version)):
            if fault := title_fault(text):
                yield Fault(f"{info.probe}: {name}", *fault)


def _check_info(info: ProbeInfo, where: str, findings: Findings) -> None:
    if info.probe not in PROBES:
        findings.add(f"{where}.probe", f"one of {', '.join(sorted(PROBES))}", info.probe, _AGAIN)
    elif info.version != PROBES[info.probe].version:
        expected = f"version {PROBES[info.probe].version} of the definition of {info.probe}"
        findings.add(f"{where}.version", expected, info.version, "run probe again with this version, then pack")
    if info.random:
        expected = "a trained model"
        findings.add(f"{where}.random", expected, f"random weights ({info.backend})", "probe with trained weights")
    if info.backend.startswith(_ELSEWHERE):
        if info.model_sha256:
            findings.add(f"{where}.model_sha256", "nothing", info.model_sha256, _AGAIN)
    elif not _SHA256.fullmatch(info.model_sha256):
        findings.add(f"{where}.model_sha256", "64 hexadecimal digits", info.model_sha256, _AGAIN)
    if len(info.settings) > _MOST_SETTINGS:
        findings.add(f"{where}.settings", f"at most {_MOST_SETTINGS}", len(info.settings), _AGAIN)
    for name, value in info.settings.items():
        if not isinstance(value, str) and not abs(value) <= _LARGEST:
            findings.add(f"{where}.settings.{name}", f"a number of at most {_LARGEST:g}", value, _AGAIN)
    _check_models(info, where, findings)


def _check_models(info: ProbeInfo, where: str, findings: Findings) -> None:
    """Check the names of those who answered and judged, and what is said of a server's answers."""
    names = {"backend": info.backend} | {f"settings.{name}": info.settings.get(name) for name in _SHOWN}
    for place, name in names.items():
        if name is not None and (fault := title_fault(str(name), _NAME_LIMIT)):
            findings.add(f"{where}.{place}", f"a name, {fault[0]}", fault[1], _AGAIN)
        elif name is not None and _EDGES.search(str(name)):
            findings.add(f"{where}.{place}", "a name without spaces beside : or +", f"{name!a}", _AGAIN)
    if (info.remote is not None) != info.backend.startswith(_SERVED):
        expected = f"what is known of a server's answers, where the model's name begins with {' or '.join(_SERVED)}"
        findings.add(f"{where}.remote", expected, f"{'some' if info.remote else 'none'}, of {info.backend}", _AGAIN)
    if info.remote is not None:
        _check_remote(info.remote, f"{where}.remote", findings)


def _check_remote(remote: RemoteAnswers, where: str, findings: Findings) -> None:
    rules = (
        ("answers", remote.answers, 0 <= remote.answers <= _LARGEST, "a count"),
        ("cost", remote.cost, 0 <= remote.cost <= _LARGEST, "what the answers cost, 0 or more"),
        ("currency", remote.currency, _CURRENCY.fullmatch(remote.currency), "three capital letters, or nothing"),
        ("fingerprints", len(remote.fingerprints), len(remote.fingerprints) <= _MOST_STATES, f"at most {_MOST_STATES}"),
    )  # fmt: skip
    for name, got, fits, expected in rules:
        if not fits:
            findings.add(f"{where}.{name}", expected, got, _AGAIN)


def _check_row(row: ClipRow, declared: Declared, frames: Frames, findings: Findings) -> None:
    where = f"clips.parquet: {row.dataset}/{row.clip}"
    expected = {key for key in declared if row.category in PROBES[key].categories}
    if row.probes.keys() != expected:
        want = f"entries of the probes of the dataset that look at {row.category}: {sorted(expected)}"
        findings.add(f"{where}: probes", want, sorted(row.probes), _AGAIN)
    for key, entry in row.probes.items():
        if entry.status == "ok" and row.status != "ok":
            findings.add(f"{where}: {key}.status", "failed or left_out, without a resynthesis", entry.status, _AGAIN)
        if entry.status != "ok" and not entry.reason:
            findings.add(f"{where}: {key}.reason", f"a reason for {entry.status}", "none", _AGAIN)
        if entry.status == "ok" and key in PROBES:
            _check_numbers(PROBES[key], entry, f"{where}: {key}", findings)
            if key == "asr":
                _check_transcript(entry, row.seconds or 0.0, f"{where}: {key}", findings)
            info, kept = declared.get(key), frames.get((row.dataset, row.clip, key))
            _check_limits(PROBES[key], entry, info, kept, f"{where}: {key}", findings)


def _check_numbers(probe: Probe, entry: ProbeValue, where: str, findings: Findings) -> None:
    """Check relations between numbers; the limits of each by itself were checked when the row was read."""
    for field in probe.sided:
        if field.ceiling is not None and abs(entry.reference[field.name] - field.ceiling) > _SLACK:
            expected = f"{field.ceiling:g}, which every original has"
            findings.add(f"{where}.reference.{field.name}", expected, entry.reference[field.name], _AGAIN)
    classes = probe.definition.task.classes if probe.definition else ()
    if classes and entry.shared.get("options", len(classes)) != len(classes):
        findings.add(f"{where}.options", f"{len(classes)}, the task's classes", entry.shared["options"], _AGAIN)


def _check_transcript(entry: ProbeValue, seconds: float, where: str, findings: Findings) -> None:
    """Check the counts of a transcript. Words or characters, by the language of the clip: the other one is 0."""
    units, *others = sorted(entry.shared.values(), reverse=True)
    if units < 1 or any(others):
        findings.add(where, "a transcript counted in words or in characters", dict(entry.shared), _AGAIN)
    said = _SAID * (1 + seconds)  # one clip with the words of thousands would decide the rate
    if units > said:
        findings.add(where, f"at most {said:.0f} words or characters in {seconds:g} s", f"{units:g}", _AGAIN)
    for side in SIDES:
        counts = getattr(entry, side)
        wrong = counts["substitutions"] + counts["deletions"]
        if wrong > units:
            expected = f"substitutions and deletions of at most the {units:g} words or characters that were said"
            findings.add(f"{where}.{side}", expected, f"{wrong:g}", _AGAIN)
        # more than was said: a model may repeat itself
        if counts["insertions"] > (heard := _HEARD * (100 + seconds)):
            expected = f"insertions of at most {heard:.0f} words or characters"
            findings.add(f"{where}.{side}", expected, f"{counts['insertions']:g}", _AGAIN)


def _check_limits(
    probe: Probe, entry: ProbeValue, info: ProbeInfo | None, kept: FramesRow | None, where: str, findings: Findings
) -> None:
    """Check what the probe's own function says of its numbers."""
    if not probe.limits:
        return
    limits: Callable[[KeptClip], Iterable[Fault]] = load(probe.limits)
    frames = None
    if kept is not None:
        frames = KeptFrames(kept.frames, kept.scale, kept.side("reference"), kept.side("resynthesis"))
    settings = info.settings if info is not None else {}
    for fault in limits(KeptClip(entry.shared, entry.reference, entry.resynthesis, settings, frames)):
        findings.add(f"{where}.{fault.place}", fault.expected, fault.got, _AGAIN)


_SLACK = 1e-6
"""A cosine of float32 may be off by rounding."""
