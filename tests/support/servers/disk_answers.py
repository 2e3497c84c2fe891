# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers the queries for the parts of replicas, in place of ClickHouse servers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.servers.plain_answer import asks_for_settings, settings_rows


class DiskAnswers:
    """The disks of the replicas of one table, behind one HTTP interface.

    disk: names of the active parts by replica, which a test changes as it likes.
    """

    def __init__(self, replicas: Iterable[str]) -> None:
        self.disk: dict[str, set[str]] = {replica: set() for replica in replicas}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                sql = self.rfile.read(int(self.headers["Content-Length"])).decode()
                body = json.dumps({"data": outer.rows(sql)}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def options(self) -> dict[str, Any]:
        """The option `clickhouse` of modules."""
        address = f"127.0.0.1:{self.server.server_port}"
        return {"clickhouse": {"endpoints": dict.fromkeys(self.disk, address)}}

    def rows(self, sql: str) -> list[list[str]]:
        """The rows of an answer, of a version that shows neither hashes nor detached parts."""
        if asks_for_settings(sql):
            return settings_rows()
        replica = re.search(r"replica_name = '([^']+)'", sql)
        if replica is None:
            return []
        partitions = re.search(r"partition_id IN \(([^)]*)\)", sql)
        names = sorted(self.disk[replica[1]])
        parts = [
            ["parts", name.split("_")[0], name, "1", ""]
            for name in names
            if partitions is None or f"'{name.split('_')[0]}'" in partitions[1]
        ]
        return [["", "default", "hits", "0", "0"], *parts]


@contextmanager
def disk_answers(replicas: Iterable[str]) -> Iterator[DiskAnswers]:
    """Answer while the context is open."""
    answers = DiskAnswers(replicas)
    thread = threading.Thread(target=answers.server.serve_forever)
    thread.start()
    try:
        yield answers
    finally:
        answers.server.shutdown()
        answers.server.server_close()
        thread.join()
