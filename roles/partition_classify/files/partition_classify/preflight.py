# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks memory and disk space of this host before a run, as far as predictable."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.census.report import size
from olap_partmove._partmove.errors import EnsembleError, PartMoveError, PlanError

from .keeper_files.listing import keeper_snapshots
from .keeper_files.readable import place_of_copy
from .progress import log_line
from .session import tasks_at_once
from .zookeeper_files.folders import DataFolder, list_files

# Spark's own defaults.
_DRIVER_MEMORY = "1g"
_LOCAL_DIR = "/tmp"
# Measured: Spark keeps 9 bytes on disk for a part alone in its partition, less for other parts. A part has
# 1 to 3 znodes of about 250 bytes in a snapshot.
_SHARE_OF_SNAPSHOT = 32
# Java needs memory for code and threads in addition to its heap; each task runs one Python.
_JAVA_BESIDES = 500 << 20
_PYTHON = 160 << 20

_SIZE = re.compile(r"(\d+)([kmgtp]?)b?")
_UNITS = {unit: 1 << (10 * power) for power, unit in enumerate(("", "k", "m", "g", "t", "p"))}
_MIB = 1 << 20
_LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")


class HostMemory(NamedTuple):
    """Memory of a host, in bytes."""

    total: int
    """Memory of all programs together, swap included."""
    available: int
    """Memory available now without swapping."""


def check_host(plan: Path, files: Sequence[DataFolder], settings: Mapping[str, str]) -> None:
    """Check memory and disk space before reading.

    files: data folders of the source, if it reads files. settings: Spark settings. Raises PartMoveError.
    """
    check_space_for_plan(plan)
    check_memory(settings, memory_of())
    if settings.get("spark.master", "").startswith("local"):
        warn_of_low_space(local_folders(settings), bytes_of_snapshots(files))


def check_shared_copies(files: Iterable[DataFolder], settings: Mapping[str, str]) -> None:
    """Raise EnsembleError if executors of a cluster could not read the sorted copy of a Keeper snapshot.

    files, settings: see `check_host`.
    """
    if settings.get("spark.master", "local").startswith("local"):
        return
    for folder in files:
        if not folder.sorted_dir and keeper_snapshots(folder):
            raise EnsembleError(
                f"{folder.data_dir} has a snapshot of ClickHouse Keeper, whose sorted copy the executors of a"
                f" cluster need, but the driver would write it to {place_of_copy(folder)} of its own host",
                remedy="Give a folder that all of them have at the same path as sorted_dir",
            )


def check_memory(settings: Mapping[str, str], memory: HostMemory | None) -> None:
    """Raise PartMoveError if Java may use more memory than the host has; warn if little is free."""
    if memory is None:
        return
    given = settings.get("spark.driver.memory", _DRIVER_MEMORY)
    heap = bytes_of(given)
    if heap is None:
        return
    if heap >= memory.total:
        raise PartMoveError(
            f"spark.driver.memory is {given}, but this host has {size(memory.total)} of memory in all: the"
            " kernel would kill the driver",
            remedy="Lower spark.driver.memory (role: partition_classify_spark_conf), or run the job on a host"
            " with more memory",
        )
    needed = heap + _JAVA_BESIDES + _PYTHON * (1 + tasks_at_once(settings))
    if needed > memory.available:
        log_line(
            f"memory may run out: with spark.driver.memory of {given} the job takes up to {size(needed)} on"
            f" this host, where {size(memory.available)} are free now; lower spark.driver.memory, run fewer"
            " concurrent tasks, for example with the master local[1], or end other programs"
        )


def warn_of_low_space(folders: Sequence[Path], snapshots: int) -> None:
    """Warn if Spark's local folders may be too small for the rows of snapshots of this size.

    The exact need depends on the number of parts per partition, unknown at this point.
    """
    needed = snapshots // _SHARE_OF_SNAPSHOT
    free = free_bytes(folders)
    if free is not None and free < needed:
        names = ", ".join(map(str, folders))
        log_line(
            f"disk space may run out: Spark sorts rows in {names}, where {size(free)} are free, and the rows"
            f" of snapshots of {size(snapshots)} can take {size(needed)}; free some space, or configure"
            " larger folders as spark.local.dir, or as SPARK_LOCAL_DIRS if set"
        )


def check_space_for_plan(plan: Path) -> None:
    """Raise PlanError if the disk has no space for a second plan as large as the existing one."""
    try:
        old_bytes = plan.stat().st_size
    except OSError:
        return
    free = free_bytes([plan.parent])
    if free is not None and free < old_bytes:
        raise PlanError(
            f"{plan}: the new plan is written beside the old plan of {size(old_bytes)}, but only"
            f" {size(free)} are free there",
            remedy="Free some space, or give a path on another disk",
        )


def local_folders(settings: Mapping[str, str]) -> list[Path]:
    """Return the folders where Spark keeps rows on one machine."""
    given = os.environ.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir") or _LOCAL_DIR
    return [Path(each.strip()) for each in given.split(",") if each.strip()]


def bytes_of_snapshots(folders: Iterable[DataFolder]) -> int:
    """Return the total size of the newest snapshots, compressed size for compressed ones.

    Raises EnsembleError for folders without files.
    """
    newest = [(keeper_snapshots(folder) or list_files(folder).snapshots)[0].path for folder in folders]
    return sum(path.stat().st_size for path in newest if path.exists())


def free_bytes(folders: Iterable[Path]) -> int | None:
    """Return the free space of this user in the folders, each file system once; None if unknown."""
    free: dict[int, int] = {}
    try:
        for folder in folders:
            existing = next(each for each in (folder, *folder.parents) if each.exists())
            state = os.statvfs(existing)
            free[existing.stat().st_dev] = state.f_bavail * state.f_frsize
    except (OSError, StopIteration):
        return None
    return sum(free.values())


def memory_of(root: Path = Path("/")) -> HostMemory | None:
    """Return the memory of this host, or its container's limit if lower; None if unknown."""
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
            # No limit file, or the limit is "max".
            continue
        total, available = min(total, limit), min(available, limit)
    return HostMemory(total, available)


def bytes_of(text: str) -> int | None:
    """Parse a size of a Spark setting; a number without unit is MiB. None for invalid text.

    >>> bytes_of("2g"), bytes_of("512"), bytes_of("1 GB")
    (2147483648, 536870912, None)
    """
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        return None
    number, unit = int(match[1]), match[2]
    return number * (_UNITS[unit] if unit else _MIB)
