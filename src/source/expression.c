/* SPDX-License-Identifier: MIT */
/* Expressions: the calls in them. */
#include "base/alloc.h"
#include "source/callee.h"
#include "source/names.h"
#include "source/walk.h"

#include <stdlib.h>
#include <string.h>

static void walk_inside(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    for (size_t i = 0; i < all.count; i++) {
        enum CXCursorKind kind = clang_getCursorKind(all.all[i]);
        if (clang_isExpression(kind))
            walk_expression(w, all.all[i]);
        else if (kind == CXCursor_VarDecl)
            walk_variable(w, all.all[i]);
    }
    walk_children_free(&all);
}

/* In a template it cannot be seen from what is called. */
static bool is_constexpr(struct walker *w, CXCursor variable)
{
    struct place place = place_of(w->source, variable);
    const struct text *text = place.text;
    if (!w->source->cplusplus || !text || text->system)
        return false;
    for (uint32_t t = text_token_from(text, place.start);
         t < text->count && text->tokens[t].start < place.end && text->tokens[t].kind != '=' &&
         text->tokens[t].kind != '{' && text->tokens[t].kind != '(';
         t++)
        if (text_is(text, t, "constexpr") || text_is(text, t, "constinit") || text->tokens[t].macro)
            return true;
    return false;
}

void walk_variable(struct walker *w, CXCursor cursor)
{
    struct walker inner = *w;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (kind != CXCursor_VarDecl && kind != CXCursor_UnexposedDecl && kind != CXCursor_FieldDecl)
        return;
    if (kind == CXCursor_FieldDecl) {
        walk_inside(&inner, cursor);
        return;
    }
    if (clang_Cursor_hasVarDeclGlobalStorage(cursor) == 1 && !w->quiet)
        inner.quiet = "it is evaluated once";
    if (is_constexpr(w, cursor)) {
        inner.quiet = "the compiler evaluates it";
        inner.constant = true;
    }
    CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);
    struct walker bound = inner;
    bound.quiet = "a bound of an array";
    struct children all = walk_children(cursor);
    for (size_t i = 0; i < all.count; i++) /* the other expressions belong to its type */
        if (clang_isExpression(clang_getCursorKind(all.all[i])))
            walk_expression(clang_equalCursors(all.all[i], value) ? &inner : &bound, all.all[i]);
    walk_children_free(&all);
}

/* The declaration that a call names; null: none, or it is a pointer's. */
static CXCursor declaration_of(CXCursor call)
{
    CXCursor found = clang_getCursorReferenced(call);
    CXCursor at = call;
    while (clang_Cursor_isNull(found) || clang_isInvalid(clang_getCursorKind(found))) {
        struct children all = walk_children(at);
        enum CXCursorKind kind =
            all.count ? clang_getCursorKind(all.all[0]) : CXCursor_FirstInvalid;
        at = all.count ? all.all[0] : clang_getNullCursor();
        walk_children_free(&all);
        if (kind != CXCursor_UnexposedExpr && kind != CXCursor_ParenExpr &&
            kind != CXCursor_DeclRefExpr)
            return clang_getNullCursor();
        found = clang_getCursorReferenced(at);
        if (kind == CXCursor_DeclRefExpr)
            break;
    }
    switch ((int)clang_getCursorKind(found)) {
    case CXCursor_FunctionDecl:
    case CXCursor_FunctionTemplate:
    case CXCursor_CXXMethod:
    case CXCursor_Constructor:
    case CXCursor_Destructor:
    case CXCursor_ConversionFunction: return found;
    default: return clang_getNullCursor();
    }
}

/* Nobody wrote this call: it has no place of its own. */
static bool is_implicit(CXCursor declaration)
{
    enum CXCursorKind kind = clang_getCursorKind(declaration);
    if (kind == CXCursor_Constructor || kind == CXCursor_Destructor ||
        kind == CXCursor_ConversionFunction)
        return true;
    char *name = name_take(clang_getCursorSpelling(declaration));
    bool is = !strncmp(name, "operator", 8) && !strchr("_abcdefghijklmnopqrstuvwxyz", name[8]);
    is = is || !strncmp(name, "operator new", 12) || !strncmp(name, "operator delete", 15);
    free(name);
    return is;
}

