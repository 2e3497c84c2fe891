# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What clickhouse-extract-from-config answers for the members of the hot ensemble.

Of a key with * the program writes every value, a line each, and none if nothing matches. It looks keys up in
config.xml with all its drop-ins and substitutions, but for those of from_zk. With --try, newer versions leave
out all substitutions, also those of from_env, if there is no file of them: so keys are looked up without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from support.servers.ladder.forked import ForkedProgram

_DEFAULT_PORT = "2181"
_SECTIONS = ("zookeeper", "keeper")
_RAFT_HOSTS = "keeper_server.raft_configuration.*.hostname"


class Extracted(NamedTuple):
    """What the program answers.

    refusal: what it wrote instead of values, if it cannot read the configuration; then there are no members.
    members: host and port of each.
    """

    refusal: str
    members: tuple[tuple[str, str], ...] = ()


class _Refused(Exception):
    pass


class Extraction:
    """Asks the program of a version for values of one configuration."""

    def __init__(self, program: ForkedProgram, main: Path, environment: Mapping[str, str]) -> None:
        self._program = program
        self._main = main
        self._environment = environment

    def hot_members(self) -> Extracted:
        """Ask for the members of <zookeeper>, else of <keeper>, else of <keeper_server>."""
        try:
            for section in _SECTIONS:
                if hosts := self._values(f"{section}.*.host"):
                    ports = [self._value(f"{section}.node[{index}].port") for index in range(len(hosts))]
                    known = (port or _DEFAULT_PORT for port in ports)
                    return Extracted("", tuple(zip(hosts, known, strict=True)))
            hosts = self._values(_RAFT_HOSTS)
            if hosts and self._value("keeper_server.use_cluster") != "false":
                port = self._value("keeper_server.tcp_port")
                return Extracted("", tuple((host, port) for host in hosts))
        except _Refused as error:
            return Extracted(str(error))
        return Extracted("")

    def _value(self, key: str) -> str:
        """The value of a key, "" if there is none."""
        return "".join(self._values(key.replace("[0]", "")))

    def _values(self, key: str) -> list[str]:
        arguments = [f"--config-file={self._main}", f"--key={key}"]
        ended = self._program.call(arguments, self._environment, self._main.parent)
        if f"Not found: {key} " in ended.written:
            return []
        if ended.status:
            raise _Refused(ended.written)
        return [line for line in ended.written.splitlines() if line]
