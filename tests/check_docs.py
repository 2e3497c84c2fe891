# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show that ansible-doc can read every module, plugin and role of the collection that has a page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def documented_files() -> dict[str, set[str]]:
    """Return the names that should be documented, by ansible-doc's plugin type."""
    plugins = ROOT / "plugins"
    return {
        "module": _stems(plugins.glob("modules/[a-z]*.py")),
        "inventory": _stems(plugins.glob("inventory/[a-z]*.py")),
        "lookup": _stems(plugins.glob("lookup/[a-z]*.py")),
        "filter": _stems(plugins.glob("filter/[a-z]*.py")),
        "role": {path.parent.parent.name for path in ROOT.glob("roles/*/meta/argument_specs.yml")},
    }


def readable(plugin_type: str, names: Sequence[str]) -> set[str]:
    """Return the names that ansible-doc can read; what it complains about goes to standard error."""
    program = Path(sys.executable).with_name("ansible-doc")
    command = [str(program), "--type", plugin_type, "--json", *names]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    sys.stderr.write(answer.stderr)
    # For a name that it does not find, ansible-doc may succeed with an empty answer; for one that it cannot
    # read, it says nothing of the others.
    if answer.returncode == 0:
        return set(json.loads(answer.stdout))
    return {name for name in names if readable(plugin_type, [name])} if len(names) > 1 else set()


def main() -> int:
    """Return 1 when a plugin or role has no readable documentation."""
    unreadable = 0
    for plugin_type, stems in documented_files().items():
        names = sorted(f"olap.partmove.{stem}" for stem in stems)
        read = readable(plugin_type, names)
        for name in names:
            if name not in read:
                print(f"{plugin_type} {name}: ansible-doc cannot read it")
                unreadable += 1
    return 1 if unreadable else 0


def _stems(paths: Iterable[Path]) -> set[str]:
    return {path.stem for path in paths}


if __name__ == "__main__":
    sys.exit(main())
