// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

#include "linkage.h"

#include "log.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace cold
{

namespace
{

struct Library
{
    char path[PATH_MAX] = "";
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;
};

int look_at(dl_phdr_info * info, std::size_t, void * result)
{
    auto & library = *static_cast<Library *>(result);
    const char * name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name + 1, "libclickhouse.so", strlen("libclickhouse.so")) != 0)
        return 0;
    if (!realpath(info->dlpi_name, library.path))
        fatal(std::string("cannot resolve ") + info->dlpi_name + ": " + strerror(errno));
    library.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            library.dynamic
                = reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

const Library & library()
{
    static const Library found = []
    {
        Library result;
        dl_iterate_phdr(look_at, &result);
        return result;
    }();
    return found;
}

// The value of an entry of the dynamic section. The loader has already made addresses of pointers.
ElfW(Addr) dynamic_value(ElfW(Sxword) tag)
{
    for (const auto * entry = library().dynamic; entry && entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr;
    return 0;
}

[[noreturn]] void refuse(const std::string & why)
{
    fatal("this server is not the ClickHouse 18.16.1 that the patch was made for: " + why);
}

void store(void ** slot, void * value)
{
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    auto * start = reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1));
    // Not made read-only again: the page holds other slots, which the loader fills later.
    if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        fatal(std::string("cannot make a table of the program writable: ") + strerror(errno));
    *slot = value;
}

int replace_in(ElfW(Addr) relocations, std::size_t bytes, const char * symbol, void * replacement)
{
    const auto * entries = reinterpret_cast<const ElfW(Rela) *>(relocations);
    const auto * symbols = reinterpret_cast<const ElfW(Sym) *>(dynamic_value(DT_SYMTAB));
    const auto * strings = reinterpret_cast<const char *>(dynamic_value(DT_STRTAB));
    int replaced = 0;
    for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i)
    {
        const auto type = ELF64_R_TYPE(entries[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        if (strcmp(strings + symbols[ELF64_R_SYM(entries[i].r_info)].st_name, symbol) != 0)
            continue;
        store(reinterpret_cast<void **>(library().base + entries[i].r_offset), replacement);
        ++replaced;
    }
    return replaced;
}

}

const char * loaded_clickhouse()
{
    return library().path;
}

void * find(const char * symbol)
{
    void * address = dlsym(RTLD_DEFAULT, symbol);
    if (!address)
        refuse(std::string("it has no ") + symbol);
    return address;
}

void replace(const char * symbol, void * replacement)
{
    int replaced = replace_in(dynamic_value(DT_JMPREL), dynamic_value(DT_PLTRELSZ), symbol, replacement);
    replaced += replace_in(dynamic_value(DT_RELA), dynamic_value(DT_RELASZ), symbol, replacement);
    if (replaced == 0)
        refuse(std::string("it never uses ") + symbol);
}

}
