# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The znodes of the demo's tables, recorded from real servers, for machines without ClickHouse."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from demo.stage import Ensembles, Server
from demo.tables import DemoTable
from support.servers.kazoo_client import connected

RECORDING = Path(__file__).with_name("recorded") / "znodes.json"

_FORMAT = "olap.partmove/recorded-znodes"
# What counts as a pause; for less, nobody need wait.
_PAUSE_SECONDS = 2.0

_UNSHOWN = "this is the demo without ClickHouse servers"

_WARNING = """\
This is the demo WITHOUT CLICKHOUSE SERVERS, so it shows less. The znodes of its tables were recorded from \
real servers ({made_with}) and are put into the hot ensemble, and part_move runs with "assume_active: true" \
and "assume_patched: true", which take for granted that the servers have the parts on disk and know the \
cold ensemble. To see everything on Debian 12, as root: apt-get install clickhouse-server g++"""


@dataclass(frozen=True)
class RecordedZnode:
    """A znode, and when it was created, in seconds after the first one."""

    path: str
    data: bytes
    ephemeral: bool
    seconds: float


@dataclass(frozen=True)
class Recording:
    """The znodes in the order of their creation, and what wrote them."""

    made_with: str
    znodes: tuple[RecordedZnode, ...]

    def replay(self, client: KazooClient) -> datetime:
        """Create the znodes, with the pauses there were; return when the last of these had ended.

        Ephemeral ones go with the client's session.
        """
        resumed = datetime.now(UTC)
        client.ensure_path(self.znodes[0].path.rpartition("/")[0] or "/")
        before = 0.0
        for znode in self.znodes:
            if znode.seconds - before > _PAUSE_SECONDS:
                time.sleep(znode.seconds - before)
                resumed = datetime.now(UTC)
            before = znode.seconds
            client.create(znode.path, znode.data, ephemeral=znode.ephemeral)
        return resumed


class RecordedStage:
    """Implements Stage with the znodes alone; replicas seem to run as long as the client's session lasts."""

    servers: Sequence[Server] = ()

    def __init__(self, client: KazooClient, recording: Recording) -> None:
        """Take a client of the hot ensemble that is started."""
        self._client = client
        self._recording = recording

    @property
    def unshown(self) -> str:
        """All that takes a server."""
        return _UNSHOWN

    @property
    def warning(self) -> str:
        """That there are no servers."""
        return _WARNING.format(made_with=self._recording.made_with)

    @property
    def readiness(self) -> Mapping[str, Any]:
        """There is no server to ask."""
        return {"assume_patched": True, "assume_active": True}

    def fill(self) -> datetime:
        """Create the znodes that were recorded."""
        return self._recording.replay(self._client)

    def rows(self) -> Mapping[str, tuple[int, int]]:
        """Nothing: nobody holds rows."""
        return {}

    def check(self) -> str:
        """Say that there is nothing to check."""
        return f"Not shown: {_UNSHOWN}, so there are no rows to compare."

    def restart(self) -> str:
        """Not here."""
        raise NotImplementedError(_UNSHOWN)

    def drop(self, table: DemoTable, partition: str) -> None:
        """Not here."""
        raise NotImplementedError(_UNSHOWN)


@contextmanager
def recorded_stage(ensembles: Ensembles, recording: Recording) -> Iterator[RecordedStage]:
    """Keep a session with the hot ensemble until the end."""
    with connected(ensembles.hot.connect_string) as client:
        yield RecordedStage(client, recording)


def record(client: KazooClient, root: str, made_with: str) -> Recording:
    """Read the znodes at and below `root`."""
    found = sorted(_walk(client, root), key=lambda each: each[0])
    start = found[0][1].seconds
    znodes = tuple(
        RecordedZnode(each.path, each.data, each.ephemeral, round(each.seconds - start, 3))
        for _transaction, each in found
    )
    return Recording(made_with, znodes)


def write(recording: Recording, path: Path = RECORDING) -> None:
    """Write a recording as JSON, one znode a line."""
    lines = ",\n".join(json.dumps(_as_json(znode), ensure_ascii=False) for znode in recording.znodes)
    head = json.dumps({"format": _FORMAT, "made_with": recording.made_with})
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{head[:-1]}, "znodes": [\n{lines}\n]}}\n')


def read(path: Path = RECORDING) -> Recording:
    """Read a recording.

    Raises:
        ValueError: the file is no recording.
    """
    content = json.loads(path.read_text())
    if content.get("format") != _FORMAT:
        raise ValueError(f"{path} is no recording of znodes: `make demo WHAT=record` makes it again")
    return Recording(content["made_with"], tuple(_from_json(each) for each in content["znodes"]))


def _walk(client: KazooClient, path: str) -> Iterator[tuple[int, RecordedZnode]]:
    """Give each znode with the number of the transaction that created it; parents come first by it."""
    data, stat = client.get(path)
    yield stat.czxid, RecordedZnode(path, data, bool(stat.ephemeralOwner), stat.ctime / 1000)
    for name in sorted(client.get_children(path)):
        yield from _walk(client, f"{path}/{name}")


def _as_json(znode: RecordedZnode) -> dict[str, Any]:
    data: dict[str, str] = {"base64": base64.b64encode(znode.data).decode()}
    with suppress(UnicodeDecodeError):
        text = znode.data.decode()
        if text.replace("\n", "").replace("\t", "").isprintable():
            data = {"text": text}
    kind = {"ephemeral": True} if znode.ephemeral else {}
    return {"seconds": znode.seconds, "path": znode.path, **kind, **data}


def _from_json(content: dict[str, Any]) -> RecordedZnode:
    data = content["text"].encode() if "text" in content else base64.b64decode(content["base64"])
    return RecordedZnode(content["path"], data, content.get("ephemeral", False), content["seconds"])
