# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether this host has the memory and the room that a run needs at the least, as far as is known before."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.census.report import size
from olap_partmove._partmove.errors import PartMoveError, PlanError

from .progress import log_line
from .session import tasks_at_once
from .zookeeper_files.folders import DataFolder, list_files

# Spark's own defaults.
_DRIVER_MEMORY = "1g"
_LOCAL_DIR = "/tmp"
# A job that was measured kept 9 bytes on disk of each part that is alone in its partition, less of others. A
# part has 1 to 3 znodes of some 250 bytes in a snapshot.
_SHARE_OF_SNAPSHOT = 32
# Java has its code and its threads besides its heap; each task has a Python.
_JAVA_BESIDES = 500 << 20
_PYTHON = 160 << 20

_SIZE = re.compile(r"(\d+)([kmgtp]?)b?")
_UNITS = {unit: 1 << (10 * power) for power, unit in enumerate(("", "k", "m", "g", "t", "p"))}
_MIB = 1 << 20
_LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")


class HostMemory(NamedTuple):
    """The memory of a host, in bytes."""

    total: int
    """What there is for all programs together, swap included."""
    available: int
    """What programs can have now without anything being swapped."""


def check_host(plan: Path, files: Sequence[DataFolder], settings: Mapping[str, str]) -> None:
    """Look at what is known before anything is read.

    ``files`` are the folders that are read, if files are, and ``settings`` those of Spark. Raises
    PartMoveError with the way out.
    """
    check_space_for_plan(plan)
    check_memory(settings, memory_of())
    if settings.get("spark.master", "").startswith("local"):
        warn_of_low_space(local_folders(settings), bytes_of_snapshots(files))


def check_memory(settings: Mapping[str, str], memory: HostMemory | None) -> None:
    """Raise PartMoveError where Java may take more memory than the host has; tell where little is free."""
    if memory is None:
        return
    given = settings.get("spark.driver.memory", _DRIVER_MEMORY)
    heap = bytes_of(given)
    if heap is None:
        return
    if heap >= memory.total:
        raise PartMoveError(
            f"spark.driver.memory is {given}, and this host has {size(memory.total)} of memory in all: the"
            " kernel would kill the driver when it takes that",
            remedy="Give less as spark.driver.memory, in the role in partition_classify_spark_conf, or run"
            " the job on a host with more memory",
        )
    needed = heap + _JAVA_BESIDES + _PYTHON * (1 + tasks_at_once(settings))
    if needed > memory.available:
        log_line(
            f"memory may run out: with spark.driver.memory of {given} the job takes up to {size(needed)} on"
            f" this host, where {size(memory.available)} are free now; give less as spark.driver.memory, let"
            " fewer tasks run at once, as with the master local[1], or end other programs"
        )


def warn_of_low_space(folders: Sequence[Path], snapshots: int) -> None:
    """Tell where Spark's local folders may have too little room for rows of so large snapshots.

    How much that takes depends on how many parts partitions have, which nobody knows yet.
    """
    needed = snapshots // _SHARE_OF_SNAPSHOT
    free = free_bytes(folders)
    if free is not None and free < needed:
        names = ", ".join(map(str, folders))
        log_line(
            f"room may run out: Spark keeps rows in {names} while it sorts them, where {size(free)} are free,"
            f" and those of snapshots of {size(snapshots)} can take {size(needed)}; make room, or name larger"
            " folders as spark.local.dir, or as SPARK_LOCAL_DIRS where that is set"
        )


def check_space_for_plan(plan: Path) -> None:
    """Raise PlanError where a plan as large as the one that is there cannot be written beside it."""
    try:
        there = plan.stat().st_size
    except OSError:
        return
    free = free_bytes([plan.parent])
    if free is not None and free < there:
        raise PlanError(
            f"{plan}: the new plan is written beside the old one, which has {size(there)}, and {size(free)}"
            " are free there",
            remedy="Make room, or give a path on another disk",
        )


def local_folders(settings: Mapping[str, str]) -> list[Path]:
    """The folders that Spark keeps rows in on one machine."""
    given = os.environ.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir") or _LOCAL_DIR
    return [Path(each.strip()) for each in given.split(",") if each.strip()]


def bytes_of_snapshots(folders: Iterable[DataFolder]) -> int:
    """How large the newest snapshots are, those that are compressed as they are.

    Raises EnsembleError for folders without files.
    """
    newest = [list_files(folder).snapshots[0].path for folder in folders]
    return sum(path.stat().st_size for path in newest if path.exists())


def free_bytes(folders: Iterable[Path]) -> int | None:
    """The room that this user has in the folders, each file system once; None where that cannot be known."""
    free: dict[int, int] = {}
    try:
        for folder in folders:
            there = next(each for each in (folder, *folder.parents) if each.exists())
            state = os.statvfs(there)
            free[there.stat().st_dev] = state.f_bavail * state.f_frsize
    except (OSError, StopIteration):
        return None
    return sum(free.values())


def memory_of(root: Path = Path("/")) -> HostMemory | None:
    """The memory of this host, or of its container where that has less; None where nothing tells it."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        fields = {
            name: int(rest.split()[0]) << 10 for name, _colon, rest in (line.partition(":") for line in lines)
        }
        total, available = fields["MemTotal"] + fields["SwapTotal"], fields["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        return None
    for name in _LIMITS:
        try:
            limit = int((root / name).read_text())
        except (OSError, ValueError):
            # There is none, or it is the word "max".
            continue
        total, available = min(total, limit), min(available, limit)
    return HostMemory(total, available)


def bytes_of(text: str) -> int | None:
    """A size as settings of Spark have it, for which a number alone is MiB; None for what is none.

    >>> bytes_of("2g"), bytes_of("512"), bytes_of("1 GB")
    (2147483648, 536870912, None)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        return None
    number, unit = int(found[1]), found[2]
    return number * (_UNITS[unit] if unit else _MIB)
