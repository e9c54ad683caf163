/* SPDX-License-Identifier: MIT */
/* The live view on an artificial job that goes on for some seconds, to be looked at by hand or
 * driven through a terminal: live [SECONDS [INTERVAL [RUN [FILE:LINE|@FILE]]]]. */
#include "fixture.h"

#include "tui/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    int readings, last;
    const char *probed; /* a run to show in place of the one that grows */
    bool path_off;
};

static struct run *read_job(void *data, int *error)
{
    struct job *job = data;
    int n = ++job->readings;
    *error = 0;
    if (n > job->last + 2) {
        *error = -ENOENT;
        return NULL;
    }
    if (job->probed) {
        struct run *probed = fixture_run(job->probed);
        for (size_t i = 0; i < probed->rank_count; i++)
            probed->ranks[i].state = RUN_RUNNING;
        probed->live = true;
        probed->path.on &= !job->path_off;
        return probed;
    }
    struct run *run = fixture_run(n > job->last ? "stencil" : "live");
    for (size_t i = 0; i < run->value_count; i++) {
        struct run_value *v = &run->values[i];
        v->count = v->count * (uint64_t)n / 10;
        v->bytes = v->bytes * (uint64_t)n / 10;
        v->time = v->time * n / 10;
    }
    for (size_t i = 0; i < run->rank_count; i++) {
        run->ranks[i].real_s = run->ranks[i].overhead_s + 1.25 * n;
        run->ranks[i].mpi_s *= n / 10.0;
    }
    return run;
}

static int switch_path(void *data, bool on)
{
    ((struct job *)data)->path_off = !on;
    return 0;
}

int main(int argc, char **argv)
{
    struct job job = {.last = argc > 1 ? atoi(argv[1]) : 20};
    struct top_source source = {.read = read_job,
                                .data = &job,
                                .switch_path = switch_path,
                                .interval_s = argc > 2 ? atof(argv[2]) : 1};
    job.probed = argc > 3 ? argv[3] : NULL;
    if (argc > 4 && *argv[4] == '@') {
        source.source = argv[4] + 1;
    } else if (argc > 4 && strrchr(argv[4], ':')) {
        char *colon = strrchr(argv[4], ':');
        source.at_line = (uint32_t)atoi(colon + 1);
        *colon = '\0';
        source.at_file = argv[4];
    }
    int error = top_run(&source);
    if (error == -ENOTTY)
        fprintf(stderr, "no terminal\n");
    printf("top_run: %s after %d readings\n", error ? strerror(-error) : "ended", job.readings);
    return error != 0;
}
