# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables in memory whose partitions are cold, and what their way back says again and again."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from support.memory.bench import DAY, OTHER, Bench
from support.memory.tables import TableOptions


def cold_bench(options: TableOptions | None = None) -> Bench:
    """Return a bench with two cold partitions; what is done at switches is done on their way back."""
    bench = Bench(options)
    assert bench.move(DAY, OTHER).moved.keys() == {DAY, OTHER}
    bench.switched_to = b"HOT"
    return bench


def later(bench: Bench, seconds: float) -> None:
    """Let time pass in which nothing happens."""
    bench.clock.sleep(seconds)


def run_again_in(seconds: int) -> Refusal:
    """Say that copies have to stay for so long."""
    return Refusal(
        GateName.COPIES_NEEDED,
        "the partition is hot again, and a server that is starting may still need its copies in cold",
        f"Run again in {seconds} s; the copies are removed then",
    )
