/* SPDX-License-Identifier: MIT */
/*
 * A job that looks like RANKS processes with STATEMENTS statements each: segments written with the
 * real writer, one per forked child. Prints the job's id and waits to be killed.
 */
#include "record/place.h"
#include "record/writer.h"
#include "tree/job.h"
#include "tree/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PEERS = 4 };

static void *must(void *p)
{
    if (!p)
        exit(1);
    return p;
}

static void fill_statements(struct record_writer *w, int statements, int ranks, int rank)
{
    struct record_cursor s = {0}, p = {0};
    uintptr_t here = (uintptr_t)fill_statements;
    for (int i = 0; i < statements; i++) {
        struct record_statement *r = must(
            record_cursor_next(w, &s, RECORD_KIND_STATEMENTS, 0, sizeof(struct record_statement)));
        r->call = (uint32_t)i % 400;
        r->module = 0;
        r->offset = (here & 0xfff) + (uint64_t)i * 16;
        r->count = 1000;
        r->time = r->self = 1000000;
        r->min = 100;
        r->max = 5000;
        r->bytes = 8000;
        r->sizes[4] = 1000;
        record_cursor_publish(&s);
        for (int k = 0; k < PEERS; k++) {
            struct record_peer *peer =
                must(record_cursor_next(w, &p, RECORD_KIND_PEERS, 0, sizeof(struct record_peer)));
            peer->statement = (uint32_t)i;
            peer->rank = (rank + k + 1) % ranks;
            peer->count = 250;
            peer->bytes = 2000;
            record_cursor_publish(&p);
        }
    }
}

static void fill(struct record_writer *w, int rank, int ranks, int statements)
{
    struct record_header *h = w->header;
    h->pid = getpid();
    h->pid_started = process_started(getpid());
    h->pid_namespace = process_namespace();
    h->rank = rank;
    h->size = ranks;
    h->mpi_phase = RECORD_MPI_INITIALIZED;
    h->tick_ns = 0.5;
    h->started = h->mpi_init_begin = h->mpi_init_end = __builtin_ia32_rdtsc();
    strcpy(h->mpi, "MPICH 4.0.2");
    struct record_cursor c = {0};
    struct record_thread *t =
        must(record_cursor_next(w, &c, RECORD_KIND_THREADS, 0, sizeof(struct record_thread)));
    t->held = 1;
    record_cursor_publish(&c);
    c = (struct record_cursor){0};
    struct record_module *m =
        must(record_cursor_next(w, &c, RECORD_KIND_MODULES, 0, sizeof(struct record_module)));
    ssize_t len = readlink("/proc/self/exe", m->path, sizeof m->path);
    m->path_len = len > 0 ? (uint32_t)len : 0;
    record_cursor_publish(&c);
    fill_statements(w, statements, ranks, rank);
    __atomic_store_n(&h->magic, RECORD_MAGIC, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 64, statements = argc > 2 ? atoi(argv[2]) : 200;
    struct job *job;
    if (job_create(&job, NULL, argv, NULL))
        return 1;
    for (int rank = 0; rank < ranks; rank++) {
        if (fork())
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct record_writer w;
        if (record_writer_open(&w, job->dir, job->spill_dir))
            _exit(1);
        w.spare_shm = false;
        fill(&w, rank, ranks, statements);
        for (;;)
            pause();
    }
    nanosleep(&(struct timespec){1, 0}, NULL); /* the children need a moment; not measured */
    printf("%s\n", job->id);
    fflush(stdout);
    while (wait(NULL) > 0)
        ;
    return 0;
}