/* What is called, as it is written. */
static char *written_name(const struct place *place, CXCursor call)
{
    struct children all = walk_children(call);
    char *name = name_take(clang_getCursorSpelling(call));
    const struct text *text = place->text;
    uint32_t last = text ? text_token_before(text, place->end) : TEXT_NONE;
    if (last != TEXT_NONE && text->tokens[last].match != TEXT_NONE && !place->start_macro &&
        text->tokens[text->tokens[last].match].start > place->start) {
        uint32_t open = text->tokens[last].match;
        uint32_t length = text->tokens[open - 1].end - place->start;
        free(name);
        name = xasprintf("%.*s", (int)(length < 80 ? length : 80), text->bytes + place->start);
        for (char *c = name; *c; c++)
            if (*c == '\n' || *c == '\t' || *c == '\r')
                *c = ' ';
    }
    walk_children_free(&all);
    return name;
}

static const char *quiet_call(const struct walker *w, const struct place *place)
{
    if (w->quiet)
        return w->quiet;
    const struct text *text = place->text;
    if (!text || text != walk_text(w))
        return "it is not in the file of its procedure";
    if (place->start_macro || place->end_macro)
        return "it stands in a macro";
    uint32_t first = text_token_at(text, place->start), last = text_token_before(text, place->end);
    if (first == TEXT_NONE || last == TEXT_NONE || text->tokens[last].kind != ')' ||
        text->tokens[first].region != text->tokens[last].region)
        return "there is no place for a probe";
    return NULL;
}

static void add_call(struct walker *w, CXCursor cursor, CXCursor declaration)
{
    struct place place = place_of(w->source, cursor);
    struct callee callee = {.flags = UNIT_POINTER};
    bool implicit = false;
    if (!clang_Cursor_isNull(declaration)) {
        callee = *callee_of(w->source, declaration);
        implicit = is_implicit(declaration);
        if (callee.twice) {
            w->source->constructs[w->procedure].quiet = "it calls what returns more than once";
            w->source->constructs[w->procedure].always = false;
        }
        if (clang_Cursor_isDynamicCall(cursor))
            callee.flags |= UNIT_POINTER;
    }
    if (implicit && callee.flags & UNIT_SYSTEM)
        return;
    uint32_t number =
        walk_add(w, callee.communication ? GRAPH_COMMUNICATION : GRAPH_CALL, cursor, &place);
    struct construct *c = &w->source->constructs[number];
    c->implicit = implicit;
    c->flags |= callee.flags;
    c->name = callee.name ? xstrdup(callee.name) : written_name(&place, cursor);
    c->linkage = callee.linkage ? xstrdup(callee.linkage) : NULL;
    c->quiet = implicit ? "nobody wrote it" : callee.quiet ? callee.quiet : quiet_call(w, &place);
    c->open = place.start;
    c->close = place.end;
}

/* Does it make an object, rather than call through a pointer? Neither names a declaration if the
 * constructor is one that the compiler leaves out. A call has its callee before its arguments. */
static bool is_construction(CXCursor call)
{
    struct children all = walk_children(call);
    int arguments = clang_Cursor_getNumArguments(call);
    bool is = !all.count || !clang_isExpression(clang_getCursorKind(all.all[0])) ||
              (int)all.count <= arguments;
    walk_children_free(&all);
    return is;
}

/* Of what an expression means twice (a ?: b) the compiler's tree has two. */
static bool is_known(const struct walker *w, const struct place *place)
{
    const struct source *source = w->source;
    enum { FAR_ENOUGH = 256 };
    for (size_t i = source->count, n = 0; i-- > w->procedure + 1 && n < FAR_ENOUGH; n++) {
        const struct construct *c = &source->constructs[i];
        if (c->kind == GRAPH_CALL && !c->implicit && c->text == place->text &&
            c->start == place->start && c->end == place->end)
            return true;
    }
    return false;
}

