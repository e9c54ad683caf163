/* SPDX-License-Identifier: MIT */
/*
 * What the compiler says of itself: where it looks for headers, which language it takes by default,
 * what it defines. libclang has to read the source with the same headers. The macros that say which
 * compiler it is are not among what is taken over: system headers would then use extensions that
 * libclang does not know.
 */
#include "cli/cc.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "cli/capture.h"
#include "cli/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* What changes the answer without being on the command line. */
static const char *const variables[] = {"CPATH",           "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                                        "GCC_EXEC_PREFIX", "COMPILER_PATH",  "OMPI_CC",
                                        "OMPI_CXX",        "OMPI_CFLAGS",    "OMPI_CXXFLAGS",
                                        "OMPI_CPPFLAGS",   "OPAL_PREFIX",    "MPICH_CC",
                                        "MPICH_CXX",       "MPICH_CFLAGS",   "MPICH_CXXFLAGS",
                                        "I_MPI_CC",        "I_MPI_CXX",      "PATH"};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void query_command(const struct cc_line *line, enum cc_language language,
                          struct cc_words *out)
{
    cc_add(out, line->driver);
    for (size_t i = 0; i < line->count; i++)
        if (line->words[i].use & CC_QUERY)
            cc_add(out, line->words[i].text);
    static const char *const tail[] = {"-E", "-v", "-dM", "-x"};
    for (size_t i = 0; i < sizeof tail / sizeof tail[0]; i++)
        cc_add(out, tail[i]);
    cc_add(out, language == CC_CXX ? "c++" : "c");
    cc_add(out, "/dev/null");
}

