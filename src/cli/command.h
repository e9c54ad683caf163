/* SPDX-License-Identifier: MIT */
/* A command of loupe: one file with one const entry, and one row in main.c's table. */
#ifndef LOUPE_CLI_COMMAND_H
#define LOUPE_CLI_COMMAND_H

#include "base/options.h"

/* Loupe's own errors: of any command, and of run and exec before the program starts. */
#define EXIT_LOUPE 125

enum command_flags {
    COMMAND_STOP = 1 << 0,       /* options end at the first operand: run and exec */
    COMMAND_NO_COLLECT = 1 << 1, /* does not first save what ended runs have left behind */
};

struct command {
    const char *name;
    const char *summary;                /* one line, for `loupe help` */
    const char *usage;                  /* what follows "loupe NAME " */
    const char *details;                /* more lines for `loupe help NAME`; may be NULL */
    const struct option_entry *options; /* may be NULL; --help and --verbose are always there */
    void *values;                       /* the struct that the options fill */
    unsigned flags;                     /* enum command_flags */
    /* Gets the operands, argv[argc] is NULL; returns the exit status. */
    int (*run)(int argc, char **argv);
};

extern const struct command cmd_attach;
extern const struct command cmd_cc;
extern const struct command cmd_collect;
extern const struct command cmd_ctl;
extern const struct command cmd_cxx;
extern const struct command cmd_doctor;
extern const struct command cmd_exec;
extern const struct command cmd_graph;
extern const struct command cmd_probe;
extern const struct command cmd_ps;
extern const struct command cmd_report;
extern const struct command cmd_run;
extern const struct command cmd_top;

/* Ends a command because of its arguments: says what is wrong, points to the help; EXIT_LOUPE. */
int command_misused(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
