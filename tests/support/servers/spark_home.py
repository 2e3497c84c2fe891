# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Spark of this Python without the zip that it has Python processes import itself from.

That has no compiled modules: each process of a job, and there are half a dozen, compiles a hundred of them
before it does anything. Without it they find the installed package, which has the same files and keeps what
was compiled.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

HOME = Path(__file__).resolve().parents[3] / "build" / "spark-home"
_USED = ("bin", "jars")


def spark_home() -> Path:
    """Return the folder for SPARK_HOME: links to all that is used of the installed one but the zip."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    HOME.mkdir(parents=True, exist_ok=True)
    for name in _USED:
        # Others may make them at the same moment.
        with suppress(FileExistsError):
            HOME.joinpath(name).symlink_to(Path(spec.origin).with_name(name))
    return HOME
