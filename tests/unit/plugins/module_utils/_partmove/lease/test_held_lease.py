# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lease is lent once, for its own shard path, and only its holder releases it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.held_lease import HeldLease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.bench import LOCK, PATH, Bench


def test_a_lease_is_lent_once() -> None:
    bench = Bench()
    lease = bench.context.leases.acquire(PATH)
    held = HeldLease(DEFAULT_ROOT, lease)
    assert held.root == DEFAULT_ROOT
    assert held.acquire(PATH) is lease
    held.release(lease)
    assert bench.hot.exists(LOCK) is not None
    with pytest.raises(LeaseLost, match="no longer held"):
        held.acquire(PATH)


def test_no_other_shard_path_is_written_under_it() -> None:
    bench = Bench()
    held = HeldLease(DEFAULT_ROOT, bench.context.leases.acquire(PATH))
    with pytest.raises(LeaseLost):
        held.acquire(f"{PATH}_other")
    assert held.acquire(PATH)
