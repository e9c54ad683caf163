/* SPDX-License-Identifier: MIT */
/* Which constructs get probes, and what is written for them. */
#include "base/alloc.h"
#include "source/edits.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

static bool is_call(const struct construct *c)
{
    return c->kind == GRAPH_CALL || c->kind == GRAPH_COMMUNICATION;
}

static bool same_place(const void *key, uint32_t value, const void *data)
{
    const struct construct *c = key, *other = &((const struct source *)data)->constructs[value];
    return c->text == other->text && c->start == other->start;
}

/* A file that is included twice, or a header that a macro makes into different code each time, has
 * two procedures in one place: neither gets a probe. */
static void find_doubles(struct source *source)
{
    struct map map = {0};
    for (uint32_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind != GRAPH_PROCEDURE || !c->text)
            continue;
        uint64_t hash =
            map_hash(map_hash(MAP_SEED, &c->text, sizeof c->text), &c->start, sizeof c->start);
        uint32_t other = map_find(&map, hash, same_place, c, source);
        if (other == MAP_NONE) {
            map_add(&map, hash, i);
        } else {
            c->quiet = "its text is used more than once";
            source->constructs[other].quiet = c->quiet;
        }
    }
    map_free(&map);
}

/* What chooses a procedure at load time (ifunc) runs before there is anything that a probe needs.
 */
static void find_resolvers(struct source *source)
{
    for (size_t i = 0; i < source->text_count; i++) {
        const struct text *text = source->texts[i];
        for (uint32_t t = 0; t + 2 < text->count; t++) {
            const struct token *name = &text->tokens[t + 2];
            if (name->kind != TOKEN_STRING ||
                (!text_is(text, t, "ifunc") && !text_is(text, t, "__ifunc__")))
                continue;
            size_t length = name->end - name->start - 2;
            for (size_t k = 0; k < source->count; k++) {
                struct construct *c = &source->constructs[k];
                if (c->kind == GRAPH_PROCEDURE && strlen(c->name) == length &&
                    !strncmp(c->name, text->bytes + name->start + 1, length))
                    c->quiet = "it runs while the program is loaded";
            }
        }
    }
}

static void find_leaves(struct source *source)
{
    for (size_t i = source->count; i-- > 0;) {
        const struct construct *c = &source->constructs[i];
        if (c->parent == GRAPH_NONE)
            continue;
        struct construct *around = &source->constructs[c->parent];
        around->calls = around->calls || is_call(c) || c->calls;
        if (c->kind == GRAPH_LOOP)
            around->leaf = false;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind == GRAPH_PROCEDURE && !c->quiet && c->leaf && !c->calls && !c->always &&
            !source->all)
            c->quiet = "a few statements";
    }
}

static bool same_linkage(const void *key, uint32_t value, const void *data)
{
    const struct source *source = data;
    return !strcmp(key, source->constructs[value].linkage);
}

static void quiet_calls(struct source *source)
{
    struct map map = {0};
    for (uint32_t i = 0; i < source->count; i++) {
        const struct construct *c = &source->constructs[i];
        if (c->kind == GRAPH_PROCEDURE && c->linkage)
            map_add(&map, map_hash(MAP_SEED, c->linkage, strlen(c->linkage)), i);
    }
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind != GRAPH_CALL || c->quiet || !c->linkage || c->flags & UNIT_POINTER)
            continue;
        uint32_t found = map_find(&map, map_hash(MAP_SEED, c->linkage, strlen(c->linkage)),
                                  same_linkage, c->linkage, source);
        if (found != MAP_NONE && source->constructs[found].quiet)
            c->quiet = "it calls what is left alone";
    }
    map_free(&map);
}

/* Loops in which nothing is called that has a probe, or communicates: the optimiser may turn them
 * inside out. One that is all that such a loop has in it has its time, and is left alone. */
