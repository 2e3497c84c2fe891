# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A spark-submit whose Java stays for the jobs that follow: to start it takes most of a small one's time.

As with the program itself the job is a Python of its own, with the settings that were given, and finds a Java
that has no session of Spark. What differs is the Java: its memory and options are always those of
SMALL_SPARK_CONF, and what it and the workers say is not in the output of the job. One job runs after the
other. What has options that are not known here, such as --packages, is done by the program itself, and so is
all where this Java does not start. Tests of how Spark starts, what it says and of its clusters use that.

This file is the program of the process that waits as well.
"""

from __future__ import annotations

import atexit
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

_TESTS = Path(__file__).resolve().parents[2]
_REAL = Path(sys.executable).with_name("spark-submit")
_PLACE = "PARTMOVE_WARM_SPARK"
"""The variable of the environment that has the path of the program, for all processes of a run."""

# It imports nothing that would take as long as what it is for saves. Its connection ends with the job.
_CLIENT = """\
#!{python} -IS
import os, sys

real = [{real!r}, *sys.argv[1:]]
names = {{
    "--master": "spark.master", "--deploy-mode": "spark.submit.deployMode", "--name": "spark.app.name",
    "--py-files": "spark.submit.pyFiles",
}}
settings, given = {{}}, sys.argv[1:]
while given and given[0].startswith("--"):
    name, sign, value = given.pop(0).partition("=")
    if name == "--conf" and sign:
        name, _sign, value = value.partition("=")
        settings[name] = value
    elif name in names and given:
        settings[names[name]] = value if sign else given.pop(0)
    else:
        os.execv(real[0], real)
if settings.get("spark.submit.deployMode", "client") != "client":
    os.execv(real[0], real)

import _socket

server = _socket.socket(_socket.AF_UNIX)
try:
    server.connect({address!r})
except OSError:
    os.execv(real[0], real)
server.sendall(b"\\0".join(f"{{name}}={{value}}".encode() for name, value in settings.items()))
server.shutdown(_socket.SHUT_WR)
answer = server.recv(1024)
if not answer:
    os.execv(real[0], real)
port, secret = answer.split()
os.set_inheritable(server.fileno(), True)
environment = dict(os.environb)
path = [settings.get("spark.submit.pyFiles", "").replace(",", ":").encode(), environment.get(b"PYTHONPATH")]
environment[b"PYTHONPATH"] = b":".join(filter(None, path))
environment |= {{b"PYSPARK_GATEWAY_PORT": port, b"PYSPARK_GATEWAY_SECRET": secret}}
python = settings.get("spark.pyspark.python", "").encode() or environment.get(b"PYSPARK_PYTHON", b"python3")
environment[b"PYSPARK_PYTHON"] = python
python = settings.get("spark.pyspark.driver.python", "").encode() or python
os.execvpe(python, [python, *given], environment)
"""
_READ = 1 << 16


def program() -> Path:
    """Return the path of the program; it can be used until the first process ends that has asked for it."""
    if _PLACE not in os.environ:
        # The path of a socket has 107 bytes at most, and TMPDIR may be longer than that.
        folder = Path(tempfile.mkdtemp(prefix="spark-", dir="/tmp"))
        client = folder / "spark-submit"
        address = folder / "socket"
        client.write_text(_CLIENT.format(python=sys.executable, real=str(_REAL), address=str(address)))
        client.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(address))
            listener.listen(64)
            # It ignores no signal, even where the tests do, such as SIGINT in the background of a shell. The
            # files beside it have names of modules of Python.
            command = ["env", "--default-signal", sys.executable, "-P", __file__, str(listener.fileno())]
            with folder.joinpath("log").open("w") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[listener.fileno()]
                )
        atexit.register(_end, process, folder)
        os.environ[_PLACE] = str(client)
    return Path(os.environ[_PLACE])


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(folder)
    del os.environ[_PLACE]


class _Java:
    """A Java that has all of Spark, and no session."""

    def __init__(self) -> None:
        from pyspark import SparkConf  # noqa: PLC0415 - not before the first job
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

        from support.servers.jvm import SMALL_SPARK_CONF  # noqa: PLC0415

        conf = SparkConf(loadDefaults=False)
        for name, value in SMALL_SPARK_CONF.items():
            conf.set(name, value)
        gateway: Any = launch_gateway(conf)  # type: ignore[no-untyped-call]
        self._gateway = gateway
        self._jvm = gateway.jvm
        self._own = self._jvm.java.lang.System.getProperties().clone()
        parameters = gateway.java_parameters
        self.address = f"{parameters.port} {parameters.auth_token}"

    def set(self, settings: str) -> None:
        """Have the settings of one job, as spark-submit would set them."""
        system = self._jvm.java.lang.System
        system.setProperties(self._own.clone())
        for setting in settings.split("\0"):
            system.setProperty(*setting.split("=", 1))

    @property
    def is_free(self) -> bool:
        """Whether it runs and the job before has stopped its session; one that was killed has not."""
        if self._gateway.proc.poll() is not None:
            return False
        companion = getattr(getattr(self._jvm.org.apache.spark, "SparkContext$"), "MODULE$")
        return not companion.getActive().isDefined()

    def end(self) -> None:
        """End it, whatever it does."""
        self._gateway.proc.stdin.close()
        self._gateway.proc.wait()
        self._gateway.shutdown()


def _read(job: socket.socket) -> str:
    return b"".join(iter(lambda: job.recv(_READ), b"")).decode()


def _wait_for_end(job: socket.socket) -> None:
    """Wait until no process has the other end any more; that it says nothing more is so from the first."""
    poll = select.poll()
    poll.register(job, 0)
    poll.poll()


def _serve(listener: socket.socket, ending: TextIO) -> None:
    """See to one job after the other, until what is ``ending`` ends."""
    java: _Java | None = None
    awaited: list[socket.socket | TextIO] = [listener, ending]
    while listener in select.select(awaited, [], [])[0]:
        job, _address = listener.accept()
        with job:
            settings = _read(job)
            if java is not None and not java.is_free:
                java.end()
                java = None
            java = java or _Java()
            java.set(settings)
            job.sendall(java.address.encode())
            _wait_for_end(job)
    if java is not None:
        java.end()


if __name__ == "__main__":
    sys.path.insert(0, str(_TESTS))
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.stdin)
