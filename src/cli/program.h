/* SPDX-License-Identifier: MIT */
/* What can be known about a program before it is started. */
#ifndef LOUPE_CLI_PROGRAM_H
#define LOUPE_CLI_PROGRAM_H

#include "base/strbuf.h"

enum program_kind {
    PROGRAM_GOOD,       /* can be monitored */
    PROGRAM_STATIC,     /* has no dynamic loader */
    PROGRAM_PRIVILEGED, /* setuid, setgid or file capabilities: LD_PRELOAD is ignored */
    PROGRAM_FOREIGN,    /* of another architecture or word size */
    PROGRAM_UNFIT,      /* our library cannot be loaded into it */
};

struct candidate { /* a program that may be started */
    char *path;    /* that will be executed */
    enum program_kind kind;
    struct strbuf first; /* runtimes that insist on being loaded before any other library, ":" */
    struct strbuf why;   /* for all but PROGRAM_GOOD: one line about what cannot be seen and why */
};

/* Finds `name` as execvp does; the path, owned by the caller, or NULL with errno set. */
char *program_find(const char *name);

/*
 * Looks at the program (for a script at its interpreter), and tries whether `library` (NULL: none)
 * could be preloaded there. 0, or -errno if it cannot be started at all; `why` then says so.
 */
int program_check(const char *name, const char *library, struct candidate *program);
void program_clear(struct candidate *program);

#endif
