# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds up the CPU time of what a test run starts, by kind of process."""

from __future__ import annotations

import os
import re
import resource
import threading
from collections import defaultdict
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

_POLL_SECONDS = 2.0
_TICKS = os.sysconf("SC_CLK_TCK")
_REST = "modules, playbooks and other processes"
"""Most live for a second or two, and are counted by what their parents waited for."""

# The first one that a command line has in it.
_KINDS = (
    # Before Spark, whose folder has its jars.
    (re.compile(rb"org\.apache\.zookeeper"), "ZooKeeper"),
    (re.compile(rb"org\.apache\.spark|pyspark"), "Spark"),
    (re.compile(rb"launch\.py\0.*/servers/(\d+\.\d+)\."), "ClickHouse {}"),
    (re.compile(rb"/modern/main\.py\0"), "ClickHouse 26.9"),
    (re.compile(rb"/ladder/local/main\.py\0"), "ClickHouse before 24"),
    (re.compile(rb"clickhouse-server"), "ClickHouse 18.16"),
    (re.compile(rb"exec\(eval\(sys\.stdin\.readline"), "pytest workers"),
    (re.compile(rb"/build/pythons/([\d.]+)/bin/python\0-m\0pytest"), "domain with Python {}"),
)


class CpuByKind:
    """Looks every two seconds at the descendants of this process until it is stopped."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, int], float] = {}
        """Process, by its id and start → its own CPU time in s, when it was last seen."""
        self._kinds: dict[tuple[int, int], str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu-by-kind", daemon=True)
        self._thread.start()

    def stop(self) -> list[str]:
        """Stop, and return a line for each kind, with the one that took most first.

        Call it when all workers have ended: only then the total has them.
        """
        self._ended.set()
        self._thread.join()
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        total = sum(each.ru_utime + each.ru_stime for each in usage)
        seconds: defaultdict[str, float] = defaultdict(float)
        for process, each in self._seconds.items():
            seconds[self._kinds[process]] += each
        seconds[_REST] = max(0.0, total - sum(seconds.values()))
        by_size = sorted(seconds.items(), key=itemgetter(1), reverse=True)
        return [f"{each:8.0f} CPU-s  {kind}" for kind, each in by_size]

    def _watch(self) -> None:
        while not self._ended.wait(_POLL_SECONDS):
            self._look()

    def _look(self) -> None:
        parents: dict[int, int] = {}
        found: dict[int, tuple[int, float]] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
                found[int(folder.name)] = int(fields[19]), (int(fields[11]) + int(fields[12])) / _TICKS
        for pid, (start, seconds) in found.items():
            if _descends(pid, os.getpid(), parents):
                process = pid, start
                # What the process of a server was before its exec is another kind.
                if self._kinds.get(process, _REST) == _REST:
                    self._kinds[process] = _kind(pid)
                if self._kinds[process] != _REST:
                    self._seconds[process] = seconds


def _kind(pid: int) -> str:
    with suppress(OSError):
        command = Path("/proc", str(pid), "cmdline").read_bytes()
        for pattern, name in _KINDS:
            match = pattern.search(command)
            if match:
                return name.format(*(each.decode() for each in match.groups()))
    return _REST


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False
