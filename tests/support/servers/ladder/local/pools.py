# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gives versions of 2023 threads for work in the background, which only the program of a server starts there.

The functions that make pools get a detour, which sets the number that was handed to them.
"""

from __future__ import annotations

import ctypes
import mmap
import struct

from support.servers.modern.functions import FunctionsNotFound, overwrite

_SCHEDULE = "_ZN2DB22BackgroundSchedulePoolC1Em13StrongTypedefImN14CurrentMetrics9MetricTagEES4_PKc"
_EXECUTOR = (
    "_ZN2DB27MergeTreeBackgroundExecutorINS_{}EEC1ENSt3__112basic_stringIcNS3_11char_traitsIcEENS3_9allocatorIcEEEE"
    "mm13StrongTypedefImN14CurrentMetrics9MetricTagEESD_NS3_17basic_string_viewIcS6_EE"
)
_QUEUES = ("19DynamicRuntimeQueue", "20PriorityRuntimeQueue", "22RoundRobinRuntimeQueue")

_CATALOG = "_ZN2DB15DatabaseCatalog8instanceEv"
_MAKE_TASKS = "_ZN2DB15DatabaseCatalog21createBackgroundTasksEv"
_START_TASKS = "_ZN2DB15DatabaseCatalog24startupBackgroundCleanupEv"

_PUSHES = bytes.fromhex("55 4157 4156 4155 4154 53")
"""How each of the functions begins."""
_SHORT, _LONG = b"\x48\x83\xec", b"\x48\x81\xec"
"""What follows: rsp is made smaller by a number of 8 or of 32 bits."""
_JUMP = b"\x48\xb8"
_BY_RAX = b"\xff\xe0"

_SECOND_IS_16 = bytes.fromhex("be 10000000")
_THIRD_IS_16_FOURTH_IS_32 = bytes.fromhex("ba 10000000 b9 20000000")

_KEPT: list[mmap.mmap] = []


def enlarge_pools(library: ctypes.CDLL) -> None:
    """Let the pools have 16 threads each, those of merges and fetches with 32 tasks.

    Raises:
        FunctionsNotFound: a function begins in another way.
    """
    detour(library, _SCHEDULE, _SECOND_IS_16)
    for queue in _QUEUES:
        detour(library, _EXECUTOR.format(queue), _THIRD_IS_16_FOURTH_IS_32)


def start_dropping_tables(library: ctypes.CDLL) -> None:
    """Let tables be removed that were dropped; DROP TABLE … SYNC waits for that. All tables are loaded."""
    catalog = library[_CATALOG]
    catalog.restype = ctypes.c_void_p
    for function in (_MAKE_TASKS, _START_TASKS):
        library[function](ctypes.c_void_p(catalog()))


def detour(library: ctypes.CDLL, name: str, code: bytes) -> None:
    """Have the function begin with other machine code, which may change nothing but its arguments and rax."""
    place = ctypes.cast(library[name], ctypes.c_void_p).value
    assert place is not None
    size = len(_PUSHES)
    beginning = ctypes.string_at(place, size + 7)
    if not beginning.startswith((_PUSHES + _SHORT, _PUSHES + _LONG)):
        raise FunctionsNotFound(f"{name} begins in another way")
    moved = beginning[: size + (4 if beginning[size:].startswith(_SHORT) else 7)]
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code + moved + _jump(place + len(moved)))
    _KEPT.append(page)
    overwrite(place, _jump(ctypes.addressof(ctypes.c_char.from_buffer(page))))


def _jump(place: int) -> bytes:
    return _JUMP + struct.pack("<Q", place) + _BY_RAX
