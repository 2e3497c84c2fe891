# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans that tests write: their rows, which cluster they are of, and a program in place of Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import (
    OriginReader,
    OriginZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan

HITS_1 = PlanRow(
    "/ch/hits/01",
    "202610",
    State.COLD,
    "unchanged for 9 days, cold_after is 7 days",
    1_789_000_000_000,
    2,
    6,
    400,
    GateName.ONE_PART,
)
HITS_2 = PlanRow(
    "/ch/hits/01", "202611", State.HOT, "among the 2 newest partitions", 1_789_999_999_999, 1, 1, 0
)
VISITS = PlanRow("/ch/visits/01", "all", State.HOT, "changed less than 1 day ago", 0, 3, 3, 288)
ROWS = [HITS_1, HITS_2, VISITS]


def made_up(paths: Sequence[str]) -> list[OriginZnode]:
    """Of a cluster that is nowhere."""
    return [OriginZnode(path, 17, 1_700_000_000_000) for path in paths]


def origin_in(hot: KazooClient) -> OriginReader:
    """Of the ensemble that the client, without a chroot, is connected with."""

    def origin(paths: Sequence[str]) -> list[OriginZnode]:
        stats = [(path, hot.exists(path)) for path in paths]
        return [OriginZnode(path, stat.czxid, stat.ctime) for path, stat in stats]

    return origin


_AS_SPARK = """#!/bin/sh
while [ "$1" != --plan ]; do shift; done
cp {planned} "$2"
echo "partition_classify: wrote {count} rows to $2" >&2
sed "s|THE_PLAN|$2|" {summary}
"""


def as_spark_submit(folder: Path, hot: KazooClient, wanted: Mapping[tuple[str, str], State]) -> Path:
    """Make a program in place of spark-submit, for the role: it writes a plan with these partitions.

    To start Spark takes ten seconds. What it decides does not depend on who has it started.
    """
    rows = [
        PlanRow(path, partition, state, "made up", 1_575_158_400_000, 2, 2, 192)
        for (path, partition), state in sorted(wanted.items())
    ]
    digest, later = "0" * 64, 4_102_444_800_000
    planned, program = folder / "planned.jsonl", folder / "spark-submit"
    origin = origin_in(hot)
    write_plan(planned, rows, policy_digest=digest, source="zookeeper", origin=origin, as_of=later)
    summary = folder / "summary.json"
    summary.write_text(json.dumps(summary_of(rows)) + "\n")
    program.write_text(_AS_SPARK.format(planned=planned, count=len(rows), summary=summary))
    program.chmod(0o755)
    return program


def summary_of(rows: Sequence[PlanRow]) -> dict[str, Any]:
    """What the job prints about the rows, all of which are in hot, but for the path of the plan."""
    cold = [row for row in rows if row.state is State.COLD]
    sums = {
        "partitions": len(cold),
        "parts": 2 * len(cold),
        "znodes": 2 * len(cold),
        "bytes": 192 * len(cold),
    }
    nothing = dict.fromkeys(sums, 0)
    return {
        "plan": "THE_PLAN",
        "report": None,
        "changed": True,
        "rows": len(rows),
        "cold": len(cold),
        "hot": len(rows) - len(cold),
        "to_move": sums,
        "to_merge": nothing | {"statements": []},
        "to_reheat": nothing,
        "busy": nothing,
        "left_alone": nothing,
        "complete": True,
        "unread": {"count": 0, "first": []},
        "rules": [],
    }
