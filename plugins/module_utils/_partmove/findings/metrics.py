# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Metrics in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Sample(NamedTuple):
    """One value of a metric, with its labels in the order of the output."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


class Family(NamedTuple):
    """A metric of type gauge with all its samples. ``help`` is one sentence."""

    name: str
    help: str
    samples: tuple[Sample, ...]


def exposition(families: Iterable[Family]) -> str:
    r"""Return the families as text, in their order; a family without samples keeps its HELP and TYPE lines.

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
