# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python packages needed by the job. Importable without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from olap_partmove._partmove.errors import PartMoveError

WORKER_PACKAGES = ("pyarrow", "pandas", "kazoo", "yaml")
"""Import names needed in the Python of workers; Spark provides pyspark there."""
DRIVER_PACKAGES = ("pyspark", "py4j", *WORKER_PACKAGES)
"""Import names needed in the Python of the driver."""


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return the packages missing in this Python."""
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def missing_packages_error(python: str, names: Sequence[str]) -> PartMoveError:
    """Return the error for a Python without these packages."""
    packages = "package" if len(names) == 1 else "packages"
    return PartMoveError(
        f"{python} has no Python {packages} {', '.join(names)}",
        remedy="Install pyspark, pyarrow, pandas, kazoo and PyYAML for this Python, or configure a Python"
        " with these packages (role: partition_classify_python)",
    )
