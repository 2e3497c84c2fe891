# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the original tool over a shard path, and stops it while it deletes part znodes from hot.

Usage: python -m staging.day.original HOT COLD SHARD_PATH DELETES PARTITION...

HOT and COLD name members as host:port,host:port. DELETES is the number of parts that it deletes
before it stops.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kazoo.client import KazooClient

from support.servers.partmove_port import PartMovePort, Step


def main(hot: str, cold: str, shard_path: str, deletes: int, partitions: Sequence[str]) -> None:
    """Leave behind what the tool leaves."""
    ensembles = [KazooClient(hosts, timeout=20.0) for hosts in (hot, cold)]
    try:
        for each in ensembles:
            each.start(timeout=60)
        PartMovePort(*ensembles).run([shard_path], partitions, until=Step.DELETES, after=deletes)
    finally:
        for each in ensembles:
            each.stop()
            each.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
