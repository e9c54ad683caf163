/* SPDX-License-Identifier: MIT */
/* The live view on an artificial job that goes on for some seconds, to be looked at by hand or
 * driven through a terminal: live [SECONDS [INTERVAL]]. */
#include "fixture.h"

#include "tui/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    int readings, last;
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

int main(int argc, char **argv)
{
    struct job job = {.last = argc > 1 ? atoi(argv[1]) : 20};
    struct top_source source = {
        .read = read_job, .data = &job, .interval_s = argc > 2 ? atof(argv[2]) : 1};
    int error = top_run(&source);
    if (error == -ENOTTY)
        fprintf(stderr, "no terminal\n");
    printf("top_run: %s after %d readings\n", error ? strerror(-error) : "ended", job.readings);
    return error != 0;
}
