# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A read is confirmed by the lock and the epochs at its end."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import confirm_read
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseZnodes
from support.memory.leased_before import PATH, LeasedBefore


@pytest.fixture
def place() -> LeasedBefore:
    return LeasedBefore()


def test_a_read_is_confirmed_by_lock_and_both_epochs(place: LeasedBefore) -> None:
    lease = place.keeper.acquire(PATH)
    confirm_read(place.stores[0], lease, place.seen(), PATH)


@pytest.mark.parametrize("name", LeaseZnodes._fields)
def test_a_read_without_one_of_the_znodes_is_not_confirmed(place: LeasedBefore, name: str) -> None:
    lease = place.keeper.acquire(PATH)
    with pytest.raises(LeaseLost, match=PATH):
        confirm_read(place.stores[0], lease, place.seen()._replace(**{name: None}), PATH)


@pytest.mark.parametrize("name", ["hot_epoch", "cold_epoch"])
def test_a_read_that_ended_after_an_epoch_was_raised_is_not_confirmed(place: LeasedBefore, name: str) -> None:
    lease = place.keeper.acquire(PATH)
    before = place.seen()
    place.take_over()
    with pytest.raises(LeaseLost, match=PATH):
        confirm_read(place.stores[0], lease, before._replace(**{name: getattr(place.seen(), name)}), PATH)
    confirm_read(place.stores[0], lease, before, PATH)
