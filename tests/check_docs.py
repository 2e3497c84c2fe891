# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show that ansible-doc can read every module, inventory plugin, filter and role of the collection."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def documented_files() -> dict[str, set[str]]:
    """Return the names that should be documented, by ansible-doc's plugin type."""
    plugins = ROOT / "plugins"
    return {
        "module": _stems(plugins.glob("modules/[a-z]*.py")),
        "inventory": _stems(plugins.glob("inventory/[a-z]*.py")),
        # A file may define several filters; each has a documentation file of its own.
        "filter": _stems(plugins.glob("filter/[a-z]*.yml")),
        "role": {path.parent.parent.name for path in ROOT.glob("roles/*/meta/argument_specs.yml")},
    }


def is_readable(plugin_type: str, name: str) -> bool:
    """Ask ansible-doc; what it complains about goes to standard error."""
    program = Path(sys.executable).with_name("ansible-doc")
    command = [str(program), "--type", plugin_type, "--json", name]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    sys.stderr.write(answer.stderr)
    # For a name that it does not find, ansible-doc succeeds with an empty answer.
    return answer.returncode == 0 and name in json.loads(answer.stdout)


def main() -> int:
    """Return 1 when a plugin or role has no readable documentation."""
    unreadable = 0
    for plugin_type, names in documented_files().items():
        for name in sorted(names):
            readable = is_readable(plugin_type, f"olap.partmove.{name}")
            print(f"{plugin_type} olap.partmove.{name}: {'ok' if readable else 'ansible-doc cannot read it'}")
            unreadable += not readable
    return 1 if unreadable else 0


def _stems(paths: Iterable[Path]) -> set[str]:
    return {path.stem for path in paths}


if __name__ == "__main__":
    sys.exit(main())
