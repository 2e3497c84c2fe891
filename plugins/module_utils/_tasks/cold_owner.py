# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of cold_owner: say to which hot ensemble a cold ensemble and its tables belong."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from .._partmove.binding.identity import Pair
from .._partmove.errors import FormatError
from .._partmove.formats.layout import ShardLayout
from .._partmove.journal.events import Event
from .._partmove.lease.two_ensembles import check_different_history, check_nonce_invisible
from .._partmove.patched.audit.evidence import Disks
from .._partmove.patched.audit.reader import EvidenceReader
from .._partmove.patched.parts.pair import (
    bind_pair,
    name_of,
    read_pair,
    rename_hot,
    renew_identity,
    trust_hot,
)
from .._partmove.patched.repair.take_over import Proof, give, take_over
from .._partmove.tree.ports import ZnodeStore
from .journal_file import journalled_run
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, probe_of

_NO_PAIR = Pair("", "", ())


class ColdOwner:
    """Implements Task for cold_owner."""

    failure = ""

    def __init__(self, params: Mapping[str, Any], disks: Disks | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        self._disks = disks
        self._state: str = params["state"]
        self._paths = [ShardLayout(each).path for each in params["shard_paths"] or ()]
        if self._state != "bound" and not self._paths:
            raise FormatError(
                f"No shard path is given, and the state {self._state} is about tables",
                remedy="Give shard_paths, the zookeeper_path of each table in system.replicas",
            )
        self._to: str = params["to"] or ""
        self._name: str = params["name"] or ""
        self._refuse_unused()
        if self._state == "given" and re.fullmatch(r"[0-9a-f]{32}", self._to, re.ASCII) is None:
            raise FormatError(
                f"The option to is {self._to!r}, which is not the id of a hot ensemble",
                remedy="Give the hot_id that cold_owner returns for the other cluster, 32 hexadecimal digits",
            )
        self._locks = LockOptions.of(params)
        self._before = self._after = _NO_PAIR
        self._is_trusted_now = False
        """Whether hot has learnt the token in cold."""
        self._is_named_now = False
        self._changed: dict[str, str] = {}
        """Shard path → what was written about it."""

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        is_bound_now = _ids(self._after) != _ids(self._before)
        return {
            "changed": bool(is_bound_now or self._is_trusted_now or self._is_named_now or self._changed),
            "hot_id": self._after.hot_id,
            "cold_id": self._after.cold_id,
            "hot_ids": list(self._after.bound_hots),
            "tables": [{"shard_path": path, "owner": text} for path, text in sorted(self._changed.items())],
            "diff": {
                "before": _shown(self._before, dict.fromkeys(self._changed, "as before"), ""),
                "after": _shown(self._after, self._changed, self._name if self._is_named_now else ""),
            },
        }

    def run(self, resources: Resources) -> None:
        """Bind the pair, take the shard paths over, or give them away."""
        hot, cold = resources.open_pair()
        for path in self._paths:
            check_different_history(hot, cold, path)
        if not self._paths:
            check_nonce_invisible(hot, cold, uuid.uuid4().hex, root=self._locks.root)
        self._before = self._after = read_pair(hot, cold, self._locks.root)
        journal = resources.open_journal()
        work = {"work": f"cold_owner {self._state}", "shard_paths": len(self._paths)}
        with journalled_run(journal, "cold_owner", (hot, cold), work, self._counts):
            if self._params["no_copy_runs"]:
                self._is_trusted_now = trust_hot(hot, cold, self._locks.root)
            if self._state == "bound":
                renew_identity(hot, cold, self._locks.root)
                name = self._name or name_of(hot)
                self._after = bind_pair(hot, cold, self._locks.root, name, may_join=True)
            for path in self._paths:
                written = self._write(hot, cold, resources, path)
                if written:
                    self._changed[path] = written
                    journal.record(Event.OWNER_SET, [{"shard_path": path, "owner": written}])
            if self._name:
                self._is_named_now = rename_hot(cold, self._locks.root, self._after, self._name)

    def _refuse_unused(self) -> None:
        """Raise FormatError for an option that the state has no use for: another state may be meant."""
        unused = {
            "shard_paths": self._state == "bound" and self._paths,
            "to": self._state != "given" and self._to,
            "name": self._state == "given" and self._name,
        }
        given = [option for option, is_given in unused.items() if is_given]
        if given:
            raise FormatError(
                f"The state {self._state} makes no use of {' and '.join(given)}",
                remedy="Set the state that the task is for, taken or given, or leave the option out",
            )

    def _counts(self) -> dict[str, int]:
        return {"changed": len(self._changed)}

    def _write(self, hot: ZnodeStore, cold: ZnodeStore, resources: Resources, path: str) -> str:
        """Write the owner of one shard path, and return it in words; "" if nothing was to be written."""
        leases = self._locks.keeper("cold_owner", hot, cold, resources.clock, may_be_copy=True)
        if self._state == "given":
            is_new = give(hot, cold, leases, path, self._to)
            return f"may be taken over by {self._to}" if is_new else ""
        disks = self._disks or probe_of(self._params["clickhouse"])
        evidence = EvidenceReader(hot, cold, disks, resources.clock, leases.root, at_once=SERVERS_AT_ONCE)
        proof = take_over(hot, cold, leases, path, evidence, self._name)
        self._after = read_pair(hot, cold, leases.root)
        return "" if proof is Proof.NONE_NEEDED else f"{self._after.hot_id}, proven by {proof.value}"


def _shown(pair: Pair, tables: Mapping[str, str], new_name: str) -> str:
    lines = [f"hot {pair.hot_id or 'without identity'}", f"cold {pair.cold_id or 'without identity'}"]
    lines += [f"cold belongs to {each}" for each in pair.bound_hots]
    lines += [f"the name of hot is {new_name}"] if new_name else []
    lines += ["hot is a copy, or was set back"] if pair.is_copied else []
    lines += [f"{path}: {text}" for path, text in sorted(tables.items())]
    return "".join(f"{line}\n" for line in lines)


def _ids(pair: Pair) -> tuple[object, ...]:
    return pair.hot_id, pair.cold_id, pair.bound_hots
