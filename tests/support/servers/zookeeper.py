# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real ZooKeeper ensembles, run from the jars that the installed pyspark package carries."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from support.servers.ports import ReservedPorts
from support.servers.process import POLL_SECONDS, ServerError, ServerProcess
from support.servers.server import START_SECONDS, Server
from support.servers.zookeeper_config import EnsembleOptions, MemberFiles, MemberPorts, command, write_files

__all__ = ["Ensemble", "EnsembleOptions", "Member"]

_MODE_SECONDS = 10.0
"""How long one question for the mode may take: a member that is paused does not answer."""
_SERVING_SECONDS = 2.0
"""The same of a question that is repeated: one that comes while a member starts may have no answer at all."""


class Member(Server):
    """One ZooKeeper server of an ensemble, which serves clients while a majority of the members runs."""

    def __init__(self, files: MemberFiles, command_line: tuple[str, ...], *, secure: bool) -> None:
        """Take the files that `Ensemble` wrote; `secure`: it listens with TLS too."""
        self.files = files
        self._secure = secure
        name = f"ZooKeeper member {files.myid} of {files.folder.parent.name}"
        super().__init__(ServerProcess(name, command_line, files.folder / "zookeeper.log"))

    @property
    def myid(self) -> int:
        """The number of the member, from 1."""
        return self.files.myid

    @property
    def address(self) -> str:
        """Where clients connect, as 127.0.0.1:port."""
        return f"127.0.0.1:{self.files.ports.client}"

    @property
    def secure_address(self) -> str:
        """Where clients connect with TLS; only listening with `EnsembleOptions.tls`."""
        return f"127.0.0.1:{self.files.ports.secure}"

    @property
    def data_dir(self) -> Path:
        """The folder whose version-2 subfolder holds snapshots and transaction logs."""
        return self.files.data_dir

    def four_letter(self, word: str, seconds: float = 60.0) -> str:
        """Send a four-letter command such as `srvr`, `mntr` or `cons`, and return the answer.

        Raises:
            OSError: nobody answers.
        """
        with socket.create_connection(("127.0.0.1", self.files.ports.client), seconds) as connection:
            connection.sendall(word.encode())
            chunks = iter(lambda: connection.recv(65_536), b"")
            return b"".join(chunks).decode()

    def mode(self, seconds: float = _MODE_SECONDS) -> str | None:
        """Return standalone, leader, follower or observer, or None when the member does not serve."""
        try:
            answer = self.four_letter("srvr", seconds)
        except OSError:
            return None
        modes = [line.removeprefix("Mode: ") for line in answer.splitlines() if line.startswith("Mode: ")]
        return modes[0] if modes else None

    def serving(self) -> bool:
        """Whether the member answers clients now."""
        return self.mode(_SERVING_SECONDS) is not None and (not self._secure or self._listens_with_tls())

    def monitor(self) -> dict[str, str]:
        """Return the values of `mntr`, for example zk_znode_count and zk_packets_received."""
        lines = self.four_letter("mntr").splitlines()
        return {name: value for name, _tab, value in (line.partition("\t") for line in lines)}

    def _listens_with_tls(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.files.ports.secure), _MODE_SECONDS):
                return True
        except OSError:
            return False


class Ensemble:
    """A standalone server or a quorum of members; as a context manager it is started and stopped."""

    def __init__(self, folder: Path, options: EnsembleOptions | None = None) -> None:
        """Reserve ports and write every member's configuration below `folder`.

        Raises:
            ServerError: no Java, or no ZooKeeper jars, on this machine.
        """
        self.options = options or EnsembleOptions()
        self.folder = folder
        self._reserved = ReservedPorts()
        count = self.options.participants + self.options.observers
        files = [self._member_files(myid) for myid in range(1, count + 1)]
        for member in files:
            write_files(self.options, member, files)
        self.members = [
            Member(member, command(self.options, member), secure=self.options.tls is not None)
            for member in files
        ]

    def __enter__(self) -> Self:
        """Start all members."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all members and give the ports back."""
        self.close()

    @property
    def connect_string(self) -> str:
        """The addresses of all members, separated by commas."""
        return ",".join(member.address for member in self.members)

    @property
    def secure_connect_string(self) -> str:
        """The TLS addresses of all members, separated by commas."""
        return ",".join(member.secure_address for member in self.members)

    def start(self) -> None:
        """Start all members together and wait until each serves clients.

        Raises:
            ServerError: a member did not; all members are stopped then.
        """
        try:
            for member in self.members:
                member.spawn()
            for member in self.members:
                member.wait()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End all members in an orderly way, keeping data and ports."""
        for member in self.members:
            member.stop()

    def kill(self) -> None:
        """End all members at once, keeping data and ports."""
        for member in self.members:
            member.kill()

    def heal(self) -> None:
        """Let paused members go on and start those that do not run, until all serve together.

        Raises:
            ServerError: a member did not come back.
        """
        for member in self.members:
            if member.running:
                member.resume()
            else:
                member.spawn()
        for member in self.members:
            member.wait()
        # A member that was paused serves still, although the others may have gone on without it.
        if len(self.members) > 1:
            self._await(self._is_whole, "were not one ensemble again")

    def close(self) -> None:
        """End all members and give the ports back; the data stays in `folder`."""
        self.kill()
        self._reserved.release()

    def leader(self) -> Member:
        """Return the leader, or the only member of a standalone ensemble.

        Raises:
            ServerError: no member leads within START_SECONDS.
        """
        leaders: list[Member] = []

        def is_led() -> bool:
            leaders[:] = self.in_modes({"leader", "standalone"})
            return bool(leaders)

        self._await(is_led, "had no leader")
        return leaders[0]

    def followers(self) -> list[Member]:
        """Return the members that follow, once every member that runs serves.

        Raises:
            ServerError: not every one does within START_SECONDS.
        """
        modes: dict[Member, str | None] = {}

        def all_serve() -> bool:
            modes.clear()
            modes.update((member, member.mode()) for member in self.members if member.running)
            return None not in modes.values()

        self._await(all_serve, "did not all serve")
        return [member for member, mode in modes.items() if mode == "follower"]

    def in_modes(self, modes: Iterable[str]) -> list[Member]:
        """Return the running members whose mode is one of `modes`."""
        wanted = set(modes)
        return [member for member in self.members if member.running and member.mode() in wanted]

    def _is_whole(self) -> bool:
        leaders = self.in_modes({"leader"})
        if len(leaders) != 1:
            return False
        try:
            values = leaders[0].monitor()
        except OSError:
            return False
        wanted = {"zk_synced_followers": self.options.participants - 1}
        # Releases before 3.6 do not tell that there are none.
        if self.options.observers:
            wanted["zk_synced_observers"] = self.options.observers
        return all(values.get(name) == str(count) for name, count in wanted.items())

    def _await(self, condition: Callable[[], bool], problem: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise ServerError(f"the members {self.connect_string} {problem} within {START_SECONDS:g} s")
            time.sleep(POLL_SECONDS)

    def _member_files(self, myid: int) -> MemberFiles:
        take = self._reserved.take
        ports = MemberPorts(client=take(), quorum=take(), election=take(), secure=take())
        role = "participant" if myid <= self.options.participants else "observer"
        return MemberFiles(myid, role, ports, self.folder / f"member-{myid}")
