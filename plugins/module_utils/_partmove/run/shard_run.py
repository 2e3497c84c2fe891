# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run over a single shard path: the frame for both ways.

A run reads first, without writing. Only if work is left, the run takes the lease of the shard path and works
under the lease. If the lease is lost, the run takes the lease again and continues with the partitions that
have no outcome yet. Between paced batches of partitions the run waits for its turn and for healthy ensembles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ..errors import BindingConflict, FormatError, NoSuchTable
from ..gates.gate import Refusal
from ..gates.names import GateName
from ..lease.held_lease import Leases
from ..lease.lease import Lease, LeaseZnodes
from ..tree.ports import Clock, ZnodeReader
from ..tree.znodes import Znode
from .pace import Pace, paced
from .report import RunReport
from .under_lease import refuse_unfinished, work_under_leases


class RunContext(Protocol):
    """The ports and settings of every run."""

    @property
    def hot(self) -> ZnodeReader:
        """The hot ensemble."""

    @property
    def clock(self) -> Clock:
        """The clock for the waits of the run."""

    @property
    def leases(self) -> Leases:
        """The keeper of the lease of a shard path."""

    @property
    def pace(self) -> Pace:
        """How fast the run may go."""


_Context = TypeVar("_Context", bound=RunContext)
_Report = TypeVar("_Report", bound=RunReport[Any])

_REFUSED_AS: Mapping[type[FormatError | BindingConflict | NoSuchTable], GateName] = {
    NoSuchTable: GateName.PARTITION_EXISTS,
    FormatError: GateName.READABLE,
    BindingConflict: GateName.BOUND_HERE,
}
"""Errors about one shard path → the gate that defers its partitions, so that other shard paths go on."""


class ShardRun(ABC, Generic[_Context, _Report]):
    """A run over a single shard path. The outcomes are in ``report``, also if the run ends with an error."""

    def __init__(self, context: _Context, report: _Report) -> None:
        self._context = context
        self._report = report
        self._parts: dict[str, int] = {}
        """Partition id → number of its part znodes or parts over all replicas, for the pace."""

    def carry_out(self, partition_ids: Sequence[str]) -> None:
        """Give each partition its outcome. Raises EnsembleError, LeaseLost and PausedTooLong.

        An error leaves no partition half done: another run continues from the current state.
        """
        requested = sorted(set(partition_ids))
        self._context.pace.wait(0, self._context.clock)
        try:
            refusal = refuse_unfinished(self._read_bar, self._context.leases.root, self._report.shard_path)
            if refusal is not None:
                # The two tables of a shard path may differ until then, so that another gate would be named.
                self._report.defer_open(requested, refusal)
                return
            self._read_first(requested)
            if self._has_work(requested):
                self._work_under_leases(requested)
        except (NoSuchTable, FormatError, BindingConflict) as error:
            gate = next(gate for kind, gate in _REFUSED_AS.items() if isinstance(error, kind))
            self._report.defer_open(requested, Refusal(gate, error.message, error.remedy))
        finally:
            self._close_report()

    def _read_bar(self, path: str) -> Znode | None:
        """Read a znode in hot. A run may read more in the same request."""
        return self._context.hot.read([path])[0]

    def _seen(self) -> LeaseZnodes | None:
        """Return the znodes of the lease as of `_read_first`, if it read them."""
        return None

    @abstractmethod
    def _read_first(self, requested: Sequence[str]) -> None:
        """Give an outcome to each partition without a need for writes. Writes nothing."""

    def _has_work(self, requested: Sequence[str]) -> bool:
        """Whether any work is left for which the run needs the lease."""
        return bool(self._report.open(requested))

    @abstractmethod
    def _work_under_lease(self, lease: Lease, partition_ids: Sequence[str]) -> None:
        """Work on the partitions without an outcome. After LeaseLost the method is called again."""

    def _close_report(self) -> None:
        """Give an outcome to the partitions that an error left without a verified outcome."""

    def _work_under_leases(self, requested: Sequence[str]) -> None:
        def work(lease: Lease) -> None:
            self._report.ended_hold = self._report.ended_hold or lease.ended_hold
            self._work_under_lease(lease, self._report.open(requested))

        refusal = work_under_leases(self._context.leases, self._report.shard_path, work, self._seen())
        if refusal is not None:
            self._report.defer_open(requested, refusal)

    def _paced(self, partition_ids: Sequence[str]) -> Iterator[list[str]]:
        """Yield the partitions in paced batches, each once the pace allows its number of parts.

        The run only waits here, between batches: no partition is half moved meanwhile.
        """
        return paced(self._context.pace, self._context.clock, partition_ids, self._parts)
