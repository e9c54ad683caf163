/* SPDX-License-Identifier: MIT */
/* Declarations, down to the bodies of procedures. */
#include "source/walk.h"

#include "base/alloc.h"
#include "source/callee.h"
#include "source/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum CXChildVisitResult collect(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct children *c = data;
    (void)parent;
    *VEC_PUSH(c->all, c->count, c->room) = cursor;
    return CXChildVisit_Continue;
}

struct children walk_children(CXCursor cursor)
{
    struct children c = {0};
    clang_visitChildren(cursor, collect, &c);
    return c;
}

void walk_children_free(struct children *children)
{
    free(children->all);
}

uint32_t walk_add(struct walker *w, enum graph_kind kind, CXCursor cursor,
                  const struct place *place)
{
    struct source *source = w->source;
    struct construct *c = VEC_PUSH(source->constructs, source->count, source->room);
    uint32_t number = (uint32_t)(source->count - 1);
    *c = (struct construct){.kind = kind,
                            .parent = w->parent,
                            .quiet = w->quiet,
                            .text = place->text,
                            .start = place->start,
                            .end = place->end,
                            .procedure = kind == GRAPH_PROCEDURE ? number : w->procedure,
                            .turn = kind == GRAPH_PROCEDURE ? GRAPH_NONE : walk_turn(w),
                            .site = GRAPH_NONE,
                            .iterations = GRAPH_NONE};
    CXString file;
    clang_getPresumedLocation(clang_getCursorLocation(cursor), &file, &c->line, NULL);
    c->file = name_take(file);
    c->end_line = c->line;
    if (place->start_macro)
        c->flags |= UNIT_MACRO;
    return number;
}

void walk_set_end(struct walker *w, uint32_t construct, CXCursor cursor)
{
    CXString file;
    unsigned line;
    CXSourceLocation end = clang_getRangeEnd(clang_getCursorExtent(cursor));
    clang_getPresumedLocation(end, &file, &line, NULL);
    struct construct *c = &w->source->constructs[construct];
    char *name = name_take(file);
    if (!strcmp(name, c->file) && line >= c->line)
        c->end_line = line;
    free(name);
}

const struct text *walk_text(const struct walker *w)
{
    return w->procedure == GRAPH_NONE ? NULL : w->source->constructs[w->procedure].text;
}

uint32_t walk_turn(const struct walker *w)
{
    return w->turn != GRAPH_NONE && *w->leaves == w->leaves_before ? w->turn : GRAPH_NONE;
}

void walk_leave(struct walker *w)
{
    if (w->leaves)
        ++*w->leaves;
}

/* Words in a body, or before it, that forbid a probe. */
static const char *forbidden_word(const struct text *text, uint32_t start, uint32_t end)
{
    static const char *const words[] = {"co_await",     "co_return", "co_yield",     "musttail",
                                        "__musttail__", "optimize",  "__optimize__", "noinstrument",
                                        "__naked__",    NULL};
    for (uint32_t t = text_token_from(text, start); t < text->count && text->tokens[t].start < end;
         t++)
        for (int i = 0; text->tokens[t].kind == TOKEN_WORD && words[i]; i++)
            if (text_is(text, t, words[i]))
                return words[i];
    return NULL;
}

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Pragmas that change how the code around them is compiled, or where it runs. */
static const char *forbidden_pragma(const struct text *text, uint32_t start, uint32_t end)
{
    const char *around = NULL;
    for (size_t i = 0; i < text->directive_count && text->directives[i].start < end; i++) {
        const char *p = text->directives[i].pragma;
        bool inside = text->directives[i].start >= start;
        if (!p || text->directives[i].skipped)
            continue;
        if (starts(p, "acc ") || (starts(p, "omp ") && strstr(p, "target"))) {
            if (strstr(p, "end declare"))
                around = NULL;
            else if (inside || strstr(p, "declare"))
                around = "it may run on another device";
        } else if (starts(p, "GCC optimize") || starts(p, "GCC target") ||
                   starts(p, "GCC push_options") || starts(p, "clang optimize off")) {
            around = "a pragma changes how it is compiled";
        } else if (starts(p, "GCC pop_options") || starts(p, "GCC reset_options") ||
                   starts(p, "clang optimize on")) {
            around = NULL;
        }
    }
    return around;
}

