# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inserts into the table hits and selects from it without a break, to see what a rollout does to its users.

Usage: python -m staging.load FOLDER SHARD,NAME,HOST:PORT...

It behaves like clients behind a load balancer: a replica with a file FOLDER/drained/NAME gets no query, and
once it has none any more there is a file FOLDER/left/NAME. A query is never tried again, so a failure is one
that a client would have seen. It ends once there is a file FOLDER/stop, and writes FOLDER/report.json.
"""

from __future__ import annotations

import http.client
import itertools
import json
import sys
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

_PAUSE_SECONDS = 0.5
_QUERY_SECONDS = 300.0


class Replica(NamedTuple):
    """A server that can be asked for the rows of its shard."""

    shard: str
    name: str
    address: str


@dataclass
class Report:
    """What the clients saw."""

    inserted: dict[str, int] = field(default_factory=dict)
    """Rows that were confirmed, by shard."""
    selects: int = 0
    failures: list[str] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    """Queries by replica."""
    alone: int = 0
    """Rounds in which a shard had one replica only."""


class Load:
    """One client for all shards; every query is sent to the next replica that is in use."""

    def __init__(self, folder: Path, replicas: Sequence[Replica]) -> None:
        """Make the folders that it is steered by."""
        self._drained = folder / "drained"
        self._left = folder / "left"
        for each in (self._drained, self._left):
            each.mkdir(parents=True, exist_ok=True)
        self._replicas = replicas
        self._keys = itertools.count(1_000_000)
        self.report = Report(inserted={replica.shard: 0 for replica in replicas})

    def round(self) -> None:
        """Insert a row into each shard and select from it."""
        used = self._in_use()
        for shard in self.report.inserted:
            replicas = [replica for replica in used if replica.shard == shard]
            if not replicas:
                self.report.failures.append(f"no replica of shard {shard} was in use")
                continue
            self.report.alone += len(replicas) == 1
            turn = next(self._keys)
            if self._ask(replicas[turn % len(replicas)], f"INSERT INTO hits VALUES (today(), {turn})"):
                self.report.inserted[shard] += 1
            sql = "SELECT count(), sum(k) FROM hits WHERE d < '2020-01-01'"
            self.report.selects += self._ask(replicas[(turn + 1) % len(replicas)], sql)

    def _in_use(self) -> list[Replica]:
        """No query is under way here, so a replica that was drained meanwhile is left from now on."""
        used = []
        for replica in self._replicas:
            left = self._left / replica.name
            if (self._drained / replica.name).exists():
                left.touch()
            else:
                left.unlink(missing_ok=True)
                used.append(replica)
        return used

    def _ask(self, replica: Replica, sql: str) -> bool:
        self.report.asked[replica.name] = self.report.asked.get(replica.name, 0) + 1
        connection = http.client.HTTPConnection(replica.address, timeout=_QUERY_SECONDS)
        try:
            connection.request("POST", "/?" + urllib.parse.urlencode({"query": sql}))
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace").strip()
        except (OSError, http.client.HTTPException) as error:
            text = f"{type(error).__name__}: {error}"
        else:
            if answer.status == http.client.OK:
                return True
        finally:
            connection.close()
        self.report.failures.append(f"{replica.name}: {text[:300]} [{sql}]")
        return False


def main(folder: Path, replicas: Sequence[Replica]) -> None:
    """Go on until there is a file `stop`."""
    load = Load(folder, replicas)
    while not (folder / "stop").exists():
        load.round()
        (folder / "started").touch()
        time.sleep(_PAUSE_SECONDS)
    (folder / "report.json").write_text(json.dumps(asdict(load.report), indent=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Replica(*each.split(",")) for each in sys.argv[2:]])
