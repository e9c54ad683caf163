/* SPDX-License-Identifier: MIT */
/*
 * Procedures of which every use is known: they have internal linkage, and all that the unit does
 * with them is to call them by name. Their entries then say how often their callers called them,
 * and some of the calls need no probe.
 *
 * References are counted in the compiler's tree. It does not have everything: an attribute that
 * names a procedure (cleanup, alias) is not in it. So the text must not have the name elsewhere.
 */
#include "base/alloc.h"
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct use {
    uint32_t procedure;                /* construct */
    uint32_t calls;                    /* constructs that call it by name */
    uint32_t references, declarations; /* in the compiler's tree */
    uint32_t words;                    /* its name in the text */
    uint32_t again;                    /* of the calls: in itself */
    bool quiet;                        /* one of the others has no probe, */
    bool part;                         /* or is part of a greater expression */
    bool open;                         /* it may be used in other ways */
};

struct uses {
    struct source *source;
    struct use *all;
    size_t count, room;
    struct map by_linkage, by_declaration, by_name;
};

/* The name alone, without what it is declared in. */
static const char *short_name(const struct uses *u, const struct use *use)
{
    const char *name = u->source->constructs[use->procedure].name, *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static bool same_linkage(const void *key, uint32_t value, const void *data)
{
    const struct uses *u = data;
    return !strcmp(key, u->source->constructs[u->all[value].procedure].linkage);
}

static struct use *find_called(const struct uses *u, const struct construct *call)
{
    uint32_t found = MAP_NONE;
    if (call->kind == GRAPH_CALL && call->linkage && !(call->flags & UNIT_POINTER))
        found = map_find(&u->by_linkage, map_hash(MAP_SEED, call->linkage, strlen(call->linkage)),
                         same_linkage, call->linkage, u);
    return found == MAP_NONE ? NULL : &u->all[found];
}

static bool same_declaration(const void *key, uint32_t value, const void *data)
{
    const struct uses *u = data;
    return clang_equalCursors(*(const CXCursor *)key,
                              u->source->constructs[u->all[value].procedure].declaration) != 0;
}

static struct use *find_declared(const struct uses *u, CXCursor declaration)
{
    CXCursor first = clang_getCanonicalCursor(declaration);
    uint32_t hash = clang_hashCursor(first);
    uint32_t found = map_find(&u->by_declaration, map_hash(MAP_SEED, &hash, sizeof hash),
                              same_declaration, &first, u);
    return found == MAP_NONE ? NULL : &u->all[found];
}

static void add_candidates(struct uses *u)
{
    for (uint32_t i = 0; i < u->source->count; i++) {
        const struct construct *c = &u->source->constructs[i];
        if (c->kind != GRAPH_PROCEDURE || c->quiet || !c->bounded || !c->text)
            continue;
        uint32_t number = (uint32_t)u->count, hash = clang_hashCursor(c->declaration);
        *VEC_PUSH(u->all, u->count, u->room) = (struct use){.procedure = i};
        const char *name = short_name(u, &u->all[number]);
        /* of several with one name the others are found to have none in the text */
        map_add(&u->by_name, map_hash(MAP_SEED, name, strlen(name)), number);
        map_add(&u->by_linkage, map_hash(MAP_SEED, c->linkage, strlen(c->linkage)), number);
        map_add(&u->by_declaration, map_hash(MAP_SEED, &hash, sizeof hash), number);
    }
}

static void count_calls(struct uses *u)
{
    for (size_t i = 0; i < u->source->count; i++) {
        const struct construct *c = &u->source->constructs[i];
        struct use *use = find_called(u, c);
        if (!use)
            continue;
        use->calls++;
        use->again += c->procedure == use->procedure;
        use->quiet = use->quiet || (c->quiet && c->procedure != use->procedure);
        use->part = use->part || (!c->statement && c->procedure != use->procedure);
        use->open = use->open || c->implicit || c->flags & UNIT_MACRO ||
                    u->source->constructs[c->procedure].pattern;
    }
}

/* ---- in the compiler's tree ---- */

static enum CXChildVisitResult visit_reference(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct uses *u = data;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    struct use *use = NULL;
    (void)parent;
    if (clang_isDeclaration(kind) && source_system(clang_getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    if (kind == CXCursor_FunctionDecl) {
        use = find_declared(u, cursor);
        if (use)
            use->declarations++;
    } else if (kind == CXCursor_DeclRefExpr) {
        use = find_declared(u, clang_getCursorReferenced(cursor));
        if (use)
            use->references++;
    } else if (kind == CXCursor_OverloadedDeclRef) {
        for (unsigned i = 0; i < clang_getNumOverloadedDecls(cursor); i++) {
            use = find_declared(u, clang_getOverloadedDecl(cursor, i));
            if (use)
                use->open = true;
        }
    }
    return CXChildVisit_Recurse;
}

/* ---- in the text ---- */

struct word {
    const char *at;
    size_t length;
};

static bool same_name(const void *key, uint32_t value, const void *data)
{
    const struct word *word = key;
    const char *name = short_name(data, &((const struct uses *)data)->all[value]);
    return strlen(name) == word->length && !memcmp(name, word->at, word->length);
}

static struct use *find_named(const struct uses *u, struct word word)
{
    uint32_t found =
        map_find(&u->by_name, map_hash(MAP_SEED, word.at, word.length), same_name, &word, u);
    return found == MAP_NONE ? NULL : &u->all[found];
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* What a directive names may be used anywhere. */
static void look_at_directive(const struct uses *u, const char *at, const char *end)
{
    while (at < end) {
        const char *from = at;
        while (at < end && in_word(*at))
            at++;
        struct use *use =
            at > from ? find_named(u, (struct word){from, (size_t)(at - from)}) : NULL;
        if (use)
            use->open = true;
        at += at == from;
    }
}

/* alias("name"), where a name of C++ is in its mangled form */
static void look_at_string(const struct uses *u, const struct text *text, uint32_t token)
{
    static const char *const words[] = {"alias", "__alias__", "weakref", "__weakref__", NULL};
    const struct token *t = &text->tokens[token];
    bool is = false;
    for (int i = 0; token > 1 && words[i]; i++)
        is = is || text_is(text, token - 2, words[i]);
    for (size_t i = 0; is && i < u->count; i++) {
        const char *name = short_name(u, &u->all[i]);
        if (memmem(text->bytes + t->start, t->end - t->start, name, strlen(name)))
            u->all[i].open = true;
    }
}

static void look_at_text(const struct uses *u, const struct text *text)
{
    for (uint32_t t = 0; t < text->count; t++) {
        const struct token *token = &text->tokens[t];
        struct word word = {text->bytes + token->start, token->end - token->start};
        struct use *use = token->kind == TOKEN_WORD ? find_named(u, word) : NULL;
        if (use)
            use->words++;
        if (token->kind == TOKEN_STRING)
            look_at_string(u, text, t);
    }
    for (size_t i = 0; i < text->directive_count; i++)
        look_at_directive(u, text->bytes + text->directives[i].start,
                          text->bytes + text->directives[i].end);
}

/* A cleanup attribute may name by way of a macro what has one parameter, a pointer. */
static bool speaks_of_cleanup(const struct text *text)
{
    static const char *const words[] = {"cleanup", "CLEANUP", "Cleanup", NULL};
    for (int i = 0; words[i]; i++)
        if (memmem(text->bytes, text->length, words[i], strlen(words[i])))
            return true;
    return false;
}

static void look_at_texts(struct uses *u)
{
    bool cleanup = false, whole = true;
    for (size_t i = 0; i < u->source->text_count; i++) {
        const struct text *text = u->source->texts[i];
        if (text->system)
            continue;
        whole = whole && text->cut;
        cleanup = cleanup || speaks_of_cleanup(text);
        look_at_text(u, text);
    }
    for (size_t i = 0; i < u->count; i++) {
        struct use *use = &u->all[i];
        bool cleans = cleanup && u->source->constructs[use->procedure].cleans;
        use->open = use->open || !whole || cleans || use->references != use->calls ||
                    use->words != use->declarations + use->calls;
    }
}

/* ---- what follows from it ---- */

/* The only statement that calls it needs no probe. */
static void settle_sole(struct source *source, struct construct *call)
{
    struct construct *procedure = &source->constructs[call->target];
    if (procedure->callers != 1 || call->procedure == call->target)
        return;
    procedure->sole = call->sole = true;
    call->flags |= UNIT_SOLE;
}

/* Calls of itself are the entries that its other callers did not make. In a header it would be one
 * procedure of several units, of which not all may see it so. */
static void settle_recursive(struct source *source, const struct use *use, struct construct *call)
{
    struct construct *procedure = &source->constructs[use->procedure];
    if (call->procedure != use->procedure || use->quiet || use->again == use->calls ||
        strcmp(procedure->text->name, source->name))
        return;
    procedure->recursive = call->recursive = true;
    procedure->counted = !use->part;
    procedure->flags |= UNIT_RECURSIVE;
    call->flags |= UNIT_RECURSIVE;
}

void source_uses(struct source *source)
{
    struct uses u = {.source = source};
    add_candidates(&u);
    count_calls(&u);
    if (u.count) {
        clang_visitChildren(clang_getTranslationUnitCursor(source->unit), visit_reference, &u);
        look_at_texts(&u);
    }
    for (size_t i = 0; i < source->count; i++) {
        struct construct *c = &source->constructs[i];
        const struct use *use = find_called(&u, c);
        if (!use || c->quiet || use->open)
            continue;
        c->target = use->procedure;
        source->constructs[use->procedure].callers = use->calls;
        settle_sole(source, c);
        settle_recursive(source, use, c);
    }
    free(u.all);
    map_free(&u.by_linkage);
    map_free(&u.by_declaration);
    map_free(&u.by_name);
}
