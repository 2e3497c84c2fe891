# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prepares a release in the working folder: version, changelog, archive, and the check that Galaxy makes.

``python tests/release.py 1.2.0``. It commits and publishes nothing: its last lines are the commands for that.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/quickstart.md",
    "docs/spark.md",
    "galaxy.yml",
    "plugins/module_utils/_tasks/journal_file.py",
)
"""Files that name the version of the collection."""
UNRELEASED = "Not released yet. "
"""What the summary of a release says until then."""
_COPY = ROOT / "build/changelog/ansible_collections/olap/partmove/changelogs"
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


def problem(version: str, current: str, released: Sequence[str], changed: Sequence[str]) -> str | None:
    """Return why this version cannot be released now, with the remedy; or None.

    current: the version in galaxy.yml. released: all versions in changelog.yaml. changed: files that are not
    committed.
    """
    if not _VERSION.fullmatch(version):
        return f"the version {version!r} is not of the form 1.2.3: give another one"
    newest = max(released, key=_numbers, default=None)
    if newest is not None and _numbers(version) <= _numbers(newest):
        return f"{newest} is released, and {version} is not later: give a later version"
    if _numbers(version) < _numbers(current):
        return f"galaxy.yml has version {current}, and {version} is earlier: give {current} or a later one"
    if changed:
        return f"{len(changed)} files are not committed, such as {changed[0]}: commit or remove them"
    return None


def with_version(text: str, current: str, version: str) -> str:
    """Return a text with the new version in place of the current one; versions such as 10.1.0 stay."""
    return re.sub(rf"(?<![\d.]){re.escape(current)}(?![\d]|\.\d)", version, text)


def added_in(text: str, current: str, version: str) -> str:
    """Return the documentation of a plugin or role with the new version where it names the unreleased one.

    >>> added_in("version_added: 0.1.0", "0.1.0", "1.0.0")
    'version_added: 1.0.0'
    """
    return re.sub(rf"(?m)^( *version_added: ){re.escape(current)}$", rf"\g<1>{version}", text)


def main() -> int:
    """Prepare the release; 1 if it cannot be made."""
    if len(sys.argv) != 2:
        print("release: give the version, such as: make release VERSION=1.2.0", file=sys.stderr)
        return 1
    version = sys.argv[1]
    current = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    released = yaml.safe_load((ROOT / "changelogs/changelog.yaml").read_text())["releases"]
    changed = _output("git", "status", "--porcelain").splitlines()
    reason = problem(version, current, [*released], changed)
    if reason is not None:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    for page in PAGES:
        path = ROOT / page
        path.write_text(with_version(path.read_text(), current, version))
    if current not in released:
        for path in map(ROOT.joinpath, _output("git", "ls-files", "plugins", "roles").splitlines()):
            if path.suffix in (".py", ".yml"):
                path.write_text(added_in(path.read_text(), current, version))
    for path in (ROOT / "changelogs/fragments").glob("*.yml"):
        path.write_text(path.read_text().replace(UNRELEASED, ""))
    subprocess.run(["make", "changelog"], cwd=ROOT, check=True)
    _take_changelog()
    subprocess.run(["make", "build", "importer"], cwd=ROOT, check=True)
    print(
        f"\nThe archive is build/dist/olap-partmove-{version}.tar.gz. Nothing is committed or published.\n"
        "Next:\n"
        "  make test WHOLE=1 && make compat && make compat WHAT=pythons\n"
        f"  git add --all && git commit -m 'Release {version}' && git tag -a {version} -m {version}\n"
        f"  git push origin main {version}\n"
        f"  ansible-galaxy collection publish build/dist/olap-partmove-{version}.tar.gz"
    )
    return 0


def _take_changelog() -> None:
    """Take changelog.yaml from the copy where the changelog was made; remove the fragments that it has."""
    target = ROOT / "changelogs"
    (target / "changelog.yaml").write_text((_COPY / "changelog.yaml").read_text())
    for fragment in (target / "fragments").glob("*.yml"):
        if not (_COPY / "fragments" / fragment.name).exists():
            fragment.unlink()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
