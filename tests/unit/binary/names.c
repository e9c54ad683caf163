/* SPDX-License-Identifier: MIT */
/* Paths and symbols as people write them. */
#include "base/path.h"
#include "binary/symbols.h"
#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

static void path(const char *path, const char *directory, const char *expected)
{
    char *shown = path_shown(path, directory);
    ok(!strcmp(shown, expected), "%s compiled in %s -> %s", path, directory ? directory : "?",
       shown);
    free(shown);
}

static void full(const char *path, const char *directory, const char *expected)
{
    char *is = path_full(path, directory);
    ok(!strcmp(is, expected), "%s in full, compiled in %s -> %s", path, directory ? directory : "?",
       is);
    free(is);
}

static void symbol(const char *name, const char *expected)
{
    char *shown = symbols_readable(name);
    ok(!strcmp(shown, expected), "%s -> %s", name, shown);
    free(shown);
}

int main(void)
{
    path("/srv/u/app/ring.c", "/srv/u/app", "ring.c");
    path("/srv/u/app/src/ring.c", "/srv/u/app/", "src/ring.c");
    path("/srv/u/app/./src//ring.c", "/srv/u/app", "src/ring.c");
    path("/srv/u/app/build/../src/ring.c", "/srv/u/app/build", "/srv/u/app/src/ring.c");
    path("/srv/u/app2/ring.c", "/srv/u/app", "/srv/u/app2/ring.c");
    path("/usr/include/x.h", "/srv/u/app", "/usr/include/x.h");
    path("./ring.c", NULL, "ring.c");
    path("../ring.c", NULL, "../ring.c");
    path("a/../../ring.c", NULL, "../ring.c");
    path("/../ring.c", "/", "/ring.c");
    path("ring.c", ".", "ring.c");
    path("/x", "/x", "/x");
    path("", "", "");

    full("ring.c", "/srv/u/app", "/srv/u/app/ring.c");
    full("../src/./ring.c", "/srv/u/app/build", "/srv/u/app/src/ring.c");
    full("/usr/include/x.h", "/srv", "/usr/include/x.h");
    full("a/../ring.c", NULL, "ring.c");
    full("ring.c", "", "ring.c");

    symbol("main", "main");
    symbol("exchange.constprop.0", "exchange");
    symbol("exchange.part.0.isra.0", "exchange");
    symbol("solve_", "solve");
    symbol("__stencil_MOD_halo", "halo");
    symbol("MAIN__", "MAIN__");
    symbol("_ZN6solver5Field8exchangeEi", "solver::Field::exchange(int)");
    symbol("_Znonsense", "_Znonsense");
    return tap_done();
}
