# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the virtual environments that the tests beside it need, and says what there cannot be."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from compat.cores import ASKED, KNOWN, chosen_cores, controller_of, why_no_core
from compat.pythons import REFUSED, SUPPORTED, find_pythons, why_no_python
from compat.venvs import Venv, core_venvs, host_venvs

# They wait for the package index most of the time.
_AT_ONCE = 4


def main() -> None:
    """Make what is missing. Raises CalledProcessError when that cannot be."""
    unknown = [core for core in ASKED if core not in KNOWN]
    if unknown:
        sys.exit(f"compat: there is no ansible-core {', '.join(unknown)} to test; name {', '.join(KNOWN)}")
    for version in (REFUSED, *SUPPORTED):
        if version not in find_pythons():
            print(why_no_python(version))
    for core in chosen_cores():
        if controller_of(core) is None:
            print(why_no_core(core))
    venvs = [*host_venvs().values(), *core_venvs().values()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(Venv.make, venvs))


if __name__ == "__main__":
    main()
