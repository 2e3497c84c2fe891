# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parsers of what ClickHouse and this collection keep in znodes, of plans and of connection settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.known_cold import (
    KnownCold,
    parse_known_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
    parse_marker,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.block_lock import block_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.log_entry import (
    parse_log_entry,
    partitions_named,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.mutation_entry import (
    parse_mutation_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    check_partition_id,
    parse_part_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import (
    parse_payload,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.quorum import parse_quorum_entry
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import (
    State,
    is_cold,
    marker_text,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.table_metadata import (
    columns_have_ttl,
    parse_table_metadata,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    encoded_lines,
    parse_line,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.timed_lease import (
    Claim,
    parse_claim,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
    LedgerEntry,
    parse_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.live_replica import (
    parse_address,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import (
    PlanRow,
    read_plan,
    rows_from_list,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.text import parse_duration
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of
from support.memory.synthetic import LEGACY, MINIMALISTIC, definition
from support.plans import made_up

from .target import Target, Unfit

_SWITCHING = {
    "shard_path": "/a",
    "partition": "all",
    "state": "COLD",
    "state_before": "",
    "state_version": 0,
    "parts": [{"part": "all_0_0_0", "digest": "0" * 64, "replicas": ["r1"]}],
}
_ENDED = {"counts": {"moved": 1}, "error": ""}
_JOURNAL = [
    *encoded_lines("2026-11-22T06:45:00.000Z", "0" * 32, Event.SWITCHING, [_SWITCHING]),
    *encoded_lines("2026-11-22T06:45:00.000Z", "0" * 32, Event.ENDED, [_ENDED]),
]
_HEAD = b"format version: 4\ncreate_time: 2026-11-21 00:23:24\nsource replica: r1\nblock_id: \n"
_BODIES = (
    b"get\n20191201_0_0_0\nquorum: 2\n",
    b"merge\n20191201_0_0_0\n20191201_1_1_0\ninto\n20191201_0_1_1\ndeduplicate: 0\n",
    b"mutate\n20191201_0_2_1\nto\n20191201_0_2_1_3\n",
    b"clear_column\nw\nfrom\n20191202_0_1_999999999_1\n",
    b"drop\n20191201_0_7_999999999_3\n",
    b"detach\n20191203_0_0_999999999\n",
    (
        b"REPLACE_RANGE\ndrop_range_name: 20191201_0_4_4294967295\nfrom_database: default\nfrom_table: src\n"
        b"source_parts: ['20191201_1_1_0']\nnew_parts: ['20191201_5_5_0']\n"
        b"part_checksums: ['8557D6AEA26E81B12FFDADC5CB38D48B']\ncolumns_version: 1\n"
    ),
)
_ENTRIES = [_HEAD + body for body in _BODIES]
_COLUMNS = b"columns format version: 1\n2 columns:\n`d` Date\n`n` UInt64\tDEFAULT\t1\n"
_MUTATION = (
    b"format version: 1\ncreate time: 2026-11-21 00:23:39\nsource replica: r1\nblock numbers count: 2\n"
    b"20191201\t3\n20191202\t4\ncommands: DELETE WHERE 1\nalter version: -1\n"
)
_QUORUM = (
    b"version: 1\npart_name: 20191201_0_0_0\nrequired_number_of_replicas: 2\n"
    b"actual_number_of_replicas: 1\nreplicas:\nr1\n"
)
_HOST = b"host: r1.example\nport: 9009\ntcp_port: 9000\ndatabase: shop\ntable: hits\nscheme: http\n"
_STAT = Stat(5, 5, 1_600_000_000_000, 1_600_000_000_000, 0, 0, 0, 0, 0, 0, 5)
_LEDGER = LedgerEntry(
    host="r1.example",
    interserver_port=9009,
    host_version=1,
    host_mzxid=17,
    server_version="20.12.3.3",
    patched_sign="SELECT 1",
    started_at="2026-11-21T00:00:00.000Z",
    cold=ColdEnsemble(("c1:2181", "c2:2181"), "/root"),
    verified_by="a test",
    verified_at="2026-11-21T00:00:00.000Z",
)
_KNOWN = KnownCold(7, 8, "c1:2181")
_ROWS = [
    PlanRow(f"/clickhouse/tables/0{shard}/hits", day, State.COLD, "test", 1_600_000_000_000, 2, 2, 192)
    for shard in (1, 2)
    for day in ("20191201", "20191202")
]
_SETTINGS = {
    "hosts": ["zk1:2181", "[::1]:2181"],
    "chroot": "/a",
    "session_timeout": 30,
    "members_complete": True,
    "auth": {"scheme": "digest", "credential": "user:password"},
    "tls": {"verify": False, "check_hostname": False},
}


def znode_targets() -> list[Target]:
    """All of them."""
    return [*_clickhouse_targets(), *_own_targets()]


def _clickhouse_targets() -> list[Target]:
    return [
        _target("part name of version 1", [b"20191201_0_12_3", b"2019-1_0_0_0_7", b"all_1_1_0"], _name(1)),
        _target(
            "part name of version 0", [b"20191201_20191220_0_0_0", b"20191201_20191205_0_7_1_3"], _name(0)
        ),
        _target("partition id", [b"20191201", b"all", b"2019--1"], _partition_id),
        _target("log entry", _ENTRIES, _log_entry),
        _target("mutation entry", [_MUTATION], lambda data: parse_mutation_entry(data, "/here")),
        _target("quorum entry", [_QUORUM], lambda data: parse_quorum_entry(data, 1, "/here")),
        _target("block lock", [b"", b"/hits/temp/abandonable_lock-0000000001"], _lock),
        _target("minimalistic payload", [MINIMALISTIC], _payload),
        _target("legacy checksums", [LEGACY["checksums"]], _checksums),
        _target("table metadata", [definition(1), definition(0)], _metadata),
        _target("columns", [_COLUMNS], lambda data: columns_have_ttl(data, "/here")),
        _target("host of a replica", [_HOST], lambda data: parse_address(_znode(data))),
    ]


def _own_targets() -> list[Target]:
    markers = [
        ColdMarker(TableId("", 7, 0), HotSide("/a", "/b")).encode(),
        ColdMarker(TableId("", 7, 0), None).encode(),
    ]
    items = json.dumps([{"shard_path": "/a", "partition": "all"}]).encode()
    return [
        _target("shard path", [b"/clickhouse/tables/01/hits"], lambda data: ShardLayout(_text(data))),
        _target("state", [b"COLD", b"HOT"], lambda data: (is_cold(data), marker_text(data))),
        _target("marker in cold", markers, lambda data: parse_marker(_znode(data))),
        _target("known cold", [_KNOWN.encode()], lambda data: parse_known_cold(_znode(data))),
        _target("ledger entry", [_LEDGER.encode()], lambda data: parse_entry(_znode(data))),
        _target("turn", [Claim("a run", 60).data], lambda data: parse_claim(data, "/here")),
        _target("plan file", [_plan()], _read_plan),
        _target("list of partitions", [items], _items),
        _target("line of a journal", _JOURNAL, lambda data: parse_line(data, "here")),
        _target("connection settings", [json.dumps(_SETTINGS).encode()], _settings),
        _target("duration", [b"36h", b"7d", b"90"], lambda data: parse_duration(_text(data), "min_age")),
    ]


def _target(name: str, corpus: list[bytes], read: Callable[[bytes], object]) -> Target:
    return Target(name, corpus, read, PartMoveError)


def _text(data: bytes) -> str:
    """What a name from a znode or an option may be: any text that Python can hold."""
    return data.decode(errors="surrogateescape")


def _name(format_version: int) -> Callable[[bytes], object]:
    return lambda data: parse_part_name(_text(data), format_version, "/here")


def _log_entry(data: bytes) -> object:
    entry = parse_log_entry(data, "/here")
    return [partitions_named(entry, version) for version in (1,)]


def _lock(data: bytes) -> object:
    return block_lock("block-0000000001", data, 0, frozenset({"abandonable_lock-0000000001"}), "/here")


def _payload(data: bytes) -> object:
    return parse_payload(data, {}, "/here")


def _checksums(data: bytes) -> object:
    return parse_payload(b"", {"columns": LEGACY["columns"], "checksums": data}, "/here")


def _partition_id(data: bytes) -> object:
    return check_partition_id(_text(data), "here")


def _metadata(data: bytes) -> object:
    return parse_table_metadata(data, "/here")


def _znode(data: bytes) -> Znode:
    return Znode("/here", data, _STAT)


def _plan() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.jsonl"
        write_plan(path, _ROWS, policy_digest="0" * 64, source="test", origin=made_up, as_of=0)
        return path.read_bytes()


def _read_plan(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.jsonl"
        path.write_bytes(data)
        return list(read_plan(path).rows())


def _items(data: bytes) -> object:
    """A list as Ansible hands it over: what JSON can say."""
    items = _json(data)
    if not isinstance(items, list):
        raise Unfit
    return rows_from_list(items, State.COLD)


def _settings(data: bytes) -> object:
    return options_of("hot", _json(data))


def _json(data: bytes) -> object:
    """What Ansible makes of it, which is no parser of ours."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unfit from error
