# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run over one shard path: a look, then work under a lease, which is taken again where it is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import FormatError, LeaseHeld, LeaseLost
from ..gates.gate import Refusal
from ..gates.servers import Readiness, ServerCheck
from ..lease.lease import Lease, LeaseKeeper
from ..tree.ports import Clock, Journal, ZnodeStore
from .report import ShardReport

_LEASES = 3
"""How often a run takes a shard path up again after its session ended."""


def work_on_shard(
    leases: LeaseKeeper,
    wanted: Sequence[str],
    report: ShardReport,
    look: Callable[[], None],
    work: Callable[[Lease, list[str]], None],
) -> None:
    """Look, and do under a lease what the look leaves open; defer all that is, where something is unreadable.

    A look that leaves nothing open takes no lease, so that a run with nothing to do writes nothing.
    """
    try:
        look()
        if report.open(wanted):
            _work_under_lease(leases, wanted, report, work)
    except FormatError as error:
        refusal = Refusal("readable", error.message, error.remedy)
        report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


def _work_under_lease(
    leases: LeaseKeeper,
    wanted: Sequence[str],
    report: ShardReport,
    work: Callable[[Lease, list[str]], None],
) -> None:
    """Take the lease, again where it was lost, and do what is open; defer what is left after the last one."""
    for _lease in range(_LEASES):
        try:
            lease = leases.acquire(report.shard_path)
        except LeaseHeld as error:
            refusal = Refusal("lock_free", error.message, error.remedy)
            break
        except LeaseLost as error:
            refusal = Refusal("lock_kept", error.message, error.remedy)
            continue
        try:
            work(lease, report.open(wanted))
            return
        except LeaseLost as error:
            refusal = Refusal("lock_kept", error.message, error.remedy)
        finally:
            leases.release(lease)
    report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


class World(NamedTuple):
    """All that a move works with."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    readiness: Readiness
    servers: ServerCheck
