# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of module attributes and of the required Python."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of modules. Each module documents its support for each attribute."""

    DOCUMENTATION = r"""
    options: {}
    attributes:
      check_mode:
        description: Can run in C(check_mode) and return changed status prediction without modifying target.
      diff_mode:
        description: Will return details on what has changed, or would change, when in diff mode.
      idempotent:
        description: When run twice in a row outside check mode with the same arguments, the second run
          changes nothing.
      platform:
        description: Target OS/families that can be operated against.
        platforms: posix
        support: full
    requirements:
      - Python 3.9 or later on the host that runs the module
"""

    READ_ONLY = r"""
    options: {}
    attributes:
      check_mode:
        support: full
        details: This module only reads.
      diff_mode:
        support: none
        details: This module only reads.
      idempotent:
        support: full
        details: This module only reads.
"""

    ACTION_GROUP = r"""
    options: {}
    attributes:
      action_group:
        description: Use C(group/olap.partmove.partmove) in C(module_defaults) to set defaults for this
          module.
        support: full
        membership:
          - olap.partmove.partmove
"""
