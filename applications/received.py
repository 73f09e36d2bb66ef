"""Tasks that came with a file of a stranger: checked by their data alone, and in the table while the file is read.

No template of theirs is compiled or rendered, because a compiler computes what is constant. A task under the name of a
shipped one with another definition takes that one's place for as long as the file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from codec_superb.applications.probe import Fault, Probe
from codec_superb.applications.results import ProbeInfo
from codec_superb.applications.table import PROBE_METRICS, PROBES, put
from codec_superb.applications.task_definitions.definition import TaskDefinition
from codec_superb.applications.understanding.probes import PREFIX, key_of, probe_of
from codec_superb.applications.understanding.registry import TaskError, check_definition

LARGEST = 1 << 18
"""Bytes of a definition; the largest of the program's own have some 20 kB."""
MOST = 200
"""Tasks of a file that are not shipped."""
ORIGIN = "a submission"


def is_shipped(info: ProbeInfo) -> bool:
    """Whether a result is of a probe of this program, by the same definition: only these are ranked."""
    row = PROBES.get(info.probe)
    return row is not None and not row.origin and row.definition == info.definition


def task_faults(infos: Iterable[ProbeInfo]) -> list[Fault]:
    """Return what is wrong with the tasks of a file, by the key of the probe; none where all of them can be joined."""
    found: list[Fault] = []
    others: dict[str, TaskDefinition] = {}
    for info in infos:
        row, definition = PROBES.get(info.probe), info.definition
        if definition is None:
            if info.probe.startswith(PREFIX) or (row is not None and row.definition is not None):
                found.append(Fault(info.probe, "the definition of the task", "none"))
        elif definition != others.get(info.probe, definition):
            found.append(Fault(info.probe, "one definition under one key", "two"))
        elif info.probe not in others and not is_shipped(info):
            others[info.probe] = definition
            if len(others) > MOST:
                return [*found, Fault(info.probe, f"at most {MOST} tasks that are not shipped", "more")]
            found += _faults_of(info, definition)
    return found or list(_collisions(_rows(others)))


@contextmanager
def standing(infos: Iterable[ProbeInfo]) -> Iterator[None]:
    """Keep the tasks of a file, without faults, in the tables of this process for as long as the block runs."""
    rows = _rows({of.probe: of.definition for of in infos if of.definition is not None and not is_shipped(of)})
    probes, metrics = dict(PROBES), dict(PROBE_METRICS)
    try:
        for row in rows:
            for figure in PROBES[row.key].metrics if row.key in PROBES else ():
                PROBE_METRICS.pop(figure.key, None)
            put(row)
        yield
    finally:
        # the tables are the ones that everybody holds; emptied and filled, they keep their order
        for table, before in ((PROBES, probes), (PROBE_METRICS, metrics)):
            table.clear()
            table.update(before)  # type: ignore[arg-type]


def _faults_of(info: ProbeInfo, definition: TaskDefinition) -> Iterator[Fault]:
    size = len(definition.model_dump_json().encode())
    if size > LARGEST:
        yield Fault(info.probe, f"a definition of at most {LARGEST} bytes", size)
        return
    try:
        check_definition(definition, info.probe, templates=False)
    except TaskError as error:
        yield Fault(info.probe, "a definition that this version can read", str(error))
        return
    keys = [key_of(definition, own=own) for own in (True, False)]
    if info.probe not in keys:
        yield Fault(info.probe, f"the key of its definition, {keys[1]}", info.probe)
    told = info.settings.get("task_sha256")
    if told != definition.sha256:
        yield Fault(info.probe, f"the SHA-256 of its definition, {definition.sha256}", str(told))


def _rows(definitions: dict[str, TaskDefinition]) -> list[Probe]:
    """Make rows under the keys that the file has, one of a shipped task's included."""
    return [_row(key, definition) for key, definition in definitions.items()]


def _row(key: str, definition: TaskDefinition) -> Probe:
    own = key == key_of(definition, own=True)
    return replace(probe_of(definition, "" if own else ORIGIN), origin=ORIGIN)


def _collisions(rows: Iterable[Probe]) -> Iterator[Fault]:
    """Find figures of two tasks that would have one key."""
    owners = {key: probe.key for probe in PROBES.values() for key in (figure.key for figure in probe.metrics)}
    for row in rows:
        for figure in row.metrics:
            if owners.setdefault(figure.key, row.key) != row.key:
                yield Fault(row.key, "figures with keys of their own", f"{figure.key}, of {owners[figure.key]}")
