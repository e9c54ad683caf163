/* SPDX-License-Identifier: MIT */
/* Names of procedures that the source route would not have, or has in another form. */
#include "base/alloc.h"
#include "binary/machine_inner.h"
#include "graph/unit.h"

#include <ctype.h>
#include <string.h>

static bool among(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

bool machine_glue(const char *name)
{
    static const char *const names[] = {"_start",
                                        "_init",
                                        "_fini",
                                        "frame_dummy",
                                        "register_tm_clones",
                                        "deregister_tm_clones",
                                        "__do_global_dtors_aux",
                                        "_dl_relocate_static_pie",
                                        NULL};
    return among(names, name);
}

/* Calls that nobody has written. */
bool machine_hidden(const char *name)
{
    static const char *const begins[] = {"__cxa_",  "_Unwind_", "__stack_chk_fail", "__gxx_",
                                         "__asan_", "__ubsan_", "__tsan_",          "__sanitizer_",
                                         "mcount",  "_mcount",  "__fentry__",       NULL};
    for (const char *const *b = begins; *b; b++)
        if (!strncmp(name, *b, strlen(*b)))
            return true;
    return false;
}

/* "mpi_comm_rank_" and "mpi_comm_rank_f08_", as Fortran calls them, are MPI_Comm_rank. */
char *machine_communication(const char *symbol)
{
    static const char *const ends[] = {"_f08ts", "_f08", NULL};
    size_t length = strlen(symbol), begin = strspn(symbol, "p");
    if (unit_communication(symbol))
        return xstrdup(symbol);
    if (begin > 1 || strncmp(symbol + begin, "mpi_", 4) != 0 || symbol[length - 1] != '_' ||
        strspn(symbol, "abcdefghijklmnopqrstuvwxyz0123456789_") != length || length < 7)
        return NULL;
    char *name = xstrdup(symbol);
    while (length && name[length - 1] == '_')
        name[--length] = 0;
    for (const char *const *e = ends; *e; e++)
        if (length > strlen(*e) && !strcmp(name + length - strlen(*e), *e))
            name[length -= strlen(*e)] = 0;
    for (size_t i = 0; i < begin + 5 && name[i]; i++)
        name[i] = (char)toupper((unsigned char)name[i]);
    return name;
}

/* "std::vector<int>::at" of "std::vector<int>::at(unsigned long) const" */
char *machine_without_parameters(char *name)
{
    char *end = strrchr(name, ')');
    int depth = 0;
    for (char *at = end; at && at > name; at--) {
        depth += *at == ')' ? 1 : *at == '(' ? -1 : 0;
        if (!depth) {
            if (at - name < 8 || strncmp(at - 8, "operator", 8) != 0)
                *at = 0;
            break;
        }
    }
    return name;
}
