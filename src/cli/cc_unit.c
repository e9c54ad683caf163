/* SPDX-License-Identifier: MIT */
/* Instrumenting one source. What loupe-instrument leaves in the unit's directory:
 *     unit.h      to be included first
 *     tree/ABS    instrumented text of the source and of headers; ABS: absolute path of the
 * original files       a line for each of these: ABS, a tab, its name as the compiler would say it
 * and what we put beside it, so that every name we give to the compiler has a prefix of its own
 * that can be mapped back to what the user has written:
 *     here        link to the directory of the source below tree
 *     quote       link to the directory of the original source
 *     1, 2, ...   links to directories below tree, one for each -I that has instrumented headers
 */
#include "cli/cc.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "cli/install.h"
#include "cli/settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTHING_TO_DO = 3, SECONDS_MAX = 600 };

static bool contains(const char *path, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(path, *parts))
            return true;
    return false;
}

bool cc_unit_is_trial(const char *name)
{
    static const char *const places[] = {"/CMakeFiles/CMakeTmp/",
                                         "/CMakeFiles/CMakeScratch/",
                                         "/CompilerIdC",
                                         "/meson-private/",
                                         "/.conf_check_",
                                         "/.sconf_temp/",
                                         NULL};
    return strncmp(path_base(name), "conftest", 8) == 0 || contains(cc_absolute(name), places) ||
           contains(cc_absolute("./x"), places);
}

/* Different for every unit of a program, the same for the same compilation. */
static uint64_t unit_id(const struct cc_unit *unit)
{
    size_t size = 0;
    char *text = cc_read(unit->name, &size);
    const char *directory = cc_absolute("."),
               *options[] = {cc_options.all ? "all" : "", cc_options.filter ?: ""};
    uint64_t hash = map_hash(MAP_SEED, directory, strlen(directory) + 1);
    hash = map_hash(hash, unit->name, strlen(unit->name) + 1);
    for (size_t i = 0; i < unit->line->count; i++)
        hash = map_hash(hash, unit->line->words[i].text, strlen(unit->line->words[i].text) + 1);
    for (size_t i = 0; i < 2; i++)
        hash = map_hash(hash, options[i], strlen(options[i]) + 1);
    if (text)
        hash = map_hash(hash, text, size);
    free(text);
    return hash ? hash : 1;
}

static const char *instrument_command(const struct cc_unit *unit, struct cc_words *out)
{
    char *program = install_instrument(), *header = install_header(INSTALL_PROBE_HEADER);
    if (program && header) {
        const char *head[] = {cc_text("%s", program),
                              "--output",
                              unit->directory,
                              "--id",
                              cc_text("%016" PRIx64, unit_id(unit)),
                              "--language",
                              unit->source->language == CC_CXX ? "c++" : "c",
                              "--probe-header",
                              cc_text("%s", header)};
        for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
            cc_add(out, head[i]);
    }
    bool found = program && header;
    free(program);
    free(header);
    if (!found) { /* not a matter of this source: nothing will be instrumented at all */
        log_warn("loupe-instrument was not found: everything is compiled without probes; see loupe "
                 "doctor");
        return "loupe-instrument was not found";
    }
    if (cc_options.all)
        cc_add(out, "--all");
    if (cc_options.filter) {
        cc_add(out, "--filter");
        cc_add(out, cc_options.filter);
    }
    if (settings.verbose)
        cc_add(out, "--verbose");
    cc_add(out, unit->name);
    cc_add(out, "--");
    cc_parser_arguments(unit, out);
    return NULL;
}

static const char *run_instrument(const struct cc_unit *unit)
{
    struct cc_words command = {0};
    const char *reason = cc_text("%s/reason", unit->directory);
    const char *problem = instrument_command(unit, &command);
    int status =
        problem ? 0 : cc_run(&command, reason, settings.verbose ? NULL : "/dev/null", SECONDS_MAX);
    free(command.at);
    if (problem || status == 0)
        return problem;
    if (WIFSIGNALED(status))
        return cc_text("loupe-instrument ended by signal %d", WTERMSIG(status));
    size_t size;
    char *text = WEXITSTATUS(status) == NOTHING_TO_DO ? cc_read(reason, &size) : NULL;
    problem = text && *text ? cc_text("%.*s", (int)strcspn(text, "\n"), text)
                            : cc_text("loupe-instrument ended with %d", WEXITSTATUS(status));
    free(text);
    return problem;
}

/* __TIMESTAMP__ is the time of the file. */
static void keep_time(const char *original, const char *copy)
{
    struct stat st;
    if (stat(original, &st) == 0) {
        const struct timespec times[] = {st.st_atim, st.st_mtim};
        utimensat(AT_FDCWD, copy, times, 0);
    }
}

