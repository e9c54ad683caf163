/* SPDX-License-Identifier: MIT */
#include "mpi/clocks.h"

#include "runtime/options.h"

#include <errno.h>

/* Until so many rounds in a row have not made it better. Where there are more processes than
 * processors, those that are worth something come when both sides run: as long as the best took
 * over a millisecond, which no network does, there is more time. */
enum { CLOCK_TAG = 7, ROUNDS_IN_VAIN = 16, ROUNDS_MOST = 1024, ROUNDS_MS = 30, POOR_MS = 400 };

/* One comparison of a node's clock with the reference: these two are the same moment. */
struct fix {
    uint64_t here, reference;
    double tick_ns;
    double error_ns;
};

static struct nodes nodes;
static struct fix *fixes; /* by node; NULL: there is one node only, or they are not known */
static struct fix *room;  /* for these, and for those at the end */
static double tick_ns;

/* For tests: this node's clock is ahead, and runs fast. Applied to what leaves and enters the
 * process, which is all that others can know of it. */
static struct {
    double ticks, rate;
    uint64_t since;
    bool wanted;
} skew;

static uint64_t skewed(uint64_t ticks)
{
    if (!skew.wanted)
        return ticks;
    return ticks +
           (uint64_t)(int64_t)(skew.ticks + skew.rate * (double)(int64_t)(ticks - skew.since));
}

static uint64_t straight(uint64_t ticks)
{
    if (!skew.wanted)
        return ticks;
    double since = (double)(int64_t)(ticks - skew.since) - skew.ticks;
    return skew.since + (uint64_t)(int64_t)(since / (1 + skew.rate));
}

uint64_t clocks_leaving(uint64_t ticks)
{
    return skewed(ticks);
}

/* The reference answers one node, until that says that it was the last time. */
static int answer(MPI_Comm comm, int32_t rank)
{
    uint64_t last = 0, moment;
    MPI_Status status;
    int err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && !last) {
        err = PM(Recv)(&last, sizeof last, ABI_BYTE, rank, CLOCK_TAG, comm, &status);
        moment = skewed(clock_now());
        if (err == MPI_SUCCESS)
            err = PM(Send)(&moment, sizeof moment, ABI_BYTE, rank, CLOCK_TAG, comm);
    }
    return err;
}

/* A node asks the reference. */
static int ask(MPI_Comm comm, struct fix *fix)
{
    uint64_t moment = 0, best = UINT64_MAX, began = clock_now(), last = 0;
    uint64_t ms = (uint64_t)(1e6 / tick_ns);
    MPI_Status status;
    int err = MPI_SUCCESS, in_vain = 0;
    for (int i = 1; err == MPI_SUCCESS && !last; i++) {
        uint64_t begin = clock_now();
        last = i >= ROUNDS_MOST || (in_vain >= ROUNDS_IN_VAIN && best < ms) ||
               clock_since(began, begin) > ms * (best < ms ? ROUNDS_MS : POOR_MS);
        err = PM(Send)(&last, sizeof last, ABI_BYTE, 0, CLOCK_TAG, comm);
        if (err == MPI_SUCCESS)
            err = PM(Recv)(&moment, sizeof moment, ABI_BYTE, 0, CLOCK_TAG, comm, &status);
        uint64_t took = clock_since(begin, clock_now());
        in_vain = took < best - best / 8 ? 0 : in_vain + 1;
        if (err == MPI_SUCCESS && took < best) {
            best = took;
            fix->here = skewed(begin + took / 2);
            fix->reference = moment;
        }
    }
    fix->tick_ns = tick_ns;
    fix->error_ns = (double)best * tick_ns / 2;
    return err;
}

