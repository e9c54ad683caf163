/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "source/walk.h"

#include <stdlib.h>

bool walk_is_loop(enum CXCursorKind kind)
{
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt ||
           kind == CXCursor_CXXForRangeStmt;
}

static bool constant(CXCursor cursor, long long *value)
{
    if (!clang_isExpression(clang_getCursorKind(cursor)))
        return false;
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    bool known = result && clang_EvalResult_getKind(result) == CXEval_Int;
    if (known)
        *value = clang_EvalResult_getAsLongLong(result);
    if (result)
        clang_EvalResult_dispose(result);
    return known;
}

/* The value on the right of an operator, or that a variable begins with. */
static bool right_side(CXCursor cursor, long long *value)
{
    struct children all = walk_children(cursor);
    CXCursor last = all.count ? all.all[all.count - 1] : clang_getNullCursor();
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    bool known = false;
    if (kind == CXCursor_DeclStmt && all.count == 1)
        known = right_side(last, value);
    else if (kind == CXCursor_VarDecl)
        known = constant(clang_Cursor_getVarDeclInitializer(cursor), value);
    else if ((kind == CXCursor_BinaryOperator || kind == CXCursor_CompoundAssignOperator) &&
             all.count == 2)
        known = constant(last, value);
    walk_children_free(&all);
    return known;
}

enum { SMALL_TURNS = 8 };

/* for (i = 0; i < 4; i++): the compiler unrolls it, and should go on doing so. */
static bool is_small(CXCursor cursor, const struct children *all)
{
    long long from, to, step = 1;
    if (clang_getCursorKind(cursor) != CXCursor_ForStmt || all->count != 4 ||
        !right_side(all->all[0], &from) || !right_side(all->all[1], &to))
        return false;
    if (clang_getCursorKind(all->all[2]) != CXCursor_UnaryOperator &&
        (!right_side(all->all[2], &step) || !step))
        return false;
    double turns = ((double)to - (double)from) / (double)step;
    return turns <= SMALL_TURNS && turns >= -SMALL_TURNS;
}

/* The loop that is all of a loop's body. */
static CXCursor only_loop(CXCursor body)
{
    while (clang_getCursorKind(body) == CXCursor_CompoundStmt) {
        struct children all = walk_children(body);
        body = all.count == 1 ? all.all[0] : clang_getNullCursor();
        walk_children_free(&all);
    }
    return walk_is_loop(clang_getCursorKind(body)) ? body : clang_getNullCursor();
}

static const char *loop_name(enum CXCursorKind kind)
{
    return kind == CXCursor_WhileStmt ? "while" : kind == CXCursor_DoStmt ? "do" : "for";
}

/* Where the body stands, for counting its turns. */
static void place_body(struct walker *w, struct construct *c, CXCursor body)
{
    /* A macro before it must be the one that the loop begins with. */
    const struct range *macro = text_macro_at(c->text, c->start);
    struct place place = place_of(w->source, body);
    uint32_t end;
    if (!place.text || place.text != c->text || place.start_macro || place.end_macro ||
        !place_statement_end(place.text, place.end, &end))
        return;
    const struct text *text = place.text;
    uint32_t first = text_token_at(text, place.start), last = text_token_before(text, end);
    if (first == TEXT_NONE || !first || last == TEXT_NONE || place_pragmas(text, first).any ||
        text->tokens[first].region != text->tokens[last].region)
        return;
    const struct token *before = &text->tokens[first - 1];
    if (before->macro ? !macro || before->end > macro->end
                      : before->kind != ')' && !text_is(text, first - 1, "do"))
        return;
    c->body_open = place.start;
    c->body_close = end;
}

static const char *quiet_loop(struct walker *w, CXCursor cursor, const struct place *place,
                              const struct spot *spot, struct construct *c)
{
    if (w->quiet)
        return w->quiet;
    if (w->loops_alone || clang_equalCursors(cursor, w->nested))
        return "it belongs to a nest under an OpenMP pragma";
    if (!place->text || place->text != walk_text(w))
        return "it is not in the file of its procedure";
    if (!place_braces(place, spot, true, &c->open, &c->close))
        return "there is no place for a probe";
    return NULL;
}

static void walk_parts_of(struct walker *w, const struct children *all, size_t body,
                          const struct spot *inside, const struct pragmas *pragmas)
{
    struct walker header = *w, inner = *w;
    static const struct spot nowhere = {.next = TEXT_NONE, .wrapper = TEXT_NONE};
    header.nested = clang_getNullCursor();
    header.turn = GRAPH_NONE;
    if (pragmas->loop && !w->quiet)
        header.quiet = "the head of a loop under an OpenMP pragma";
    if (pragmas->hint && !w->quiet)
        inner.quiet = "a pragma says what becomes of the loop";
    for (size_t i = 0; i < all->count; i++) {
        enum CXCursorKind kind = clang_getCursorKind(all->all[i]);
        if (i == body) {
            inner.leaves_before = *w->leaves;
            walk_statement(&inner, all->all[i], inside);
        } else if (clang_isStatement(kind))
            walk_statement(&header, all->all[i], &nowhere);
        else if (clang_isExpression(kind))
            walk_expression(&header, all->all[i]);
        else
            walk_variable(&header, all->all[i]);
    }
}

void walk_loop(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    struct children all = walk_children(cursor);
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (!all.count) {
        walk_children_free(&all);
        return;
    }
    size_t body = kind == CXCursor_DoStmt ? 0 : all.count - 1;
    struct place place = place_of(w->source, cursor);
    struct spot inside = {
        .braces = spot->braces, .outer = place.start, .next = spot->next, .wrapper = TEXT_NONE};
    struct pragmas pragmas = {0};
    uint32_t token =
        place.text && !place.text->system ? text_token_at(place.text, place.start) : TEXT_NONE;
    if (token != TEXT_NONE)
        pragmas = place_pragmas(place.text, token);
    struct walker inner = *w;
    long long turns;
    bool once = kind == CXCursor_DoStmt && constant(all.all[all.count - 1], &turns) && !turns;
    inner.turn = GRAPH_NONE;
    if (!once) {
        uint32_t number = walk_add(w, GRAPH_LOOP, cursor, &place);
        struct construct *c = &w->source->constructs[number];
        walk_set_end(w, number, cursor);
        c->name = xstrdup(loop_name(kind));
        c->small = is_small(cursor, &all);
        c->quiet = quiet_loop(w, cursor, &place, spot, c);
        inner.parent = inner.turn = number;
        inner.nested = pragmas.loop ? only_loop(all.all[body]) : clang_getNullCursor();
        inner.loops_alone = w->loops_alone || pragmas.nest;
        if (!c->quiet && !inner.loops_alone && clang_Cursor_isNull(inner.nested))
            place_body(w, c, all.all[body]);
    }
    walk_parts_of(&inner, &all, body, &inside, &pragmas);
    walk_children_free(&all);
}
