"""The process that checks an upload can do nothing else, whatever a file makes it do: the kernel sees to it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from codec_superb.server.errors import Unavailable
from codec_superb.server.ingest import checker, sandbox
from codec_superb.server.ingest.fork_server import OUR_FAULT
from codec_superb.server.ingest.sandbox import Confinement, offered
from codec_superb.server.settings import Settings

NEEDS_BOTH = pytest.mark.skipif(
    not (offered().landlock and offered().seccomp), reason=f"needs Landlock and seccomp, has {offered()}"
)
ATTACK = """
import sys
from codec_superb.server.ingest import examine, fork_server

def attack(file, task, result, parts):
    import ctypes, fcntl, json, os, resource, signal, socket, struct, threading
    parent, told, place = os.getppid(), {}, f"/tmp/left-behind-{os.getpid()}"
    attempts = {
        "read a file": lambda: open("/etc/passwd"),
        "list a folder": lambda: os.listdir("/"),
        "write a file": lambda: open(place, "w"),
        "remove a file": lambda: os.unlink("/tmp/nothing-is-here"),
        "make a folder": lambda: os.mkdir(place),
        "change rights": lambda: os.fchmod(result.fileno(), 0o777),
        "make a socket": lambda: socket.socket(),
        "make a pair of sockets": lambda: socket.socketpair(),
        "start a program": lambda: os.execv("/bin/true", ["true"]),
        "make a process": lambda: os.fork() or os._exit(0),
        "signal its parent": lambda: os.kill(parent, 0),
        "signal everybody": lambda: os.kill(-1, 0),
        "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_CPU, (9999, 9999)),
        "stop its clock": lambda: signal.setitimer(signal.ITIMER_REAL, 0),
        "type into a terminal": lambda: fcntl.ioctl(2, 0x5412, b"x"),
        "trace its parent": lambda: call(101, 16, parent, 0, 0),
        "use io_uring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    }
    def call(number, *arguments):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(number, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")
    for name, attempt in attempts.items():
        try:
            attempt()
            told[name] = "done"
        except OSError as error:
            told[name] = error.errno
        except ValueError:  # of setrlimit, for EPERM
            told[name] = 1
    works = []
    thread = threading.Thread(target=works.append, args=("a thread",))
    thread.start()
    thread.join()
    works.append(resource.getrlimit(resource.RLIMIT_CORE))
    works.append(len(bytearray(50_000_000)))
    told["works"] = works
    result.write(json.dumps(told).encode())

examine.run = attack
fork_server.main(sys.argv[1:])
"""
IMPORTS = (
    ATTACK.partition("def attack")[0]
    + """
def attack(file, task, result, parts):
    import sqlite3.dump

examine.run = attack
fork_server.main(sys.argv[1:])
"""
)


def checks_with(
    program: str, folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> tuple[int | None, bytes]:
    """Have a program in place of the fork server's check a file; return exit status and what the child has written."""
    paths = "import json, sys; sys.path[:] = json.loads(sys.argv[2])['path']\n"
    (folder / "fork_server.py").write_text(paths + program)
    monkeypatch.setattr(checker, "__file__", str(folder / "checker.py"))
    server = checker._ForkServerProcess(settings)
    try:
        with tempfile.TemporaryFile() as upload, tempfile.TemporaryFile() as task, tempfile.TemporaryFile() as result:
            status = server.ask(upload, task, result)
            result.seek(0)
            return status, result.read()
    finally:
        server.end()


FILES = {"read a file", "list a folder", "write a file", "make a folder", "start a program"}
ALL = FILES | {
    "remove a file", "change rights", "make a socket", "make a pair of sockets", "make a process", "signal its parent",
    "signal everybody", "raise a limit", "stop its clock", "type into a terminal",
    "trace its parent", "use io_uring",
}  # fmt: skip


@NEEDS_BOTH
@pytest.mark.usefixtures("fresh_checks")
@pytest.mark.parametrize(
    ("without", "denied"),
    [
        ("", ALL),
        pytest.param("landlock=0", ALL, marks=pytest.mark.slow),
        pytest.param("seccomp=False", FILES, marks=pytest.mark.slow),
    ],
)
def test_it_can_do_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str, denied: set[str]) -> None:
    """Code that a file had brought into the real child is denied all of it; either guard alone closes files."""
    patch = "import dataclasses\nfrom codec_superb.server.ingest import sandbox\nfound = sandbox.offered()\n"
    patch += f"sandbox.offered = lambda: dataclasses.replace(found, {without})\n"
    status, told = checks_with(patch + ATTACK, tmp_path, Settings(storage=tmp_path), monkeypatch)
    assert status == 0
    found = json.loads(told)
    assert found.pop("works") == ["a thread", [0, 0], 50_000_000]
    assert found.keys() == ALL
    assert denied <= {name for name, number in found.items() if number in {1, 13}}


@NEEDS_BOTH
@pytest.mark.usefixtures("fresh_checks")
def test_a_module_that_was_forgotten_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """A late import ends the check with a code of its own, which is answered 503: nobody is told to mend a file."""
    settings = Settings(storage=tmp_path)
    status, _ = checks_with(IMPORTS, tmp_path, settings, monkeypatch)
    assert status == OUR_FAULT << 8
    with pytest.raises(Unavailable, match="in the log"):
        checker.Checker._raise_for_exit_status(None, status)  # type: ignore[arg-type]  # nothing of it is used


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6, 9])
def test_says_what_is_in_force(version: int) -> None:
    """What a kernel or a container lacks is named, for log and doctor."""
    assert str(Confinement(version, True)).startswith(f"Landlock {version} and seccomp" if version else "seccomp (this")
    assert "offers no Landlock and seccomp" in str(Confinement(0, False))


@pytest.mark.parametrize("column", [0, 1])
def test_filters_fit_either_processor(column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every jump of the program stays within it, each path ends in an answer, and no number is tested twice."""
    machine = list(sandbox._NUMBERS)[column]
    monkeypatch.setattr(sandbox.platform, "machine", lambda: machine)
    program = list(sandbox.struct.iter_unpack("=HBBI", sandbox._program(1)))
    assert program[-1] == (sandbox._RETURN, 0, 0, sandbox._ALLOW)
    for place, (code, if_so, if_not, _) in enumerate(program[:-1]):
        if code in {sandbox._EQUAL, sandbox._AT_LEAST, sandbox._ANY_BIT}:
            assert max(if_so, if_not) + place + 1 < len(program)
    numbers = [row[column] for row in sandbox._CALLS.values() if row[column] is not None]
    assert len(set(numbers)) == len(numbers) < len(program)
