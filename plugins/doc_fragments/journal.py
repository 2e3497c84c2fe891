# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the journal of runs."""

from __future__ import annotations


class ModuleDocFragment:
    """The option ``journal``."""

    DOCUMENTATION = r"""
    options:
      journal:
        description:
          - File on the host that runs the module. The run appends its events to the file, a JSON object for
            each line. Planned writes are on disk before the run executes them. M(olap.partmove.journal_info)
            reads the file.
          - "The default is C(olap.partmove/journal.jsonl) in the state folder of the user that runs the
            module: C($XDG_STATE_HOME), or C(~/.local/state) without this variable. The module creates the
            file and its folder with access for this user only."
          - An empty text turns the journal off. Check mode writes no journal.
          - A run fails before the first change if its journal cannot be written.
          - The journal is for people. Later runs do not need the journal.
        type: path
"""
