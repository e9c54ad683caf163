/* SPDX-License-Identifier: MIT */
/* The static tables of a unit come back as they were written, and damage is refused. */
#include "graph/unit.h"

#include "lib/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct unit sample(void)
{
    struct unit u = {.id = 0x1234abcd, .sites = 4};
    u.directory = strdup("/solver");
    u.source = strdup("a\tb\\n.c");
    uint32_t file = unit_file(&u, "a\tb\\n.c");
    uint32_t header = unit_file(&u, "include/odd\nname.h");
    uint32_t main =
        unit_add(&u, &(struct unit_node){GRAPH_PROCEDURE, GRAPH_NONE, 0, GRAPH_NONE, file, 10, 20,
                                         0, (char *)"main", (char *)"main"});
    uint32_t loop = unit_add(
        &u, &(struct unit_node){GRAPH_LOOP, main, 1, 2, file, 12, 15, 0, (char *)"for", NULL});
    unit_add(&u,
             &(struct unit_node){GRAPH_CALL, loop, 3, GRAPH_NONE, header, 13, 13, UNIT_MACRO,
                                 (char *)"Grid<int, 3>::step", (char *)"_ZN4GridIiLi3EE4stepEv"});
    unit_add(&u, &(struct unit_node){GRAPH_COMMUNICATION, loop, GRAPH_NONE, GRAPH_NONE, file, 14,
                                     14, 0, (char *)"MPI_Send", NULL});
    return u;
}

static int same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static int same_node(const struct unit_node *a, const struct unit_node *b)
{
    return a->kind == b->kind && a->parent == b->parent && a->site == b->site &&
           a->iterations == b->iterations && a->file == b->file && a->line == b->line &&
           a->end_line == b->end_line && a->flags == b->flags && same_text(a->name, b->name) &&
           same_text(a->linkage, b->linkage);
}

static void check_round_trip(const struct unit *u, const struct strbuf *text)
{
    struct unit back;
    size_t used;
    ok(unit_decode(text->text, text->len, &back, &used) == 0, "a block is read");
    ok(used == text->len, "to its end");
    ok(back.id == u->id && back.sites == u->sites, "identity and number of sites are the same");
    ok(same_text(back.directory, u->directory) && same_text(back.source, u->source),
       "so is the source");
    ok(back.file_count == 2 && same_text(back.files[1], u->files[1]), "so are the files");
    ok(back.count == u->count, "so is the number of nodes");
    for (size_t i = 0; i < u->count && i < back.count; i++)
        ok(same_node(&back.nodes[i], &u->nodes[i]), "node %zu is the same", i);
    unit_free(&back);
}

/* What a linker makes of two object files, with padding between. */
static void check_joined(const struct strbuf *text)
{
    struct strbuf joined = {0};
    strbuf_add(&joined, text->text, text->len);
    strbuf_add(&joined, "\0\0\0", 3);
    strbuf_add(&joined, text->text, text->len);
    strbuf_add(&joined, "\0", 1);
    size_t at = 0, used, found = 0;
    struct unit u;
    while (!unit_decode(joined.text + at, joined.len - at, &u, &used)) {
        found++;
        at += used;
        unit_free(&u);
    }
    ok(found == 2, "two joined blocks are found");
    ok(unit_decode(joined.text + at, joined.len - at, &u, &used) == -ENODATA, "and then nothing");
    strbuf_free(&joined);
}

/* Every block that was cut, or in which a byte was changed, is refused or read; never worse. */
static void check_damage(const struct strbuf *text)
{
    struct unit u;
    size_t used, refused = 0;
    for (size_t length = 1; length < text->len; length++)
        refused += unit_decode(text->text, length, &u, &used) == -EPROTO;
    ok(refused == text->len - 1, "a block that was cut is refused");
    char *copy = malloc(text->len + 1);
    for (size_t i = 0; i < text->len; i++) {
        memcpy(copy, text->text, text->len);
        copy[i] = (char)(copy[i] ^ 0x11);
        if (!unit_decode(copy, text->len, &u, &used))
            unit_free(&u);
    }
    ok(1, "changed bytes do no harm");
    memcpy(copy, text->text, text->len);
    memcpy(copy, "loupe-unit 9", 12);
    ok(unit_decode(copy, text->len, &u, &used) == -ENOTSUP, "another format is named as such");
    free(copy);
}

int main(void)
{
    struct unit u = sample();
    struct strbuf text = {0};
    unit_encode(&u, &text);
    check_round_trip(&u, &text);
    check_joined(&text);
    check_damage(&text);
    ok(unit_key("main") != unit_key("main2") && !(unit_key("main") >> 56), "keys have 56 bits");
    strbuf_free(&text);
    unit_free(&u);
    return tap_done();
}
