# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal fields of partitions."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.events import (
    digest_of,
    switching,
)
from support.memory.arrange import write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.tables import TableOptions

REFUSAL = Refusal(GateName.POST_SWITCH_CHECK, "it is so", "Do this")


def test_replicas_that_register_the_same_share_a_digest() -> None:
    bench = Bench()
    write(f"replicas/r2/parts/{PART}", b"other")(bench)
    partition = bench.reader().read([DAY]).partitions[DAY]
    first, second = partition.hot_parts

    assert switching(PATH, partition, [first, second, first._replace(znode=first.znode)], "COLD") == {
        "shard_path": PATH,
        "partition": DAY,
        "state": "COLD",
        "state_before": "",
        "state_version": 0,
        "parts": [
            {
                "part": PART,
                "digest": digest_of(first.payload),
                "replicas": ["r1", "r1"],
                "data": b64encode(first.znode.data).decode(),
            },
            {"part": PART, "digest": digest_of((b"other", ())), "replicas": ["r2"], "data": "b3RoZXI="},
        ],
    }


def test_of_a_part_with_children_there_is_a_digest_alone() -> None:
    bench = Bench(TableOptions(partitions=(DAY,), legacy=True))
    partition = bench.reader().read([DAY]).partitions[DAY]
    (part,) = partition.hot["r1"]
    told = switching(PATH, partition, [part], "COLD")["parts"]
    assert told == [{"part": PART, "digest": digest_of(part.payload), "replicas": ["r1"]}]


def test_a_digest_is_of_all_znodes_of_a_part() -> None:
    assert digest_of((b"data", ())) == sha256(b" 4\ndata").hexdigest()
    children = (("checksums", b""), ("columns", b"x"))
    assert digest_of((b"", children)) == sha256(b" 0\nchecksums 0\ncolumns 1\nx").hexdigest()


def test_an_undone_switch_is_in_the_journal() -> None:
    bench = Bench()
    bench.before_switch(lambda: bench.servers.insert(DAY))

    refusal = bench.move(DAY, OTHER).deferred[DAY]

    assert bench.journal.of(Event.UNDONE) == [
        {"shard_path": PATH, "partition": DAY, "gate": "late_insert", "reason": refusal.reason}
    ]
