// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The two behaviours of the patch. Each function puts one into libclickhouse.so, and ends the process
// when one of the functions that it needs is missing there.

#pragma once

namespace cold
{

// Parts registered in cold count as registered when a table is loaded.
void install_start_up();

// DROP PARTITION of a COLD partition empties cold.
void install_drop();

}
