# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a real server reads in a configuration: it writes that down before it does anything else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from lxml import etree

from support.servers.ladder.forked import Ended
from support.servers.modern import keeper_hosts

_SECONDS = 300
# The exit status of a server that refuses <keeper> beside <zookeeper>.
_EXCESSIVE_ELEMENT = 138
# A setting of users, which newer servers refuse here soon after they have written down what they read.
_ENDS_EARLY = ("--", "--max_block_size=1")
# Of the sentences that were put around the first error, the innermost says it.
_REASON = re.compile(
    r".*(?:Exception: |Failed to [a-z ]+ '[^']*': )(?P<reason>.*?)"
    r"(?: in '|, Stack trace|: while \w+ing | \(version |\n|$)"
)


class Reading(NamedTuple):
    """What a server made of a configuration.

    refusal: why it does not start; then ``root`` is None.
    root: the configuration, put together.
    """

    refusal: str
    root: etree._Element | None

    def hosts(self, tag: str) -> list[str] | None:
        """The hosts of the element that counts; None when there is none."""
        assert self.root is not None, self.refusal
        found = self.root.findall(tag)
        return [each.findtext("host", "") for each in found[0] if _is_node(each)] if found else None

    def hot_hosts(self) -> list[str] | None:
        """The hosts of the hot ensemble of a server of today; None when there is none."""
        assert self.root is not None, self.refusal
        for tag in ("zookeeper", "keeper"):
            if self.root.find(tag) is not None:
                return self.hosts(tag)
        raft = self.root.find("keeper_server/raft_configuration")
        if raft is None or self.root.findtext("keeper_server/use_cluster") == "false":
            return None
        return [each.findtext("hostname", "") for each in raft if str(each.tag).startswith("server")]

    def without(self, *tags: str) -> list[str]:
        """All else that the server has read, white space and comments left out."""
        assert self.root is not None, self.refusal
        return [
            " ".join(
                f"{each.tag} {sorted(each.attrib.items())} {(each.text or '').strip()}"
                for each in child.iter("*")
            )
            for child in self.root.iterchildren("*")
            if child.tag not in tags
        ]


class EngineReading(NamedTuple):
    """What a modern server makes of a configuration.

    starts: whether it starts; it says nothing of use otherwise.
    hosts: of the hot ensemble.
    """

    starts: bool
    hosts: tuple[str, ...] = ()


class Server(Protocol):
    """Starts a server with arguments and waits for its end."""

    def call(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path) -> Ended:
        """Return the exit status, and what the server wrote."""


class InstalledServer:
    """Implements Server with a program of this machine."""

    def __init__(self, program: str) -> None:
        self._program = program

    def call(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path) -> Ended:
        """Return the exit status, and what the server wrote."""
        return _run([self._program, *arguments], environment, cwd)


def read_by_server(server: Server, main: Path, environment: Mapping[str, str]) -> Reading:
    """Start the server with the file and see what it reads.

    The configuration names no file of users, and the folder "data" beside it as the path. So the server
    writes down what it has read, and ends a tenth of a second later; newer ones end at once.
    """
    written = main.parent / "data" / "preprocessed_configs" / main.name
    written.unlink(missing_ok=True)
    ended = server.call([f"--config-file={main}", *_ENDS_EARLY], environment, main.parent)
    if ended.status == _EXCESSIVE_ELEMENT:
        return Reading("Both ZooKeeper and Keeper are specified", None)
    if written.exists():
        parser = etree.XMLParser(huge_tree=True)
        return Reading("", etree.fromstring(written.read_bytes(), parser))
    return Reading(reason_of(ended.written), None)


def read_by_engine(main: Path, environment: Mapping[str, str]) -> EngineReading:
    """Start the engine with the file, in a process of its own."""
    command = [sys.executable, keeper_hosts.__file__, str(main), str(main.parent / "data")]
    found = re.search(
        f"^{keeper_hosts.MARK}(.*)$", _run(command, environment, main.parent).written, re.MULTILINE
    )
    if found is None:
        return EngineReading(starts=False)
    addresses = [each.removeprefix("secure://") for each in found[1].split(",") if each]
    return EngineReading(True, tuple(each.rpartition(":")[0] for each in addresses))


def reason_of(written: str) -> str:
    """The innermost reason in what a program of ClickHouse wrote before it ended with an error."""
    found = _REASON.search(written)
    return found["reason"] if found else "it ended"


def _is_node(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith("node")


def _run(command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> Ended:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout)
