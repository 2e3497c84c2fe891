# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the evidence for a statement of a census that deletes."""

from __future__ import annotations

from mutants.mutant import Mutant

_FILE = "census/removal.py"
_MISSING = "census/test_removal.py::test_missing_evidence_is_named"
_DOUBT = "census/test_removal.py::test_one_doubt_keeps_a_whole_table"
_FORGET = "census/test_removal.py::test_partitions_are_not_forgotten_without_evidence"

MUTANTS = (
    Mutant(
        "the znodes of another table are dropped with a replica",
        _FILE,
        "    if replica.stray:\n",
        "    if False:\n",
        (_MISSING,),
    ),
    Mutant(
        "the znodes of another table are dropped with a table",
        _FILE,
        "    if table.stray:\n",
        "    if False:\n",
        (_DOUBT,),
    ),
    Mutant(
        "a session outside of replicas does not matter",
        _FILE,
        "    if ZnodeKind.EPHEMERAL in table.own:\n",
        "    if False:\n",
        (_DOUBT,),
    ),
    Mutant(
        "a replica whose parts may be cold is dropped",
        _FILE,
        "    if ZnodeKind.STATE in table.own:\n",
        "    if False:\n",
        (_MISSING,),
    ),
    Mutant(
        "a replica that a server has is dropped",
        _FILE,
        "    if servers.has_replica(path, replica.name):\n",
        "    if False:\n",
        (_MISSING,),
    ),
    Mutant(
        "a replica of a server that was not queried is dropped",
        _FILE,
        "    elif not servers.answered_at(replica.host):\n",
        "    elif False:\n",
        (_MISSING,),
    ),
    Mutant(
        "a detached table is taken for dropped",
        _FILE,
        "    if detached:\n",
        "    if False:\n",
        (_MISSING,),
    ),
    Mutant(
        "a server that cannot list detached tables counts as one without",
        _FILE,
        "    if unlisted:\n        yield (\n",
        "    if False:\n        yield (\n",
        (_MISSING,),
    ),
    Mutant(
        "a table that a server has is dropped",
        _FILE,
        "    if servers is not None and servers.has_table(table.shard_path):\n",
        "    if False:\n",
        ("census/test_removal.py::test_a_table_that_a_server_has_is_not_dropped",),
    ),
    Mutant(
        "a partition is forgotten while a replica is away",
        _FILE,
        "    if away:\n",
        "    if False:\n",
        (_FORGET,),
    ),
    Mutant(
        "a partition is forgotten although entries wait",
        _FILE,
        "    if queues:\n",
        "    if False:\n",
        (_FORGET,),
    ),
    Mutant(
        "a server that hides tables is believed",
        "census/servers.py",
        "    if hidden:\n        return hidden[0]\n",
        "",
        ("census/test_servers.py::test_a_server_that_hides_tables_judges_nothing",),
    ),
)
