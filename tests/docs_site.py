# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the documentation as HTML, in build/site/html: all pages of docs, and those of modules and roles.

``python tests/docs_site.py``, after the packages of requirements-site.txt are in build/site/venv. A warning
of Sphinx or of antsibull-docs fails the build.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from check_links import ELSEWHERE, links

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "site"
SOURCE = FOLDER / "source"
HTML = FOLDER / "html"
REFERENCE = "reference/ansible"
"""Below the source: what antsibull-docs writes about modules, plugins and roles."""
_BIN = FOLDER / "venv" / "bin"
_ANTSIBULL = str(_BIN / "antsibull-docs")
_LINK = re.compile(r"(\]\()([^()\s#]+)(#[^()\s]*)?(\))")
# The theme shows the headings of a page beside it, and an error for a page with a list of its own.
_HEADINGS = re.compile(r"^\.\. contents::\n(?: +:\w+:.*\n)*", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGES_OF_FILES = (
    (re.compile(r"plugins/modules/(\w+)\.py"), "{}_module.rst"),
    (re.compile(r"plugins/(?:filter|inventory|lookup)/(\w+)\.(?:py|yml)"), "index.rst"),
    (re.compile(r"roles/(\w+)(?:/README\.md|/)?"), "{}_role.rst"),
)


def address_of(page: str, target: str, repository: str) -> str:
    """Return where a link of a page leads in the site.

    page, target: a page below docs, and the file that it links to, relative to the page. repository: the
    address of the files that are not in the site.

    >>> address_of("patched/move.md", "../../roles/zookeeper/README.md", "https://example.com/x")
    '/reference/ansible/zookeeper_role.rst'
    """
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    if path.startswith("docs/"):
        # A link to a folder shows the page that explains it, or its files.
        folder = ROOT / path
        if folder.is_dir() and not (folder / "README.md").is_file():
            return f"{repository}/tree/main/{path}"
        below = path.removeprefix("docs/")
        return f"/{_named(f'{below}/README.md' if folder.is_dir() else below)}"
    for pattern, name in _PAGES_OF_FILES:
        if found := pattern.fullmatch(path):
            return f"/{REFERENCE}/{name.format(found[1])}"
    return f"{repository}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def with_addresses(text: str, page: str, repository: str) -> str:
    """Return a page whose links lead to the pages of the site, or to the repository."""

    def changed(found: re.Match[str]) -> str:
        if ELSEWHERE.match(found[2]):
            return found[0]
        return f"{found[1]}{address_of(page, found[2], repository)}{found[3] or ''}{found[4]}"

    return _LINK.sub(changed, text)


def contents(index: str, pages: Sequence[str]) -> str:
    """Return the tables of contents of the first page: its sections, with the pages that each one links to.

    A page that no section links to comes after the page README.md of its folder.
    """
    left = [page for page in pages if page != "README.md"]
    written: list[str] = []
    parts = _SECTION.split(index)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        targets = (link.target.partition("#")[0] for link in links(text))
        linked = dict.fromkeys(re.sub(r"/$", "/README.md", target) for target in targets)
        own = [page for page in linked if page in left]
        left = [page for page in left if page not in own]
        for above in [page for page in own if page.endswith("/README.md")]:
            below = [page for page in left if posixpath.dirname(page) == posixpath.dirname(above)]
            left = [page for page in left if page not in below]
            own += below
        if own:
            written.append(_toctree(title, own))
    if left:
        raise ValueError(f"docs/README.md has no link to {', '.join(left)}: add a row for each")
    return "\n".join([*written, _toctree("Modules and roles", [f"{REFERENCE}/index.rst"])])


def main() -> None:
    """Build the site, or end with the warnings."""
    repository = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"]
    for folder in (SOURCE, HTML):
        shutil.rmtree(folder, ignore_errors=True)
    _write_pages(repository)
    (SOURCE / REFERENCE).mkdir(parents=True, exist_ok=True)
    collections = ROOT / "build" / "collections"
    environment = {
        "PATH": f"{_BIN}{os.pathsep}{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
    }
    collection = str(collections / "ansible_collections" / "olap" / "partmove")
    _run([_ANTSIBULL, "lint-collection-docs", "--plugin-docs", collection], environment)
    options = (
        "--use-current",
        "--squash-hierarchy",
        "--fail-on-error",
        "--dest-dir",
        str(SOURCE / REFERENCE),
    )
    _run([_ANTSIBULL, "collection", *options, "olap.partmove"], environment)
    for page in (SOURCE / REFERENCE).glob("*.rst"):
        page.write_text(_HEADINGS.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")
    settings = ("-c", str(ROOT / "tests" / "docsite"), "--fail-on-warning", "--keep-going", "--quiet")
    _run([str(_BIN / "sphinx-build"), *settings, "--jobs", "auto", str(SOURCE), str(HTML)], {})
    print(f"{HTML}/index.html: {len(list(HTML.rglob('*.html')))} pages")


def _write_pages(repository: str) -> None:
    listed = subprocess.run(("git", "ls-files", "-z", "docs"), cwd=ROOT, capture_output=True, check=True)
    files = [name.removeprefix("docs/") for name in listed.stdout.decode().split("\0") if name]
    pages = [name for name in files if name.endswith(".md")]
    for name in files:
        if name.startswith("docsite/"):
            continue
        to = SOURCE / _named(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        if name not in pages:
            shutil.copyfile(ROOT / "docs" / name, to)
            continue
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        tables = f"\n{contents(text, pages)}" if name == "README.md" else ""
        to.write_text(with_addresses(text, name, repository) + tables, encoding="utf-8")


def _named(page: str) -> str:
    """The file of a page in the site: a server shows index.html of a folder."""
    folder, name = posixpath.split(page)
    return posixpath.join(folder, "index.md") if name == "README.md" else page


def _toctree(title: str, pages: Sequence[str]) -> str:
    entries = "\n".join(f"/{posixpath.splitext(_named(page))[0]}" for page in pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **environment}
    )
    if done.returncode:
        sys.exit(f"site: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
