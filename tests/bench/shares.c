/* SPDX-License-Identifier: MIT */
/* What of real binaries can be instrumented, and how long the analysis takes: shares FILE... */
#include "binary/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGAIN = 9 };

/* Of the processor: others may be at work too. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double percent(size_t part, size_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

/* With an environment variable LOUPE_SHARES_WHY: why not, per function. */
static void explain(const struct code_function *f, const struct code_point *p)
{
    if (getenv("LOUPE_SHARES_WHY"))
        printf("  %#lx %s: %s\n", (unsigned long)(p ? p->address : f->start), f->name,
               p ? p->why : f->why);
}

static void shares(const struct code *c)
{
    size_t functions = 0, entries = 0, whole = 0, exits = 0, resolvers = 0;
    size_t points = 0, relays = 0;
    for (size_t i = 0; i < c->function_count; i++) {
        const struct code_function *f = &c->functions[i];
        if (!f->point_count && f->why) {
            resolvers++;
            continue;
        }
        bool all = f->whole;
        functions++;
        whole += f->whole;
        if (!f->whole)
            explain(f, NULL);
        for (uint32_t k = f->first_point; k < f->first_point + f->point_count; k++) {
            const struct code_point *p = &c->points[k];
            bool jump = p->way == CODE_JUMP || p->way == CODE_SHORT;
            entries += p->kind == CODE_ENTRY && jump;
            if (p->kind == CODE_EXIT && !jump)
                all = false;
            if (p->kind <= CODE_EXIT && !jump)
                explain(f, p);
            points += jump;
            relays += p->way == CODE_SHORT;
        }
        exits += all;
    }
    printf("%8zu functions (%zu left alone), %zu points, %zu loops\n", functions, resolvers,
           c->point_count, c->loop_count);
    printf("%8.2f %% of entries by jump\n", percent(entries, functions));
    printf("%8.2f %% of functions with all exits by jump\n", percent(exits, functions));
    printf("%8.2f %% of all points by jump, %.2f %% of them over a relay\n",
           percent(points, c->point_count), percent(relays, points));
    printf("%8.2f %% of functions understood wholly\n", percent(whole, functions));
}

int main(int argc, char **argv)
{
    char cache[] = "/tmp/loupe-shares-XXXXXX";
    if (!mkdtemp(cache) || setenv("XDG_CACHE_HOME", cache, 1))
        return 1;
    for (int i = 1; i < argc; i++) {
        struct code *code = NULL;
        double begin = now();
        int error = code_open(argv[i], false, &code);
        double took = now() - begin, least = 1e9;
        printf("%s\n", argv[i]);
        if (error) {
            printf("         %s\n", strerror(-error));
            continue;
        }
        shares(code);
        bool cached = false;
        for (int k = 0; k < AGAIN; k++) {
            code_close(code);
            begin = now();
            error = code_open(argv[i], false, &code);
            least = now() - begin < least ? now() - begin : least;
            cached = !error && code->cached;
        }
        printf("%8.1f ms of CPU time; %s%.1f ms (least of %d)\n", took * 1e3,
               cached ? "cached " : "again ", least * 1e3, AGAIN);
        code_close(code);
    }
    char *clean = NULL;
    if (asprintf(&clean, "rm -rf '%s'", cache) > 0 && system(clean)) // NOLINT(cert-env33-c)
        return 1;
    free(clean);
    return 0;
}
