/* SPDX-License-Identifier: MIT */
#include "tree/notes.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

void notes_add(struct notes *notes, const struct run_rank *rank, const char *one, const char *many,
               char *detail, uint64_t amount)
{
    bool named = rank->mpi && rank->rank >= 0;
    int32_t world = named ? rank->world : -1;
    struct note *note = NULL;
    for (size_t i = 0; i < notes->count && !note; i++)
        if (same(notes->list[i].one, one) && same(notes->list[i].detail, detail) &&
            notes->list[i].world == world)
            note = &notes->list[i];
    if (!note) {
        note = VEC_PUSH(notes->list, notes->count, notes->room);
        *note = (struct note){
            .one = xstrdup(one), .many = xstrdup(many), .detail = detail, .world = world};
    } else {
        free(detail);
    }
    note->amount += amount;
    *VEC_PUSH(note->numbers, note->count, note->room) = named ? rank->rank : rank->pid;
}

static int compare(const void *pa, const void *pb)
{
    const int32_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static void add_numbers(struct strbuf *b, struct note *note)
{
    qsort(note->numbers, note->count, sizeof *note->numbers, compare);
    for (size_t i = 0, j; i < note->count; i = j) {
        for (j = i + 1; j < note->count && note->numbers[j] - note->numbers[j - 1] <= 1; j++)
            ;
        int32_t first = note->numbers[i], last = note->numbers[j - 1];
        strbuf_printf(b, "%s%" PRId32, i ? "," : "", first);
        if (last > first)
            strbuf_printf(b, "%s%" PRId32, last - first > 1 ? "-" : ",", last);
    }
}

char *note_text(struct note *note)
{
    struct strbuf b = {0};
    bool many = note->count > 1;
    strbuf_printf(&b, "%s%s ", note->world < 0 ? "process" : "rank",
                  !many             ? ""
                  : note->world < 0 ? "es"
                                    : "s");
    add_numbers(&b, note);
    if (note->world > 0)
        strbuf_printf(&b, " of world %" PRId32, note->world);
    strbuf_puts(&b, many ? note->many : note->one);
    if (note->amount)
        strbuf_printf(&b, " (%" PRIu64 "%s)", note->amount, many ? " in all" : "");
    if (note->detail)
        strbuf_puts(&b, note->detail);
    return strbuf_take(&b);
}

void notes_warn(struct notes *notes, struct run *run)
{
    for (size_t i = 0; i < notes->count; i++) {
        char *text = note_text(&notes->list[i]);
        run_warn(run, "%s", text);
        free(text);
    }
}

void notes_free(struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        free(notes->list[i].one);
        free(notes->list[i].many);
        free(notes->list[i].detail);
        free(notes->list[i].numbers);
    }
    free(notes->list);
    *notes = (struct notes){0};
}
