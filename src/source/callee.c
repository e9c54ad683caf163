/* SPDX-License-Identifier: MIT */
#include "source/callee.h"

#include "base/alloc.h"
#include "base/path.h"
#include "source/names.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool among(const char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (!fnmatch(*patterns, name, 0))
            return true;
    return false;
}

/* They return more than once, or run on a stack that is not theirs. */
static const char *const twice[] = {
    "setjmp",     "_setjmp", "__sigsetjmp", "sigsetjmp",        "vfork",
    "getcontext", "savectx", "swapcontext", "__builtin_setjmp", NULL};

/* The compiler knows what they do; a probe would take that away, and cost more than they do. */
static const char *const builtins[] = {"__builtin_*", "__sync_*",   "__atomic_*", "_mm*",
                                       "alloca",      "va_*",       "__va_*",     "longjmp",
                                       "_longjmp",    "siglongjmp", NULL};
static const char *const headers[] = {"math.h",      "mathcalls*.h",
                                      "complex.h",   "cmplxcalls.h",
                                      "tgmath.h",    "string.h",
                                      "strings.h",   "string_*.h",
                                      "strings_*.h", "ctype.h",
                                      "wctype.h",    "wctype-*.h",
                                      "fenv.h",      "setjmp.h",
                                      "setjmp*.h",   "*intrin.h",
                                      "stdatomic.h", "libintl.h",
                                      "std_abs.h",   "cmath",
                                      "cstring",     NULL};

/* Attributes, as the compiler prints them, that forbid putting anything into the body. */
static const char *const forbidding[] = {"*((naked))*",      "*((no_instrument_function))*",
                                         "*((target(*",      "*((interrupt*",
                                         "*((ifunc(*",       "*((optnone))*",
                                         "*((gnu_inline))*", NULL};

/* Attributes by which it is called without being named. */
static const char *const binding[] = {"*((used))*",     "*::used]]*",      "*((retain))*",
                                      "*::retain]]*",   "*((constructor*", "*::constructor*",
                                      "*((destructor*", "*::destructor*",  "*((alias(*",
                                      "*((ifunc(*",     "*((weak*",        NULL};

static bool says(const char *declaration, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = declaration; (at = strstr(at, word)); at += length)
        if ((at == declaration || !isalnum((unsigned char)at[-1])) &&
            (at[length] == ' ' || at[length] == '('))
            return true;
    return false;
}

static bool in_known_header(CXCursor declaration)
{
    CXFile file;
    CXCursor first = clang_getCanonicalCursor(declaration);
    clang_getExpansionLocation(clang_getCursorLocation(first), &file, NULL, NULL, NULL);
    if (!file)
        return true; /* the compiler's own declaration of a builtin */
    char *path = name_take(clang_getFileName(file));
    bool known = among(headers, path_base(path));
    free(path);
    return known;
}

static bool has_body(CXCursor declaration)
{
    return clang_Cursor_isFunctionInlined(declaration) ||
           clang_getCursorKind(declaration) == CXCursor_FunctionTemplate ||
           !clang_Cursor_isNull(clang_getCursorDefinition(declaration));
}

static const char *quiet_reason(const struct source *source, const struct callee *c,
                                const char *declaration, const char *plain)
{
    bool system = c->flags & UNIT_SYSTEM;
    char *signature = name_take(clang_getCursorDisplayName(c->declaration));
    bool excluded = filter_excludes_procedure(&source->filter, c->name, signature, c->linkage);
    free(signature);
    if (excluded)
        return "the filter excludes it";
    if (c->communication)
        return "the MPI layer measures it";
    if (c->twice || among(builtins, plain))
        return "the compiler knows it";
    if (system && in_known_header(c->declaration))
        return "it is one of those that the compiler knows";
    if (system && has_body(c->declaration))
        return "its body is in a system header";
    if (says(declaration, "constexpr") || says(declaration, "consteval"))
        return "it may be evaluated by the compiler";
    if (!fnmatch("*((format_arg(*", declaration, 0))
        return "the compiler looks through it at a format";
    return NULL;
}

static const char *alone_reason(const struct source *source, const struct callee *c,
                                const char *declaration)
{
    if (says(declaration, "constexpr") || says(declaration, "consteval"))
        return "constexpr";
    if (among(forbidding, declaration))
        return "an attribute forbids it";
    /* What ISO C says of an inline definition: it may not use what is static. */
    if (!source->cplusplus && clang_Cursor_isFunctionInlined(c->declaration) &&
        !(c->flags & UNIT_STATIC))
        return "an inline definition";
    return NULL;
}

static struct callee describe(const struct source *source, CXCursor declaration)
{
    char *plain = name_take(clang_getCursorSpelling(declaration));
    /* Attributes of the first declaration hold for all. */
    char *own = name_declaration(declaration);
    char *first = name_declaration(clang_getCanonicalCursor(declaration));
    char *text = xasprintf("%s %s", first, own);
    struct callee c = {.declaration = declaration,
                       .name = name_qualified(declaration),
                       .linkage = name_linkage(declaration, source->id)};
    c.communication = unit_communication(plain);
    if (c.communication && *plain == 'P') {
        free(c.name);
        c.name = xstrdup(plain + 1);
    }
    c.twice = among(twice, plain) || !fnmatch("*((returns_twice))*", text, 0);
    if (name_internal(name_pattern(declaration)))
        c.flags |= UNIT_STATIC;
    CXSourceLocation at = clang_getCursorLocation(clang_getCanonicalCursor(declaration));
    if (source_system(at))
        c.flags |= UNIT_SYSTEM;
    c.quiet = quiet_reason(source, &c, text, plain);
    c.alone = alone_reason(source, &c, text);
    c.bound = among(binding, text);
    free(plain);
    free(own);
    free(first);
    free(text);
    return c;
}

static bool same(const void *key, uint32_t value, const void *data)
{
    const struct source *source = data;
    return clang_equalCursors(*(const CXCursor *)key, source->callees[value].declaration) != 0;
}

const struct callee *callee_of(struct source *source, CXCursor declaration)
{
    uint32_t hash = clang_hashCursor(declaration);
    uint64_t wide = map_hash(MAP_SEED, &hash, sizeof hash);
    uint32_t found = map_find(&source->callee_map, wide, same, &declaration, source);
    if (found != MAP_NONE)
        return &source->callees[found];
    struct callee c = describe(source, declaration);
    *VEC_PUSH(source->callees, source->callee_count, source->callee_room) = c;
    uint32_t number = (uint32_t)(source->callee_count - 1);
    map_add(&source->callee_map, wide, number);
    return &source->callees[number];
}
