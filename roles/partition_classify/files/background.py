# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a program in the background; the caller polls its progress.

``background.py FOLDER start PROGRAM [ARGUMENT ...]`` starts the program and returns at once. ``background.py
FOLDER follow OFFSET`` waits up to ten seconds for the end, then prints one line of JSON with

- ``lines``: new output lines for people;
- ``offset``: argument of the next call, ``0`` for the first;
- ``status``: exit status, null while the program runs;
- ``stdout`` and ``reason``, after the end: the last line on stdout, and the cause of a failure.

A program without followers for a minute is terminated. FOLDER contains the program's output.

If spark-submit makes an archive of classes (see class_archive.py), a run ends with the result of the job, and
Java writes the archive afterwards.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from class_archive import ClassArchive, archive_for

_POLL_SECONDS = 0.2
# The job logs its progress every ten seconds: polling more often would only cost connections.
_FOLLOW_SECONDS = 10.0
_UNFOLLOWED_SECONDS = 60.0
_TERMINATION_SECONDS = 10.0
_TAIL_BYTES = 65_536

# Log lines of the job, and status lines of YARN and Kubernetes about a driver in the cluster.
_JOB_LINE = re.compile(r"^partition_classify(?P<failed> failed)?: (?P<text>.+)$")
_STATE = re.compile(r"\(state: (\w+)\)|\(phase: (\w+)\)")
_FAILURE = re.compile(r"^(?:Exception in thread \S+ |Caused by: |Error: )?(\S*(?:Exception|Error)\b.*)$")


# Messages for failures of spark-submit before the job starts.
_NEEDS_JAVA = "Install a JRE 17; set JAVA_HOME to it unless it is the java in PATH."
_TOO_OLD = f"The Java that spark-submit finds is too old for Spark. {_NEEDS_JAVA}"
_NO_JAVA = f"spark-submit finds no Java. {_NEEDS_JAVA}"
_NO_SPARK = (
    "spark-submit finds no Spark: the configured Python has no package pyspark. Install pyspark for this"
    " Python, or configure a Python with pyspark (role: partition_classify_python) or the spark-submit of a"
    " Spark installation."
)
_NO_MEMORY = (
    "Java has too little memory for the driver. Raise spark.driver.memory (role:"
    " partition_classify_spark_conf)."
)
_NO_ROOM = (
    "A disk with Spark's temporary files is full. Free space in spark.local.dir and TMPDIR, or configure"
    " larger folders."
)
_KNOWN_FAILURES = tuple(
    (re.compile(sign), sentence)
    for sign, sentence in (
        (r"UnsupportedClassVersionError", _TOO_OLD),
        (r"JAVA_HOME is not set|\bjava: (?:command )?not found", _NO_JAVA),
        (r"/java: (?:No such file|cannot execute|Permission denied)", _NO_JAVA),
        (r"Could not find valid SPARK_HOME", _NO_SPARK),
        (
            r"OutOfMemoryError|Could not reserve enough space|[Tt]oo small \w+ heap",
            _NO_MEMORY,
        ),
        (r"No space left on device|Disk quota exceeded", _NO_ROOM),
    )
)
_KILLED_TEXT = (
    "The driver was killed by SIGKILL, perhaps by the kernel for lack of memory: see the kernel log, and give"
    " the job less memory or the host more."
)
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
_LAST_LINES = 3


class ProgramOutput:
    """Paths of the files with a program's output, state and exit status."""

    def __init__(self, folder: Path) -> None:
        self.stdout = folder / "stdout"
        self.stderr = folder / "stderr"
        self.status = folder / "status"
        self.followed = folder / "followed"
        self.pid = folder / "pid"


