# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of this host, read unchanged, and replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from ..._partmove.errors import PartMoveError
from .dialects import MERGED_SUFFIXES
from .draft import FileEdit


class ConfigFiles:
    """Implements ConfigSource over the files of this host. Raises PartMoveError if a file cannot be read."""

    def __init__(self, main: str) -> None:
        self.main = main

    def drop_ins(self) -> list[str]:
        """Return the paths of the files that some server merges into config.xml, in the order of merging."""
        found: list[Path] = []
        for folder in map(Path, self.drop_in_folders()):
            with self._listing(folder):
                found += [each for each in folder.iterdir() if self._is_merged(each)]
        return sorted(map(str, found), key=os.fsencode)

    def read(self, path: str) -> bytes | None:
        """Return the content of the file; None if it does not exist."""
        file = Path(path)
        try:
            kind = file.stat().st_mode
            if not stat.S_ISREG(kind):
                what = "a directory" if stat.S_ISDIR(kind) else "not a regular file"
                raise PartMoveError(f"{path} is {what}", remedy="Give the path of a file")
            return file.read_bytes()
        except FileNotFoundError as error:
            if path == self.main and file.is_symlink():
                raise PartMoveError(
                    f"{path} is a link to {file.readlink()}, which does not exist",
                    remedy="Let it point to the config.xml of the server",
                ) from error
            return None
        except OSError as error:
            raise PartMoveError(
                f"{path} cannot be read: {error.strerror}", remedy="Run as a user that may read it"
            ) from error

    def modified(self, paths: Sequence[str]) -> float:
        """Return when the newest of the existing files was written, in seconds since 1970."""
        newest = 0.0
        for path in paths:
            with contextlib.suppress(OSError):
                newest = max(newest, Path(path).stat().st_mtime)
        return newest

    def drop_in_folders(self) -> list[str]:
        """Return the existing folders whose files are merged."""
        main = Path(self.main)
        folders = {main.with_suffix(".d"), main.with_name("conf.d")}
        return sorted(str(folder) for folder in folders if folder.is_dir())

    def _is_merged(self, path: Path) -> bool:
        # Newer servers skip a dangling link, and older servers do not start with it.
        return path.suffix.lower() in MERGED_SUFFIXES and not path.name.startswith(".") and path.is_file()

    @contextlib.contextmanager
    def _listing(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PartMoveError(
                f"{folder} cannot be read: {error.strerror}", remedy="Run as a user that may read it"
            ) from error


def check_replaceable(edits: Sequence[FileEdit]) -> None:
    """Raise PartMoveError if an edit would fail, as far as this can be checked beforehand."""
    for edit in edits:
        target = Path(edit.path).resolve()
        folder = target.parent
        if folder.exists() and not folder.is_dir():
            raise PartMoveError(
                f"{edit.path} cannot be written: {folder} is a file and no folder",
                remedy="Remove that file, or use another style",
            )
        if not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise _unwritable(edit.path, f"its folder {folder} may not be written to")
        if edit.before is not None:
            _check_owned(edit.path, target)


def _check_owned(path: str, target: Path) -> None:
    try:
        owner = target.stat().st_uid
    except FileNotFoundError as error:
        raise _vanished(path) from error
    if not os.access(target, os.W_OK):
        raise _unwritable(path, "it may not be written to")
    if os.geteuid() not in (0, owner):
        raise _unwritable(path, "it belongs to another user, and would not after it was replaced")


def hard_links(edits: Sequence[FileEdit]) -> list[str]:
    """Return a sentence for each file with several names: the other names keep the old content."""
    found = []
    for edit in edits:
        with contextlib.suppress(OSError):
            count = Path(edit.path).stat().st_nlink
            if edit.before is not None and count > 1:
                found.append(
                    f"{edit.path} has {count} names (hard links). It is replaced as a whole, so the"
                    " other names keep what was there before."
                )
    return found


def replace_files(edits: Sequence[FileEdit], like: str, *, backup: bool) -> list[str]:
    """Carry out the edits in their order; return the paths of backups.

    All new contents are written to temporary files before the first file is replaced. A file keeps its owner,
    mode and attributes; a new file gets those of the file ``like``. A link stays: its target is replaced.

    Raises PartMoveError. No file was replaced then, unless the message says so.
    """
    check_replaceable(edits)
    backups: list[str] = []
    done: list[str] = []
    with ExitStack() as stack:
        pending = [stack.enter_context(_Replacement(edit, Path(like))) for edit in edits]
        if backup:
            backups = [each.back_up() for each in pending if each.edit.before is not None]
        for each in pending:
            try:
                each.finish()
            except PartMoveError as error:
                if not done:
                    raise
                raise PartMoveError(
                    f"{error.message}, after {' and '.join(done)} was replaced", remedy=error.remedy
                ) from error
            done.append(each.edit.path)
    return backups


class _Replacement:
    """The new content of one file, in a temporary file beside it until the replacement."""

    def __init__(self, edit: FileEdit, like: Path) -> None:
        self.edit = edit
        self._target = Path(edit.path).resolve()
        self._like = like.resolve() if edit.before is None else self._target
        self._new: Path | None = None

    def __enter__(self) -> _Replacement:
        if self.edit.after is not None:
            with self._translated_errors():
                if not self._target.parent.exists():
                    self._target.parent.mkdir()
                    _copy_owner_and_mode(self._like.parent, self._target.parent)
                self._new = self._beside(self.edit.after)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def back_up(self) -> str:
        """Copy the current file to a name that no server reads; return the path of the copy."""
        with self._translated_errors():
            copy = self._beside(self.edit.before or b"")
            when = time.strftime("%Y-%m-%d@%H:%M:%S", time.localtime())
            return str(copy.rename(f"{self._target}.{os.getpid()}.{when}~"))

    def finish(self) -> None:
        """Replace the file, unless somebody has written to it since it was read."""
        with self._translated_errors():
            current = self._target.read_bytes() if self._target.exists() else None
            if current != self.edit.before:
                raise PartMoveError(
                    f"{self.edit.path} was changed by somebody else in the meantime", remedy="Run again"
                )
            if self._new is None:
                self._target.unlink()
            else:
                self._new.replace(self._target)
                self._new = None
            _sync(self._target.parent)

    def _beside(self, content: bytes) -> Path:
        """Write the content to a new file in the same folder, down to the disk; return its path."""
        # ClickHouse merges no names that begin with a dot, and none with this suffix.
        handle, name = tempfile.mkstemp(
            prefix=f".{self._target.name}.", suffix=".new", dir=self._target.parent
        )
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                _copy_owner_and_mode(self._like, path)
                os.fsync(stream.fileno())
        except BaseException:
            path.unlink()
            raise
        return path

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise _vanished(self.edit.path) from error
        except OSError as error:
            raise _unwritable(self.edit.path, error.strerror or str(error)) from error


def _copy_owner_and_mode(source: Path, target: Path) -> None:
    """Give the target the owner, mode and extended attributes of the source, but not its times."""
    is_file = target.is_file()
    info = source.stat()
    os.chown(target, info.st_uid, info.st_gid)
    shutil.copystat(source, target)
    if is_file:
        os.utime(target)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(path: str, reason: str) -> PartMoveError:
    return PartMoveError(
        f"{path} cannot be replaced: {reason}", remedy="Run as a user that may do so, such as root"
    )


def _vanished(path: str) -> PartMoveError:
    return PartMoveError(
        f"{path} or its folder was removed by somebody else in the meantime", remedy="Run again"
    )