static bool declared_simd(const struct text *text, uint32_t start)
{
    size_t count, first = text_directives_before(text, text_token_from(text, start), &count);
    for (size_t i = first; i < first + count; i++)
        if (text->directives[i].pragma && starts(text->directives[i].pragma, "omp declare"))
            return true;
    return false;
}

/* Why nothing can be put into a body; NULL: it can. */
static const char *unusable(struct walker *w, struct construct *c, const struct place *whole,
                            const struct place *body)
{
    const struct text *text = body->text;
    if (!text || text != whole->text)
        return "it is not written in one file";
    if (text->system)
        return "a system header";
    if (whole->start_macro && text_macro_at(text, whole->start)->end >= body->end)
        return "a macro makes it";
    uint32_t open = text_token_at(text, body->start), close = text_token_before(text, body->end);
    if (body->start_macro || body->end_macro || open == TEXT_NONE || close == TEXT_NONE ||
        text->tokens[open].kind != '{' || text->tokens[close].kind != '}')
        return "a macro is its brace";
    c->open = text->tokens[open].end;
    if (text_is(text, open + 1, "__label__"))
        return "it begins with local labels";
    const char *word = forbidden_word(text, whole->start, body->end);
    if (word)
        return word;
    if (declared_simd(text, whole->start))
        return "it is declared for vectors";
    const char *pragma = forbidden_pragma(text, whole->start, body->end);
    if (pragma)
        return pragma;
    if (filter_excludes_file(&w->source->filter, text->name) ||
        filter_excludes_file(&w->source->filter, text->path))
        return "the filter excludes its file";
    return NULL;
}

static void name_procedure(struct walker *w, uint32_t number, CXCursor cursor)
{
    struct construct *c = &w->source->constructs[number];
    if (clang_getCursorKind(cursor) == CXCursor_LambdaExpr) {
        const struct construct *outer =
            w->procedure == GRAPH_NONE ? NULL : &w->source->constructs[w->procedure];
        c->name = xasprintf("%s%slambda", outer ? outer->name : "", outer ? "::" : "");
        c->linkage = xasprintf("%s:%u:%u@%016" PRIx64, c->name, c->line, c->start, w->source->id);
        c->flags |= UNIT_STATIC;
        c->quiet = w->constant ? "constexpr" : w->source->all ? NULL : "a lambda";
        return;
    }
    const struct callee *callee = callee_of(w->source, cursor);
    c->name = xstrdup(callee->name);
    c->linkage = xstrdup(callee->linkage);
    c->flags |= callee->flags & UNIT_STATIC;
    c->quiet = callee->alone;
    c->pattern = name_in_template(cursor);
    c->declaration = clang_getCanonicalCursor(cursor);
    c->bounded = c->flags & UNIT_STATIC && !callee->bound && !c->pattern &&
                 clang_getCursorKind(cursor) == CXCursor_FunctionDecl;
    c->cleans =
        clang_Cursor_getNumArguments(cursor) == 1 &&
        clang_getCanonicalType(clang_getCursorType(clang_Cursor_getArgument(cursor, 0))).kind ==
            CXType_Pointer;
    c->always = !strcmp(c->linkage, "main");
    char *signature = name_take(clang_getCursorDisplayName(cursor));
    if (filter_excludes_procedure(&w->source->filter, c->name, signature, c->linkage))
        c->quiet = "the filter excludes it";
    free(signature);
    if (!c->quiet && !w->source->all && c->pattern)
        c->quiet = "a template";
    if (!c->quiet && !w->source->all && clang_Cursor_isFunctionInlined(cursor))
        c->quiet = "inline";
}

/* Loops that can be entered past their beginning, now that all jumps are known. */
static void check_jumps(struct walker *w, uint32_t procedure)
{
    for (size_t i = procedure; i < w->source->count; i++) {
        struct construct *c = &w->source->constructs[i];
        if (c->kind != GRAPH_LOOP || c->procedure != procedure || c->quiet)
            continue;
        if (w->jumps->computed)
            c->quiet = "the procedure has computed jumps";
        else if (jumps_into(w->jumps, c->start, c->end))
            c->quiet = "it can be entered past its beginning";
    }
}

