// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// How the library changes a running program: the tables through which libclickhouse.so reaches its
// functions and data.

#pragma once

namespace cold
{

// The file name that the library was written for.
constexpr const char * clickhouse_library = "libclickhouse.so.18.16.1";

// The path of the loaded libclickhouse.so, symbolic links followed; "" where there is none.
const char * loaded_clickhouse();

// The address of a function or of data of the program; ends the process when there is none.
void * find(const char * symbol);

template <typename Function>
Function find_function(const char * symbol)
{
    return reinterpret_cast<Function>(find(symbol));
}

// Makes libclickhouse.so use `replacement` wherever it uses `symbol`, and ends the process when it
// does not use it anywhere. Preloading functions of the same name would not do: the program itself
// defines some of them, and its own come first.
void replace(const char * symbol, void * replacement);

// Replaces a function and returns the original.
template <typename Function>
Function replace_function(const char * symbol, Function replacement)
{
    auto original = find_function<Function>(symbol);
    replace(symbol, reinterpret_cast<void *>(replacement));
    return original;
}

}
