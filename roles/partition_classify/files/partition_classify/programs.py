# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Common code of the programs that read a member's files without Spark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from olap_partmove._partmove.envelope import json_object
from olap_partmove._partmove.errors import EnsembleError, PartMoveError

from .zookeeper_files.damage import DamagedFile
from .zookeeper_files.folders import DataFolder, folders_of

Program = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Runs with the given settings and returns the result; raises PartMoveError and OSError."""


def run(program: Program, argv: Sequence[str], description: str) -> int:
    """Run the program with the settings file named in ``argv``; print its result as JSON.

    Returns the exit status: 0; or 1 after one sentence on stderr.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("settings", type=Path, help="a file with the settings, a JSON object")
    path = parser.parse_args(argv).settings
    try:
        result = program(_settings(path))
    except PartMoveError as error:
        log_message(str(error))
        return 1
    except OSError as error:
        log_message(f"{error.filename}: {error.strerror}.")
        return 1
    json.dump(result, sys.stdout)
    sys.stdout.write("\n")
    return 0


def folder_of(files: object) -> DataFolder:
    """Return the data folder of the single member in setting ``files``. Raises EnsembleError otherwise."""
    folders = folders_of("hot", files)
    if len(folders) != 1:
        raise EnsembleError("The files of several ensembles were given", remedy="Give one member's files")
    return folders[0]


def log_skipped_snapshot(error: DamagedFile) -> None:
    """Log the error of a skipped snapshot."""
    log_message(f"{error.message}; an older snapshot is read instead")


def log_message(message: str) -> None:
    """Write one line for people on stderr."""
    sys.stderr.write(f"partition_classify: {message}\n")


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        return json_object(path.read_bytes())
    except ValueError as error:
        raise EnsembleError(
            f"{path} is no JSON object: {error}",
            remedy="Give a file with the settings",
        ) from error
