# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All mutants, room by room."""

from __future__ import annotations

from mutants import lease
from mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (*lease.MUTANTS,)
