# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Advice about tables on no server, and conditions without this advice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import (
    Advice,
    AdviceKind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.removal import (
    DETACHED_DATABASES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import (
    ServerAnswer,
    Servers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from support.memory.censuses import NOW, SHARD, ZnodeTree, plain_tree

OTHER = "/clickhouse/tables/02/former"
CH1 = ServerAnswer("ch1", [(SHARD, "r1")], detached=(), version=(26, 9), uses=())
CH2 = ServerAnswer("ch2", [(SHARD, "r2")], detached=(), version=(26, 9), uses=())
SILENT = ServerAnswer("ch2", problem="ch2 cannot be reached: no answer within 30 s")


def with_former(*, active: bool = False, days: float = 2) -> ZnodeTree:
    return (
        plain_tree().add_table(OTHER, days=days).add_replica("r9", OTHER, active=active, days=days, host="r1")
    )


def advice_of(tree: ZnodeTree, answers: Sequence[ServerAnswer]) -> list[Advice]:
    census = tree.census()
    return judge(census, CensusLimits(), NOW, Servers(answers, census.tables))


def why_not(tree: ZnodeTree, answers: Sequence[ServerAnswer]) -> str:
    return Servers(answers, tree.census().tables).unjudged


def test_an_unchanged_table_on_no_server_is_reported() -> None:
    (found,) = advice_of(with_former(), [CH1, CH2])
    assert (found.kind, found.path) == (AdviceKind.TABLE_ON_NO_SERVER, OTHER)
    assert found.znodes == with_former().census().tables[OTHER].total.znodes
    assert found.statements == (f"SYSTEM DROP REPLICA 'r9' FROM ZKPATH '{OTHER}'",)
    assert found.evidence.startswith("It has 1 replica without is_active (r9), ")
    assert found.evidence.endswith(
        f" None of the 2 queried servers has the table in system.replicas. {DETACHED_DATABASES}"
    )
    (empty,) = advice_of(plain_tree().add_table(OTHER, days=2), [CH1, CH2])
    assert empty.kind is AdviceKind.TABLE_ON_NO_SERVER
    assert empty.evidence.startswith("It has no replica. None of the 2 queried")


@pytest.mark.parametrize(
    "young",
    [
        plain_tree().add_table(OTHER, days=0.9),
        with_former(days=0.9),
        with_former().add(f"{OTHER}/log/log-0000000000", days=0.9),
        with_former().add(f"{OTHER}/replicas/r9/parts/20191201_0_0_0", days=0.9),
    ],
    ids=["no replica", "replica", "log", "part"],
)
def test_a_young_table_is_not_reported(young: ZnodeTree) -> None:
    assert advice_of(young, [CH1, CH2]) == []
    census = young.census()
    (told,) = judge(census, CensusLimits(stuck_after=20 * 3600), NOW, Servers([CH1, CH2], census.tables))
    assert told.kind is AdviceKind.TABLE_ON_NO_SERVER


def test_unreadable_znodes_may_hide_a_session() -> None:
    census = with_former().census()
    assert Servers([CH1, CH2], census.tables).unjudged == ""
    census.deny(f"{SHARD}/replicas/r3")
    servers = Servers([CH1, CH2], census.tables)
    assert servers.unjudged == (
        f"1 table has unreadable znodes, such as {SHARD}, which may hide replicas with a session on servers"
        " that were not named. Give an identity that may read these znodes"
    )
    assert judge(census, CensusLimits(), NOW, servers) == []


def test_a_table_on_a_server_is_not_reported() -> None:
    assert advice_of(with_former(), [CH1, CH2._replace(replicas=[*CH2.replicas, (OTHER, "r9")])]) == []
    # Also under another name: a server uses the table.
    assert advice_of(with_former(), [CH1, CH2._replace(replicas=[*CH2.replicas, (OTHER, "r8")])]) == []


def test_a_server_without_an_answer_may_have_the_table() -> None:
    assert advice_of(with_former(), [CH1, SILENT]) == []
    assert why_not(with_former(), [CH1, SILENT]) == (
        "1 of 2 servers did not answer. ch2 cannot be reached: no answer within 30 s"
    )
    (found,) = advice_of(with_former(days=8), [CH1, SILENT])
    assert found.kind is AdviceKind.TABLE_WITHOUT_SESSION
    assert found.evidence.endswith(
        "Whether a server has the table was not judged: 1 of 2 servers did not answer. ch2 cannot be reached:"
        " no answer within 30 s. No statement is given. It is not known that every server answered and lacks"
        " it, for the reason given."
    )
    assert found.statements == ()
    assert "3 of 3 servers did not answer. The first: ch2 cannot" in why_not(plain_tree(), [SILENT] * 3)


@pytest.mark.parametrize(
    ("tree", "answers", "reason"),
    [
        (
            with_former(),
            [CH1],
            f"1 replica with a session, such as r2 of {SHARD}, is on none of the queried servers: some",
        ),
        (
            with_former(active=True),
            [CH1, CH2],
            f"1 replica with a session, such as r9 of {OTHER}, is in no answer, although the znode host of",
        ),
        (ZnodeTree().add_table(OTHER), [CH1, CH2], "No queried server has a table of this ensemble"),
    ],
    ids=["a server is not named", "another server", "servers of another cluster"],
)
def test_servers_that_were_not_named_may_have_the_table(
    tree: ZnodeTree, answers: Sequence[ServerAnswer], reason: str
) -> None:
    found = {each.kind for each in advice_of(tree, answers)}
    assert AdviceKind.TABLE_ON_NO_SERVER not in found
    assert why_not(tree, answers).startswith(reason)


def test_without_tables_there_is_no_judgement() -> None:
    assert why_not(ZnodeTree().add("/kafka"), [ServerAnswer("ch1")]) == ""


def test_evidence_names_the_server_of_a_replica() -> None:
    tree = plain_tree().add_replica("r3", active=False, days=8, host="r1")
    (found,) = advice_of(tree, [CH1, CH2])
    assert found.kind is AdviceKind.REPLICA_WITHOUT_SESSION
    assert found.evidence.endswith(
        f" None of the 2 queried servers has the replica in system.replicas. {DETACHED_DATABASES}"
    )
    both = [CH1._replace(replicas=[*CH1.replicas, (SHARD, "r3")]), CH2]
    (found,) = advice_of(tree, both)
    assert (
        " ch1 has the replica in system.replicas. No statement is given. A server has it." in found.evidence
    )
    assert found.statements == ()


def test_evidence_names_the_servers_of_a_table() -> None:
    answers = [each._replace(replicas=[*each.replicas, (OTHER, "r9")]) for each in (CH1, CH2)]
    (found,) = advice_of(with_former(days=8), answers)
    assert found.kind is AdviceKind.TABLE_WITHOUT_SESSION
    assert " ch1, ch2 have the table in system.replicas. No statement is given. A server" in found.evidence
    assert found.statements == ()


def test_a_server_that_hides_tables_judges_nothing() -> None:
    hiding = CH2._replace(hidden="ch2 counts 3 replicated tables, and the user sees 1")
    assert why_not(with_former(), [CH1, hiding]) == hiding.hidden
    assert advice_of(with_former(), [CH1, hiding]) == []


def test_a_session_of_a_queried_server_that_is_in_no_answer_is_hidden_from_the_user() -> None:
    tree = plain_tree().add_table(OTHER).add_replica("r9", OTHER, host="r2")
    assert (
        f"the znode host of r9 of {OTHER} names a server that was queried, ch2: the user may not"
        in why_not(tree, [CH1, CH2])
    )


def test_the_session_of_a_table_below_a_replica_is_that_of_its_server() -> None:
    inner = f"{SHARD}/replicas/inner"
    tree = plain_tree().add_table(inner).add_replica("r7", inner)
    assert why_not(tree, [CH1, CH2]).startswith(f"1 replica with a session, such as inner of {SHARD},")
    assert why_not(tree, [CH1, CH2._replace(replicas=[*CH2.replicas, (inner, "r7")])]) == ""