static void quiet_loops(struct source *source)
{
    for (size_t i = source->count; i-- > 0;) {
        const struct construct *c = &source->constructs[i];
        if (c->parent == GRAPH_NONE)
            continue;
        struct construct *around = &source->constructs[c->parent];
        around->measures = around->measures || c->measures || c->kind == GRAPH_COMMUNICATION ||
                           (c->kind == GRAPH_CALL && !c->quiet);
        around->parts += c->kind == GRAPH_LOOP || !c->implicit;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind != GRAPH_LOOP || c->quiet || c->measures)
            continue;
        const struct construct *around = &source->constructs[c->parent];
        if (c->small)
            c->quiet = "few turns";
        else if (around->kind == GRAPH_LOOP && !around->measures && around->parts == 1)
            c->quiet = "its time is that of the loop around it";
    }
}

/* What stands in a procedure that is left alone is left alone. */
static void settle(struct source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind != GRAPH_PROCEDURE && !c->quiet && source->constructs[c->procedure].quiet)
            c->quiet = "its procedure is left alone";
    }
    quiet_loops(source);
    for (size_t i = source->count; i-- > 0;) {
        const struct construct *c = &source->constructs[i];
        if (c->parent != GRAPH_NONE && (c->busy || (!c->quiet && c->kind == GRAPH_LOOP)))
            source->constructs[c->parent].busy = true;
    }
}

/* Loops that have something in them that counts their turns. */
static void find_turns(struct source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        const struct construct *c = &source->constructs[i];
        if (c->turn != GRAPH_NONE && !c->quiet && !c->recursive && c->kind != GRAPH_COMMUNICATION)
            source->constructs[c->turn].turned = true;
    }
}

static void put(struct construct *c, uint32_t number, uint32_t offset, bool opens, bool inner,
                char *text)
{
    edits_add(c->text, offset, opens, number * 2 + inner, text);
}

static void insert(struct source *source, uint32_t number)
{
    struct construct *c = &source->constructs[number];
    switch ((int)c->kind) {
    case GRAPH_PROCEDURE:
        put(c, number, c->open, true, false,
            xasprintf(c->sole      ? " LOUPE_SOLE(%u)"
                      : c->counted ? " LOUPE_COUNTED(%u)"
                                   : " LOUPE_PROCEDURE(%u)",
                      c->site));
        break;
    case GRAPH_CALL:
        put(c, number, c->open, true, false,
            xasprintf(c->statement ? "{ LOUPE_STATEMENT(%u) " : "(LOUPE_CALL(%u), ", c->site));
        put(c, number, c->close, false, false, xstrdup(c->statement ? " }" : ")"));
        break;
    case GRAPH_LOOP:
        put(c, number, c->open, true, false, xasprintf("{ LOUPE_LOOP(%u) ", c->site));
        put(c, number, c->close, false, false, xstrdup(" }"));
        if (c->counts) {
            put(c, number, c->body_open, true, true,
                xasprintf("{ LOUPE_ITERATION(%u) ", c->iterations));
            put(c, number, c->body_close, false, true, xstrdup(" }"));
        }
        break;
    }
}

void source_decide(struct source *source)
{
    find_doubles(source);
    find_resolvers(source);
    find_leaves(source);
    quiet_calls(source);
    settle(source);
    source_uses(source);
    find_turns(source);
    for (uint32_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind == GRAPH_COMMUNICATION)
            continue;
        if (c->quiet) {
            c->flags |= UNIT_ALONE;
            continue;
        }
        if (c->kind == GRAPH_CALL && (c->sole || c->recursive))
            continue;
        c->site = source->sites++;
        c->counts = c->kind == GRAPH_LOOP && c->busy && !c->turned && c->body_close > c->body_open;
        if (c->counts)
            c->iterations = source->sites++;
        insert(source, i);
    }
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        if (c->kind == GRAPH_CALL && c->sole)
            c->site = source->constructs[c->target].site;
        struct construct *around = c->turn == GRAPH_NONE ? NULL : &source->constructs[c->turn];
        if (around && c->site != GRAPH_NONE && !around->quiet && around->iterations == GRAPH_NONE)
            around->iterations = c->site;
    }
}
