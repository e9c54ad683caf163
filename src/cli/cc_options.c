/* SPDX-License-Identifier: MIT */
/* Options of gcc and clang that take an argument, or that mean something here. Others are passed
 * on as they are. */
#include "cli/cc.h"

#include <string.h>

#define A  CC_ALONE
#define J  CC_JOINED
#define S  CC_SEPARATE
#define P  CC_PARSE
#define Q  CC_QUERY
#define PQ (CC_PARSE | CC_QUERY)

static const struct cc_option table[] = {
    {"-c", A, CC_COMPILE_ONLY, 0},
    {"-o", J | S, CC_OUTPUT, 0},
    {"-x", J | S, CC_LANGUAGE, 0},
    {"--driver-mode=", J, CC_CXX_DRIVER, 0},
    /* other things than compiling to an object */
    {"-S", A, CC_PLAIN, 0},
    {"-E", A, CC_PLAIN, 0},
    {"-M", A, CC_PLAIN, 0},
    {"-MM", A, CC_PLAIN, 0},
    {"-MJ", J | S, CC_PLAIN, 0},
    {"-###", A, CC_PLAIN, 0},
    {"-fsyntax-only", A, CC_PLAIN, 0},
    {"--version", A, CC_PLAIN, 0},
    {"-dumpversion", A, CC_PLAIN, 0},
    {"-dumpfullversion", A, CC_PLAIN, 0},
    {"-dumpmachine", A, CC_PLAIN, 0},
    {"-dumpspecs", A, CC_PLAIN, 0},
    {"-print-", J, CC_PLAIN, 0},
    {"--print-", J, CC_PLAIN, 0},
    {"--help", A | J, CC_PLAIN, 0},
    {"--target-help", A, CC_PLAIN, 0},
    {"-show", A | J, CC_PLAIN, 0},
    {"--show", A | J, CC_PLAIN, 0},
    {"-compile_info", A, CC_PLAIN, 0},
    {"-compile-info", A, CC_PLAIN, 0},
    {"-link_info", A, CC_PLAIN, 0},
    {"-link-info", A, CC_PLAIN, 0},
    {"-emit-llvm", A, CC_PLAIN, 0},
    {"-emit-ast", A, CC_PLAIN, 0},
    {"-emit-pch", A, CC_PLAIN, 0},
    {"--analyze", A, CC_PLAIN, 0},
    {"-cc1", A, CC_PLAIN, 0},
    {"-cc1as", A, CC_PLAIN, 0},
    /* what we do not follow */
    {"-include-pch", S, CC_PLAIN, 0},
    {"-fmodule", J, CC_PLAIN, 0},
    {"-fcxx-modules", A, CC_PLAIN, 0},
    {"-fpreprocessed", A, CC_PLAIN, 0},
    {"-fdirectives-only", A, CC_PLAIN, 0},
    {"-working-directory", A | J | S, CC_PLAIN, 0},
    {"-dependency-file", S, CC_PLAIN, 0},
    {"-I-", A, CC_PLAIN, 0},
    {"--", A, CC_PLAIN, 0},
    {"--compile", A, CC_PLAIN, 0},
    {"--assemble", A, CC_PLAIN, 0},
    {"--preprocess", A, CC_PLAIN, 0},
    {"--output", A | J, CC_PLAIN, 0},
    {"--language", A | J, CC_PLAIN, 0},
    {"--dependencies", A, CC_PLAIN, 0},
    {"--user-dependencies", A, CC_PLAIN, 0},
    {"--write-dependencies", A, CC_PLAIN, 0},
    {"--write-user-dependencies", A, CC_PLAIN, 0},
    {"--include", A | J, CC_PLAIN, 0},
    {"--imacros", A | J, CC_PLAIN, 0},
    {"--define-macro", A | J, CC_PLAIN, 0},
    {"--undefine-macro", A | J, CC_PLAIN, 0},
    /* dependencies */
    {"-MD", A, CC_DEPENDS, 0},
    {"-MMD", A, CC_DEPENDS, 0},
    {"-MF", J | S, CC_DEPENDS_FILE, 0},
    {"-MT", J | S, CC_DEPENDS_TARGET, 0},
    {"-MQ", J | S, CC_DEPENDS_TARGET, 0},
    {"-Wp,-MD,", J, CC_DEPENDS_CPP, 0},
    {"-Wp,-MMD,", J, CC_DEPENDS_CPP, 0},
    {"-Wp,", J, CC_PASSED, P},
    {"-Xpreprocessor", S, CC_PASSED, P},
    /* the preprocessor */
    {"-D", J | S, CC_PASSED, P},
    {"-U", J | S, CC_PASSED, P},
    {"-A", J | S, CC_PASSED, 0},
    {"-I", J | S, CC_SEARCH, P},
    {"-iquote", J | S, CC_SEARCH_QUOTE, P},
    {"-isystem", J | S, CC_PASSED, P},
    {"-cxx-isystem", J | S, CC_PASSED, P},
    {"-idirafter", J | S, CC_PASSED, P},
    {"-iprefix", J | S, CC_PASSED, P},
    {"-iwithprefix", J | S, CC_PASSED, P},
    {"-iwithprefixbefore", J | S, CC_PASSED, P},
    {"-isysroot", J | S, CC_PASSED, PQ},
    {"--sysroot", S, CC_PASSED, PQ},
    {"--sysroot=", J, CC_PASSED, PQ},
    {"-imultilib", J | S, CC_PASSED, Q},
    {"-include", J | S, CC_INCLUDE, 0},
    {"-imacros", J | S, CC_PASSED, P},
    {"-F", J | S, CC_PASSED, P},
    {"-nostdinc", A, CC_PASSED, PQ},
    {"-nostdinc++", A, CC_PASSED, Q},
    {"-undef", A, CC_PASSED, PQ},
    {"-trigraphs", A, CC_PASSED, P},
    /* the language and the machine */
    {"-std=", J, CC_PASSED, Q},
    {"--std=", J, CC_PASSED, Q},
    {"-ansi", A, CC_PASSED, Q},
    {"-O", A | J, CC_PASSED, PQ},
    {"-m", J, CC_PASSED, Q},
    {"-pthread", A, CC_PASSED, PQ},
    {"-stdlib=", J, CC_PASSED, Q},
    {"-target", S, CC_PASSED, PQ},
    {"--target=", J, CC_PASSED, PQ},
    {"--gcc-toolchain=", J, CC_PASSED, Q},
    {"-gcc-toolchain", S, CC_PASSED, Q},
    {"-B", J | S, CC_PASSED, Q},
    {"-specs=", J, CC_PASSED, Q},
    {"-cc=", J, CC_PASSED, Q},
    {"-cxx=", J, CC_PASSED, Q},
    {"-config=", J, CC_PASSED, Q},
    {"-fopenmp", A | J, CC_PASSED, PQ},
    {"-fopenacc", A, CC_PASSED, Q},
    {"-fsanitize=", J, CC_PASSED, Q},
    {"-ffast-math", A, CC_PASSED, Q},
    {"-ffreestanding", A, CC_PASSED, PQ},
    {"-fhosted", A, CC_PASSED, PQ},
    {"-fno-hosted", A, CC_PASSED, PQ},
    {"-fbuiltin", A, CC_PASSED, P},
    {"-fno-builtin", A | J, CC_PASSED, P},
    {"-fexceptions", A, CC_PASSED, PQ},
    {"-fno-exceptions", A, CC_PASSED, PQ},
    {"-frtti", A, CC_PASSED, PQ},
    {"-fno-rtti", A, CC_PASSED, PQ},
    {"-fpic", A, CC_PASSED, Q},
    {"-fPIC", A, CC_PASSED, Q},
    {"-fpie", A, CC_PASSED, Q},
    {"-fPIE", A, CC_PASSED, Q},
    {"-fno-pic", A, CC_PASSED, Q},
    {"-fno-PIC", A, CC_PASSED, Q},
    {"-fno-pie", A, CC_PASSED, Q},
    {"-fno-PIE", A, CC_PASSED, Q},
    {"-fsigned-char", A, CC_PASSED, PQ},
    {"-funsigned-char", A, CC_PASSED, PQ},
    {"-fno-signed-char", A, CC_PASSED, PQ},
    {"-fno-unsigned-char", A, CC_PASSED, PQ},
    {"-fshort-wchar", A, CC_PASSED, PQ},
    {"-fshort-enums", A, CC_PASSED, P},
    {"-fgnu89-inline", A, CC_PASSED, PQ},
    {"-fms-extensions", A, CC_PASSED, P},
    {"-fpermissive", A, CC_PASSED, P},
    {"-fchar8_t", A, CC_PASSED, PQ},
    {"-fno-char8_t", A, CC_PASSED, PQ},
    {"-fcoroutines", A, CC_PASSED, Q},
    {"-fconcepts", A, CC_PASSED, Q},
    {"-fno-operator-names", A, CC_PASSED, P},
    {"-fno-gnu-keywords", A, CC_PASSED, P},
    {"-fdollars-in-identifiers", A, CC_PASSED, P},
    {"-fblocks", A, CC_PASSED, P},
    {"-ftemplate-depth=", J, CC_PASSED, P},
    {"-ftemplate-depth-", J, CC_PASSED, P},
    {"-fsized-deallocation", A, CC_PASSED, P},
    {"-faligned-new", A, CC_PASSED, P},
    /* debug information: the kinds that switch it on or off */
    {"-g", A, CC_DEBUG, 0},
    {"-g0", A, CC_DEBUG, 0},
    {"-g1", A, CC_DEBUG, 0},
    {"-g2", A, CC_DEBUG, 0},
    {"-g3", A, CC_DEBUG, 0},
    {"-ggdb", A | J, CC_DEBUG, 0},
    {"-gdwarf", A | J, CC_DEBUG, 0},
    {"-gstabs", A | J, CC_DEBUG, 0},
    {"-gline-tables-only", A, CC_DEBUG, 0},
    {"-gline-directives-only", A, CC_DEBUG, 0},
    {"-gmlt", A, CC_DEBUG, 0},
    {"-gctf", A | J, CC_DEBUG, 0},
    {"-gbtf", A, CC_DEBUG, 0},
    /* more than an object */
    {"-save-temps", A | J, CC_MORE_FILES, 0},
    {"--save-temps", A | J, CC_MORE_FILES, 0},
    {"-ftest-coverage", A, CC_MORE_FILES, 0},
    {"-coverage", A, CC_MORE_FILES, 0},
    {"--coverage", A, CC_MORE_FILES, 0},
    {"-fprofile", J, CC_MORE_FILES, 0},
    {"-fstack-usage", A, CC_MORE_FILES, 0},
    {"-fcallgraph-info", A | J, CC_MORE_FILES, 0},
    {"-fdump-", J, CC_MORE_FILES, 0},
    {"-ftime-trace", A | J, CC_MORE_FILES, 0},
    {"-gsplit-dwarf", A | J, CC_MORE_FILES, 0},
    {"-dumpbase", S, CC_MORE_FILES, 0},
    {"-dumpbase-ext", S, CC_MORE_FILES, 0},
    {"-dumpdir", S, CC_MORE_FILES, 0},
    {"-aux-info", S, CC_MORE_FILES, 0},
    {"-Werror", A | J, CC_ERRORS, 0},
    {"-pedantic-errors", A, CC_ERRORS, 0},
    /* the linker */
    {"-l", J | S, CC_LINKER, 0},
    {"-L", J | S, CC_LINKER, 0},
    {"-T", J | S, CC_LINKER, 0},
    {"-u", J | S, CC_LINKER, 0},
    {"-z", J | S, CC_LINKER, 0},
    {"-e", J | S, CC_LINKER, 0},
    {"-Wl,", J, CC_LINKER, 0},
    {"-Xlinker", S, CC_LINKER, 0},
    {"-rpath", S, CC_LINKER, 0},
    {"-framework", S, CC_LINKER, 0},
    {"-fuse-ld=", J, CC_LINKER, 0},
    /* others with an argument */
    {"-Xassembler", S, CC_PASSED, 0},
    {"-Xclang", S, CC_PASSED, 0},
    {"-Xanalyzer", S, CC_PASSED, 0},
    {"-Xopenmp-target", S, CC_PASSED, 0},
    {"-mllvm", S, CC_PASSED, 0},
    {"-arch", S, CC_PASSED, P},
    {"-resource-dir", S, CC_PASSED, 0},
    {"-ivfsoverlay", S, CC_PASSED, P},
    {"-serialize-diagnostics", S, CC_PASSED, 0},
    {"--serialize-diagnostics", S, CC_PASSED, 0},
    {"--param", S, CC_PASSED, 0},
    {"-wrapper", S, CC_PASSED, 0},
};

const struct cc_option *cc_option_find(const char *word, const char **joined, bool *separate)
{
    static const struct cc_option unknown = {"-", CC_ALONE, CC_PASSED, 0};
    const struct cc_option *best = NULL;
    size_t longest = 0;
    *joined = NULL;
    *separate = false;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct cc_option *o = &table[i];
        size_t len = strlen(o->name);
        if (strncmp(o->name, word, len) != 0)
            continue;
        if (word[len] == 0 && o->form & (CC_ALONE | CC_SEPARATE)) {
            *joined = NULL;
            *separate = o->form & CC_SEPARATE;
            return o;
        }
        if (word[len] && o->form & CC_JOINED && len > longest) {
            best = o;
            longest = len;
            *joined = word + len;
        }
    }
    return best ? best : &unknown;
}
