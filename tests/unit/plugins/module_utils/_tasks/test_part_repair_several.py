# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_repair over several tables: one call, a backup for each, and no table keeps the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    EnsembleUnreachable,
    LeaseHeld,
    NoSuchTable,
    PartMoveError,
    SessionRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_epoch
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    parse_backup,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.bench import DAY, LOCK, PATH
from support.memory.part_repairs import STATE, Repairs
from support.memory.tables import TableOptions, build_table

SECOND = f"{PATH}_second"


@pytest.fixture
def two_unmarked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repairs:
    """Return repairs of two tables with a cold partition whose State says HOT."""
    unmarked = Repairs(tmp_path, monkeypatch)
    unmarked.bench.move()
    unmarked.bench.hot.set(STATE, b"HOT")
    build_table(unmarked.bench.hot, SECOND, TableOptions(partitions=(DAY,)))
    assert move_shard(unmarked.bench.context, SECOND, [DAY], unmarked.bench.options).moved
    unmarked.bench.hot.set(STATE.replace(PATH, SECOND), b"HOT")
    return unmarked


def test_several_tables_are_repaired_in_one_call(two_unmarked: Repairs) -> None:
    task, resources = two_unmarked.task(shard_path=None, shard_paths=[SECOND, PATH, SECOND])
    task.run(resources)
    result = task.result()
    resources.close()
    assert task.failure == ""
    assert [(row["shard_path"], row["replica"]) for row in result["repaired"]] == [
        *((PATH, each) for each in ("r1", "r2")),
        *((SECOND, each) for each in ("r1", "r2")),
    ]
    assert (result["counts"], result["left"]) == ({"repaired": 2, "left": 0}, [])
    assert result["backups"] == [str(each) for each in sorted(two_unmarked.files(), key=_table_of)]
    assert result["backup"] == ""
    for path, file in zip_strict([PATH, SECOND], result["backups"]):
        header, saved, _written, _left = parse_backup(Path(file).read_bytes(), file)
        assert header.shard_path == path
        assert {each.path for each in saved} == {STATE.replace(PATH, path)}


def _table_of(file: Path) -> bool:
    return "second" in file.name


def test_a_table_that_cannot_be_repaired_does_not_keep_the_others(two_unmarked: Repairs) -> None:
    two_unmarked.bench.before_lease(lambda: two_unmarked.bench.hot.create(LOCK, b"another run"))
    task, resources = two_unmarked.task(shard_path=None, shard_paths=[PATH, SECOND, "/none"])
    task.run(resources)
    result = task.result()
    resources.close()
    assert {row["shard_path"] for row in result["repaired"]} == {SECOND}
    (failed,) = result["failed_shard_paths"]
    assert failed["shard_path"] == PATH
    assert "locked by another run" in failed["reason"]
    assert failed["remedy"]
    assert task.failure.startswith(f"1 of 3 shard paths could not be repaired: {PATH}: ")
    assert two_unmarked.bench.hot.get(STATE)[0] == b"HOT"


def test_a_single_table_that_cannot_be_repaired_ends_the_run(two_unmarked: Repairs) -> None:
    two_unmarked.bench.before_lease(lambda: two_unmarked.bench.hot.create(LOCK, b"another run"))
    with pytest.raises(LeaseHeld):
        two_unmarked.run()


@pytest.mark.parametrize("denied_in", ["hot", "cold"])
@pytest.mark.parametrize("denied", [PATH, STATE, f"{PATH}/replicas", f"{PATH}/replicas/r1/parts"])
@pytest.mark.parametrize("check_mode", [False, True], ids=["run", "check mode"])
def test_a_table_with_a_znode_that_is_denied_does_not_keep_the_others(
    two_unmarked: Repairs, denied_in: str, denied: str, check_mode: bool
) -> None:
    bench = two_unmarked.bench
    (bench.hot_store if denied_in == "hot" else bench.cold_store).denied.add(denied)
    task, resources = two_unmarked.task(
        check_mode=check_mode, shard_path=None, shard_paths=[PATH, SECOND, "/none"]
    )
    task.run(resources)
    result = task.result()
    resources.close()
    assert {row["shard_path"] for row in result["repaired"]} == {SECOND, PATH} - {
        row["shard_path"] for row in result["failed_shard_paths"]
    }
    if (denied_in, denied) == ("cold", STATE):
        # Nobody reads State in cold.
        assert task.failure == ""
        return
    (failed,) = result["failed_shard_paths"]
    assert failed["shard_path"] == PATH
    assert denied in failed["reason"]
    assert task.failure.startswith(f"1 of 3 shard paths could not be repaired: {PATH}: ")


def test_a_table_whose_epoch_may_not_be_written_does_not_keep_the_others(two_unmarked: Repairs) -> None:
    two_unmarked.bench.hot_store.denied_writes.add(path_of_epoch("/partmove", PATH))
    task, resources = two_unmarked.task(shard_path=None, shard_paths=[PATH, SECOND])
    task.run(resources)
    result = task.result()
    resources.close()
    assert {row["shard_path"] for row in result["repaired"]} == {SECOND}
    assert [row["shard_path"] for row in result["failed_shard_paths"]] == [PATH]


def test_tables_that_all_are_denied_all_fail(two_unmarked: Repairs) -> None:
    two_unmarked.bench.hot_store.denied |= {PATH, SECOND}
    task, resources = two_unmarked.task(shard_path=None, shard_paths=[PATH, SECOND])
    task.run(resources)
    assert [row["shard_path"] for row in task.result()["failed_shard_paths"]] == [PATH, SECOND]
    assert task.failure.startswith("2 of 2 shard paths could not be repaired")
    resources.close()


def test_a_single_table_that_is_denied_ends_the_run(two_unmarked: Repairs) -> None:
    two_unmarked.bench.cold_store.denied.add(PATH)
    with pytest.raises(AccessDenied):
        two_unmarked.run()


@pytest.mark.parametrize("error", [EnsembleUnreachable, SessionRefused])
def test_an_ensemble_that_fails_ends_the_run(
    two_unmarked: Repairs, error: type[EnsembleError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object, **_options: object) -> None:
        raise error("cold fails")

    monkeypatch.setattr(two_unmarked.bench.cold_store, "read", fails)
    task, resources = two_unmarked.task(shard_path=None, shard_paths=[PATH, SECOND])
    with pytest.raises(EnsembleError):
        task.run(resources)
    resources.close()
    assert task.result()["repaired"] == []


def test_no_shard_path_is_refused(two_unmarked: Repairs) -> None:
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        two_unmarked.run(shard_path=None, shard_paths=[])


def test_none_of_several_tables_is_there(two_unmarked: Repairs) -> None:
    with pytest.raises(NoSuchTable):
        two_unmarked.run(shard_path=None, shard_paths=["/none", "/no/other"])