/* libclang may name a header otherwise than the compiler does ("./a.h"). Where the compiler can map
 * names in macros, the name by which it opens the header says it exactly: without one in #line. */
static void blank_name(const char *path)
{
    static const char begin[] = "#line 1 \"";
    char line[4096];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, line, sizeof line);
    char *end = len > 0 ? memchr(line, '\n', (size_t)len) : NULL;
    size_t keep = strlen("#line 1");
    if (end && strncmp(line, begin, strlen(begin)) == 0) {
        size_t blank = (size_t)(end - line) - keep;
        memset(line + keep, ' ', blank);
        if (pwrite(fd, line + keep, blank, (off_t)keep) < 0)
            log_verbose("%s: %m", path);
    }
    if (fd >= 0)
        close(fd);
}

/* The source's absolute path as loupe-instrument has it, NULL if it is not there; `headers`:
 * whether any header is instrumented. */
static const char *read_files(const struct cc_unit *unit, bool *headers)
{
    size_t size;
    const char *main = NULL;
    char *text = cc_read(cc_text("%s/files", unit->directory), &size), *rest = NULL;
    for (char *l = text ? strtok_r(text, "\n", &rest) : NULL; l; l = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(l, '\t');
        if (!tab)
            continue;
        *tab = 0;
        const char *copy = cc_text("%s/tree%s", unit->directory, l);
        if (strcmp(tab + 1, unit->name) == 0) {
            main = cc_text("%s", l);
        } else {
            *headers = true;
            if (cc_maps_macros(unit))
                blank_name(copy);
        }
        keep_time(l, copy);
    }
    free(text);
    return main;
}

static bool add_alias(struct cc_unit *unit, const char *name, const char *to, const char *said)
{
    const char *link = cc_text("%s/%s", unit->directory, name);
    if (symlink(to, link) < 0)
        return false;
    cc_add(&unit->maps, cc_text("%s/", link));
    cc_add(&unit->maps, said);
    return true;
}

static void alias_directories(struct cc_unit *unit, const char *tree)
{
    const struct cc_line *line = unit->line;
    struct stat st;
    for (size_t i = 0; i < line->count; i++) {
        const struct cc_word *word = &line->words[i];
        if (!cc_is_search(unit, word))
            continue;
        const char *ours = cc_text("%s%s", tree, cc_absolute(word->argument));
        size_t len = strlen(word->argument);
        bool slash = word->argument[len - 1] == '/';
        const char *name = cc_text("%zu", i + 1);
        if (stat(ours, &st) == 0 && S_ISDIR(st.st_mode) &&
            add_alias(unit, name, ours, cc_text("%s%s", word->argument, slash ? "" : "/")))
            unit->aliases[i] = cc_text("%s/%s", unit->directory, name);
    }
}

static const char *arrange(struct cc_unit *unit)
{
    bool headers = false;
    const char *tree = cc_text("%s/tree", unit->directory);
    const char *source = read_files(unit, &headers), *said = cc_directory_of(unit->name);
    if (!source || strcmp(path_base(source), path_base(unit->name)) != 0)
        return "loupe-instrument does not name the source";
    if (headers)
        cc_mirror(unit, tree, source);
    unit->aliases = xcalloc(unit->line->count, sizeof *unit->aliases);
    if (headers)
        alias_directories(unit, tree);
    if (!add_alias(unit, "here", cc_text("%s%s", tree, cc_directory_of(source)), said) ||
        !add_alias(unit, "quote", cc_absolute(*said ? said : "."), said))
        return "links cannot be made";
    if (mkdir(cc_text("%s/empty", unit->directory), 0700) < 0)
        return "a directory cannot be made";
    unit->file = cc_text("%s/here/%s", unit->directory, path_base(unit->name));
    return access(unit->file, R_OK) < 0 ? "loupe-instrument has written no source" : NULL;
}

const char *cc_unit_instrument(struct cc_unit *unit, const char *directory)
{
    struct stat st;
    if (!cc_query(unit->line, unit->source->language, &unit->answer))
        return "the compiler is not like gcc or clang";
    if (stat(unit->name, &st) < 0 || !S_ISREG(st.st_mode))
        return "the source is not a file";
    if (!unit->answer.fit)
        return "not for x86-64";
    unit->directory = directory;
    if (!directory || mkdir(directory, 0700) < 0)
        return "no temporary directory can be made";
    const char *problem = run_instrument(unit);
    if (!problem)
        problem = arrange(unit);
    if (problem)
        unit->file = NULL;
    return problem;
}
