# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what is asked of the servers."""

from __future__ import annotations

from mutants.mutant import Mutant

_SERVERS = "gates/servers.py"

MUTANTS = (
    Mutant(
        "a server with any part of a partition has all of them",
        _SERVERS,
        "return [part.znode.path for part in expected if part.name.text not in names]",
        "return [part.znode.path for part in expected if not names]",
        ("patched/move/test_post_switch_check.py::test_what_was_replaced_since_does_not_come_back",),
    ),
    Mutant(
        "a server has as many parts, which are others",
        _SERVERS,
        "if names != expected.keys():",
        "if len(names) != len(expected):",
        ("gates/test_servers.py::test_parts_that_differ_from_their_znodes_are_refused_by_partition",),
    ),
    Mutant(
        "a server may have fewer parts",
        _SERVERS,
        "if names != expected.keys():",
        "if not names <= expected.keys():",
        ("gates/test_servers.py::test_the_first_differing_replica_is_named",),
    ),
    Mutant(
        "a server may have more parts",
        _SERVERS,
        "if names != expected.keys():",
        "if not expected.keys() <= names:",
        ("gates/test_servers.py::test_a_server_with_fewer_or_more_or_other_parts_is_refused[more]",),
    ),
    Mutant(
        "a part without rows passes",
        _SERVERS,
        "        if not part.rows:\n",
        "        if part.rows is None:\n",
        ("gates/test_servers.py::test_a_part_without_rows_is_refused",),
    ),
    Mutant(
        "the hash on disk is not compared",
        _SERVERS,
        "        if part.hash_of_all_files is not None:\n",
        "        if part.hash_of_all_files is None and not expected:\n",
        ("gates/test_servers.py::test_the_files_of_a_part_are_compared_by_their_hash[zeros]",),
    ),
    Mutant(
        "a server that does not answer has the parts",
        _SERVERS,
        "            return dict.fromkeys(ids, server_silent(error))\n",
        "            server_silent(error)\n            return {}\n",
        (
            (
                "gates/test_servers.py::test_a_server_that_does_not_answer_stops_every_partition[-Sta"
                "rt the server and run again]"
            ),
        ),
    ),
    Mutant(
        "one server stands for all",
        _SERVERS,
        "return map_concurrently(ask, shard.replicas, self._at_once)",
        "return [ask(shard.replicas[0])] * len(shard.replicas)",
        ("gates/test_servers.py::test_every_replica_is_asked_by_its_address",),
    ),
    Mutant(
        "the detached folder of one server only is compared",
        _SERVERS,
        "answers = map_concurrently(ask, shard.replicas, self._at_once)",
        "answers = [ask(shard.replicas[0])] * len(shard.replicas)",
        ("gates/test_servers.py::test_detached_parts_of_the_replicas_that_can_list_them",),
    ),
    Mutant(
        "a server whose part is not registered is to be stopped",
        _SERVERS,
        "if not all(is_covered(name, registered) for name in names):",
        "if not names:",
        (
            (
                "gates/test_servers.py::test_a_server_with_parts_that_are_not_registered_is_not_to_b"
                "e_stopped[COLD]"
            ),
        ),
        about_text=True,
    ),
    Mutant(
        "what is on one server only is all that is active",
        _SERVERS,
        "in zip_strict(shard.replicas, self._active_parts(shard, partition_ids)):",
        "in [*zip_strict(shard.replicas, self._active_parts(shard, partition_ids))][:1]:",
        ("gates/test_servers.py::test_active_parts_by_partition_and_replica",),
    ),
    Mutant(
        "where nobody can be asked, all is well",
        _SERVERS,
        "return {partition.partition_id: refusal for partition in partitions}",
        "return {partition.partition_id: refusal for partition in partitions[:0]}",
        ("gates/test_servers.py::test_where_nobody_vouches_nothing_may_become_cold",),
    ),
    Mutant(
        "who asks no server is taken for one that did",
        _SERVERS,
        "    asks = False\n",
        "    asks = True\n",
        ("gates/test_servers.py::test_only_who_asks_says_so",),
    ),
)
