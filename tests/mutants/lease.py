# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the room `lease`: who may write."""

from __future__ import annotations

from mutants.mutant import Mutant

_LEASE = "lease/lease.py"

MUTANTS = (
    Mutant(
        "no multi to hot checks the lock",
        _LEASE,
        "return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))",
        "return (Check(self.epoch_path, self.hot_epoch),)",
        ("lease/test_lease.py",),
    ),
    Mutant(
        "crash",
        _LEASE,
        "return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))",
        "return (Chieck(self.epoch_path, self.hot_epoch),)",
        ("lease/test_lease.py",),
    ),
)
