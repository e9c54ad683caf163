/* SPDX-License-Identifier: MIT */
#include "source/names.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *name_take(CXString string)
{
    const char *text = clang_getCString(string);
    char *copy = xstrdup(text ? text : "");
    clang_disposeString(string);
    return copy;
}

char *name_absolute(const char *path)
{
    char *directory = getcwd(NULL, 0);
    char *full = path_full(path, directory);
    free(directory);
    return full;
}

static bool is_scope(enum CXCursorKind kind)
{
    switch ((int)kind) {
    case CXCursor_Namespace:
    case CXCursor_StructDecl:
    case CXCursor_UnionDecl:
    case CXCursor_ClassDecl:
    case CXCursor_ClassTemplate:
    case CXCursor_ClassTemplatePartialSpecialization:
    case CXCursor_FunctionDecl:
    case CXCursor_CXXMethod:
    case CXCursor_FunctionTemplate: return true;
    default: return false;
    }
}

char *name_qualified(CXCursor cursor)
{
    char *name = name_take(clang_getCursorSpelling(cursor));
    for (CXCursor p = clang_getCursorSemanticParent(cursor); is_scope(clang_getCursorKind(p));
         p = clang_getCursorSemanticParent(p)) {
        char *scope = name_take(clang_getCursorSpelling(p)), *inner = name;
        name = xasprintf("%s::%s", *scope ? scope : "(anonymous)", inner);
        free(inner);
        free(scope);
    }
    return name;
}

char *name_declaration(CXCursor cursor)
{
    CXPrintingPolicy policy = clang_getCursorPrintingPolicy(cursor);
    clang_PrintingPolicy_setProperty(policy, CXPrintingPolicy_TerseOutput, 1);
    char *text = name_take(clang_getCursorPrettyPrinted(cursor, policy));
    clang_PrintingPolicy_dispose(policy);
    return text;
}

static bool same_place(CXCursor a, CXCursor b)
{
    return clang_equalLocations(clang_getCursorLocation(a), clang_getCursorLocation(b)) != 0;
}

/* What is written out for certain arguments stands elsewhere and is a procedure of its own. */
static bool made_from(CXCursor cursor, CXCursor pattern)
{
    return same_place(cursor, pattern) || same_place(cursor, clang_getCanonicalCursor(pattern)) ||
           same_place(cursor, clang_getCursorDefinition(pattern));
}

CXCursor name_pattern(CXCursor cursor)
{
    for (;;) { /* a template in a class that is made from a template has one as well */
        CXCursor pattern = clang_getSpecializedCursorTemplate(cursor);
        if (clang_Cursor_isNull(pattern) || clang_equalCursors(pattern, cursor) ||
            !made_from(cursor, pattern))
            return cursor;
        cursor = pattern;
    }
}

bool name_in_template(CXCursor cursor)
{
    for (; !clang_Cursor_isNull(cursor) && !clang_isTranslationUnit(clang_getCursorKind(cursor));
         cursor = clang_getCursorSemanticParent(cursor))
        switch ((int)clang_getCursorKind(cursor)) {
        case CXCursor_ClassTemplate:
        case CXCursor_ClassTemplatePartialSpecialization:
        case CXCursor_FunctionTemplate: return true;
        }
    return false;
}

bool name_internal(CXCursor cursor)
{
    enum CXLinkageKind linkage = clang_getCursorLinkage(cursor);
    return linkage == CXLinkage_Internal || linkage == CXLinkage_UniqueExternal ||
           linkage == CXLinkage_NoLinkage;
}

char *name_linkage(CXCursor cursor, uint64_t id)
{
    CXCursor pattern = name_pattern(cursor);
    char *name;
    if (name_in_template(pattern))
        name = name_take(clang_getCursorUSR(clang_getCanonicalCursor(pattern)));
    else
        name = name_take(clang_Cursor_getMangling(cursor));
    if (!*name) {
        free(name);
        name = name_qualified(cursor);
    }
    char *linkage = *name == '\1' ? xstrdup(name + 1) : xstrdup(name);
    free(name);
    if (!name_internal(pattern))
        return linkage;
    name = xasprintf("%s@%016" PRIx64, linkage, id);
    free(linkage);
    return name;
}
