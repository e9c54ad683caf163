/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "source/names.h"
#include "source/walk.h"

#include <stdlib.h>

static bool is_declaration(enum CXCursorKind kind)
{
    return clang_isDeclaration(kind) != 0;
}

static void walk_part(struct walker *w, CXCursor cursor)
{
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    static const struct spot nowhere = {.next = TEXT_NONE, .wrapper = TEXT_NONE};
    if (clang_isStatement(kind))
        walk_statement(w, cursor, &nowhere);
    else if (clang_isExpression(kind))
        walk_expression(w, cursor);
    else if (is_declaration(kind))
        walk_variable(w, cursor);
}

/* The place, if it is in the text that the procedure is written in. */
static bool place_here(const struct walker *w, CXCursor cursor, struct place *place)
{
    *place = place_of(w->source, cursor);
    return place->text && place->text == walk_text(w);
}

void walk_compound(struct walker *w, CXCursor cursor, bool value)
{
    struct children all = walk_children(cursor);
    struct place whole, part;
    struct spot spot = {.wrapper = TEXT_NONE};
    spot.braces = place_here(w, cursor, &whole);
    spot.outer = whole.start;
    for (size_t i = 0; i < all.count; i++) {
        spot.next = whole.end;
        if (i + 1 < all.count)
            spot.next = place_here(w, all.all[i + 1], &part) ? part.start : 0;
        spot.value = value && i + 1 == all.count;
        walk_statement(w, all.all[i], &spot);
        spot.previous = place_here(w, all.all[i], &part) ? part.end : UINT32_MAX;
    }
    walk_children_free(&all);
}

/* If and switch: parts in the parentheses, then statements. Which is which only the text says. */
static void walk_branch(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    struct children all = walk_children(cursor);
    struct place whole, part;
    uint32_t header = place_here(w, cursor, &whole) ? place_header_end(&whole) : 0;
    struct spot inside = *spot;
    inside.outer = whole.start;
    inside.previous = 0;
    inside.wrapper = TEXT_NONE;
    inside.value = false;
    struct walker condition = *w;
    uint32_t first = header ? text_token_at(whole.text, whole.start) : TEXT_NONE;
    if (first != TEXT_NONE && text_is(whole.text, first + 1, "constexpr") && !w->quiet)
        condition.quiet = "the compiler evaluates it";
    for (size_t i = 0; i < all.count; i++) {
        bool known = header && place_here(w, all.all[i], &part) && part.start >= header;
        if (known)
            walk_statement(w, all.all[i], &inside);
        else
            walk_part(&condition, all.all[i]);
    }
    walk_children_free(&all);
}

static void walk_switch(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    uint32_t outer = w->jumps->enclosing_switch;
    struct place place;
    if (!place_here(w, cursor, &place))
        w->jumps->computed = true;
    w->jumps->enclosing_switch = place.start;
    walk_branch(w, cursor, spot);
    w->jumps->enclosing_switch = outer;
}

/* Labels: what follows one is a statement in the same spot. */
static void walk_labelled(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    struct children all = walk_children(cursor);
    struct place place;
    if (!place_here(w, cursor, &place))
        w->jumps->computed = true;
    else if (clang_getCursorKind(cursor) == CXCursor_LabelStmt)
        jumps_add_label(w->jumps, name_take(clang_getCursorSpelling(cursor)), place.start);
    else
        jumps_add_case(w->jumps, place.start);
    struct spot inside = *spot;
    inside.outer = place.start;
    inside.wrapper = TEXT_NONE;
    if (all.count)
        walk_statement(w, all.all[all.count - 1], &inside);
    walk_children_free(&all);
}

static void walk_goto(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    struct place place;
    if (!all.count || !place_here(w, cursor, &place))
        w->jumps->computed = true;
    else
        jumps_add_goto(w->jumps, name_take(clang_getCursorSpelling(all.all[0])), place.start);
    walk_children_free(&all);
}

/* Attributes before a statement; the statement is the last child. */
static void walk_attributed(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    struct children all = walk_children(cursor);
    struct spot inside = *spot;
    struct place place = place_of(w->source, cursor);
    inside.wrapper = place.start;
    for (size_t i = 0; i < all.count; i++)
        if (i + 1 == all.count)
            walk_statement(w, all.all[i], &inside);
        else
            walk_part(w, all.all[i]);
    walk_children_free(&all);
}

static void walk_parts(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    for (size_t i = 0; i < all.count; i++)
        walk_part(w, all.all[i]);
    walk_children_free(&all);
}

/* Nothing in it gets a probe. It may jump, past the end of anything that is timed; libclang does
 * not tell the labels, and what a macro hides may have some. */
static void walk_assembler(struct walker *w, CXCursor cursor)
{
    struct place place;
    *w->assembler = true;
    bool jumps = !place_here(w, cursor, &place) || place.start_macro;
    for (uint32_t t = jumps ? TEXT_NONE : text_token_at(place.text, place.start);
         t < TEXT_NONE && t < place.text->count && place.text->tokens[t].start < place.end; t++)
        jumps = jumps || text_is(place.text, t, "goto");
    w->jumps->computed = w->jumps->computed || jumps;
}

static bool has_equals_sign(const struct text *text, uint32_t from, uint32_t to)
{
    uint32_t t = text_token_from(text, from);
    return t + 1 < text->count && text->tokens[t].kind == '=' && text->tokens[t + 1].start >= to;
}

