# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Calls to the wrapped store."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
)
from support.memory.behind import Chrooted
from support.memory.memory import MemoryEnsemble


def test_every_method_is_delegated() -> None:
    ensemble = MemoryEnsemble("hot")
    ensemble.open().commit([(Create("/app", b"root"),)])
    below = Chrooted(ensemble)
    store = DelegatingStore(below)

    assert store.commit([(Create("/a", b"1"), Create("/a/b", b""))]) == [Committed()]
    store.sync("/a")

    assert store.read(["/a", "/c"]) == below.read(["/a", "/c"]) != [None, None]
    assert store.read(["/app"], absolute=True) == below.read(["/app"], absolute=True) != [None]
    assert store.children(["/a"]) == [("b",)]
    assert store.ask([Query(["/a"], ["/a"])]) == below.ask([Query(["/a"], ["/a"])])
    assert (store.name, store.chroot, store.addresses) == ("hot", "/app", ("hot.example:2181",))
    assert (store.session_id, store.server_id) == (below.session_id, below.server_id)
    assert [*store.members()] == [below]
