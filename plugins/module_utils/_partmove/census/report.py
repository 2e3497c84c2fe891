# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a census: values for machines and lines of text for people, the largest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..text import count_of, first_few, shown_time
from .advice import Advice
from .ages import AGES_IN_DAYS
from .census import Census
from .counts import Counts
from .judge import judge
from .kind import ZnodeKind
from .servers import ServerAnswer, Servers
from .settings import CensusLimits
from .table import ReplicaCensus, TableCensus

_MOST_LINES = 10


def result_of(
    census: Census, limits: CensusLimits, now: int, answers: Sequence[ServerAnswer] | None = None
) -> dict[str, Any]:
    """Return the census as JSON values. All lists are sorted by znodes, the largest first, then by name.

    now: the time in milliseconds since 1970. answers: of the servers queried after the census, None without a
    query.
    """
    total = census.total
    servers = None if answers is None else Servers(answers, census.tables)
    kinds = [
        {"kind": kind.value, "means": kind.means, **_figures(counts)}
        for kind, counts in _largest(census.kinds, key=lambda kind: kind.value)
    ]
    tables = sorted(census.tables.values(), key=lambda table: (-table.total.znodes, table.shard_path))
    result: dict[str, Any] = {
        "as_of": shown_time(now),
        "complete": not census.denied,
        "denied": {"znodes": census.denied, "paths": sorted(census.denied_paths)},
        **_figures(total),
        "ephemerals": census.ephemerals,
        "kinds": kinds,
        "part_ages": [
            {"days": each.days, **_figures(each.counts)}
            for each in census.part_ages.at_least(AGES_IN_DAYS, now)
        ],
        "tables": [_table(each) for each in tables],
        "replicas": _replicas(tables),
        "others": _named(census.others.by_name),
        "unknown": _named(census.unknown.by_name),
        "servers": None if servers is None else {"asked": servers.asked, "unjudged": servers.unjudged},
        "advice": [_advice(each) for each in judge(census, limits, now, servers)],
    }
    return {**result, "summary": list(summary(result))}


