# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server process that never outlives the test run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.05

# The kernel sends the parent-death signal when the *thread* that forked the child ends. All
# servers are therefore forked by one thread that lives as long as this Python process.
_SPAWNER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="server-spawner")


class ServerError(RuntimeError):
    """A server did not start, stop or answer; the text ends with the tail of its log."""


class ServerCrashed(ServerError):
    """A server aborted (SIGABRT) before it was ready, which is no refusal of its configuration."""


class ServerProcess:
    """One server program: its command, its folder and its log file.

    States: not running, running, paused. `start` needs "not running"; `stop` and `kill` lead to
    "not running" from every state.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        """Remember what to run; `env` is added to the environment of this process."""
        self.name = name
        self.command = tuple(command)
        self.log = log
        self.env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id.

        Raises:
            ServerError: the server is not running.
        """
        if self._process is None:
            raise ServerError(f"{self.name} is not running: call start() first")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists (a paused process does)."""
        return self._process is not None and self._process.poll() is None

    @property
    def peak_mb(self) -> float:
        """The most memory that the process has had, in MB (10^6 bytes); 0 while it is not running."""
        if not self.running:
            return 0.0
        status = Path("/proc", str(self.pid), "status").read_text(encoding="utf-8")
        peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
        return int(peak) * 1024 / 1e6

    def start(self, ready: Callable[[], bool], seconds: float) -> None:
        """Start the process and wait until `ready` says yes.

        Raises:
            ServerError: it is running already, ended early, or was not ready within `seconds`.
        """
        self.spawn()
        self.wait_until(ready, seconds)

    def spawn(self) -> None:
        """Start the process without waiting for it.

        Raises:
            ServerError: it is running already.
        """
        if self.running:
            raise ServerError(f"{self.name} is running already (pid {self.pid})")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._process = _SPAWNER.submit(self._fork).result()

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Poll `ready`; a server that cannot become ready is killed before the error is raised.

        Raises:
            ServerCrashed: the process aborted.
            ServerError: the process ended otherwise, or was not ready within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            problem, kind = None, ServerError
            if not self.running:
                status = self._process and self._process.returncode
                problem = f"ended with exit status {status}"
                kind = ServerCrashed if status == -signal.SIGABRT else ServerError
            elif time.monotonic() > deadline:
                problem = f"was not ready within {seconds:g} s"
            if problem is not None:
                self.kill()
                raise kind(f"{self.name} {problem}; the end of {self.log}:\n{self.log_tail()}")
            time.sleep(POLL_SECONDS)

    def stop(self, seconds: float = 120.0) -> None:
        """Ask the process to end (SIGTERM), and kill it when it does not do so in time."""
        if self.running:
            self.resume()
            os.kill(self.pid, signal.SIGTERM)
            try:
                self._wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """End the process at once (SIGKILL), also a paused one; nothing happens when it is not running."""
        if self.running:
            os.kill(self.pid, signal.SIGKILL)
            self._wait(None)
        self._process = None

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): its connections stay open and nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)
        # The call returns before every thread has stopped: one of them may answer a last request.
        while self.running and not self._frozen():
            time.sleep(POLL_SECONDS)

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of the log file, or a note that there is none."""
        if not self.log.exists():
            return "(no log file)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _frozen(self) -> bool:
        states = set()
        for file in Path("/proc", str(self.pid), "task").glob("*/stat"):
            # A thread that has ended meanwhile answers nothing.
            with suppress(FileNotFoundError, ProcessLookupError):
                states.add(file.read_text().rpartition(")")[2].split()[0])
        return states == {"T"}

    def _wait(self, seconds: float | None) -> None:
        if self._process is not None:
            self._process.wait(seconds)

    def _fork(self) -> subprocess.Popen[bytes]:
        # setpriv sets the parent-death signal in the child itself: Python's preexec_fn is not
        # safe in a program with threads.
        setpriv = shutil.which("setpriv") or "/usr/bin/setpriv"
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [setpriv, "--pdeathsig", "KILL", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.env},
                # Not in the terminal's process group: Ctrl-C reaches the tests, which stop it.
                start_new_session=True,
            )
