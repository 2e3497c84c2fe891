# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""drop.yml asks a server for the path of its table, in the words of that server, before anything else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook

PATH = "/clickhouse/tables/01/hits"


@contextmanager
def server(*paths: str) -> Iterator[tuple[str, list[str]]]:
    """Answer each statement with these paths; yield the address and the statements."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            body = json.dumps({"data": [[each] for each in paths]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{http.server_port}", seen
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def drop(folder: Path, *entries: dict[str, Any]) -> PlaybookRun:
    """Run the playbook with ensembles that nobody has."""
    hits = {"shard_path": PATH, "partition": "20191201", "table": "hits", "server": "http://ch1:8123"}
    variables = {
        "part_move_hot": {"hosts": ["127.0.0.1:1"], "timeout": 1},
        "part_move_cold": {"hosts": ["127.0.0.1:2"], "timeout": 1},
        "part_move_clickhouse": {},
        "drop_partitions": [{**hits, **each} for each in entries],
    }
    playbook = folder / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.drop"}]))
    return run_playbook(playbook, "-e", json.dumps(variables), "--check")


def test_names_are_asked_for_as_the_server_reads_them(tmp_path: Path) -> None:
    """Once for each table, however many of its partitions are listed."""
    tables = ["hits", "hits", "shop.hits", "`sh op`.`hits-2019`", '"hits;"']
    with server(PATH) as (address, seen):
        done = drop(tmp_path, *({"table": each, "server": f"http://{address}/?a=b"} for each in tables))
    assert "Refuse a table at another path" in done.output
    assert "Nothing was dropped" not in done.output
    assert "Read where the partition is" in done.output
    select = (
        "SELECT zookeeper_path FROM system.replicas WHERE database = {} AND table = '{}' FORMAT JSONCompact"
    )
    assert seen == [
        select.format("currentDatabase()", "hits"),
        select.format("'shop'", "hits"),
        select.format("'sh op'", "hits-2019"),
        select.format("currentDatabase()", "hits;"),
    ]


@pytest.mark.parametrize(
    ("paths", "has"),
    [
        ([], "has no replicated table as hits"),
        (["/clickhouse/tables/02/hits"], "has the table at /clickhouse/tables/02/hits as hits"),
        ([PATH, "/b"], f"has the table at {PATH} and /b as hits"),
    ],
)
def test_another_table_is_refused_without_a_password_in_the_sentence(
    tmp_path: Path, paths: list[str], has: str
) -> None:
    with server(*paths) as (address, seen):
        done = drop(tmp_path, {"server": f"http://{address}/?password=secret"})
    assert done.status != 0
    assert f"{address}/ {has}, and drop_partitions names {PATH} with it." in done.output
    assert "secret" not in done.output.partition("TASK [Refuse a table at another path")[2]
    assert [each.split()[0] for each in seen] == ["SELECT"]


@pytest.mark.parametrize(
    "table",
    [
        "hits ON CLUSTER all",
        "a.b.c",
        "hits-2019",
        "`hi`ts`",
        "'hits'",
        "hits; SELECT 1",
        "`hi\\`",
        "",
        "hits\n",
    ],
)
def test_what_is_no_name_of_a_table_is_refused(tmp_path: Path, table: str) -> None:
    with server(PATH) as (address, seen):
        done = drop(tmp_path, {"table": table, "server": f"http://{address}"})
    assert done.status != 0
    assert "Not understood: " in done.output
    assert seen == []


@pytest.mark.parametrize("partition", [1e30, True, None, ["20191201"]])
def test_what_yaml_does_not_read_as_an_id_is_refused(tmp_path: Path, partition: object) -> None:
    done = drop(tmp_path, {"partition": partition})
    assert done.status != 0
    assert "Give the partition of each entry of drop_partitions in quotes" in done.output
