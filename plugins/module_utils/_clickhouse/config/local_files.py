# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are read as they are, and replaced as a whole or not at all."""

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
from .edit import FileEdit

_XML, _YAML = (".xml", ".conf"), (".yaml", ".yml")


class ConfigFiles:
    """Implements ConfigSource over the files of this host; raises PartMoveError for what cannot be read."""

    def __init__(self, main: str) -> None:
        self.main = main

    def drop_ins(self) -> list[str]:
        """Paths of the files that are merged into config.xml, in the order of merging."""
        return self._merged(_XML)

    def unreadable_drop_ins(self) -> list[str]:
        """Paths of files that later versions of ClickHouse merge and that are not XML."""
        return self._merged(_YAML)

    def read(self, path: str) -> bytes | None:
        """The bytes of the file; None when there is none."""
        file = Path(path)
        if not os.path.lexists(file):
            return None
        try:
            kind = file.stat().st_mode
            if not stat.S_ISREG(kind):
                what = "a directory" if stat.S_ISDIR(kind) else "not a regular file"
                raise PartMoveError(f"{path} is {what}", remedy="Give the path of a file")
            return file.read_bytes()
        except OSError as error:
            raise PartMoveError(
                f"{path} cannot be read: {error.strerror}", remedy="Run as a user that may read it"
            ) from error

    def modified(self, paths: Sequence[str]) -> float:
        """When the newest of the files that exist was written, in seconds since 1970."""
        files = map(Path, paths)
        return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)

    def drop_in_folders(self) -> list[str]:
        """Paths of the folders whose files are merged, as far as they exist."""
        main = Path(self.main)
        folders = {main.with_suffix(".d"), main.with_name("conf.d")}
        return sorted(str(folder) for folder in folders if folder.is_dir())

    def _merged(self, endings: tuple[str, ...]) -> list[str]:
        found = []
        for folder in map(Path, self.drop_in_folders()):
            with self._listing(folder):
                found += [each for each in folder.iterdir() if self._is_merged(each, endings)]
        return sorted(map(str, found))

    def _is_merged(self, path: Path, endings: tuple[str, ...]) -> bool:
        # A link to nothing is no file for ClickHouse either.
        return path.suffix in endings and not path.name.startswith(".") and path.is_file()

    @contextlib.contextmanager
    def _listing(self, folder: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PartMoveError(
                f"{folder} cannot be read: {error.strerror}", remedy="Run as a user that may read it"
            ) from error


def check_replaceable(edits: Sequence[FileEdit]) -> None:
    """Raise PartMoveError when one of the edits could not be made, as far as that can be told beforehand."""
    for edit in edits:
        target = Path(edit.path).resolve()
        folder = target.parent
        if not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise _unwritable(edit.path, f"its folder {folder} may not be written to")
        if edit.before is not None:
            if not os.access(target, os.W_OK):
                raise _unwritable(edit.path, "it may not be written to")
            if os.geteuid() not in (0, target.stat().st_uid):
                raise _unwritable(
                    edit.path, "it belongs to another user, and would not after it was replaced"
                )


def replace_files(edits: Sequence[FileEdit], like: str, *, backup: bool) -> list[str]:
    """Make the edits in their order and return the paths of backups.

    Everything is written beside its place before the first file is replaced. A file keeps its owner, mode
    and attributes; a new one gets those of the file ``like``. A link stays: what it points to is replaced.

    Raises PartMoveError: nothing was replaced, unless the text says so.
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
    """The new content of one file, beside it until it takes its place."""

    def __init__(self, edit: FileEdit, like: Path) -> None:
        self.edit = edit
        self._target = Path(edit.path).resolve()
        self._like = like.resolve() if edit.before is None else self._target
        self._new: Path | None = None

    def __enter__(self) -> _Replacement:
        if self.edit.after is not None:
            with self._telling():
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
        """Copy what is there beside it, under a name that nothing reads; return that."""
        with self._telling():
            copy = self._beside(self.edit.before or b"")
            when = time.strftime("%Y-%m-%d@%H:%M:%S", time.localtime())
            return str(copy.rename(f"{self._target}.{os.getpid()}.{when}~"))

    def finish(self) -> None:
        """Take the place of the file, if nobody has written to it since it was read."""
        with self._telling():
            now = self._target.read_bytes() if self._target.exists() else None
            if now != self.edit.before:
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
        """A file with the content in the same folder, on disk."""
        # ClickHouse merges neither names that begin with a dot nor this ending.
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
    def _telling(self) -> Iterator[None]:
        try:
            yield
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