/* The call that an expression statement is, or whose result it assigns. */
static CXCursor called_alone(struct walker *w, CXCursor cursor)
{
    for (;;) {
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        if (kind == CXCursor_CallExpr)
            return cursor;
        struct children all = walk_children(cursor);
        CXCursor next = clang_getNullCursor();
        if ((kind == CXCursor_UnexposedExpr || kind == CXCursor_ParenExpr ||
             kind == CXCursor_CStyleCastExpr) &&
            all.count)
            next = all.all[all.count - 1];
        if ((kind == CXCursor_BinaryOperator || kind == CXCursor_CompoundAssignOperator) &&
            all.count == 2) {
            struct place left = place_of(w->source, all.all[0]);
            struct place right = place_of(w->source, all.all[1]);
            if (kind == CXCursor_CompoundAssignOperator ||
                (left.text && left.text == right.text && left.text->cut &&
                 has_equals_sign(left.text, left.end, right.start)))
                next = all.all[1];
        }
        walk_children_free(&all);
        if (clang_Cursor_isNull(next))
            return next;
        cursor = next;
    }
}

/* A call that is the only one of a statement is timed as the statement. */
static void put_in_braces(struct walker *w, CXCursor cursor, const struct spot *spot, size_t first)
{
    struct construct *only = NULL;
    for (size_t i = first; i < w->source->count; i++) {
        struct construct *c = &w->source->constructs[i];
        if (only && !c->implicit)
            return;
        if (!c->implicit)
            only = c;
    }
    if (!only || only->kind != GRAPH_CALL || only->flags & UNIT_POINTER || only->quiet ||
        spot->value || spot->wrapper != TEXT_NONE)
        return;
    CXCursor call = called_alone(w, cursor);
    struct place place = clang_Cursor_isNull(call) ? (struct place){0} : place_of(w->source, call);
    if (place.text != only->text || place.start != only->start || place.end != only->end)
        return;
    place = place_of(w->source, cursor);
    uint32_t open, close;
    if (place.start_macro || place.end_macro || !place_braces(&place, spot, false, &open, &close))
        return;
    only->statement = true;
    only->open = open;
    only->close = close;
}

static void walk_expression_statement(struct walker *w, CXCursor cursor, const struct spot *spot)
{
    size_t first = w->source->count;
    struct walker inner = *w;
    struct place place;
    uint32_t token = TEXT_NONE;
    if (place_here(w, cursor, &place))
        token = text_token_at(place.text, place.start);
    if (token != TEXT_NONE && place_pragmas(place.text, token).atomic)
        inner.quiet = "an atomic statement";
    walk_expression(&inner, cursor);
    if (w->source->count > first)
        put_in_braces(w, cursor, spot, first);
}

static void walk_declarations(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    struct walker outside = *w; /* a class has procedures, but is no part of this one */
    outside.procedure = outside.parent = GRAPH_NONE;
    for (size_t i = 0; i < all.count; i++)
        if (clang_getCursorKind(all.all[i]) == CXCursor_VarDecl ||
            clang_getCursorKind(all.all[i]) == CXCursor_UnexposedDecl)
            walk_variable(w, all.all[i]);
        else
            walk_declaration(&outside, all.all[i]);
    walk_children_free(&all);
}

static bool leaves(enum CXCursorKind kind)
{
    return kind == CXCursor_LabelStmt || kind == CXCursor_CaseStmt ||
           kind == CXCursor_DefaultStmt || kind == CXCursor_GotoStmt ||
           kind == CXCursor_IndirectGotoStmt || kind == CXCursor_BreakStmt ||
           kind == CXCursor_ContinueStmt || kind == CXCursor_ReturnStmt;
}

void walk_statement(struct walker *outer, CXCursor cursor, const struct spot *spot)
{
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    struct walker inner = *outer, *w = &inner;
    if (leaves(kind))
        walk_leave(w);
    if (kind != CXCursor_CompoundStmt && kind != CXCursor_DeclStmt && !walk_is_loop(kind) &&
        !clang_isExpression(kind))
        w->turn = GRAPH_NONE;
    if (kind != CXCursor_CompoundStmt && kind != CXCursor_NullStmt)
        ++*w->statements;
    switch ((int)kind) {
    case CXCursor_CompoundStmt: walk_compound(w, cursor, false); break;
    case CXCursor_IfStmt: walk_branch(w, cursor, spot); break;
    case CXCursor_SwitchStmt: walk_switch(w, cursor, spot); break;
    case CXCursor_ForStmt:
    case CXCursor_WhileStmt:
    case CXCursor_DoStmt:
    case CXCursor_CXXForRangeStmt: walk_loop(w, cursor, spot); break;
    case CXCursor_LabelStmt:
    case CXCursor_CaseStmt:
    case CXCursor_DefaultStmt: walk_labelled(w, cursor, spot); break;
    case CXCursor_GotoStmt: walk_goto(w, cursor); break;
    case CXCursor_IndirectGotoStmt: w->jumps->computed = true; break;
    case CXCursor_GCCAsmStmt:
    case CXCursor_MSAsmStmt: walk_assembler(w, cursor); break;
    case CXCursor_DeclStmt: walk_declarations(w, cursor); break;
    case CXCursor_UnexposedStmt: walk_attributed(w, cursor, spot); break;
    case CXCursor_NullStmt:
    case CXCursor_BreakStmt:
    case CXCursor_ContinueStmt: break;
    default:
        if (clang_isExpression(kind))
            walk_expression_statement(w, cursor, spot);
        else
            walk_parts(w, cursor);
    }
}
