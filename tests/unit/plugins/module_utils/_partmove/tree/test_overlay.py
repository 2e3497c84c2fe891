# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes in memory. tests/integration compares the answers with a real ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Reason,
    Rejected,
    SetData,
    Znode,
)
from support.memory.client import MemoryClient
from support.memory.memory import ManualClock, MemoryEnsemble, MemoryStore


class Counting(MemoryStore):
    """Counts the requests that reach the ensemble."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.requests: Counter[str] = Counter()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.requests["absolute" if absolute else "read"] += 1
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        self.requests["children"] += 1
        return super().children(paths)


@pytest.fixture
def base() -> Counting:
    store = Counting(MemoryEnsemble("hot"))
    client = MemoryClient(store)
    for part in ("p1", "p2", "p3"):
        client.create(f"/parts/{part}/columns", b"c", makepath=True)
    store.requests.clear()
    return store


def test_nothing_is_written_to_the_base(base: Counting) -> None:
    before = base.ensemble.tree()
    overlay = OverlayStore(base, ManualClock())

    outcomes = overlay.commit(
        [(Delete("/parts/p1/columns", 0), Delete("/parts/p1", 0)), (SetData("/parts", b"x", 0),)]
    )

    assert outcomes == [Committed(), Committed()]
    assert base.ensemble.tree() == before
    assert overlay.children(["/parts"]) == [("p2", "p3")]
    assert [each and each.data for each in overlay.read(["/parts", "/parts/p1"])] == [b"x", None]


def test_a_rejected_multi_leaves_no_trace(base: Counting) -> None:
    overlay = OverlayStore(base, ManualClock())
    overlay.commit([(Create("/parts/p4", b"4"),)])
    before = overlay.read(["/parts", "/parts/p1", "/parts/p4", "/parts/p5"]), overlay.children(["/parts"])

    outcome = overlay.commit(
        [
            (
                Create("/parts/p5", b""),
                SetData("/parts/p4", b"", 0),
                Delete("/parts/p1/columns", 0),
                Check("/parts/p2", 7),
            )
        ]
    )

    assert outcome == [Rejected(3, Reason.BAD_VERSION, 0)]
    assert (
        overlay.read(["/parts", "/parts/p1", "/parts/p4", "/parts/p5"]),
        overlay.children(["/parts"]),
    ) == before
    assert overlay.written == [Create("/parts/p4", b"4")]


def test_writes_are_listed_without_the_checks(base: Counting) -> None:
    overlay = OverlayStore(base, ManualClock())

    overlay.commit([(Check("/parts", 0), Create("/new", b"n"))])
    assert overlay.written == [Create("/new", b"n")]

    other = overlay.fresh()
    assert other.written == []
    assert other.read(["/new"]) == [None]


def test_members_see_the_same_writes(base: Counting) -> None:
    overlay = OverlayStore(base, ManualClock())
    overlay.commit([(Create("/parts/p4", b"4"),)])
    (member,) = overlay.members()

    assert member.children(["/parts"]) == [("p1", "p2", "p3", "p4")]
    assert [each and each.data for each in member.read(["/parts/p4"])] == [b"4"]


def test_absolute_paths_are_those_of_the_base(base: Counting) -> None:
    overlay = OverlayStore(base, ManualClock())
    overlay.commit([(Create("/new", b""),)])
    base.requests.clear()

    assert overlay.read(["/new"], absolute=True) == [None]
    assert base.requests == {"absolute": 1}


def test_an_ephemeral_znode_has_the_session_and_no_children(base: Counting) -> None:
    overlay = OverlayStore(base, ManualClock())
    overlay.commit([(Create("/lock", b"", ephemeral=True),)])

    (lock,) = overlay.read(["/lock"])
    assert lock is not None
    assert lock.stat.ephemeral_owner == base.session_id
    assert overlay.commit([(Create("/lock/child", b""),)]) == [Rejected(0, Reason.OTHER, 0)]


def test_many_operations_take_few_requests(base: Counting) -> None:
    """As many requests as one operation, because check mode reads millions of znodes."""
    overlay = OverlayStore(base, ManualClock())
    parts = [f"/parts/p{number}" for number in range(1, 100)]

    creates = [(Create(path, b""), Create(f"{path}/columns", b"c")) for path in parts[3:]]
    assert overlay.commit(creates) == [Committed()] * len(creates)
    assert base.requests == {"read": 1}

    base.requests.clear()
    found = overlay.read(parts)
    assert {each and each.stat.num_children for each in found} == {1}
    assert base.requests == {"read": 1}

    base.requests.clear()
    deletes = [(Delete(f"{path}/columns", 0), Delete(path, 0)) for path in parts]
    assert overlay.commit(deletes) == [Committed()] * len(deletes)
    assert base.requests == {"read": 1, "children": 1}
