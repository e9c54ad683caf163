/* SPDX-License-Identifier: MIT */
#include "cli/launcher.h"

#include "base/alloc.h"
#include "base/options.h"
#include "base/path.h"
#include "cli/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum launcher_kind kind;
} names[] = {
    {"mpirun", LAUNCHER_UNKNOWN},          {"mpiexec", LAUNCHER_UNKNOWN},
    {"orterun", LAUNCHER_OPENMPI},         {"prterun", LAUNCHER_OPENMPI},
    {"oshrun", LAUNCHER_OPENMPI},          {"mpirun.openmpi", LAUNCHER_OPENMPI},
    {"mpiexec.openmpi", LAUNCHER_OPENMPI}, {"mpiexec.hydra", LAUNCHER_HYDRA},
    {"mpirun.hydra", LAUNCHER_HYDRA},      {"mpirun.mpich", LAUNCHER_HYDRA},
    {"mpiexec.mpich", LAUNCHER_HYDRA},     {"srun", LAUNCHER_SLURM},
};

enum launcher_kind launcher_by_name(const char *command)
{
    const char *name = path_base(command);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].kind;
    return LAUNCHER_NONE;
}

enum launcher_kind launcher_by_version(const char *output)
{
    if (strstr(output, "Open MPI") || strstr(output, "OpenRTE") || strstr(output, "PRRTE"))
        return LAUNCHER_OPENMPI;
    if (strstr(output, "HYDRA") || strstr(output, "Intel(R) MPI"))
        return LAUNCHER_HYDRA;
    if (strncmp(output, "slurm ", 6) == 0)
        return LAUNCHER_SLURM;
    return LAUNCHER_UNKNOWN;
}

enum launcher_kind launcher_recognise(const char *command)
{
    enum launcher_kind kind = launcher_by_name(command);
    if (kind != LAUNCHER_UNKNOWN)
        return kind;
    char *const argv[] = {(char *)command, "--version", NULL};
    struct strbuf output = {0};
    if (capture_output(argv, NULL, 5.0, &output, NULL) == 0 && output.text)
        kind = launcher_by_version(output.text);
    strbuf_free(&output);
    return kind;
}

bool launcher_daemon(const char *process_name)
{
    /* As /proc/PID/comm has them, that is the first 15 characters. */
    static const char *const daemons[] = {"orted",           "prted",          "prte",
                                          "hydra_pmi_proxy", "hydra_bstrap_p", "slurmstepd",
                                          "mpiexec.hydra",   "orterun",        "prterun"};
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++)
        if (strcmp(process_name, daemons[i]) == 0)
            return true;
    return strncmp(process_name, "mpirun", 6) == 0 || strncmp(process_name, "mpiexec", 7) == 0;
}

static const struct launcher_table *table_of(enum launcher_kind kind)
{
    switch (kind) {
    case LAUNCHER_OPENMPI: return &launcher_openmpi;
    case LAUNCHER_HYDRA: return &launcher_hydra;
    case LAUNCHER_SLURM: return &launcher_slurm;
    default: return NULL;
    }
}

#define INSTEAD "put \"loupe exec\" before the program in this command yourself, without loupe run"

