# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The znodes that a repair deleted or changed are restored, for the same table only."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    BackupHeader,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore import (
    Restored,
    restore,
)
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted

STATE = f"{PATH}/block_numbers/{DAY}/State"
COPIES = [f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]


@pytest.fixture
def drifted() -> Drifted:
    """A ghost that was repaired."""
    drifted = Drifted()
    drifted.bench.move()
    for names in drifted.bench.servers.disk.values():
        names.discard(PART)
    assert drifted.repair(FindingKind.GHOST).left == {}
    return drifted


def header(drifted: Drifted) -> BackupHeader:
    znode = drifted.bench.hot_store.read([PATH])[0]
    assert znode is not None
    return drifted.header(FindingKind.GHOST)._replace(czxid=znode.stat.czxid)


def put_back(drifted: Drifted, first: BackupHeader | None = None) -> Restored:
    bench, done = drifted.bench, Restored()
    leases = bench.context.leases
    restore(bench.hot_store, bench.cold_store, leases, first or header(drifted), drifted.saved, done)
    return done


def test_all_is_as_it_was(drifted: Drifted) -> None:
    done = put_back(drifted)
    assert done == Restored([f"cold: {path}" for path in COPIES], [f"hot: {STATE}"], 0)
    assert set(drifted.kinds().values()) == {FindingKind.GHOST}
    assert put_back(drifted) == Restored([], [], 3)


def test_what_was_not_done_yet_is_unchanged(drifted: Drifted) -> None:
    drifted.bench.hot.set(STATE, b"COLD")
    assert put_back(drifted).set_back == []


def test_the_first_of_several_changes_counts(drifted: Drifted) -> None:
    drifted.saved.append(SavedZnode("hot", STATE, b"later", 9))
    put_back(drifted)
    assert drifted.bench.hot.get(STATE)[0] == b"COLD"


def test_another_table_at_the_path(drifted: Drifted) -> None:
    with pytest.raises(PartMoveError, match="was created anew since"):
        put_back(drifted, header(drifted)._replace(czxid=1))


def test_a_table_that_is_gone(drifted: Drifted) -> None:
    first = header(drifted)
    drifted.bench.hot.delete(PATH, recursive=True)
    with pytest.raises(PartMoveError, match="no replicated table"):
        put_back(drifted, first)


def test_of_a_table_that_hot_did_not_have() -> None:
    drifted = Drifted()
    drifted.bench.move()
    drifted.bench.servers.drop_table()
    assert drifted.repair(FindingKind.ANOTHER_REPLICA, RepairOptions(replica_is_gone=True)).left == {}
    first = drifted.header(FindingKind.ANOTHER_REPLICA)._replace(czxid=0)
    assert put_back(drifted, first) == Restored([f"cold: {path}" for path in COPIES], [], 0)
    drifted.bench.hot.create(PATH, b"")
    with pytest.raises(PartMoveError, match="was created anew since"):
        put_back(drifted, first)


def test_paths_of_others_are_refused(drifted: Drifted) -> None:
    drifted.saved.append(SavedZnode("hot", "/elsewhere", b"", 0))
    with pytest.raises(PartMoveError, match="which is not below"):
        put_back(drifted)
    assert drifted.bench.cold.exists(COPIES[0]) is None


def test_a_parent_in_hot_that_is_gone(drifted: Drifted) -> None:
    drifted.saved.append(SavedZnode("hot", f"{PATH}/replicas/r9/parts/{PART}", b"", 0))
    with pytest.raises(PartMoveError, match="did not take"):
        put_back(drifted)