def start(folder: Path, program: Sequence[str]) -> None:
    """Start the program. Its waiting parent runs `wait` in a new session, so it outlives the caller."""
    folder.mkdir(mode=0o700)
    output = ProgramOutput(folder)
    for each in (output.stdout, output.stderr, output.followed):
        each.touch()
    waiting = subprocess.Popen(
        [sys.executable, __file__, str(folder), "wait", *program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    output.pid.write_text(str(waiting.pid))


def wait(folder: Path, program: Sequence[str]) -> None:
    """Run the program to its end, or until nobody follows it."""
    output = ProgramOutput(folder)
    archive = archive_for(program, os.environ)
    environment = archive.environment(os.environ) if archive else None
    running = None
    with output.stdout.open("wb") as stdout, output.stderr.open("wb") as stderr:
        try:
            running = subprocess.Popen(
                program, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment
            )
        except OSError as error:
            stderr.write(
                f"partition_classify failed: {program[0]} cannot be run: {error.strerror}.\n".encode()
            )
            status = 127
        else:
            status = _wait_while_followed(running, output, archive)
    done = output.status.with_suffix(".new")
    done.write_text(str(status))
    done.replace(output.status)
    if archive and archive.is_missing and running:
        archive.finish(running)


def follow(folder: Path, offset: str) -> dict[str, Any]:
    """Return the news since the offset; waits up to _FOLLOW_SECONDS for the end."""
    output = ProgramOutput(folder)
    output.followed.touch()
    deadline = time.monotonic() + _FOLLOW_SECONDS
    while (status := _status(output)) is None and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    # spark-submit copies both streams of a Python driver to stdout; output of the tasks goes to stderr.
    begins = [int(each) for each in f"{offset}:0".split(":")]
    new = [_read(path, begin) for path, begin in zip((output.stderr, output.stdout), begins, strict=False)]
    if status is None:
        new = [content[: content.rfind(b"\n") + 1] for content in new]
    ends = [begin + len(content) for begin, content in zip(begins, new, strict=False)]
    lines = [line for content in new for line in message_lines(content)]
    news: dict[str, Any] = {"lines": lines, "offset": "{}:{}".format(*ends), "status": status}
    if status is not None:
        printed = _lines(output.stdout)
        news |= {"stdout": printed[-1] if printed else "", "reason": failure_reason(output, status)}
    return news


def message_lines(content: bytes) -> list[str]:
    """Return the output lines for people; consecutive equal lines once."""
    texts: list[str] = []
    for line in content.decode(errors="replace").splitlines():
        own, state = _JOB_LINE.match(line), _STATE.search(line)
        text = own["text"] if own else f"Spark reports {state[1] or state[2]}" if state else ""
        if text and texts[-1:] != [text]:
            texts.append(text)
    return texts


def failure_reason(output: ProgramOutput, status: int) -> str:
    """Return one sentence: the job's own error, else the recognised or last output of Spark."""
    if not status:
        return ""
    lines = [*_lines(output.stderr), *_lines(output.stdout)]
    failures = [own["text"] for line in lines if (own := _JOB_LINE.match(line)) and own["failed"]]
    return failures[-1] if failures else f"{_spark_reason(lines, status)} (exit status {status})"


def _spark_reason(lines: Sequence[str], status: int) -> str:
    for sign, sentence in _KNOWN_FAILURES:
        if any(sign.search(line) for line in lines):
            return sentence
    if status in _KILLED:
        return _KILLED_TEXT
    errors = [match[1] for line in lines if (match := _FAILURE.match(line))]
    if errors:
        return errors[-1]
    # Progress lines do not explain the failure.
    last = [line.strip() for line in lines if line.strip() and not _JOB_LINE.match(line)][-_LAST_LINES:]
    return f"last output of spark-submit: {' / '.join(last)}" if last else "spark-submit gave no reason"


def _read(path: Path, begin: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read()


def _lines(path: Path) -> list[str]:
    """Return the last lines of a file, from its last 64 KiB."""
    return _read(path, max(0, path.stat().st_size - _TAIL_BYTES)).decode(errors="replace").splitlines()


def _status(output: ProgramOutput) -> int | None:
    """Return the exit status, None while running; SIGKILL's if the waiting parent disappeared."""
    is_waited_for = _runs(output.pid.read_text())
    if output.status.exists():
        return int(output.status.read_text())
    return None if is_waited_for else 128 + signal.SIGKILL


def _runs(pid: str) -> bool:
    """Return whether the process runs. Zombies count as ended: their parent may never reap them."""
    try:
        state = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _wait_while_followed(
    running: subprocess.Popen[bytes], output: ProgramOutput, archive: ClassArchive | None
) -> int:
    while running.poll() is None:
        if archive and archive.is_missing and _has_result(output):
            return 0
        if time.time() - output.followed.stat().st_mtime > _UNFOLLOWED_SECONDS:
            running.terminate()
            try:
                return running.wait(_TERMINATION_SECONDS)
            except subprocess.TimeoutExpired:
                running.kill()
        time.sleep(_POLL_SECONDS)
    return running.wait()


def _has_result(output: ProgramOutput) -> bool:
    """Return whether the job has succeeded: its last act is a line of JSON on stdout."""
    content = _read(output.stdout, max(0, output.stdout.stat().st_size - _TAIL_BYTES))
    if not content.endswith(b"\n"):
        return False
    try:
        return isinstance(json.loads(content.splitlines()[-1]), dict)
    except ValueError:
        return False


def main(argv: Sequence[str]) -> None:
    """Start, wait or follow, as the command line requests."""
    folder, action, *rest = argv
    if action == "follow":
        print(json.dumps(follow(Path(folder), rest[0])))  # noqa: T201 - the answer
    elif action == "start":
        start(Path(folder), rest)
    else:
        wait(Path(folder), rest)


if __name__ == "__main__":
    main(sys.argv[1:])
