# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of replica_info: read the health of one server and report problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from .._clickhouse.health_probe import HttpHealthProbe
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.health.cold_presence import ColdPresence
from .._partmove.health.diagnosis import diagnose, has_caught_up, is_healthy
from .._partmove.health.disk_record import detached_record, parse_record, parts_record
from .._partmove.health.facts import HealthFacts, HealthLimits, Registration, ReplicaPath, ReplicaStatus
from .._partmove.health.symptom import Finding
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.ledger.ledger import Ledger
from .._partmove.text import parse_duration
from .resources import Resources, client_of, coordination_root


class ReplicaInfo:
    """Implements Task for replica_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        self._probe = HttpHealthProbe(client_of(params["clickhouse"]))
        self._expected = tuple(map(_replica_path, params["replicas"] or ()))
        self._before = None if params["before"] is None else parse_record(params["before"])
        self._interval = parse_duration(params["sample_interval"], "sample_interval")
        self._root = coordination_root(params)
        self._limits = HealthLimits(
            max_delay=parse_duration(params["max_delay"], "max_delay"),
            max_queue_age=parse_duration(params["max_queue_age"], "max_queue_age"),
            ddl_grace=parse_duration(params["ddl_grace"], "ddl_grace"),
            config_changed_at=params["config_changed_at"],
        )
        self._facts: HealthFacts | None = None
        self._findings: list[Finding] = []

    def result(self) -> dict[str, Any]:
        """Return the diagnosis; nothing before all reads are done."""
        if self._facts is None:
            return {"changed": False}
        return {
            "changed": False,
            "server": _server(self._facts),
            "replicas": [_replica(each) for each in self._facts.replicas],
            "parts": parts_record(self._facts.disk),
            "detached": detached_record(self._facts.disk),
            "findings": [finding._asdict() for finding in self._findings],
            "healthy": is_healthy(self._findings),
            "caught_up": has_caught_up(self._findings),
        }

    def run(self, resources: Resources) -> None:
        """Read the health from the server and from the given ensembles."""
        probe = self._probe
        server = probe.server(self._params["patched_sign"])
        has_zookeeper = server.zookeeper_problem is None
        replicas = probe.replicas(with_log=has_zookeeper)
        hidden = "" if replicas else probe.hidden()
        if hidden:
            # Its last sentence is the remedy. A server without any table is healthy: a new one, for example.
            raise PartMoveError(f"No replicated table could be checked: {hidden}")
        # Hot and cold have no znodes of tables in an auxiliary ensemble.
        in_hot = [each for each in replicas if not each.is_auxiliary]
        presence = self._presence(resources, in_hot)
        registered = {} if presence is None else presence.registered(in_hot)
        facts = HealthFacts(
            server=server,
            replicas=replicas,
            disk=probe.disk(read_disk=self._params["read_disk"]),
            failing=probe.failing(),
            expected=self._expected,
            before=self._before,
            limits=self._limits,
        )
        if has_zookeeper:
            facts = replace(
                facts,
                ddl=probe.zookeeper.ddl_tasks(self._params["ddl_path"]),
                registrations=self._registrations(replicas),
            )
        if any(each.delay or (each.log and each.log.lag) for each in replicas):
            resources.clock.sleep(self._interval)
            later = probe.replicas(with_log=has_zookeeper)
            facts = replace(facts, later={each.path: each for each in later})
        if presence is not None:
            cold = presence.facts(in_hot, registered, facts.disk)
            cold = presence.still_missing(cold, in_hot)
            again = presence.still_unregistered(cold, in_hot, lambda: probe.disk(read_disk=False))
            facts = replace(facts, cold=again)
        self._facts, self._findings = facts, diagnose(facts)

    def _presence(self, resources: Resources, replicas: Sequence[ReplicaStatus]) -> ColdPresence | None:
        if self._params["hot"] is None:
            return None
        hot, cold = resources.open_hot_or_pair()
        if cold is not None and replicas:
            check_different_history(hot, cold, replicas[0].shard_path)
        return ColdPresence(hot, cold, Ledger(hot, self._root))

    def _registrations(self, replicas: Sequence[ReplicaStatus]) -> Mapping[ReplicaPath, Registration]:
        """Return the registrations of replicas that are missing, or read-only for lack of znodes.

        The server reads znodes of its default ensemble only, so tables in other ensembles are left out.
        """
        paths = {
            each.path
            for each in replicas
            if each.read_only and not each.session_expired and not each.is_auxiliary
        }
        paths |= set(self._expected) - {each.path for each in replicas}
        return {path: self._probe.zookeeper.registration(path) for path in sorted(paths)}


def _replica_path(given: Mapping[str, str]) -> ReplicaPath:
    layout = ShardLayout(given["shard_path"])
    return ReplicaPath(layout.path, layout.replica(given["replica"]).name)


def _server(facts: HealthFacts) -> dict[str, Any]:
    server = facts.server
    started = datetime.fromtimestamp(server.started, timezone.utc)
    return {
        "address": server.address,
        "version": server.version,
        "uptime": server.uptime,
        "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "patched": server.patched,
    }


def _replica(status: ReplicaStatus) -> dict[str, Any]:
    log = status.log
    return {
        "database": status.key.database,
        "table": status.key.table,
        "engine": status.engine,
        "ensemble": status.ensemble,
        "shard_path": status.shard_path,
        "replica": status.replica,
        "leader": status.leader,
        "read_only": status.read_only,
        "session_expired": status.session_expired,
        "delay": status.delay,
        "queue": status.queue,
        "queue_age": status.queue_age,
        "log_lag": None if log is None else log.lag,
        "total_replicas": None if log is None else log.total_replicas,
        "active_replicas": None if log is None else log.active_replicas,
    }
