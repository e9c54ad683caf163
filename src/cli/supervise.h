/* SPDX-License-Identifier: MIT */
/*
 * Standing between the user and a child: signals are passed on, the child's end becomes ours, and
 * processes that lose their parent become our children, so that we learn how they ended.
 */
#ifndef LOUPE_CLI_SUPERVISE_H
#define LOUPE_CLI_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct supervisor {
    pid_t child;
    bool ended;
    int status; /* of the child, as waitpid gives it */
    sigset_t mask_before;
    struct sigaction child_before;
    struct supervisor_end {
        pid_t pid;
        int signal;
    } * ends; /* processes, child or orphan, that a signal ended */
    size_t count, room;
};

/* Before the fork: takes the signals over. */
void supervisor_begin(struct supervisor *s);
/* In the child, before exec: gives the signals back. */
void supervisor_child(const struct supervisor *s);
/* Waits for the child's end and passes signals on to it meanwhile; calls `tick` every now and then,
 * in milliseconds; NULL: nothing. */
typedef void supervisor_tick(void *data);
void supervisor_wait(struct supervisor *s, int milliseconds, supervisor_tick *tick, void *data);
/* Waits `milliseconds` at most; true if the user asks us to stop waiting (^C, SIGTERM). */
bool supervisor_pause(struct supervisor *s, int milliseconds);
/* Whether any process, child or orphan, has us as its parent; also one that has ended and was not
 * waited for yet, since it hides those that live. */
bool supervisor_has_children(void);
/* Whether this process has us as its parent, and its end is not noted yet. */
bool supervisor_expects(pid_t pid);
/* The signal that ended a process, 0 if none is known. */
int supervisor_signal(const struct supervisor *s, pid_t pid);
/* Ends this process the way the child has ended. */
_Noreturn void supervisor_end_alike(const struct supervisor *s);
void supervisor_free(struct supervisor *s);

#endif
