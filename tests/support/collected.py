# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tests pytest would run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def collected_ids(files: Iterable[str], **variables: str) -> Sequence[str]:
    """Return the ids of the tests of some files, without RUNGS and WHOLE in the environment.

    files: from the root of the repository. variables: of the environment besides.
    """
    environment = {name: each for name, each in os.environ.items() if name not in ("RUNGS", "WHOLE")}
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
