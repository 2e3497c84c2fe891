// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The sign by which a patched server is known: two more rows of system.build_options.
//   COLD_ZOOKEEPER          1
//   COLD_ZOOKEEPER_SESSION  none, or open once the cold session is

#pragma once

namespace cold
{

// Ends the process unless ClickHouse was built as 18.16.1, by its own table of build options.
void check_version();

// Adds the rows.
void show_sign();

void show_open_session();

}
