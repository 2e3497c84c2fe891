# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures for tests of the classification."""

from __future__ import annotations

from support.servers.spark import kept_spark, spark

__all__ = ["kept_spark", "spark"]
