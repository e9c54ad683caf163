/* SPDX-License-Identifier: MIT */
/* The translation unit, and the files it is made of. */
#include "base/alloc.h"
#include "source/names.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

/* mpicc names the directory of its headers like one of the user's. */
bool source_system(CXSourceLocation at)
{
    if (clang_Location_isInSystemHeader(at))
        return true;
    CXFile file;
    clang_getExpansionLocation(at, &file, NULL, NULL, NULL);
    if (!file)
        return true; /* the compiler's own */
    CXString name = clang_getFileName(file);
    const char *path = clang_getCString(name);
    bool is = path && (!strncmp(path, "/usr/include/", 13) || !strncmp(path, "/usr/lib/", 9));
    clang_disposeString(name);
    return is;
}

static struct text *find_text(const struct source *source, CXFile file)
{
    for (size_t i = source->text_count; i-- > 0;)
        if (source->texts[i]->file == file)
            return source->texts[i];
    return NULL;
}

static struct text *add_text(struct source *source, CXFile file)
{
    size_t length = 0;
    const char *bytes = clang_getFileContents(source->unit, file, &length);
    if (!bytes || length >= UINT32_MAX)
        return NULL;
    struct text *text = xcalloc(1, sizeof *text);
    *text = (struct text){.file = file,
                          .name = name_take(clang_getFileName(file)),
                          .bytes = bytes,
                          .length = (uint32_t)length};
    text->path = name_absolute(text->name);
    *VEC_PUSH(source->texts, source->text_count, source->text_room) = text;
    CXSourceLocation first = clang_getLocationForOffset(source->unit, file, 0);
    text->system = source_system(first);
    return text;
}

static void find_skipped(struct source *source, struct text *text)
{
    CXSourceRangeList *list = clang_getSkippedRanges(source->unit, text->file);
    for (unsigned i = 0; list && i < list->count; i++) {
        struct range r;
        clang_getExpansionLocation(clang_getRangeStart(list->ranges[i]), NULL, NULL, NULL,
                                   &r.start);
        clang_getExpansionLocation(clang_getRangeEnd(list->ranges[i]), NULL, NULL, NULL, &r.end);
        *VEC_PUSH(text->skipped, text->skipped_count, text->skipped_room) = r;
    }
    clang_disposeSourceRangeList(list);
}

struct text *source_text(struct source *source, CXFile file)
{
    struct text *text = file ? find_text(source, file) : NULL;
    if (!text && file)
        text = add_text(source, file);
    if (text && !text->cut && !text->system) {
        find_skipped(source, text);
        text_settle_macros(text);
        text_cut(text, source->cplusplus);
    }
    return text;
}

/* Uses of macros stand before all declarations. */
static enum CXChildVisitResult visit_macro(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct source *source = data;
    (void)parent;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (!clang_isPreprocessing(kind))
        return CXChildVisit_Break;
    if (kind != CXCursor_MacroExpansion)
        return CXChildVisit_Continue;
    CXSourceRange extent = clang_getCursorExtent(cursor);
    CXSourceLocation start = clang_getRangeStart(extent);
    if (source_system(start))
        return CXChildVisit_Continue;
    CXFile file, end_file;
    struct range r;
    clang_getExpansionLocation(start, &file, NULL, NULL, &r.start);
    clang_getExpansionLocation(clang_getRangeEnd(extent), &end_file, NULL, NULL, &r.end);
    struct text *text = file && file == end_file ? find_text(source, file) : NULL;
    if (!text && file && file == end_file)
        text = add_text(source, file);
    if (text && r.end > r.start)
        *VEC_PUSH(text->macros, text->macro_count, text->macro_room) = r;
    return CXChildVisit_Continue;
}

static char *first_error(struct source *source)
{
    char *reason = NULL;
    unsigned count = clang_getNumDiagnostics(source->unit);
    for (unsigned i = 0; i < count && !reason; i++) {
        CXDiagnostic d = clang_getDiagnostic(source->unit, i);
        if (clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error)
            reason = name_take(clang_formatDiagnostic(d, CXDiagnostic_DisplaySourceLocation));
        clang_disposeDiagnostic(d);
    }
    for (char *c = reason; c && *c; c++)
        if (*c == '\n')
            *c = ' ';
    return reason;
}

/* With OpenMP the loop under a pragma is not visible as a loop: the pragmas are found as text. */
static bool is_openmp(const char *argument)
{
    return !strncmp(argument, "-fopenmp", 8) || !strcmp(argument, "-fopenacc");
}

char *source_parse(struct source *source, const char *const *arguments, int count)
{
    const char **all = xcalloc((size_t)count + 8, sizeof *all);
    int used = 0;
    bool openmp = false;
    for (int i = 0; i < count; i++) {
        openmp = openmp || !strncmp(arguments[i], "-fopenmp", 8);
        if (!is_openmp(arguments[i]))
            all[used++] = arguments[i];
    }
    if (openmp)
        all[used++] = "-D_OPENMP=201511";
    all[used++] = "-w";
    all[used++] = "-Qunused-arguments";
    all[used++] = "-x";
    all[used++] = source->cplusplus ? "c++" : "c";
    source->index = clang_createIndex(0, 0);
    enum CXErrorCode error = clang_parseTranslationUnit2(
        source->index, source->name, all, used, NULL, 0,
        CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing, &source->unit);
    free(all);
    if (error)
        return xasprintf("%s: libclang cannot read it (error %d)", source->name, (int)error);
    char *reason = first_error(source);
    if (!reason)
        clang_visitChildren(clang_getTranslationUnitCursor(source->unit), visit_macro, source);
    return reason;
}

void source_free(struct source *source)
{
    for (size_t i = 0; i < source->text_count; i++) {
        text_free(source->texts[i]);
        free(source->texts[i]);
    }
    for (size_t i = 0; i < source->count; i++) {
        free(source->constructs[i].name);
        free(source->constructs[i].linkage);
        free(source->constructs[i].file);
    }
    for (size_t i = 0; i < source->callee_count; i++) {
        free(source->callees[i].name);
        free(source->callees[i].linkage);
    }
    free(source->texts);
    free(source->constructs);
    free(source->callees);
    map_free(&source->callee_map);
    filter_free(&source->filter);
    if (source->unit)
        clang_disposeTranslationUnit(source->unit);
    if (source->index)
        clang_disposeIndex(source->index);
}
