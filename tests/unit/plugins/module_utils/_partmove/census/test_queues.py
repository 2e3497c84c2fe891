# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every queue of distributed DDL is judged, at whatever path."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import AdviceKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.outside import DDL_PATH
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.queues import judge_queues
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from support.memory.censuses import NOW, ZnodeTree

OWN = "/prod/ddl"


def tree() -> ZnodeTree:
    znodes = ZnodeTree()
    for queue, days in ((DDL_PATH, 15), (OWN, 1)):
        for number in range(3):
            znodes.add(f"{queue}/query-{number:010}", b"version: 1\nquery: x", days=days)
            znodes.add(f"{queue}/query-{number:010}/finished", days=days)
    return znodes


def test_each_queue_has_advice_of_its_own() -> None:
    found = {each.path: each for each in judge_queues(tree().census(), CensusLimits(ddl_tasks=1), NOW)}
    assert {path: each.znodes for path, each in found.items()} == {DDL_PATH: 6, OWN: 4}
    assert {each.kind for each in found.values()} == {AdviceKind.DDL_QUEUE}
    assert found[OWN].evidence.startswith("It has 3 tasks")


def test_an_unreadable_queue_is_not_judged() -> None:
    census = tree().census()
    census.deny(f"{OWN}/query-0000000009")
    assert [each.path for each in judge_queues(census, CensusLimits(ddl_tasks=1), NOW)] == [DDL_PATH]
    for number in range(1001):
        census.deny(f"/kafka/{number}")
    # Not all unreadable paths are kept.
    assert list(judge_queues(census, CensusLimits(ddl_tasks=1), NOW)) == []
