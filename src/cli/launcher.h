/* SPDX-License-Identifier: MIT */
/*
 * Launchers of parallel programs: which one a command is, and where in its command line the
 * programs stand, so that `loupe exec` can be put before each.
 */
#ifndef LOUPE_CLI_LAUNCHER_H
#define LOUPE_CLI_LAUNCHER_H

#include "base/strbuf.h"

#include <stdbool.h>

enum launcher_kind {
    LAUNCHER_NONE, /* a plain program */
    LAUNCHER_OPENMPI,
    LAUNCHER_HYDRA, /* MPICH, Intel MPI and others that use it */
    LAUNCHER_SLURM,
    LAUNCHER_UNKNOWN, /* named like a launcher, but of a kind we do not know */
};

/* `arguments` of an option. */
enum {
    LAUNCHER_OPTIONAL = -1, /* only in the same word: --name or --name=value */
    LAUNCHER_REFUSE = -2,   /* `refusal` says why the command line cannot be rewritten */
    LAUNCHER_NO_RUN = -3,   /* prints something and starts nothing */
};

struct launcher_option {
    const char *name; /* without dashes; NULL ends the table */
    int arguments;
    const char *refusal;
};

struct launcher_table {
    const char *name;
    const struct launcher_option *options;
    bool letters_join; /* -n4 is -n 4, as getopt has it; else words are compared as a whole */
};

extern const struct launcher_table launcher_openmpi;
extern const struct launcher_table launcher_hydra;
extern const struct launcher_table launcher_slurm;

/* By the command's name, and where that is not enough by what `COMMAND --version` says. */
enum launcher_kind launcher_recognise(const char *command);
/* The same without running anything; LAUNCHER_UNKNOWN: it has to be asked. */
enum launcher_kind launcher_by_name(const char *command);
/* From the output of --version. */
enum launcher_kind launcher_by_version(const char *output);
/* Whether a process of this name starts the processes of a job on a node (mpirun, orted, ...). */
bool launcher_daemon(const char *process_name);

/*
 * The command line with the words of `prefix` before every program; the words are those of `argv`
 * and `prefix`, only the array is new. -EINVAL: `error` says why not and what to do. -ENOENT: it
 * starts no program (--version, --help).
 */
int launcher_rewrite(enum launcher_kind kind, char *const argv[], char *const prefix[],
                     char ***rewritten, struct strbuf *error);
/* Whether it starts several programs, with ":" between them. */
bool launcher_has_parts(char *const argv[]);
/* The first program in a launcher's command line, NULL if there is none. */
const char *launcher_program(enum launcher_kind kind, char *const argv[]);

#endif