/* Everybody gets everybody's. Collective. */
static int compare(MPI_Comm comm, struct fix *all)
{
    MPI_Status status;
    int32_t mine = nodes.of[nodes.me];
    bool leads = nodes.leaders[mine] == nodes.me;
    int err = MPI_SUCCESS;
    if (nodes.me == 0) {
        uint64_t now = skewed(clock_now());
        all[0] = (struct fix){.here = now, .reference = now, .tick_ns = tick_ns};
        for (int32_t n = 1; n < nodes.count; n++) {
            int32_t rank = nodes.leaders[n];
            answer(comm, rank);
            err = PM(Recv)(&all[n], sizeof *all, ABI_BYTE, rank, CLOCK_TAG, comm, &status);
        }
    } else if (leads) {
        ask(comm, &all[mine]);
        err = PM(Send)(&all[mine], sizeof *all, ABI_BYTE, 0, CLOCK_TAG, comm);
    }
    int shared = PM(Bcast)(all, nodes.count * (int)sizeof *all, ABI_BYTE, 0, comm);
    return err == MPI_SUCCESS ? shared : err;
}

/* Moments of a node in ticks of the reference. */
static double to_reference(const struct fix *f, uint64_t ticks)
{
    return (double)(int64_t)(ticks - f->here) * f->tick_ns / fixes[0].tick_ns;
}

uint64_t clocks_arriving(int32_t rank, uint64_t ticks)
{
    if (!fixes || rank < 0 || rank >= nodes.size)
        return straight(ticks);
    const struct fix *from = &fixes[nodes.of[rank]], *to = &fixes[nodes.of[nodes.me]];
    /* Moments are near their fix, numbers of ticks need not be near each other. */
    double since = to_reference(from, ticks) + (double)(int64_t)(from->reference - to->reference);
    return straight(to->here + (uint64_t)(int64_t)(since * fixes[0].tick_ns / to->tick_ns));
}

static uint32_t nanoseconds(double ns)
{
    return ns >= UINT32_MAX ? UINT32_MAX : ns > 0 ? (uint32_t)(ns + 0.5) : 0;
}

/* How wrong a moment from another node can be at most, of all nodes. */
static double worst(const struct fix *all)
{
    double most = 0;
    int32_t mine = nodes.of[nodes.me];
    for (int32_t n = 0; n < nodes.count; n++)
        if (n != mine && all[n].error_ns > most)
            most = all[n].error_ns;
    return most + all[mine].error_ns;
}

static void open_skew(void)
{
    double offset_ns, ppm;
    skew.wanted = options_clock_skew(&offset_ns, &ppm);
    skew.ticks = offset_ns / tick_ns;
    skew.rate = ppm * 1e-6;
    skew.since = clock_now();
}

int clocks_reserve(int32_t count)
{
    room = count > 0 ? pages_alloc(2 * (size_t)count * sizeof *room) : NULL;
    return room ? 0 : -ENOMEM;
}

void clocks_open(MPI_Comm comm, const struct nodes *all, struct record_header *h)
{
    nodes = *all;
    tick_ns = h ? h->tick_ns : 1;
    open_skew();
    if (compare(comm, room) == MPI_SUCCESS)
        fixes = room;
    if (h && fixes)
        h->clock_error = nanoseconds(worst(fixes));
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* How far node n's clock has gone from where its first fix had it, in nanoseconds. */
static double drifted(const struct fix *last, int32_t n)
{
    double there = to_reference(&fixes[n], last[n].here);
    double reference = (double)(int64_t)(last[n].reference - fixes[n].reference);
    return (reference - there) * fixes[0].tick_ns;
}

void clocks_close(MPI_Comm comm, struct record_header *h)
{
    struct fix *last = room + nodes.count;
    if (nodes.count < 2 || compare(comm, last) != MPI_SUCCESS || !h || !fixes)
        return;
    int32_t mine = nodes.of[nodes.me];
    double most = 0, own = drifted(last, mine), elapsed = 0;
    for (int32_t n = 0; n < nodes.count; n++) {
        double apart = drifted(last, n) - own;
        int32_t other = n ? n : mine; /* the reference itself was not compared with anyone */
        if (n != mine && magnitude(apart) > magnitude(most)) {
            most = apart;
            elapsed = (double)(int64_t)(last[other].reference - fixes[other].reference) *
                      fixes[0].tick_ns;
        }
    }
    /* Before the drift was known, moments were off by at most all of it. */
    h->clock_error = nanoseconds(worst(fixes) + worst(last) + magnitude(most));
    h->clock_drift = elapsed > 0 ? (int32_t)(most / elapsed * 1e9) : 0;
}
