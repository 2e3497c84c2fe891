# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shard paths of a task, and the check that hot and cold are two ensembles."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.shard_paths import (
    DeniedZnodes,
    shard_paths_below,
    with_ensembles_checked,
)
from support.memory.bench import PATH, Bench
from support.memory.tables import TableOptions, build_table


def test_znodes_of_zookeeper_and_of_the_collection_are_skipped() -> None:
    bench = Bench()
    for path in ("/zookeeper/t", "/partmove/t", "/other/t", "/u"):
        build_table(bench.hot, path, TableOptions(partitions=()))
    assert list(shard_paths_below(bench.hot_store, "/", "/partmove")) == ["/u", "/other/t", PATH]
    assert list(shard_paths_below(bench.hot_store, "/", "/other")) == ["/u", "/partmove/t", PATH]
    assert list(shard_paths_below(bench.hot_store, PATH, "/partmove")) == [PATH]


def test_one_ensemble_is_detected_before_the_first_shard_path() -> None:
    bench = Bench()
    passed = with_ensembles_checked(bench.hot_store, bench.hot_store, [PATH])
    with pytest.raises(SameEnsemble, match=f"{PATH} was created by the same transaction in both"):
        next(passed)


def test_the_first_shard_path_alone_distinguishes_two_ensembles() -> None:
    bench = Bench()
    assert list(with_ensembles_checked(bench.hot_store, bench.cold_store, [PATH, "/a"])) == [PATH, "/a"]
    # A path that is missing in hot proves nothing, and further paths are not checked.
    assert list(with_ensembles_checked(bench.hot_store, bench.hot_store, ["/a", PATH])) == ["/a", PATH]
    assert list(with_ensembles_checked(bench.hot_store, bench.cold_store, [])) == []


def test_the_first_readable_shard_path_distinguishes_ensembles() -> None:
    bench = Bench()
    build_table(bench.hot, "/u", TableOptions(partitions=()))
    bench.hot_store.denied = {"/u"}
    passed = with_ensembles_checked(bench.hot_store, bench.hot_store, ["/u", PATH])
    assert next(passed) == "/u"
    with pytest.raises(SameEnsemble, match=f"{PATH} was created by the same transaction in both"):
        next(passed)


def test_without_denied_a_denied_znode_raises() -> None:
    bench = Bench()
    bench.hot.create("/secret", b"")
    bench.hot_store.denied = {"/secret"}
    with pytest.raises(AccessDenied, match="may not read /secret"):
        list(shard_paths_below(bench.hot_store, "/", "/partmove"))
    denied = DeniedZnodes()
    assert list(shard_paths_below(bench.hot_store, "/", "/partmove", denied.add)) == [PATH]
    assert [each.path for each in denied.outside([PATH])] == ["/secret"]
    assert denied.outside(["/secret"]) == denied.outside(["/"]) == []


def test_without_cold_there_is_no_check_of_ensembles() -> None:
    assert list(with_ensembles_checked(Bench().hot_store, None, [PATH])) == [PATH]
