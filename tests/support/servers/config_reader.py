# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a real server reads in a configuration: it writes that down before it does anything else."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lxml import etree

_SECONDS = 300
_REASON = re.compile(
    r"(?:Exception: )*(?:Failed to [a-z ]+ '[^']*': )?(?:\w*Exception: )*(?P<reason>.*?)(?: in '|\n|$)"
)


class Reading(NamedTuple):
    """What a server made of a configuration.

    refusal: why it does not start; then ``root`` is None.
    root: the configuration, put together.
    """

    refusal: str
    root: etree._Element | None

    def hosts(self, tag: str) -> list[str] | None:
        """The hosts of the element that counts; None when there is none."""
        assert self.root is not None, self.refusal
        found = self.root.findall(tag)
        return [each.findtext("host", "") for each in found[0] if _is_node(each)] if found else None

    def without(self, *tags: str) -> list[str]:
        """All else that the server has read, white space and comments left out."""
        assert self.root is not None, self.refusal
        return [
            " ".join(
                f"{each.tag} {sorted(each.attrib.items())} {(each.text or '').strip()}"
                for each in child.iter("*")
            )
            for child in self.root.iterchildren("*")
            if child.tag not in tags
        ]


def read_by_server(program: str, main: Path, environment: Mapping[str, str]) -> Reading:
    """Start the server with the file and see what it reads.

    The configuration names no file of users, and the folder "data" beside it as the path. So the server
    writes down what it has read, and ends a tenth of a second later.
    """
    written = main.parent / "data" / "preprocessed_configs" / main.name
    written.unlink(missing_ok=True)
    done = subprocess.run(
        [program, f"--config-file={main}"],
        cwd=main.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    if written.exists():
        parser = etree.XMLParser(huge_tree=True)
        return Reading("", etree.fromstring(written.read_bytes(), parser))
    found = _REASON.match(done.stderr + done.stdout)
    return Reading(found["reason"] if found else "it ended", None)


def _is_node(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith("node")