static const struct launcher_option *find(const struct launcher_table *table, const char *name,
                                          size_t len)
{
    for (const struct launcher_option *o = table->options; o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

/* getopt_long accepts the beginning of a name if it can be only one. */
static const struct launcher_option *find_beginning(const struct launcher_table *table,
                                                    const char *name, size_t len)
{
    const struct launcher_option *found = NULL;
    for (const struct launcher_option *o = table->options; len > 1 && o->name; o++) {
        if (strlen(o->name) > len && memcmp(o->name, name, len) == 0) {
            if (found)
                return NULL;
            found = o;
        }
    }
    return found;
}

/* One-letter options as getopt takes them: -n4, -lu, -lun4. The last one decides. */
static const struct launcher_option *find_letters(const struct launcher_table *table,
                                                  const char *letters, bool *joined)
{
    for (; *letters; letters++) {
        const struct launcher_option *o = find(table, letters, 1);
        if (!o || o->arguments == LAUNCHER_REFUSE || o->arguments == LAUNCHER_NO_RUN)
            return o;
        *joined = letters[1] != 0;
        if (o->arguments != 0 || !letters[1])
            return o;
    }
    return NULL;
}

/* How many words the option argv[0] occupies with its arguments, or -errno. */
static int option_words(const struct launcher_table *table, char *const argv[],
                        struct strbuf *error)
{
    const char *word = argv[0];
    bool twice = word[1] == '-', joined = false;
    const char *name = word + (twice ? 2 : 1);
    size_t len = strcspn(name, "=");
    const struct launcher_option *o;
    if (table->letters_join && !twice) {
        o = find_letters(table, name, &joined);
    } else {
        o = find(table, name, len);
        if (!o && table->letters_join)
            o = find_beginning(table, name, len);
        joined = name[len] == '=';
    }
    if (!o) {
        strbuf_printf(error, "%s is an option of %s that loupe does not know; " INSTEAD, word,
                      table->name);
        return -EINVAL;
    }
    if (o->arguments == LAUNCHER_NO_RUN)
        return -ENOENT;
    if (o->arguments == LAUNCHER_REFUSE) {
        strbuf_printf(error, "%s: %s; " INSTEAD, word, o->refusal);
        return -EINVAL;
    }
    int arguments = o->arguments == LAUNCHER_OPTIONAL || joined ? 0 : o->arguments;
    for (int i = 1; i <= arguments; i++) {
        if (!argv[i]) {
            strbuf_printf(error, "%s of %s needs %d argument%s", word, table->name, o->arguments,
                          o->arguments == 1 ? "" : "s");
            return -EINVAL;
        }
    }
    return 1 + arguments;
}

/* How many words stand before the program in a part of the command line (up to ':'); -ENOENT. */
static int words_before_program(const struct launcher_table *table, char *const argv[],
                                struct strbuf *error)
{
    int i = 0;
    while (argv[i]) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (argv[i][0] != '-' || !argv[i][1])
            break;
        int words = option_words(table, argv + i, error);
        if (words < 0)
            return words;
        i += words;
    }
    return argv[i] ? i : -ENOENT;
}

int launcher_rewrite(enum launcher_kind kind, char *const argv[], char *const prefix[],
                     char ***rewritten, struct strbuf *error)
{
    const struct launcher_table *table = table_of(kind);
    if (!table) {
        strbuf_printf(error, "%s is neither Open MPI's, nor Hydra, nor Slurm's; " INSTEAD, argv[0]);
        return -EINVAL;
    }
    char **out = NULL;
    size_t count = 0, room = 0;
    *VEC_PUSH(out, count, room) = argv[0];
    for (int i = 1; argv[i];) {
        int before = words_before_program(table, argv + i, error);
        if (before < 0) {
            free(out);
            return before;
        }
        for (int end = i + before; i < end; i++)
            *VEC_PUSH(out, count, room) = argv[i];
        for (int j = 0; prefix[j] && strcmp(argv[i], ":") != 0; j++)
            *VEC_PUSH(out, count, room) = prefix[j];
        while (argv[i] && strcmp(argv[i], ":") != 0)
            *VEC_PUSH(out, count, room) = argv[i++];
        if (argv[i])
            *VEC_PUSH(out, count, room) = argv[i++];
    }
    if (count == 1) {
        free(out);
        return -ENOENT;
    }
    *VEC_PUSH(out, count, room) = NULL;
    *rewritten = out;
    return 0;
}

bool launcher_has_parts(char *const argv[])
{
    for (; *argv; argv++)
        if (strcmp(*argv, ":") == 0)
            return true;
    return false;
}

const char *launcher_program(enum launcher_kind kind, char *const argv[])
{
    const struct launcher_table *table = table_of(kind);
    struct strbuf ignored = {0};
    int before = table ? words_before_program(table, argv + 1, &ignored) : -ENOENT;
    strbuf_free(&ignored);
    return before < 0 ? NULL : argv[1 + before];
}
