# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says after an ensemble was restored from an older backup, see docs/patched/cold-lost.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.memory.arrange import create, create_cold, delete, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.drifted import Drifted

REPLICAS = ("r1", "r2")
STATE = f"block_numbers/{DAY}/State"


def path_of(replica: str) -> str:
    return f"replicas/{replica}/parts/{PART}"


def registered(client: MemoryClient) -> Mapping[str, bytes]:
    """Path below the table → what registers the part there."""
    return {path_of(each): client.get(f"{PATH}/{path_of(each)}")[0] for each in REPLICAS}


def brought_back(bench: Bench) -> None:
    """Moved, and back without copies."""
    bench.move()
    bench.reheat()
    bench.clock.sleep(700)
    bench.reheat()


def cold_before_a_move(bench: Bench) -> None:
    bench.move(OTHER)
    bench.move(DAY)
    for replica in REPLICAS:
        bench.cold.delete(f"{PATH}/{path_of(replica)}", recursive=True)


def cold_before_the_first_move(bench: Bench) -> None:
    bench.move()
    bench.cold.delete(PATH, recursive=True)


def cold_before_the_way_back(bench: Bench) -> None:
    before = registered(bench.hot)
    brought_back(bench)
    for path, data in before.items():
        create_cold(path, data)(bench)


def cold_before_a_drop(bench: Bench) -> None:
    bench.move()
    before = registered(bench.cold)
    bench.servers.drop(DAY)
    for path, data in before.items():
        create_cold(path, data)(bench)


def hot_before_a_move(bench: Bench) -> None:
    before = registered(bench.hot)
    bench.move()
    for path, data in before.items():
        create(path, data)(bench)
    delete(STATE)(bench)


def hot_before_the_way_back(bench: Bench) -> None:
    brought_back(bench)
    cold_again(bench)


def hot_before_the_way_back_with_copies(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    cold_again(bench)


def cold_again(bench: Bench) -> None:
    for replica in REPLICAS:
        delete(path_of(replica))(bench)
    write(STATE, b"COLD")(bench)


@pytest.mark.parametrize(
    ("restore", "kind"),
    [
        (cold_before_a_move, FindingKind.UNREGISTERED),
        (cold_before_the_first_move, FindingKind.COLD_UNKNOWN),
        (cold_before_the_way_back, FindingKind.COPIES_LEFT),
        (cold_before_a_drop, FindingKind.GHOST),
        (hot_before_a_move, FindingKind.COPIES_LEFT),
        (hot_before_the_way_back, FindingKind.UNREGISTERED),
        (hot_before_the_way_back_with_copies, FindingKind.COLD),
    ],
)
def test_what_is_found(restore: Callable[[Bench], None], kind: FindingKind) -> None:
    drifted = Drifted()
    restore(drifted.bench)
    assert drifted.kinds() == dict.fromkeys(REPLICAS, kind)
