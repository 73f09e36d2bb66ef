"""What the kernel keeps from the process that checks an upload, beside its resource limits (decision 28).

Landlock (Linux 5.13, ``landlock(7)``) denies every file that is not open already, TCP, and signals to others; seccomp
(``seccomp(2)``) denies the calls that make or change files, sockets, processes and limits. Either is used where the
kernel has it. Only the standard library is imported.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""The numbers of Landlock's calls, on every architecture."""
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights on files by the version of Landlock that added the last of them."""
_TCP, _OTHERS = 4, 6
"""Versions that added TCP (two rights), and abstract sockets and signals of others (two)."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What this kernel offers."""

    landlock: int
    """Version of Landlock, 0 for none."""
    seccomp: bool

    def __str__(self) -> str:
        """Say what is in force, and what is not."""
        parts = ((f"Landlock {self.landlock}", self.landlock), ("seccomp", self.seccomp))
        have = " and ".join(name for name, there in parts if there) or "resource limits alone"
        lacking = " and ".join(name.split()[0] for name, there in parts if not there)
        return have + (f" (this kernel or container offers no {lacking})" if lacking else "")


def offered() -> Confinement:
    """Ask the kernel; nothing changes by it."""
    if sys.platform != "linux":
        return Confinement(0, False)
    version = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    known = platform.machine() in _NUMBERS and sys.maxsize > 2**32
    # seccomp(2): a filter at no address is a bad address where there are filters, else a bad argument
    filters = _LIBC.prctl(_SET_SECCOMP, _FILTER, None, 0, 0) < 0 and ctypes.get_errno() == errno.EFAULT
    return Confinement(max(0, version), known and filters)


def confine() -> None:
    """Confine this process, which must have one thread, for good. Raises OSError where the kernel refuses it."""
    offer = offered()
    if offer.landlock or offer.seccomp:
        # without it only root may confine itself
        _done(_LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if offer.landlock:
        _restrict_files(offer.landlock)
    if offer.seccomp:
        _filter_calls()


def _restrict_files(version: int) -> None:
    """Deny all rights that this version knows: a rule set without a rule allows none of them."""
    files = (1 << max(bits for since, bits in _FILE_RIGHTS.items() if since <= version)) - 1
    rights = struct.pack("=QQQ", files, 3 if version >= _TCP else 0, 3 if version >= _OTHERS else 0)
    # an older kernel takes the shorter structure of its time
    size = 24 if version >= _OTHERS else 16 if version >= _TCP else 8
    rules = _done(_LIBC.syscall(_CREATE_RULESET, rights, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    _done(_LIBC.syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)))
    os.close(rules)


def _filter_calls() -> None:
    program = _program(os.getpid())
    instructions = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    filled = Program(len(program) // 8, ctypes.addressof(instructions))
    _done(_LIBC.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(filled), 0, 0))


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# Classic BPF (linux/filter.h) over struct seccomp_data: number at 0, architecture at 4, arguments from 16 on, 8 each.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _THIRD = 0, 4, 16, 32
_ALLOW, _KILL = 0x7FFF_0000, 0x8000_0000
_DENY, _ABSENT = 0x0005_0000 | errno.EPERM, 0x0005_0000 | errno.ENOSYS
_X32 = 0x4000_0000
"""From here on numbers are of x86_64's second table, which would go past the filter."""
_THREAD = 0x0001_0000
"""``CLONE_THREAD``: libraries may start threads, not processes."""


def _program(pid: int) -> bytes:
    """Return the filter of the process ``pid``."""
    architecture, column = _NUMBERS[platform.machine()]
    number = {name: row[column] for name, row in _CALLS.items() if row[column] is not None}
    lines = [
        _line(_LOAD, _ARCHITECTURE), _line(_EQUAL, architecture, 1), _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER), _line(_AT_LEAST, _X32, 0, 1), _line(_RETURN, _KILL),
        # glibc takes clone in place of clone3, whose flags no filter can see
        *_when(number.pop("clone3"), _line(_RETURN, _ABSENT)),
        *_when(number.pop("clone"), _line(_LOAD, _FIRST), _line(_ANY_BIT, _THREAD, 1), *_ANSWERS),
        # reading a limit is setting it with no new one, at address 0
        *_when(
            number.pop("prlimit64"), _line(_LOAD, _THIRD), _line(_EQUAL, 0, 0, 2),
            _line(_LOAD, _THIRD + 4), _line(_EQUAL, 0, 1), *_ANSWERS,
        ),
    ]  # fmt: skip
    for name in ("kill", "tgkill"):  # abort() signals itself
        lines += _when(number.pop(name), _line(_LOAD, _FIRST), _line(_EQUAL, pid, 1), *_ANSWERS)
    for call in sorted(filter(None, number.values())):
        lines += _when(call, _line(_RETURN, _DENY))
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _line(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """Make an instruction; jumps count the instructions that are left out."""
    return struct.pack("=HBBI", code, if_so, if_not, value)


_ANSWERS = (_line(_RETURN, _DENY), _line(_RETURN, _ALLOW))


def _when(call: int | None, *lines: bytes) -> list[bytes]:
    """Put instructions behind a test for the number of the call, which they all end with an answer to."""
    assert call is not None
    return [_line(_EQUAL, call, 0, len(lines)), *lines]


_NUMBERS = {"x86_64": (0xC000_003E, 0), "aarch64": (0xC000_00B7, 1)}
"""``AUDIT_ARCH_*`` (linux/audit.h) and the column of the table."""
_CALLS: dict[str, tuple[int | None, int | None]] = {
    # files
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "creat": (85, None), "truncate": (76, 45),
    "open_by_handle_at": (304, 265), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36), "unlink": (87, None),
    "unlinkat": (263, 35), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "mknod": (133, None),
    "mknodat": (259, 33), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "mount": (165, 40), "umount2": (166, 39),
    "chroot": (161, 51), "pivot_root": (155, 41), "memfd_create": (319, 279), "inotify_init1": (294, 26),
    "fanotify_init": (300, 262), "quotactl": (179, 60), "ioctl": (16, 29),
    # other machines and processes
    "socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "connect": (42, 203), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "clone": (56, 220), "clone3": (435, 435), "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "kcmp": (312, 272), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    # limits and rights
    "prlimit64": (302, 261), "setrlimit": (160, 164), "setitimer": (38, 103), "alarm": (37, None),
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "capset": (126, 91),
    "unshare": (272, 97), "setns": (308, 268), "setpriority": (141, 140), "personality": (135, 92),
    # the kernel; io_uring opens files past this filter
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "reboot": (169, 142), "swapon": (167, 224), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161), "modify_ldt": (154, None),
    "iopl": (172, None), "ioperm": (173, None),
}  # fmt: skip
"""What is denied, with its number on either architecture (the kernel's ``asm/unistd_64.h`` and ``asm-generic``)."""
