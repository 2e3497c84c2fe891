# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Passwords do not show, however much Ansible is asked to tell and whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable

from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from support.ansible.calls import call_modules
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, days
from support.servers.zookeeper import Ensemble

USER, PASSWORD = "mover", "Tr0ub4dor-and-3"
OTHER_PASSWORDS = ("wr0ng-horse", "batt3ry-staple", "corr3ct-key")
WRONG, OF_CLICKHOUSE, OF_KEY = OTHER_PASSWORDS
(FIRST,) = days(1)


def test_passwords_do_not_show(
    pair: Pair, table: Table, cold: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    chroot = f"{pair.base}-private"
    acl = make_digest_acl(USER, PASSWORD, all=True)
    connect(cold.connect_string).create(chroot, acl=[acl])
    right, wrong = (
        pair.options["cold"]
        | {"chroot": chroot, "auth": {"scheme": "digest", "credential": f"{USER}:{password}"}}
        for password in (PASSWORD, WRONG)
    )
    tls = {"cert": "/nonexistent/cert", "key": "/nonexistent/key", "key_password": OF_KEY}
    clickhouse = {"endpoints": {"r1": "127.0.0.1:9"}, "password": OF_CLICKHOUSE}
    wanted = partitions_of(table, FIRST)

    results, output = call_modules(
        pair.folder,
        pair.task("part_move", partitions=wanted, **ASSUMED | {"cold": wrong}),
        pair.task("part_move", partitions=wanted, **ASSUMED | {"cold": right | {"tls": tls}}),
        pair.task(
            "part_move",
            partitions=wanted,
            assume_patched=True,
            min_age="0",
            cold=right,
            clickhouse=clickhouse,
        ),
        pair.task("part_move", partitions=wanted, **ASSUMED | {"cold": right}),
        pair.task("part_info", shard_paths=[table.path], cold=right),
        pair.task("partition_state", shard_path=table.path, partition=FIRST, state="COLD", cold=right),
        pair.task("part_move", state="hot", partitions=wanted, cold=right, clickhouse=clickhouse),
        pair.task("part_move", state="hot", partitions=wanted, cold=right, assume_active=True),
    )

    denied, no_file, deferred, moved, info, state, not_back, back = results
    assert denied["failed"]
    # Keeper lets everybody ask whether a znode is there.
    texts = (f"{chroot}) may not read /. Give", "is denied to this identity by the cold ensemble. Give")
    assert any(text in denied["msg"] for text in texts)
    assert no_file["msg"].startswith("The TLS file /nonexistent/cert (cert) cannot be read.")
    assert "ClickHouse at 127.0.0.1:9 cannot be reached" in deferred["msg"]
    assert moved["counts"]["moved"] == 1
    assert info["partitions"][0]["location"] == "cold"
    assert state["state"] == "COLD"
    assert "ClickHouse at 127.0.0.1:9 cannot be reached" in not_back["msg"]
    assert back["counts"]["moved"] == 1
    assert "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in output
    for password in (PASSWORD, *OTHER_PASSWORDS):
        assert password not in output
        assert password not in str(results)
    copies = connect(cold.connect_string)
    copies.add_auth("digest", f"{USER}:{PASSWORD}")
    copy = f"{chroot}{table.parts_path('r1')}/{table.part_names(FIRST)[0]}"
    assert copies.get_acls(copy)[0] == [acl]
