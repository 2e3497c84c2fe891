# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for ClickHouse Keeper: an ensemble of members that speak its client protocol.

It was written after Keeper's public source and has never met a Keeper. So it proves how this collection and
ClickHouse servers work with these manners, and nothing of Keeper itself. With the manners of ZooKeeper it is
compared with a real one.
"""