enum { LEAF_STATEMENTS = 6 };

static void walk_body(struct walker *w, uint32_t number, CXCursor body, const struct children *all)
{
    struct jumps jumps = {.enclosing_switch = UINT32_MAX};
    unsigned statements = 0, leaves = 0;
    bool assembler = false;
    struct walker inner = {.source = w->source,
                           .procedure = number,
                           .parent = number,
                           .jumps = &jumps,
                           .statements = &statements,
                           .turn = GRAPH_NONE,
                           .leaves = &leaves,
                           .assembler = &assembler,
                           .nested = clang_getNullCursor()};
    inner.quiet = "it is evaluated before the body";
    for (size_t i = 0; i + 1 < all->count; i++)
        if (clang_isExpression(clang_getCursorKind(all->all[i])))
            walk_expression(&inner, all->all[i]);
    inner.quiet = NULL;
    if (clang_getCursorKind(body) == CXCursor_CompoundStmt)
        walk_compound(&inner, body, false);
    else
        walk_statement(&inner, body, &(struct spot){.next = TEXT_NONE, .wrapper = TEXT_NONE});
    check_jumps(&inner, number);
    jumps_free(&jumps);
    struct construct *c = &w->source->constructs[number];
    c->leaf = statements <= LEAF_STATEMENTS || assembler;
    if (assembler && statements == 1 && !c->quiet)
        c->quiet = "assembler";
}

void walk_procedure(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    CXCursor body = all.count ? all.all[all.count - 1] : clang_getNullCursor();
    enum CXCursorKind kind = clang_getCursorKind(body);
    if (kind == CXCursor_CompoundStmt || kind == CXCursor_CXXTryStmt) {
        struct place whole = place_of(w->source, cursor), place = place_of(w->source, body);
        struct walker outside = *w;
        outside.parent = GRAPH_NONE;
        outside.quiet = NULL;
        uint32_t number = walk_add(&outside, GRAPH_PROCEDURE, cursor, &whole);
        walk_set_end(w, number, cursor);
        name_procedure(w, number, cursor);
        struct construct *c = &w->source->constructs[number];
        const char *reason = unusable(w, c, &whole, &place);
        if (kind == CXCursor_CXXTryStmt)
            reason = "its body is a try block";
        if (reason) {
            c->quiet = reason;
            c->always = false;
        }
        walk_body(w, number, body, &all);
    }
    walk_children_free(&all);
}

static enum CXChildVisitResult visit_declaration(CXCursor cursor, CXCursor parent,
                                                 CXClientData data)
{
    (void)parent;
    if (!source_system(clang_getCursorLocation(cursor)))
        walk_declaration(data, cursor);
    return CXChildVisit_Continue;
}

void walk_declaration(struct walker *w, CXCursor cursor)
{
    switch ((int)clang_getCursorKind(cursor)) {
    case CXCursor_Namespace:
    case CXCursor_LinkageSpec:
    case CXCursor_UnexposedDecl:
    case CXCursor_ClassDecl:
    case CXCursor_StructDecl:
    case CXCursor_UnionDecl:
    case CXCursor_ClassTemplate:
    case CXCursor_ClassTemplatePartialSpecialization:
    case CXCursor_FriendDecl:
        if (w->source->cplusplus)
            clang_visitChildren(cursor, visit_declaration, w);
        break;
    case CXCursor_FunctionDecl:
    case CXCursor_FunctionTemplate:
    case CXCursor_CXXMethod:
    case CXCursor_Constructor:
    case CXCursor_Destructor:
    case CXCursor_ConversionFunction:
        if (clang_isCursorDefinition(cursor))
            walk_procedure(w, cursor);
        break;
    case CXCursor_VarDecl:
    case CXCursor_FieldDecl:
        if (w->source->cplusplus)
            walk_variable(w, cursor);
        break;
    default: break;
    }
}

void source_walk(struct source *source)
{
    struct walker w = {.source = source,
                       .procedure = GRAPH_NONE,
                       .parent = GRAPH_NONE,
                       .turn = GRAPH_NONE,
                       .nested = clang_getNullCursor()};
    clang_visitChildren(clang_getTranslationUnitCursor(source->unit), visit_declaration, &w);
}
