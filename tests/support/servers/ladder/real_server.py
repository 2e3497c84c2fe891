# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real ClickHouse server of a version of the ladder, with any configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lxml import etree

from support.servers.ladder.programs import ENVIRONMENT, Program, ProgramFailed, command, extract_from_config
from support.servers.ports import ReservedPorts
from support.servers.process import ServerProcess
from support.servers.sql_server import SqlServer

PORTS = ("http_port", "tcp_port", "interserver_http_port")
"""The elements of a configuration with the ports that a server always gets from `ReservedPorts`."""

_WITHOUT = (
    "https_port",
    "tcp_port_secure",
    "tcp_with_proxy_port",
    "mysql_port",
    "postgresql_port",
    "grpc_port",
    "interserver_https_port",
    "prometheus",
)
"""Elements that have the server listen on more ports."""


class RealServer(SqlServer):
    """A server with its own ports, data folder and log, whatever the configuration has as those.

    Use it as a context manager, or with `start`, `stop`, `kill` and `close`. It listens on 127.0.0.1 alone.
    """

    def __init__(self, version: str, config_path: Path, folder: Path | None = None) -> None:
        """Reserve ports, and write them into a file that the server reads with its configuration.

        version: such as 24.8.
        config_path: of config.xml or config.yaml, which stays as it is: `own_config` is read last.
        folder: for the data and the log; without one, a folder "server" beside the configuration.

        Raises:
            NotToBeHad: this machine does not have the version.
            ValueError: the configuration has a second <listen_host>, which would be listened on.
        """
        _require_one_listen_host(version, config_path)
        folder = folder or config_path.parent / "server"
        self.version = version
        self.config_path = config_path
        reserved = ReservedPorts()
        self.ports = {name: reserved.take() for name in PORTS}
        log = folder / "clickhouse-server.log"
        arguments = command(version, Program.SERVER, f"--config-file={config_path}")
        process = ServerProcess(f"ClickHouse server {version}", arguments, log, ENVIRONMENT)
        super().__init__(f"real {version}", folder, process, reserved, self.ports["http_port"])
        self._write_own_config(log)

    @property
    def own_config(self) -> Path:
        """The file with the ports and folders of this server."""
        return self.config_path.with_suffix(".d") / "zzz-server-of-tests.xml"

    @property
    def preprocessed_config(self) -> Path:
        """The file with the whole configuration as the server has read it, includes and all."""
        return self.data_dir / "preprocessed_configs" / self.config_path.with_suffix(".xml").name

    def configuration(self) -> etree._Element:
        """What the server has read last."""
        parser = etree.XMLParser(huge_tree=True, remove_comments=True)
        return etree.fromstring(self.preprocessed_config.read_bytes(), parser)

    def _write_own_config(self, log: Path) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        values: dict[str, object] = {
            **self.ports,
            "listen_host": "127.0.0.1",
            "path": f"{self.data_dir}/",
            "tmp_path": f"{self.data_dir}/tmp/",
            "user_files_path": f"{self.data_dir}/user_files/",
            "format_schema_path": f"{self.data_dir}/format_schemas/",
            "interserver_http_host": "127.0.0.1",
        }
        logger = {"level": "debug", "log": log, "errorlog": log.with_suffix(".err.log")}
        root = etree.Element("clickhouse")
        _add_replaced(root, values)
        _add_replaced(etree.SubElement(root, "logger"), logger)
        for name in _WITHOUT:
            etree.SubElement(root, name, remove="1")
        self.own_config.parent.mkdir(exist_ok=True)
        self.own_config.write_bytes(etree.tostring(root, pretty_print=True))


def _add_replaced(parent: etree._Element, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        etree.SubElement(parent, name, replace="replace").text = str(value)


def _require_one_listen_host(version: str, config_path: Path) -> None:
    # What the server cannot read it refuses itself when it is started.
    with suppress(ProgramFailed):
        second = extract_from_config(version, config_path, "listen_host[1]")
        if second is not None:
            raise ValueError(
                f"{config_path}: tests listen on 127.0.0.1 alone: leave <listen_host>{second} out"
            )
