/* SPDX-License-Identifier: MIT */
#include "view/matrix.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_Bcast, MPI_Scatter and MPI_Scatterv with their nonblocking, persistent and large-count
 * variants. */
static bool receivers_know(const struct graph_node *node)
{
    static const char *const roots[] = {"bcast", "scatter", "scatterv"};
    static const char *const endings[] = {"", "_c", "_init", "_init_c"};
    if (!node->name || strncmp(node->name, "MPI_", 4))
        return false;
    const char *name = node->name + 4;
    if (*name == 'I' && name[1])
        name++;
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++) {
        size_t len = strlen(roots[r]);
        if (strncasecmp(name, roots[r], len))
            continue;
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
            if (!strcmp(name + len, endings[e]))
                return true;
    }
    return false;
}

/* Index into ranks[] by world and rank. */
struct place {
    int32_t world, rank, index;
};

static int compare_places(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->world != b->world)
        return a->world < b->world ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_pairs(const void *pa, const void *pb)
{
    const struct matrix_pair *a = pa, *b = pb;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int32_t find(const struct place *places, size_t count, int32_t world, int32_t rank)
{
    struct place key = {.world = world, .rank = rank};
    if (rank < 0)
        return rank == RUN_PEER_FOREIGN ? MATRIX_FOREIGN : MATRIX_OTHERS;
    const struct place *place =
        count ? bsearch(&key, places, count, sizeof *places, compare_places) : NULL;
    return place ? place->index : MATRIX_FOREIGN; /* a rank that nobody monitored */
}

static void merge_equal(struct matrix *m)
{
    size_t kept = 0;
    if (m->count)
        qsort(m->pairs, m->count, sizeof *m->pairs, compare_pairs);
    for (size_t i = 0; i < m->count; i++) {
        if (!kept || compare_pairs(&m->pairs[kept - 1], &m->pairs[i])) {
            m->pairs[kept++] = m->pairs[i];
            continue;
        }
        struct matrix_pair *into = &m->pairs[kept - 1];
        into->count += m->pairs[i].count;
        into->bytes += m->pairs[i].bytes;
        into->time += m->pairs[i].time;
        if (m->pairs[i].most > into->most) {
            into->most = m->pairs[i].most;
            into->node = m->pairs[i].node;
        }
    }
    m->count = kept;
}

static void add_message(const struct run *run, const struct run_peer *p, int32_t there,
                        struct matrix *matrix)
{
    if (p->received && !receivers_know(&run->graph.nodes[p->node]))
        return;
    int32_t here = (int32_t)p->rank;
    *VEC_PUSH(matrix->pairs, matrix->count, matrix->room) =
        (struct matrix_pair){.from = p->received ? there : here,
                             .to = p->received ? here : there,
                             .count = p->count,
                             .bytes = p->bytes,
                             .time = p->time};
}

/* A statement may have two entries for one peer, sent and received; they are one wait. */
static void add_wait(const struct run *run, const struct run_peer *p, int32_t there,
                     struct matrix *matrix)
{
    (void)run;
    *VEC_PUSH(matrix->pairs, matrix->count, matrix->room) = (struct matrix_pair){
        .from = (int32_t)p->rank, .to = there, .time = p->sync, .node = p->node, .most = p->sync};
}

static bool waited(const struct run_peer *p)
{
    return p->sync > 0;
}

static void
build(const struct run *run, struct matrix *matrix, bool (*counts)(const struct run_peer *),
      void (*add)(const struct run *, const struct run_peer *, int32_t, struct matrix *))
{
    struct place *places = xcalloc(run->rank_count, sizeof *places);
    for (size_t i = 0; i < run->rank_count; i++)
        places[i] = (struct place){run->ranks[i].world, run->ranks[i].rank, (int32_t)i};
    qsort(places, run->rank_count, sizeof *places, compare_places);
    *matrix = (struct matrix){0};
    for (size_t i = 0; i < run->peer_count; i++) {
        const struct run_peer *p = &run->peers[i];
        if (p->rank < run->rank_count && p->node < run->graph.count && counts(p))
            add(run, p, find(places, run->rank_count, run->ranks[p->rank].world, p->peer), matrix);
    }
    merge_equal(matrix);
    free(places);
}

void matrix_build(const struct run *run, struct matrix *matrix)
{
    build(run, matrix, run_peer_exchanged, add_message);
}

void matrix_waits(const struct run *run, struct matrix *matrix)
{
    build(run, matrix, waited, add_wait);
}

void matrix_free(struct matrix *matrix)
{
    free(matrix->pairs);
    *matrix = (struct matrix){0};
}

const struct matrix_pair *matrix_at(const struct matrix *matrix, int32_t from, int32_t to)
{
    struct matrix_pair key = {.from = from, .to = to};
    return matrix->count ? bsearch(&key, matrix->pairs, matrix->count, sizeof key, compare_pairs)
                         : NULL;
}

size_t matrix_ends(const struct run *run, const struct matrix *matrix, int32_t *ends, bool rows)
{
    size_t count = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        ends[count++] = (int32_t)i;
    for (int32_t special = MATRIX_OTHERS; special >= MATRIX_FOREIGN; special--)
        for (size_t i = 0; i < matrix->count; i++)
            if ((rows ? matrix->pairs[i].from : matrix->pairs[i].to) == special) {
                ends[count++] = special;
                break;
            }
    return count;
}

char *matrix_end_name(char to[FORMAT_ROOM], const struct run *run, int32_t end)
{
    if (end >= 0)
        return format_rank(to, &run->ranks[end]);
    snprintf(to, FORMAT_ROOM, "%s", end == MATRIX_FOREIGN ? "foreign" : "others");
    return to;
}

int matrix_longest_first(const void *pa, const void *pb)
{
    const struct matrix_pair *a = pa, *b = pb;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}