static char *make_key(const struct cc_words *command)
{
    struct strbuf key = {0};
    struct stat st = {0};
    char *path = program_find(command->at[0]), *real = path ? realpath(path, NULL) : NULL;
    if (real && stat(real, &st) == 0)
        strbuf_printf(&key, "loupe " LOUPE_VERSION "\n%s\n%s\n%lld.%09ld %lld\n", path, real,
                      (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size);
    free(path);
    free(real);
    for (size_t i = 0; key.len && i < command->count; i++)
        strbuf_printf(&key, "%s\n", command->at[i]);
    for (size_t i = 0; key.len && i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        strbuf_printf(&key, "%s\n", value ? value : "");
    }
    return key.len ? strbuf_take(&key) : NULL;
}

/* In English, whatever the user's language: we read it. */
static int ask(const struct cc_words *command, struct strbuf *output)
{
    struct cc_words environment = {0};
    for (char **e = environ; *e; e++)
        if (!begins(*e, "LC_") && !begins(*e, "LANG"))
            cc_add(&environment, *e);
    cc_add(&environment, "LC_ALL=C");
    int status = 0;
    int err = capture_output((char *const *)command->at, (char *const *)environment.at, 60.0,
                             output, &status);
    free(environment.at);
    return err ? err : status;
}

/* gcc's and clang's directories of headers that belong to the compiler itself. */
static bool is_private(const char *directory)
{
    if (!strstr(directory, "/gcc/") && !strstr(directory, "/gcc-lib/") &&
        !strstr(directory, "/clang/"))
        return false;
    size_t len = strlen(directory);
    if (len > 14 && strcmp(directory + len - 14, "/include-fixed") == 0)
        return true;
    const char *header = cc_text("%s/stddef.h", directory);
    return access(header, R_OK) == 0;
}

static void take_directory(struct cc_answer *answer, const char *directory)
{
    if (!is_private(directory)) {
        cc_add(&answer->directories, directory);
    } else if (!answer->private_headers) {
        answer->private_headers = directory;
        answer->before = answer->directories.count;
    }
}

static bool is_taken_over(const char *name)
{
    static const char *const beginnings[] = {"__SSE",
                                             "__AVX",
                                             "__MMX",
                                             "__BMI",
                                             "__FMA",
                                             "__F16C__",
                                             "__POPCNT__",
                                             "__LZCNT__",
                                             "__AES_",
                                             "__PCLMUL",
                                             "__SHA",
                                             "__XSAVE",
                                             "__VAES_",
                                             "__VPCLMUL",
                                             "__GFNI_",
                                             "__RDRND_",
                                             "__PIC_",
                                             "__pic_",
                                             "__PIE_",
                                             "__pie_",
                                             "__SANITIZE_",
                                             "__FAST_MATH_",
                                             "__CHAR_UNSIGNED_",
                                             "_REENTRANT",
                                             "_OPENMP",
                                             "_OPENACC"};
    if (name[0] != '_')
        return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (begins(name, beginnings[i]))
            return true;
    return false;
}

struct facts { /* from the macros */
    long cplusplus, stdc, gnuc, clang;
    bool strict, x86_64, ilp32;
};

static void take_macro(struct cc_answer *answer, struct facts *facts, char *name)
{
    char *value = name + strcspn(name, " ");
    if (*value)
        *value++ = 0;
    long number = strtol(value, NULL, 10);
    static const char *const names[] = {"__cplusplus", "__STDC_VERSION__", "__GNUC__",
                                        "__clang_major__"};
    long *const places[] = {&facts->cplusplus, &facts->stdc, &facts->gnuc, &facts->clang};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            *places[i] = number;
    facts->strict |= strcmp(name, "__STRICT_ANSI__") == 0;
    facts->x86_64 |= strcmp(name, "__x86_64__") == 0;
    facts->ilp32 |= strcmp(name, "__ILP32__") == 0;
    if (is_taken_over(name) && !strchr(name, '('))
        cc_add(&answer->defines, cc_text("-D%s=%s", name, value));
}

static const char *standard(const struct facts *facts, enum cc_language language)
{
    static const struct {
        long from;
        const char *name;
    } c[] = {{201711, "2x"}, {201710, "17"}, {201100, "11"}, {199901, "99"}, {0, "89"}},
      cxx[] = {{202003, "2b"}, {201704, "20"}, {201703, "17"},
               {201402, "14"}, {201103, "11"}, {0, "98"}};
    size_t i = 0;
    if (language == CC_CXX) {
        while (facts->cplusplus < cxx[i].from)
            i++;
        return cc_text("-std=%s++%s", facts->strict ? "c" : "gnu", cxx[i].name);
    }
    while (facts->stdc < c[i].from)
        i++;
    return cc_text("-std=%s%s", facts->strict ? "c" : "gnu", c[i].name);
}

/* true if it was what we know from gcc and clang. */
static bool understand(char *text, enum cc_language language, struct cc_answer *answer)
{
    struct facts facts = {0};
    bool listing = false, listed = false;
    char *rest = NULL;
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        if (begins(l, "#define "))
            take_macro(answer, &facts, l + 8);
        else if (begins(l, "#include <...> search starts here"))
            listing = listed = true;
        else if (begins(l, "End of search list"))
            listing = false;
        else if (listing && l[0] == ' ')
            take_directory(answer, cc_text("%s", l + 1));
    }
    if (!answer->private_headers)
        answer->before = answer->directories.count;
    answer->clang = facts.clang > 0;
    answer->major = answer->clang ? facts.clang : facts.gnuc;
    answer->fit = facts.x86_64 && !facts.ilp32;
    answer->standard = standard(&facts, language);
    return listed && answer->major > 0;
}

bool cc_query(const struct cc_line *line, enum cc_language language, struct cc_answer *answer)
{
    struct cc_words command = {0};
    struct strbuf output = {0};
    query_command(line, language, &command);
    char *key = make_key(&command);
    bool known = key && cc_cache_read(key, answer);
    if (!known && key && ask(&command, &output) == 0 && output.text) {
        known = understand(output.text, language, answer);
        if (known)
            cc_cache_write(key, answer);
    }
    strbuf_free(&output);
    free(command.at);
    free(key);
    return known;
}
