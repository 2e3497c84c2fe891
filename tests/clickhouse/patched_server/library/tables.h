// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The tables that were loaded or created with a cold session.

#pragma once

#include "clickhouse_abi.h"

namespace cold
{

struct Table
{
    Session session;             // with cold; empty: the table behaves as in the stock server
    std::string zookeeper_path;  // of the shard; empty where the server has no ZooKeeper at all
};

// As in the fork, a table keeps what it was loaded with: one that came before <cold_zookeeper> was
// configured behaves as in the stock server until it is loaded again.
void remember_table(const Storage * storage, Table table);

Table known_table(const Storage * storage);

// Gives a variable, thread-local ones above all, a value until the end of the block.
template <typename T>
class Scope
{
public:
    Scope(T *& variable_, T * value) : variable(variable_), before(variable_) { variable = value; }
    ~Scope() { variable = before; }
    Scope(const Scope &) = delete;
    Scope & operator=(const Scope &) = delete;

private:
    T *& variable;
    T * before;
};

}