static void walk_call(struct walker *w, CXCursor cursor)
{
    CXCursor declaration = declaration_of(cursor);
    struct walker inner = *w;
    if (w->procedure != GRAPH_NONE) {
        struct place place = place_of(w->source, cursor);
        if (place.text && place.text == walk_text(w) && !place.start_macro &&
            (place_unevaluated(place.text, place.start) || is_known(w, &place)))
            return;
        char *name = name_take(clang_getCursorSpelling(cursor));
        bool builtin = !strncmp(name, "__builtin_", 10) && !strstr(name, "setjmp");
        bool made = clang_Cursor_isNull(declaration) && is_construction(cursor);
        if (!builtin && !made)
            add_call(w, cursor, declaration);
        else if (builtin && strcmp(name, "__builtin_expect") && !w->quiet)
            inner.quiet = "an argument of a builtin";
        if (!builtin && w->source->cplusplus)
            walk_leave(w); /* by an exception */
        free(name);
    }
    walk_inside(&inner, cursor);
}

/* && and ||, whose right side may be left out. What cannot be told is taken for one. */
static bool is_logical(struct walker *w, CXCursor cursor)
{
    struct children all = walk_children(cursor);
    bool is = true;
    if (all.count == 2) {
        struct place left = place_of(w->source, all.all[0]);
        struct place right = place_of(w->source, all.all[1]);
        const struct text *text = left.text;
        uint32_t t = text && text == right.text && text->cut ? text_token_from(text, left.end) : 0;
        is = !t || t >= text->count || text->tokens[t].macro || text_is(text, t, "and") ||
             text_is(text, t, "or");
        for (; !is && t < text->count && text->tokens[t].start < right.start; t++)
            is = t + 1 < text->count && text->tokens[t].kind == text->tokens[t + 1].kind &&
                 (text->tokens[t].kind == '&' || text->tokens[t].kind == '|');
    }
    walk_children_free(&all);
    return is;
}

/* Is everything in it evaluated whenever it is? */
static bool is_whole(struct walker *w, CXCursor cursor)
{
    switch ((int)clang_getCursorKind(cursor)) {
    case CXCursor_BinaryOperator: return !is_logical(w, cursor);
    case CXCursor_CallExpr:
    case CXCursor_CompoundAssignOperator:
    case CXCursor_UnaryOperator:
    case CXCursor_UnexposedExpr:
    case CXCursor_ParenExpr:
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_MemberRefExpr:
    case CXCursor_ArraySubscriptExpr: return true;
    default: return false;
    }
}

void walk_expression(struct walker *outer, CXCursor cursor)
{
    struct walker inner = *outer, *w = &inner;
    if (w->turn != GRAPH_NONE && !is_whole(w, cursor))
        w->turn = GRAPH_NONE;
    switch ((int)clang_getCursorKind(cursor)) {
    case CXCursor_CallExpr: walk_call(w, cursor); break;
    case CXCursor_CXXThrowExpr:
    case CXCursor_CXXNewExpr:
    case CXCursor_CXXDynamicCastExpr:
        walk_leave(w);
        walk_inside(w, cursor);
        break;
    case CXCursor_CXXTypeidExpr: walk_leave(w); break;
    case CXCursor_LambdaExpr: walk_procedure(w, cursor); break;
    case CXCursor_StmtExpr: {
        struct children all = walk_children(cursor);
        if (all.count && w->procedure != GRAPH_NONE)
            walk_compound(w, all.all[0], true);
        walk_children_free(&all);
        break;
    }
    case CXCursor_AddrLabelExpr:
        if (w->jumps)
            w->jumps->computed = true;
        break;
    case CXCursor_UnaryExpr: /* sizeof, alignof, noexcept */
    case CXCursor_GenericSelectionExpr:
    case CXCursor_BlockExpr:
    case CXCursor_DeclRefExpr: break;
    default: walk_inside(w, cursor);
    }
}
