/* SPDX-License-Identifier: MIT */
#include "cli/load.h"

#include "binary/resolve.h"
#include "cli/procs.h"
#include "store/store.h"
#include "tree/node.h"
#include "view/structure.h"

#include <errno.h>
#include <string.h>

void load_structure(struct run *run)
{
    struct resolver *resolver = resolver_new();
    structure_run(run, resolver);
    resolver_free(resolver);
}

int load_live(const struct job *job, struct run **run)
{
    int err = node_read(job, run);
    if (err < 0)
        return err;
    procs_warnings(job, *run);
    load_structure(*run);
    return 0;
}

int load_file(const char *path, struct run **run, struct strbuf *error)
{
    int format = 0;
    int err = store_read(path, run, &format);
    if (err == -ENOENT)
        strbuf_printf(error, "%s: no such file", path);
    else if (err == -EPROTO)
        strbuf_printf(error, "%s is no run file of loupe, or is damaged or cut short", path);
    else if (err == -ENOTSUP)
        strbuf_printf(error,
                      "%s has format %d, this loupe reads formats %d to %d; use the loupe that "
                      "wrote it",
                      path, format, STORE_FORMAT_OLDEST, STORE_FORMAT);
    else if (err < 0)
        strbuf_printf(error, "%s: %s", path, strerror(-err));
    return err < 0 ? err : 0;
}
