/* SPDX-License-Identifier: MIT */
/*
 * LOUPE=path-log=FILE, for tests: what happened to the path of the first thread of the process, so
 * that its graph can be made afterwards. One file for each process, FILE.RANK; one line for each
 * event, moments in virtual ticks:
 *
 *     start GENERATION AT                 end AT
 *     enter ITEM AT                       leave ITEM AT
 *     send AT ID                          published something: a send, an arrival, a post
 *     meet BEGIN END SYNC ID[,ID...]      waited for or heard from these (-: from none with a path)
 *     lost TICKS LAST SINCE               another had the processor for so long: after LAST, as far
 *                                         as there was time, else between SINCE and that
 *
 * An ID is RANK:GENERATION:SERIAL; the serial counts what a rank has published, modulo 2^19. Lines
 * are kept in a buffer, and written when that is full and at the end. Called where nothing but
 * general registers may be touched.
 */
#ifndef LOUPE_RUNTIME_PATH_LOG_H
#define LOUPE_RUNTIME_PATH_LOG_H

#include "runtime/path.h"

enum { PATH_LOG_SERIALS = 1 << 19 };

extern bool path_log_on EXPORT;

/* To be asked before the first path starts; `rank` is part of the name. */
void path_log_open(const char *file, int32_t rank);
void path_log_line(struct thread *t, const char *word, int64_t a, int64_t b)
    EXPORT_AS(path_log_line);
void path_log_send(struct thread *t, int64_t at, int32_t rank) EXPORT_AS(path_log_send);
void path_log_heard(const struct thread *t, const struct path_told *other)
    EXPORT_AS(path_log_heard);
void path_log_lost(struct thread *t, int64_t ticks, int64_t last, int64_t since);
void path_log_meet(struct thread *t, int64_t begin, uint64_t ticks, uint64_t sync);
void path_log_flush(void);

#endif
