# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A standalone Spark cluster on this machine: a master and its workers, from the pyspark package."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from support.servers.jvm import SMALL_SPARK
from support.servers.ports import ReservedPorts
from support.servers.process import ServerProcess
from support.servers.spark_home import spark_home

HOST = "127.0.0.1"
START_SECONDS = 300.0
LOCAL_FOLDER = "local"
"""Where in the folder of a cluster its workers keep what does not fit into memory."""


@contextmanager
def standalone_cluster(folder: Path, cores: int = 2, workers: int = 1) -> Iterator[str]:
    """Start the cluster, give the URL of its master, and stop it at the end; each worker has so many cores.

    Raises:
        ServerError: a server did not start.
    """
    with standalone_master(folder) as url, _ports(workers) as web_ports, ExitStack() as stack:
        for number, web_port in enumerate(web_ports, start=1):
            name = f"worker{number}"
            limits = ("--cores", str(cores), "--memory", "2g", "--work-dir", str(folder / name))
            worker = _server(name, folder, "worker.Worker", "--webui-port", web_port, *limits, url)
            stack.callback(worker.stop)
            worker.start(partial(_is_registered, worker), START_SECONDS)
        yield url


@contextmanager
def standalone_master(folder: Path) -> Iterator[str]:
    """Start the master of a cluster that has no worker, give its URL, and stop it at the end.

    Raises:
        ServerError: it did not start.
    """
    with _ports(2) as (port, web_port):
        master = _server("master", folder, "master.Master", "--port", port, "--webui-port", web_port)
        try:
            master.start(lambda: _listens(int(port)), START_SECONDS)
            yield f"spark://{HOST}:{port}"
        finally:
            master.stop()


@contextmanager
def _ports(number: int) -> Iterator[list[str]]:
    ports = ReservedPorts()
    try:
        yield [str(ports.take()) for _each in range(number)]
    finally:
        ports.release()


def _server(name: str, folder: Path, program: str, *options: str) -> ServerProcess:
    home = spark_home()
    command = (
        str(home / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{program}",
        "--host",
        HOST,
        *options,
    )
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL_SPARK,
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / LOCAL_FOLDER),
    }
    return ServerProcess(f"Spark {name}", command, folder / f"{name}.log", environment)


def _is_registered(worker: ServerProcess) -> bool:
    return "Successfully registered with master" in worker.log_tail()


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1.0).close()
    except OSError:
        return False
    return True