def summary(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the summary lines of a result."""
    znodes, tables = result["znodes"], result["tables"]
    yield (
        f"{count_of(znodes, 'znode')} with {size(result['bytes'])} of paths and data,"
        f" {count_of(len(tables), 'table')},"
        f" {count_of(result['ephemerals'], 'ephemeral znode')}; as of {result['as_of']}"
    )
    yield from _denied_line(result)
    yield from _servers_line(result["servers"])
    for each in result["kinds"]:
        yield f"{_column(each, znodes)}  {each['kind']}: {each['means']}"
    yield _ages_line(result["part_ages"], znodes)
    yield from _head("Tables", tables)
    for each in tables[:_MOST_LINES]:
        yield f"{_column(each, znodes)}  {each['shard_path']}"
    for name in ("others", "unknown"):
        yield from _head(_HEADS[name], result[name])
        for each in result[name][:_MOST_LINES]:
            yield f"{_column(each, znodes)}  {each['name']}"
    yield from _advice_lines(result["advice"])


def size(count: int) -> str:
    """Format a number of bytes.

    >>> size(999), size(1_234_567)
    ('999 B', '1.2 MiB')
    """
    number, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while number >= 1024 and unit != "TiB":
        number, unit = number / 1024, next(units)
    return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"


def _denied_line(result: Mapping[str, Any]) -> Iterator[str]:
    denied = result["denied"]
    if not result["complete"]:
        partial = sum(1 for table in result["tables"] if not table["complete"])
        yield (
            f"not complete: {denied['znodes']:,} znodes are unreadable and, like their descendants, not"
            f" counted: {first_few(denied['paths'])}. {count_of(partial, 'table')} not judged for this"
            " reason. Give an identity that may read these znodes."
        )


def _servers_line(servers: Mapping[str, Any] | None) -> Iterator[str]:
    if servers is not None:
        unjudged = servers["unjudged"]
        outcome = f"not judged: {unjudged}." if unjudged else "judged by their system.replicas."
        yield f"{count_of(servers['asked'], 'server')} queried; tables on no server were {outcome}"


def _ages_line(ages: Sequence[Mapping[str, Any]], of: int) -> str:
    """Return the most that moves of cold partitions can gain, by the age of parts."""
    gains = ", ".join(
        f"{each['days']} days {each['znodes']:,} ({each['znodes'] / max(of, 1):.1%})" for each in ages
    )
    return f"znodes of parts by age, the most that moves of cold partitions can take out: {gains}"


_HEADS = {"others": "Not of tables", "unknown": "Unknown names below tables"}


def _head(title: str, rows: Sequence[object]) -> Iterator[str]:
    if rows:
        more = f", the largest {_MOST_LINES} of {len(rows):,}" if len(rows) > _MOST_LINES else ""
        yield f"{title}{more}:"


def _column(row: Mapping[str, Any], of: int) -> str:
    return f"{row['znodes']:>14,} {row['znodes'] / max(of, 1):>6.1%} {size(row['bytes']):>9}"


def _advice_lines(advice: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    by_kind: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for each in advice:
        by_kind[each["kind"]].append(each)
    for kind, rows in sorted(by_kind.items(), key=lambda item: -sum(each["znodes"] for each in item[1])):
        znodes = sum(each["znodes"] for each in rows)
        cases = count_of(len(rows), "case")
        yield f"{kind}: {cases}, {count_of(znodes, 'znode')}; {rows[0]['means']}. {rows[0]['remedy']}."
        for each in rows[:_MOST_LINES]:
            place = f"{each['path']} {each['replica']}".rstrip()
            yield f"    {place}: {each['evidence']}"
        if len(rows) > _MOST_LINES:
            yield f"    and {len(rows) - _MOST_LINES:,} more"


def _figures(counts: Counts) -> dict[str, int]:
    return {"znodes": counts.znodes, "bytes": counts.bytes}


def _largest(counts: Mapping[Any, Counts], key: Any) -> list[tuple[Any, Counts]]:
    return sorted(counts.items(), key=lambda item: (-item[1].znodes, key(item[0])))


def _by_kind(kinds: Mapping[ZnodeKind, Counts]) -> dict[str, int]:
    return {kind.value: kinds[kind].znodes for kind in ZnodeKind if kind in kinds}


def _named(counts: Mapping[str, Counts]) -> list[dict[str, Any]]:
    return [{"name": name, **_figures(each)} for name, each in _largest(counts, key=str)]


def _table(table: TableCensus) -> dict[str, Any]:
    replicas = sorted(table.replicas.values(), key=lambda each: each.name)
    return {
        "shard_path": table.shard_path,
        **_figures(table.total),
        "complete": table.is_whole,
        "kinds": _by_kind(table.kinds),
        "replicas": [_replica(each) for each in replicas],
    }


def _replica(replica: ReplicaCensus) -> dict[str, Any]:
    return {
        "replica": replica.name,
        **_figures(replica.total),
        "kinds": _by_kind(replica.kinds),
        "has_session": replica.has_session,
        "is_lost": replica.is_lost,
        "last_change": shown_time(replica.last_change),
    }


def _replicas(tables: Sequence[TableCensus]) -> list[dict[str, Any]]:
    """Sum up the replicas of all tables by name. In most clusters, a name stands for a server."""
    totals: defaultdict[str, Counts] = defaultdict(Counts)
    paths: defaultdict[str, int] = defaultdict(int)
    for table in tables:
        for replica in table.replicas.values():
            totals[replica.name].add(replica.total)
            paths[replica.name] += 1
    return [
        {"replica": name, "tables": paths[name], **_figures(counts)}
        for name, counts in _largest(totals, key=str)
    ]


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "kind": advice.kind.value,
        "means": advice.kind.means,
        "remedy": advice.kind.remedy,
        "path": advice.path,
        "replica": advice.replica,
        "znodes": advice.znodes,
        "evidence": advice.evidence,
        "statements": list(advice.statements),
    }
