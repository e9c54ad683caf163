/* SPDX-License-Identifier: MIT */
/* A job with segments of its ranks, for tests of what reads one. */
#ifndef LOUPE_TESTS_JOBS_H
#define LOUPE_TESTS_JOBS_H

#include "tree/node.h"

#include "lib/tap.h"
#include "segments.h"
#include "tree/process.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

enum { SEND, RECV, INIT, FINALIZE, BARRIER };

static char root[128];
static struct job *job;
static int dir, serial;

static inline void begin(void)
{
    char id[32];
    char *command[] = {(char *)"mpirun", (char *)"./app", NULL};
    snprintf(id, sizeof id, "job%d", ++serial);
    if (job_create(&job, id, command, NULL))
        abort();
    dir = open(job->dir, O_RDONLY | O_DIRECTORY);
}

static inline void end(void)
{
    close(dir);
    job_remove(job);
    job_free(job);
}

/* A rank whose process is dead unless said otherwise; ticks are half nanoseconds. */
static inline struct segment rank_segment(const char *name, int rank, int size)
{
    struct segment s = segment_new(dir, name);
    struct record_header *h = s.header;
    h->pid = 100000000 + rank;
    h->pid_started = 1;
    h->pid_namespace = process_namespace();
    h->rank = rank;
    h->size = size;
    h->mpi_phase = RECORD_MPI_FINALIZED;
    h->state = RECORD_FINISHED;
    h->started = 1000000000;
    h->mpi_init_begin = 2000000000;
    h->mpi_init_end = 4000000000;
    h->mpi_finalize_begin = 24000000000;
    h->mpi_finalize_end = 26000000000;
    h->ended = 28000000000;
    strcpy(h->mpi, "Open MPI 4.1.4");
    return s;
}

static inline struct run *read_run(void)
{
    struct run *run = NULL;
    int err = node_read(job, &run);
    if (err) {
        printf("# node_read: %s\n", strerror(-err));
        return run_new();
    }
    return run;
}

static inline bool warned(const struct run *run, const char *text)
{
    for (size_t i = 0; i < run->warning_count; i++)
        if (!strcmp(run->warnings[i], text))
            return true;
    for (size_t i = 0; i < run->warning_count; i++)
        printf("# warning: %s\n", run->warnings[i]);
    return false;
}

static inline uint32_t node_named(const struct run *run, const char *name, uint64_t offset)
{
    for (uint32_t i = 0; i < run->graph.count; i++)
        if (!strcmp(run->graph.nodes[i].name, name) && run->graph.nodes[i].offset == offset)
            return i;
    return GRAPH_NONE;
}

static inline bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

#endif
