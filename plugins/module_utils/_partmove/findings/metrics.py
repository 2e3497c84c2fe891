# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures in the text format that collectors of Prometheus read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Sample(NamedTuple):
    """One figure; names and values of its labels in the order in which they are written."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


class Family(NamedTuple):
    """All figures of one name. ``help`` is a sentence; every figure is one that may rise and fall."""

    name: str
    help: str
    samples: tuple[Sample, ...]


def exposition(families: Iterable[Family]) -> str:
    r"""The families as text, in their order; one without figures still says what it is.

    >>> exposition([Family("parts", "Parts.", (Sample(2, (("path", 'a"b'),)),))])
    '# HELP parts Parts.\n# TYPE parts gauge\nparts{path="a\\"b"} 2\n'
    """
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    text = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {family.name} {text}"
    yield f"# TYPE {family.name} gauge"
    for value, labels in family.samples:
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels)
        yield f"{family.name}{{{inside}}} {value}" if inside else f"{family.name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
