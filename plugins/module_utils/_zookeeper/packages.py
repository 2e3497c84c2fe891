# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the Python packages that a session needs."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from .._partmove.errors import PartMoveError
from .options import EnsembleOptions

try:
    from kazoo.version import __version__
except ImportError:
    KAZOO_VERSION = ""
else:
    KAZOO_VERSION = str(__version__)

OLDEST_KAZOO = "2.10"
"""Older releases lack arguments of KazooClient."""
_FOLDER = "/opt/partmove"


def require_packages(options: EnsembleOptions, import_error: ImportError | None) -> None:
    """Raise PartMoveError if a package is missing or too old. ``import_error``: the one of kazoo, if any."""
    missing = {} if import_error is None else {"kazoo": str(import_error)}
    if options.auth_scheme.startswith("sasl") and find_spec("puresasl") is None:
        missing["pure-sasl"] = "SASL needs it"
    if options.auth_scheme == "sasl_gssapi" and find_spec("kerberos") is None:
        missing["kerberos"] = "GSSAPI needs it"
    if is_too_old(KAZOO_VERSION):
        raise PartMoveError(
            f"{sys.executable} has kazoo {KAZOO_VERSION}, and {OLDEST_KAZOO} or later is needed",
            remedy=how_to_install([f"kazoo>={OLDEST_KAZOO}", *(name for name in missing if name != "kazoo")]),
        )
    if missing:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in missing.items())
        raise PartMoveError(
            f"{sys.executable} lacks the Python package {reasons}", remedy=how_to_install([*missing])
        )


def is_too_old(version: str) -> bool:
    """Whether this release of kazoo is older than `OLDEST_KAZOO`; a version of another form is not.

    >>> [is_too_old(each) for each in ("2.8.0", "2.9.0", "2.10", "2.11.0", "3.0.0.dev1", "unknown", "")]
    [True, True, False, False, False, False, False]
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    oldest = tuple(map(int, OLDEST_KAZOO.split(".")))
    return numbers is not None and tuple(map(int, numbers.groups())) < oldest


def how_to_install(packages: Sequence[str]) -> str:
    """Return the commands that install the packages for the Python of the module.

    pip refuses to install into the Python of a distribution such as Debian 12, which is externally managed.
    """
    quoted = " ".join(f"'{each}'" if ">" in each else each for each in packages)
    is_managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
    if not is_managed or sys.prefix != sys.base_prefix:
        return f"Run `{sys.executable} -m pip install {quoted}` on this host"
    make = f"{sys.executable} -m venv --system-site-packages {_FOLDER} && {_FOLDER}/bin/pip install {quoted}"
    return (
        f"Run `{make}` on this host (on Debian after `apt-get install python3-venv`), and set its"
        f" ansible_python_interpreter to {_FOLDER}/bin/python"
    )
