# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of runs as files: location, writing, and the first and last event of a run."""

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

COLLECTION_VERSION = "1.0.0"
"""Version in galaxy.yml, a file that hosts with running modules do not have."""

_PLACE = Path("olap.partmove", "journal.jsonl")
_CHUNK_BYTES = 1024 * 1024


def default_path() -> Path:
    """Return the default journal of the current user, in the state folder of the XDG specification.

    Raises PartMoveError if the user has no home folder.
    """
    folder = Path(os.environ.get("XDG_STATE_HOME", ""))
    # The specification says to ignore a relative path.
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
    """Implements Journal without a file."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Discard the rows."""


class FileJournal:
    """Implements Journal: appends lines with the id of the run to a file.

    Several runs may write to one file at the same time: each write has whole lines, and the system appends
    the writes one after the other. Threads of one run share a lock.
    """

    def __init__(self, path: Path, clock: Clock, run: str) -> None:
        """Open or create the file. Raises PartMoveError on failure."""
        self._path = path
        self._clock = clock
        self._run = run
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unwritable(path, error) from error
        self._is_cut = self._ends_within_a_line()

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Append a line for each row. All lines are on disk on return. Raises PartMoveError on failure."""
        when = format_time(int(self._clock.now() * 1000))
        pending = bytearray()
        written = False
        try:
            with self._lock:
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
        """Close the file. Recorded lines are on disk already; `record` has raised an error for all others."""
        with suppress(OSError):
            os.close(self._descriptor)

    def _write(self, lines: bytes) -> None:
        data = b"\n" + lines if self._is_cut else lines
        # Until the whole write succeeds, the file may end with an incomplete line.
        self._is_cut = True
        while data:
            data = data[os.write(self._descriptor, data) :]
        self._is_cut = False

    def _ends_within_a_line(self) -> bool:
        """Return whether the file ends with an incomplete line, as a killed run may leave."""
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return False
        try:
            with self._path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) != b"\n"
        except OSError:
            # The user may be allowed to write but not to read the file. An extra line end does no harm.
            return True


def open_journal(given: str | None, clock: Clock, run: str = "") -> FileJournal | NullJournal:
    """Return the journal for the option ``journal``: the default file for None, no file for an empty text.

    run: id of the run, if several processes of one run write to the journal; otherwise a new id.
    Raises PartMoveError if the file cannot be written.
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
    return FileJournal(path, clock, run or uuid.uuid4().hex)


def unwritable(path: Path, error: OSError) -> PartMoveError:
    """Return the error for a journal that cannot be written."""
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
    """Record the start of a run and, however the run ends, its end.

    ensembles: hot and cold; cold is None if only servers have sessions with it. work: further fields of
    `Event.STARTED`. counts: returns the counts at the end of the run.
    """
    hot, cold = ensembles
    first_fields = {
        "module": module,
        "collection": COLLECTION_VERSION,
        "user": _user(),
        "host": socket.gethostname(),
        "process": os.getpid(),
        "hot": f"{','.join(hot.addresses)}{hot.chroot}",
        "cold": "" if cold is None else f"{','.join(cold.addresses)}{cold.chroot}",
    }
    journal.record(Event.STARTED, [{**first_fields, **work}])
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
