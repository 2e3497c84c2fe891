# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages stay small, each change is conditional on what was read, and an empty ledger leaves nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    FormatError,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    SetData,
    Unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    BlockRange,
    LedgerEntry,
    TablePlace,
    TwinPair,
    encode_page,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import (
    MOST_BYTES,
    MOST_CHANGES,
    OpenLedger,
    TwinLedger,
    ledgered_shard_paths,
    path_of_ledger,
    read_heads,
    read_ledger,
)
from support.memory.memory import MemoryEnsemble, MemoryStore

PATH = "/tables/01/hits"
ROOT = "/partmove"
HEAD = "/partmove/twin-ledger/%2Ftables%2F01%2Fhits"
PAIR = TwinPair(
    TablePlace("db.hits", "default:/hits", {"r1": "u1"}), TablePlace("db.hits_cold", "cold:/hits", {})
)
ENTRY = LedgerEntry(12, (BlockRange(0, 120),), 0, "0a1b2c", "3d4e5f", 121, 4)


class Ground:
    def __init__(self) -> None:
        self.hot = MemoryEnsemble("hot")
        self.store = self.hot.open()
        self.leases = LeaseKeeper(self.store, None, self.hot.clock, owner="a test")

    def change(self, changes: Mapping[str, LedgerEntry | None], pair: TwinPair = PAIR) -> bool:
        lease = self.leases.acquire(PATH)
        try:
            return OpenLedger(self.store, ROOT, PATH).commit(lease, pair, changes)
        finally:
            self.leases.release(lease)

    @property
    def znodes(self) -> dict[str, bytes]:
        return {path: data for path, data in self.hot.data(ROOT).items() if path.startswith(HEAD)}

    def as_written(self) -> TwinLedger | None:
        """The ledger, but for the time of its head, which a run does not know of its own writes."""
        ledger = read_ledger(self.store, ROOT, PATH)
        return None if ledger is None else ledger._replace(written=0.0)

    @property
    def entries(self) -> dict[str, LedgerEntry]:
        ledger = read_ledger(self.store, ROOT, PATH)
        return {} if ledger is None else ledger.entries


@pytest.fixture
def ground() -> Ground:
    return Ground()


def days(count: int) -> list[str]:
    return [f"{20_000_000 + number}" for number in range(count)]


def test_entries_are_read_as_written(ground: Ground) -> None:
    assert path_of_ledger(ROOT, PATH) == HEAD
    assert ground.change({"a": ENTRY, "b": ENTRY._replace(rows=3)})
    assert ground.entries == {"a": ENTRY, "b": ENTRY._replace(rows=3)}
    assert set(ground.znodes) == {HEAD, f"{HEAD}/1"}
    assert ledgered_shard_paths(ground.store, ROOT) == [PATH]
    assert read_heads(ground.store, ROOT) == {PATH: PAIR}


def test_nothing_is_written_for_what_is_there(ground: Ground) -> None:
    assert ground.change({"a": ENTRY})
    before = ground.hot.tree(HEAD)
    assert not ground.change({"a": ENTRY, "b": None})
    assert ground.hot.tree(HEAD) == before


def test_a_new_twin_is_written_without_a_change_of_entries(ground: Ground) -> None:
    ground.change({"a": ENTRY})
    pair = PAIR._replace(cold=PAIR.cold._replace(uuids={"r1": "u9"}))
    assert ground.change({}, pair)
    assert read_heads(ground.store, ROOT) == {PATH: pair}
    assert not ground.change({}, pair)


def test_the_last_entry_leaves_nothing(ground: Ground) -> None:
    ground.change({"a": ENTRY, "b": ENTRY})
    ground.change({"a": None})
    assert list(ground.entries) == ["b"]
    assert ground.change({"b": None})
    assert ground.znodes == {}
    assert not ground.change({"b": None})
    assert not ground.change({})


def test_pages_are_bounded_and_full(ground: Ground) -> None:
    lease = ground.leases.acquire(PATH)
    ledger, ids = OpenLedger(ground.store, ROOT, PATH), days(1_500)
    for first in range(0, len(ids), MOST_CHANGES):
        ledger.commit(lease, PAIR, dict.fromkeys(ids[first : first + MOST_CHANGES], ENTRY))
    pages = {path: data for path, data in ground.znodes.items() if path != HEAD}
    assert max(map(len, pages.values())) <= MOST_BYTES
    assert len(pages) <= 1 + sum(map(len, pages.values())) // (MOST_BYTES - 100)
    assert list(ground.entries) == ids
    assert ledger.ledger == ground.as_written()
    # Room of entries that left is used again.
    ledger.commit(lease, PAIR, dict.fromkeys(ids[:50]))
    ledger.commit(lease, PAIR, dict.fromkeys(ids[:50], ENTRY))
    assert set(ground.znodes) == {HEAD, *pages}
    assert ledger.ledger == ground.as_written()


