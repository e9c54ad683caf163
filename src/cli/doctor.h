/* SPDX-License-Identifier: MIT */
/* The examinations of `loupe doctor`; each says one or more findings. */
#ifndef LOUPE_CLI_DOCTOR_H
#define LOUPE_CLI_DOCTOR_H

enum doctor_grade { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

/* `advice` says what to do; NULL: nothing. */
void doctor_say(enum doctor_grade grade, const char *subject, const char *advice,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

void doctor_installation(void); /* our libraries, libdw, terminal */
void doctor_cc(void);           /* loupe-instrument */
void doctor_launchers(void);    /* the MPIs that are here */
void doctor_memory(void);       /* /dev/shm and $TMPDIR */
void doctor_machine(void);      /* clock, ptrace */
void doctor_jobs(void);         /* what is left behind */

#endif
