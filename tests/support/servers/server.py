# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers of the tests have in common, of whatever program: how one is started, ended and frozen."""

from __future__ import annotations

from abc import ABC, abstractmethod

from support.servers.process import ServerProcess

START_SECONDS = 300.0


class Server(ABC):
    """One server; its data and its ports are there while it does not run, too."""

    def __init__(self, process: ServerProcess) -> None:
        """Take a process that is not started yet."""
        self.process = process

    @abstractmethod
    def serving(self) -> bool:
        """Whether the server answers clients now."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists."""
        return self.process.running

    def start(self) -> None:
        """Start the server and wait until it serves clients.

        Raises:
            ServerError: it did not; the text holds the end of its log.
        """
        self.process.start(self.serving, START_SECONDS)

    def spawn(self) -> None:
        """Start the server without waiting for it."""
        self.process.spawn()

    def wait(self) -> None:
        """Wait until a server that was spawned serves clients; otherwise as `start`."""
        self.process.wait_until(self.serving, START_SECONDS)

    def stop(self) -> None:
        """End the server in an orderly way."""
        self.process.stop()

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()

    def pause(self) -> None:
        """Freeze the server: connections stay open, nobody answers."""
        self.process.pause()

    def resume(self) -> None:
        """Let a paused server go on."""
        self.process.resume()

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of the server's log."""
        return self.process.log_tail(lines)
