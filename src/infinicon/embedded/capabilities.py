"""The few kernel calls by which a process gives up root for good, and dies with its parent (prctl(2), capabilities(7))."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_SET_SECUREBITS = 28
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_LINUX_CAPABILITY_VERSION_3 = 0x20080522

ON_LINUX = sys.platform == "linux"


def become(uid: int, gid: int, capability: int | None) -> None:
    """Turn this root process into the account, with nothing left of root but `capability`, which survives exec.

    Raises:
        OSError: the kernel refuses, as in a container that has not got the capability.
    """
    if capability is not None:
        _prctl(_PR_SET_KEEPCAPS, 1)
        # Without it access(2) forgets capabilities, and Postgres asks access(2) whether it can read its own program.
        _prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if capability is not None:
        _keep_only(capability)
        _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability)
    elif ON_LINUX:
        _keep_only(None)
    if ON_LINUX:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def signal_on_parent_death(signal_number: int) -> None:
    """Ask the kernel for `signal_number` when the parent ends. A change of account forgets it, so call this after `become`."""
    if ON_LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal_number)


def _keep_only(capability: int | None) -> None:
    mask = 0 if capability is None else 1 << capability
    header = struct.pack("Ii", _LINUX_CAPABILITY_VERSION_3, 0)
    sets = struct.pack("6I", mask, mask, mask, 0, 0, 0)  # effective, permitted, inheritable; low and high words
    if _libc().capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if _libc().prctl(ctypes.c_int(option), *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
