# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of runs as files: where they are, how they are written, and what a run begins and ends with."""

from __future__ import annotations

import os
import pwd
import socket
import stat
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .._partmove.errors import PartMoveError
from .._partmove.journal.events import Event
from .._partmove.journal.lines import (
    encoded_lines,
)
from .._partmove.journal.port import Journal
from .._partmove.text import format_time
from .._partmove.tree.ports import Clock, ZnodeStore

COLLECTION_VERSION = "0.1.0"
"""As galaxy.yml has it, which is not on the host that a module runs on."""

_PLACE = Path("olap.partmove", "journal.jsonl")
_CHUNK_BYTES = 1024 * 1024


def default_path() -> Path:
    """The journal of the user that this runs as, in the folder for states as the XDG specification has it.

    Raises PartMoveError where the user has no home folder.
    """
    folder = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The specification lets a relative path count as none.
    if folder.is_absolute():
        return folder / _PLACE
    try:
        return Path("~/.local/state").expanduser() / _PLACE
    except RuntimeError as error:
        raise PartMoveError(
            f"User {_user()} has no home folder, in which the journal is kept by default",
            remedy="Set XDG_STATE_HOME or HOME, or give the path of the journal",
        ) from error


class NullJournal:
    """Implements Journal where nobody wants one."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Forget what is done."""


class FileJournal:
    """Implements Journal: appends lines, all with the id of the run that it was opened for.

    Runs that go on at the same time may write to one file: lines are handed over whole, many at once, and the
    system appends them one after the other. Threads of one run take turns.
    """

    def __init__(self, path: Path, clock: Clock, run: str) -> None:
        """Open the file, making it if need be; raises PartMoveError when that cannot be."""
        self._path = path
        self._clock = clock
        self._run = run
        self._turn = threading.Lock()
        try:
            self._descriptor = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unwritable(path, error) from error
        self._is_cut = self._ends_within_a_line()

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Append a line for each row; all are on disk when this returns, or PartMoveError is raised."""
        when = format_time(int(self._clock.now() * 1000))
        pending = bytearray()
        written = False
        try:
            with self._turn:
                for line in encoded_lines(when, self._run, event, rows):
                    pending += line
                    if len(pending) >= _CHUNK_BYTES:
                        self._write(bytes(pending))
                        pending.clear()
                        written = True
                if pending:
                    self._write(bytes(pending))
            if pending or written:
                os.fsync(self._descriptor)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def close(self) -> None:
        """Close the file; what was recorded is on disk already, and of what was not `record` has told."""
        with suppress(OSError):
            os.close(self._descriptor)

    def _write(self, lines: bytes) -> None:
        data = b"\n" + lines if self._is_cut else lines
        # Until all of it is written, the file may end within a line.
        self._is_cut = True
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._is_cut = False

    def _ends_within_a_line(self) -> bool:
        """Whether a run that was killed has left a line that has no end."""
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return False
        try:
            with self._path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except OSError:
            # Whoever may write a file need not be able to read it. A line end too many does no harm.
            return True


def open_journal(given: str | None, clock: Clock) -> FileJournal | NullJournal:
    """The journal that the option ``journal`` asks for: the default for None, none for an empty text.

    Raises PartMoveError where it cannot be written.
    """
    if given == "":
        return NullJournal()
    path = default_path() if given is None else Path(given)
    if given is None:
        try:
            path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.parent.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise unwritable(path, error) from error
    return FileJournal(path, clock, uuid.uuid4().hex)


def unwritable(path: Path, error: OSError) -> PartMoveError:
    """What to say of a journal that cannot be written."""
    return PartMoveError(
        f"The journal {path} cannot be written: {error.strerror}",
        remedy="Give as journal a path in a folder that exists and that this user may write to, or an empty"
        " text for no journal",
    )


@contextmanager
def journalled_run(
    journal: Journal,
    module: str,
    ensembles: tuple[ZnodeStore, ZnodeStore | None],
    work: Mapping[str, object],
    counts: Callable[[], Mapping[str, int]],
) -> Iterator[None]:
    """Let the journal have the begin of a run and, however it ends, its end.

    ensembles: hot and cold; None where only servers speak with cold. work: further fields of `Event.STARTED`.
    counts: what the run has done by then.
    """
    hot, cold = ensembles
    begin = {
        "module": module,
        "collection": COLLECTION_VERSION,
        "user": _user(),
        "host": socket.gethostname(),
        "process": os.getpid(),
        "hot": f"{','.join(hot.addresses)}{hot.chroot}",
        "cold": "" if cold is None else f"{','.join(cold.addresses)}{cold.chroot}",
    }
    journal.record(Event.STARTED, [{**begin, **work}])
    error = ""
    try:
        yield
    except BaseException as problem:
        error = str(problem) or type(problem).__name__
        raise
    finally:
        journal.record(Event.ENDED, [{"counts": dict(counts()), "error": error}])


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
