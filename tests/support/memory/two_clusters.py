# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two clusters in memory with a table at the same path, and one cold ensemble."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import bind_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.bench import DAY, PART, Bench
from support.memory.client import MemoryClient
from support.memory.drifted import Drifted
from support.memory.trees import outside_leases


def hash_of(bench: Bench, part: str) -> str:
    """Return the hash of all files of a part, as it was registered."""
    for ensemble in (bench.hot_ensemble, bench.cold_ensemble):
        data = ensemble.data().get(bench.part(name=part))
        if data:
            checksums = parse_payload(data, {}, part).checksums
            assert checksums is not None
            return checksums.hash_of_all_files
    raise LookupError(part)


class TwoClusters(NamedTuple):
    """Both clusters were built alike: paths, replicas, parts, transactions and times are equal.

    ours: the cluster whose hosts of cold are wrong. theirs: the cluster whose partition is cold.
    """

    ours: Drifted
    theirs: Drifted

    @classmethod
    def build(cls, *, is_listed: bool = False) -> TwoClusters:
        """Build both, and move the partition of the other cluster.

        is_listed: whether our hot ensemble has an identity, and may use the cold ensemble, too.
        """
        clusters = cls(Drifted(), Drifted())
        ours, theirs = (each.bench for each in clusters)
        for each in clusters:
            each.disks.hashes[PART] = hash_of(each.bench, PART)
        assert theirs.move(DAY).moved
        ours.cold_ensemble = theirs.cold_ensemble
        ours.cold_store.ensemble = theirs.cold_ensemble
        ours.cold = MemoryClient(theirs.cold_ensemble.open())
        if is_listed:
            bind_pair(ours.hot_store, ours.cold_store, DEFAULT_ROOT, "ours", may_join=True)
        return clusters

    def cold(self) -> dict[str, bytes]:
        """Return all data of cold outside of the coordination of runs."""
        return outside_leases(self.theirs.bench.cold_ensemble.data())