def test_an_entry_that_grows_moves_to_another_page(ground: Ground) -> None:
    ids = days(320)
    for first in range(0, len(ids), MOST_CHANGES):
        ground.change(dict.fromkeys(ids[first : first + MOST_CHANGES], ENTRY))
    long = ENTRY._replace(
        ranges=tuple(BlockRange(10_000 + 2 * each, 10_000 + 2 * each) for each in range(100))
    )
    ground.change(dict.fromkeys(ids[:40], long))
    assert max(len(data) for path, data in ground.znodes.items() if path != HEAD) <= MOST_BYTES
    assert ground.entries == {**dict.fromkeys(ids, ENTRY), **dict.fromkeys(ids[:40], long)}


def test_the_largest_change_fits_one_transaction() -> None:
    """Ensembles accept requests of up to 1 MiB."""
    assert MOST_CHANGES * MOST_BYTES < 1_000_000


def test_every_write_checks_what_was_read(ground: Ground) -> None:
    first = OpenLedger(ground.store, ROOT, PATH).plan(PAIR, {"a": ENTRY})
    assert first.ops == (Create(HEAD, PAIR.encode()), Create(f"{HEAD}/1", encode_page({"a": ENTRY})))
    ground.change({"a": ENTRY})
    ledger = OpenLedger(ground.store, ROOT, PATH)
    change = ledger.plan(PAIR, {"b": ENTRY})
    assert change.ops == (Check(HEAD, 0), SetData(f"{HEAD}/1", encode_page({"a": ENTRY, "b": ENTRY}), 0))
    ledger.adopt(change)
    assert ledger.plan(PAIR, {"b": None}).ops[1] == SetData(f"{HEAD}/1", encode_page({"a": ENTRY}), 1)


def test_a_ledger_that_changed_meanwhile_is_not_written(ground: Ground) -> None:
    ground.change({"a": ENTRY})
    lease = ground.leases.acquire(PATH)
    ledger = OpenLedger(ground.store, ROOT, PATH)
    other = OpenLedger(ground.store, ROOT, PATH)
    other.commit(lease, PAIR, {"b": ENTRY})
    with pytest.raises(LeaseLost, match="has changed since this run read it"):
        ledger.commit(lease, PAIR, {"c": ENTRY})
    assert list(ground.entries) == ["a", "b"]


def test_nothing_is_written_without_the_lease(ground: Ground) -> None:
    lease = ground.leases.acquire(PATH)
    ledger = OpenLedger(ground.store, ROOT, PATH)
    ground.leases.release(lease)
    with pytest.raises(LeaseLost, match="no longer valid"):
        ledger.commit(lease, PAIR, {"a": ENTRY})
    assert not ground.entries


def test_an_open_outcome_is_an_error(ground: Ground) -> None:
    class Silent(DelegatingStore):
        def commit(self, multis):  # type: ignore[no-untyped-def]
            return [Unknown("no answer") for _multi in multis]

    ground.change({"a": ENTRY})
    lease = ground.leases.acquire(PATH)
    with pytest.raises(EnsembleError, match="not known whether"):
        OpenLedger(Silent(ground.store), ROOT, PATH).commit(lease, PAIR, {"b": ENTRY})


@pytest.mark.parametrize("path", [HEAD, f"{HEAD}/1"])
def test_unknown_text_is_refused_with_its_path(ground: Ground, path: str) -> None:
    ground.change({"a": ENTRY})
    ground.store.commit([(SetData(path, b"something", 0),)])
    with pytest.raises(FormatError, match=path):
        read_ledger(ground.store, ROOT, PATH)


def test_a_partition_on_two_pages_is_refused(ground: Ground) -> None:
    ground.change({"a": ENTRY})
    store: MemoryStore = ground.store
    store.commit([(Create(f"{HEAD}/2", encode_page({"a": ENTRY})),)])
    with pytest.raises(FormatError, match="Two pages"):
        read_ledger(store, ROOT, PATH)
