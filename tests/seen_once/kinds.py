# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of reads of a reading table, each with the answer that it must always give.

The tables of a ground hold the ids from 1 to ROWS once each, with ``v = 7 * id``, over DAYS partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

DAYS = 20
PARTS = 2
ROWS = 1200
FIRST_DAY = "2024-01-01"
_SUM = 7 * ROWS * (ROWS + 1) // 2
_PER_DAY = ROWS // DAYS
_WHOLE = (ROWS, _SUM)


class Kind(NamedTuple):
    """A read.

    statements: executed one after the other on one server; ``{n}`` is a number that no other read has. The
        last one is a query.
    answer: the only right answer. ``{peers}`` are the addresses of both servers.
    """

    name: str
    answer: Sequence[tuple[Any, ...]]
    statements: Sequence[str]
    settings: Sequence[tuple[str, int | str]] = ()

    @property
    def of_both(self) -> bool:
        """Whether the read needs both servers."""
        return any("{peers}" in each for each in self.statements)


def _kind(name: str, answer: Sequence[tuple[Any, ...]], *statements: str, **settings: int | str) -> Kind:
    return Kind(name, answer, statements, tuple(settings.items()))


_TOTALS = "SELECT toInt64(count()), toInt64(sum(v))"

KINDS = (
    _kind("count", [(ROWS,)], "SELECT toInt64(count()) FROM hits_all"),
    _kind("sum", [_WHOLE], f"{_TOTALS} FROM hits_all"),
    _kind("one thread", [_WHOLE], f"{_TOTALS} FROM hits_all", max_threads=1),
    _kind("WHERE", [(ROWS // 2,)], "SELECT toInt64(count()) FROM hits_all WHERE id % 2 = 0"),
    _kind("PREWHERE", [(ROWS // 3,)], "SELECT toInt64(count()) FROM hits_all PREWHERE id % 3 = 0"),
    _kind(
        "GROUP BY partition",
        [(DAYS, _PER_DAY, _PER_DAY)],
        "SELECT toInt64(count()), toInt64(min(c)), toInt64(max(c)) FROM"
        " (SELECT day, count() AS c FROM hits_all GROUP BY day)",
    ),
    _kind(
        "projection",
        [(DAYS, _SUM)],
        "SELECT toInt64(count()), toInt64(sum(s)) FROM (SELECT day, sum(v) AS s FROM hits_all GROUP BY day)",
    ),
    _kind(
        "GROUP BY table",
        [(ROWS,)],
        "SELECT toInt64(sum(c)) FROM (SELECT _table, count() AS c FROM hits_all GROUP BY _table)",
    ),
    _kind(
        "min and max",
        [(1, 7 * ROWS, "2024-01-01")],
        "SELECT toInt64(min(id)), toInt64(max(v)), toString(min(day)) FROM hits_all",
    ),
    _kind("DISTINCT", [(ROWS, ROWS)], "SELECT toInt64(uniqExact(id)), toInt64(count(id)) FROM hits_all"),
    _kind("ORDER BY LIMIT", [(1,), (2,), (3,)], "SELECT toInt64(id) FROM hits_all ORDER BY id LIMIT 3"),
    _kind("key", [(7 * 77,)], "SELECT toInt64(v) FROM hits_all WHERE id = 77"),
    _kind("FINAL", [_WHOLE], f"{_TOTALS} FROM hits_all FINAL"),
    _kind(
        "IN",
        [(ROWS // 4,)],
        "SELECT toInt64(count()) FROM hits_all WHERE id IN (SELECT id FROM hits_all WHERE id % 4 = 0)",
    ),
    _kind(
        "IN a slow set",
        [(ROWS,)],
        "SELECT toInt64(count()) FROM hits_all WHERE v IN"
        " (SELECT v FROM hits_all WHERE sleepEachRow(0.0004) = 0)",
    ),
    _kind(
        "JOIN",
        [(ROWS,)],
        "SELECT toInt64(count()) FROM hits_all AS a INNER JOIN hits_all AS b ON a.id = b.id",
    ),
    _kind("slow", [_WHOLE], f"{_TOTALS} FROM hits_all WHERE sleepEachRow(0.0005) = 0", max_block_size=200),
    _kind(
        "UNION ALL",
        [(ROWS,), (ROWS,)],
        "SELECT toInt64(count()) FROM hits_all UNION ALL SELECT toInt64(count(v)) FROM hits_all",
    ),
    _kind(
        "scalar",
        [(0,)],
        "WITH (SELECT count() FROM hits_all) AS total"
        " SELECT toInt64(countIf(sleepEachRow(0.0003) = 0)) - toInt64(total) FROM hits_all",
    ),
    _kind("view with a scalar", [_WHOLE], f"{_TOTALS} FROM hits_view"),
    _kind("dictionary", [(ROWS,)], "SELECT toInt64(count()) FROM hits_dictionary"),
    _kind(
        "INSERT SELECT",
        [_WHOLE],
        "INSERT INTO sink SELECT {n}, id, v FROM hits_all",
        f"{_TOTALS} FROM sink WHERE n = {{n}}",
    ),
    _kind(
        "materialized view",
        [(ROWS,)],
        "INSERT INTO source VALUES ({n})",
        "SELECT toInt64(sum(total)) FROM seen WHERE n = {n}",
    ),
    _kind(
        "several servers", [(2 * ROWS, 2 * _SUM)], f"{_TOTALS} FROM remote('{{peers}}', default, hits_all)"
    ),
    _kind(
        "several servers, IN",
        [(2 * (ROWS // 5),)],
        "SELECT toInt64(count()) FROM remote('{peers}', default, hits_all)"
        " WHERE id IN (SELECT id FROM hits_all WHERE id % 5 = 0)",
    ),
)
