/* SPDX-License-Identifier: MIT */
/* What store_write was given, store_read returns, to the bit. */
#include "lib/tap.h"
#include "sample.h"
#include "scratch.h"
#include "store/store.h"

#include <sys/stat.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void round_trip(const char *what, struct run *run)
{
    char *path = scratch_path("run.loupe");
    struct run *back = NULL;
    struct stat st = {0};
    double begin = now();
    int wrote = store_write(run, path, false, NULL, NULL);
    double written = now();
    int read = store_read(path, &back, NULL);
    double end = now();
    stat(path, &st);
    ok(wrote == 0, "%s: written (%d)", what, wrote);
    ok(read == 0, "%s: read (%d)", what, read);
    const char *difference = back ? sample_difference(run, back) : "everything";
    ok(!difference, "%s: the same after a round trip%s%s", what, difference ? ", except " : "",
       difference ? difference : "");
    printf("# %s: %zu ranks, %zu nodes: %lld bytes, written in %.3f s, read in %.3f s\n", what,
           run->rank_count, run->graph.count, (long long)st.st_size, written - begin,
           end - written);
    unlink(path);
    free(path);
    run_free(back);
    run_free(run);
}

static uint64_t progress_last, progress_total;
static int progress_calls, progress_wrong;

static void progress(void *data, uint64_t done, uint64_t total)
{
    progress_wrong += data != &progress_calls || done <= progress_last || done > total;
    progress_last = done;
    progress_total = total;
    progress_calls++;
}

static void reports_progress(void)
{
    char *path = scratch_path("progress.loupe");
    struct run *run = sample_large(500, 100);
    store_write(run, path, false, progress, &progress_calls);
    ok(progress_calls > 5 && !progress_wrong, "progress goes on rising (%d calls)", progress_calls);
    ok(progress_last && progress_last == progress_total, "progress ends at the total");
    unlink(path);
    free(path);
    run_free(run);
}

int main(void)
{
    scratch_begin();
    round_trip("empty run", run_new());
    round_trip("odd run", sample_odd());
    round_trip("one rank", sample_large(1, 3));
    round_trip("large run", sample_large(5000, 50));
    reports_progress();
    scratch_end();
    return tap_done();
}
