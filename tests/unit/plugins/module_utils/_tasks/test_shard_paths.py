# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which shard paths a task goes through, and when it finds that hot and cold are one."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.shard_paths import (
    DeniedZnodes,
    shard_paths_below,
    told_apart,
)
from support.memory.bench import PATH, Bench
from support.memory.tables import TableOptions, build_table


def test_what_is_kept_beside_tables_is_not_looked_at() -> None:
    bench = Bench()
    for path in ("/zookeeper/t", "/partmove/t", "/other/t", "/u"):
        build_table(bench.hot, path, TableOptions(partitions=()))
    assert list(shard_paths_below(bench.hot_store, "/", "/partmove")) == ["/u", "/other/t", PATH]
    assert list(shard_paths_below(bench.hot_store, "/", "/other")) == ["/u", "/partmove/t", PATH]
    assert list(shard_paths_below(bench.hot_store, PATH, "/partmove")) == [PATH]


def test_one_ensemble_is_found_out_before_the_first_shard_path() -> None:
    bench = Bench()
    passed = told_apart(bench.hot_store, bench.hot_store, [PATH])
    with pytest.raises(SameEnsemble, match=f"{PATH} was created by the same transaction in both"):
        next(passed)


def test_two_ensembles_are_told_apart_by_the_first_shard_path_alone() -> None:
    bench = Bench()
    assert list(told_apart(bench.hot_store, bench.cold_store, [PATH, "/a"])) == [PATH, "/a"]
    # Nothing is proved by a path that hot does not have, and the others are not looked at.
    assert list(told_apart(bench.hot_store, bench.hot_store, ["/a", PATH])) == ["/a", PATH]
    assert list(told_apart(bench.hot_store, bench.cold_store, [])) == []


def test_ensembles_are_told_apart_by_the_first_shard_path_that_may_be_read() -> None:
    bench = Bench()
    build_table(bench.hot, "/u", TableOptions(partitions=()))
    bench.hot_store.denied = {"/u"}
    passed = told_apart(bench.hot_store, bench.hot_store, ["/u", PATH])
    assert next(passed) == "/u"
    with pytest.raises(SameEnsemble, match=f"{PATH} was created by the same transaction in both"):
        next(passed)


def test_whoever_does_not_want_to_be_told_of_what_may_not_be_read_ends_there() -> None:
    bench = Bench()
    bench.hot.create("/secret", b"")
    bench.hot_store.denied = {"/secret"}
    with pytest.raises(AccessDenied, match="may not read /secret"):
        list(shard_paths_below(bench.hot_store, "/", "/partmove"))
    denied = DeniedZnodes()
    assert list(shard_paths_below(bench.hot_store, "/", "/partmove", denied.tell)) == [PATH]
    assert [each.path for each in denied.besides([PATH])] == ["/secret"]
    assert denied.besides(["/secret"]) == denied.besides(["/"]) == []


def test_without_cold_there_is_nothing_to_tell_apart() -> None:
    assert list(told_apart(Bench().hot_store, None, [PATH])) == [PATH]
