# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A member that fails to answer for one batch of copies, whichever it is, ends the comparison."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts import verified_copies
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.verified_copies import (
    make_verified_copies,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.bench import HookedStore
from support.memory.copying import LAYOUT, Copying
from support.memory.memory import MemoryEnsemble
from support.memory.tables import TableOptions, days

IDS = days(5)


class Member(HookedStore):
    """Does not answer once, for the parts of one partition."""

    def __init__(self, ensemble: MemoryEnsemble, silent_for: str) -> None:
        super().__init__(ensemble)
        self.silent_for = silent_for

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        if self.silent_for and any(f"/parts/{self.silent_for}_" in path for path in paths):
            self.silent_for = ""
            raise EnsembleError("No answer from the member")
        return super().read(paths, absolute=absolute)


class Cold(HookedStore):
    """Has two members, of which one is silent once."""

    def __init__(self, ensemble: MemoryEnsemble, silent_for: str, silent: int) -> None:
        super().__init__(ensemble)
        self.shown = [Member(ensemble, silent_for if number == silent else "") for number in range(2)]

    def members(self) -> Sequence[HookedStore]:
        return self.shown


@pytest.mark.parametrize("silent", [0, 1], ids=["first member", "last member"])
@pytest.mark.parametrize("partition", IDS)
@pytest.mark.parametrize("partitions", [1, 2])
def test_copies_that_a_member_was_not_compared_on_are_not_verified(
    monkeypatch: pytest.MonkeyPatch, partitions: int, partition: str, silent: int
) -> None:
    copying = Copying(TableOptions(partitions=IDS))
    monkeypatch.setattr(verified_copies, "PARTS_AT_ONCE", 2 * partitions)
    read = copying.read(IDS)
    cold = Cold(copying.bench.cold_ensemble, partition, silent)
    leased = LeasedShard(copying.bench.hot_store, cold, copying.reader, LAYOUT, copying.lease)

    with pytest.raises(EnsembleError, match="No answer from the member"):
        make_verified_copies(leased, read.shard, read.partitions, {})

    assert not cold.shown[silent].silent_for
