# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose parts cold has: decided by identities, and by what hot knows of cold where a marker has no id."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.binding import (
    read_binding_of_any_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner, owner_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import (
    both,
    create_cold,
    forget_id,
    mark,
    mark_former,
    mark_of_other_cluster,
    mark_without_id,
    mark_without_path,
)
from support.memory.bench import OTHER, PATH, Bench
from support.memory.copied import Copied, fresh

CREATED = create_cold("replicas")


def mark_former_without_id(bench: Bench) -> None:
    """Mark the parts in cold as version 2 of the marker did for a table before."""
    bench.cold.set(PATH, ColdMarker(TableId("", 1, 0), HotSide(PATH, DEFAULT_ROOT)).encode())


def owner(bench: Bench, *, is_in_hot: bool = True) -> Owner:
    binding = read_binding_of_any_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, ShardLayout(PATH))
    shard = bench.hot_store.read([PATH])[0]
    assert shard is not None
    return owner_of(binding, shard.stat if is_in_hot else None)


@pytest.mark.parametrize(
    ("arrange", "present", "absent"),
    [
        (both(), Owner.NOBODY, Owner.NOBODY),
        (CREATED, Owner.NOBODY, Owner.NOBODY),
        (mark, Owner.OURS, Owner.FORMER),
        (both(CREATED, mark_former), Owner.FORMER, Owner.FORMER),
        (both(mark, mark_of_other_cluster), Owner.OTHER_CLUSTER, Owner.OTHER_CLUSTER),
        (both(CREATED, mark_of_other_cluster), Owner.OTHER_CLUSTER, Owner.OTHER_CLUSTER),
        (both(mark, forget_id), Owner.OTHER_CLUSTER, Owner.OTHER_CLUSTER),
        (both(CREATED, mark_without_id), Owner.OTHER_CLUSTER, Owner.OTHER_CLUSTER),
        (both(mark, mark_without_id), Owner.OURS, Owner.FORMER),
        (both(mark, mark_former_without_id), Owner.FORMER, Owner.FORMER),
        (both(CREATED, mark_without_path), Owner.NOBODY, Owner.NOBODY),
        (both(mark, mark_without_path), Owner.OURS, Owner.FORMER),
    ],
    ids=[
        "nothing in cold",
        "no marker",
        "our marker",
        "a former table",
        "another cluster",
        "another cluster, before our first run",
        "hot lost its identity",
        "by path alone",
        "by path, and known in hot",
        "by path, a former table",
        "by transaction alone",
        "by transaction, and known in hot",
    ],
)
def test_the_owner(arrange: Callable[[Bench], object], present: Owner, absent: Owner) -> None:
    """``absent``: where hot does not have the table any more."""
    bench = Bench()
    arrange(bench)
    assert (owner(bench), owner(bench, is_in_hot=False)) == (present, absent)


def test_a_copy_of_hot_owns_nothing() -> None:
    """Not even what has no marker: the original may be the owner."""
    copied = Copied.build()
    copy = copied.copy.bench
    assert owner(copy) is Owner.OURS
    assert fresh(copied.original).bench.move(OTHER).moved
    assert (owner(copy), owner(copy, is_in_hot=False)) == (Owner.OTHER_CLUSTER, Owner.OTHER_CLUSTER)
    copy.cold.set(PATH, b"")
    assert owner(copy) is Owner.OTHER_CLUSTER
