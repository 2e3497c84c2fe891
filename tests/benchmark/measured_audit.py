# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits a table in a process of its own, and tells what that took besides the answers of ClickHouse.

Takes the options of part_audit_info, and as ``on_disk`` the names of the parts that every server has, as
JSON on standard input, and writes an `AuditMeasurement` as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_audit_info import (
    PartAuditInfo,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from benchmark.memory import memory_mb


@dataclass(frozen=True)
class AuditMeasurement:
    """What an audit took, without the start of Python and its imports; memory in MiB."""

    parts: int
    """On the disks of all replicas."""
    seconds: float
    peak_rss_mb: float
    idle_rss_mb: float
    """Before the audit."""
    cpu_seconds: float = 0.0
    """Time of processors of the process."""
    requests: int = 0
    """That the members of both ensembles got; a batch is one."""


class SameDisks:
    """Implements Disks: every server has the same parts, and tells no hashes."""

    def __init__(self, names: Sequence[str]) -> None:
        self._parts = DiskParts(dict.fromkeys(names), frozenset())

    def parts(self, _shard_path: str, _replica: str, _host: str) -> DiskParts:
        """All parts of any replica."""
        return self._parts


def main() -> None:
    """Audit what standard input names."""
    json.dump(asdict(measure(json.load(sys.stdin))), sys.stdout)


def measure(arguments: Mapping[str, Any]) -> AuditMeasurement:
    """Audit a table.

    Raises:
        RuntimeError: something was found, or not all of the parts.
    """
    names: list[str] = arguments["on_disk"]
    task = PartAuditInfo(arguments, SameDisks(names))
    idle = memory_mb("VmRSS")
    begin, cpu = time.perf_counter(), time.process_time()
    with ExitStack() as stack:
        task.run(Resources(arguments, stack, check_mode=False))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    result = task.result()
    if result["findings"] or not result["complete"]:
        raise RuntimeError(f"the table is not sound: {result['summary']}")
    return AuditMeasurement(sum(result["kinds"].values()), seconds, memory_mb("VmHWM"), idle, cpu)


if __name__ == "__main__":
    main()
