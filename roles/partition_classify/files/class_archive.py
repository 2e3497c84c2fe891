# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Archive of the classes of Spark, a cache with which Java starts Spark in less time (JEP 350).

The first successful run makes Java write the archive at its end, after the result of the job is known: nobody
waits for it. Java ignores an archive that does not fit its version or the class path.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

CHOICE = "PARTITION_CLASSIFY_CLASS_ARCHIVE"
"""Environment variable: ``auto`` for a file in the cache of the user, a path, or empty for none."""
AUTO = "auto"
_OPTIONS = "SPARK_SUBMIT_OPTS"
# Java's warnings about an unfit archive must not go to stdout, whose last line is the result.
_QUIET = "-Xlog:disable -Xlog:all=warning:stderr"
_SILENT = "-Xlog:disable"
_OWN_ARCHIVE = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit")
_OF_EXECUTORS = "--conf=spark.executor."
_SECONDS = 900.0
_STALE_SECONDS = 3600.0
# An archive takes about 170 MB.
_FREE_BYTES = 1 << 30
_PRIVATE = 0o700
_WRITABLE_FOR_OTHERS = 0o022
_LOW_PRIORITY = 10


class ClassArchive:
    """The file of an archive; ``is_missing`` is whether this run makes it."""

    def __init__(self, path: Path, *, is_cache: bool) -> None:
        self.path = path
        self.is_missing = not path.exists()
        self._is_cache = is_cache
        self._unfinished = path.with_name(f".{path.name}.{os.getpid()}")

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for spark-submit."""
        if self.is_missing:
            options = f"{_SILENT} -XX:ArchiveClassesAtExit={self._unfinished}"
        else:
            options = f"{_QUIET} -XX:SharedArchiveFile={self.path}"
        return {**given, _OPTIONS: f"{given.get(_OPTIONS, '')} {options}".strip()}

    def finish(self, running: subprocess.Popen[bytes]) -> None:
        """Wait until Java has written the archive, with a low priority, and keep it."""
        os.setpriority(os.PRIO_PGRP, 0, _LOW_PRIORITY)
        try:
            status = running.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            status = running.wait()
        if status == 0 and self._unfinished.exists():
            self._unfinished.chmod(0o644)
            self._unfinished.replace(self.path)
            self._remove_others()
        else:
            self._unfinished.unlink(missing_ok=True)

    def _remove_others(self) -> None:
        """Remove what killed runs have left, and archives of other versions from the cache."""
        old = time.time() - _STALE_SECONDS
        others = [
            each for each in self.path.parent.glob(f".{self.path.name}.*") if each.stat().st_mtime < old
        ]
        if self._is_cache:
            others += [each for each in self.path.parent.glob("spark-*.jsa") if each != self.path]
        for each in others:
            each.unlink(missing_ok=True)


def archive_for(program: Sequence[str], given: Mapping[str, str]) -> ClassArchive | None:
    """Return the archive for the program, spark-submit with its arguments; None for none.

    None, too, if the driver has options for an archive of its own, or if the cache cannot be used.
    """
    choice = given.get(CHOICE, "")
    driver = [each for each in program if not each.startswith(_OF_EXECUTORS)]
    if not choice or any(name in each for each in driver for name in _OWN_ARCHIVE):
        return None
    try:
        path = _in_cache(program[0], given) if choice == AUTO else Path(choice).expanduser()
        # Java's options are separated by spaces.
        if path is None or " " in str(path):
            return None
        archive = ClassArchive(path, is_cache=choice == AUTO)
        if archive.is_missing and shutil.disk_usage(path.parent).free < _FREE_BYTES:
            return None
    except OSError:
        return None
    return archive


def _in_cache(spark_submit: str, given: Mapping[str, str]) -> Path | None:
    """Return the file for this Spark and Java in the cache of the user; None if others could write there."""
    home = Path(given.get("XDG_CACHE_HOME") or Path(given.get("HOME", ""), ".cache"))
    version = _version(spark_submit, given)
    if version is None or not home.is_absolute():
        return None
    folder = home / "olap.partmove"
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    state = folder.stat()
    if state.st_uid != os.geteuid() or state.st_mode & _WRITABLE_FOR_OTHERS:
        return None
    return folder / f"spark-{version}.jsa"


def _version(spark_submit: str, given: Mapping[str, str]) -> str | None:
    """Return a text that changes when Spark or Java is upgraded; None if one of them is not found."""
    home = given.get("JAVA_HOME")
    java = shutil.which(Path(home, "bin", "java") if home else "java")
    submit = shutil.which(spark_submit)
    if java is None or submit is None:
        return None
    files = [Path(java), Path(submit)]
    # The spark-submit of pip finds Spark in the package, others beside themselves.
    package = find_spec("pyspark")
    if package is not None and package.origin:
        files.append(Path(package.origin))
    places = [given.get("SPARK_HOME", ""), given.get("SPARK_CONF_DIR", "")]
    facts = [(str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in map(Path.resolve, files)]
    return hashlib.sha256(repr((facts, places)).encode()).hexdigest()[:16]
