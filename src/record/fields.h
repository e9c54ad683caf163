/* SPDX-License-Identifier: MIT */
/*
 * The one field list of the statistics. Layout, reader, run file, JSON and layout tests are all
 * made from it; nobody else spells the fields out.
 *
 *   X(name, unit, merge)
 *     name   member of the record, and with the unit's ending ("_s" for TICKS) the JSON key
 *     unit   COUNT, BYTES, or TICKS (of the segment's clock; seconds once read)
 *     merge  how two records of one statement become one: SUM, MIN, MAX, SQUARES (root of the
 *            sum of the squares)
 */
#ifndef LOUPE_RECORD_FIELDS_H
#define LOUPE_RECORD_FIELDS_H

/* A statement: a communication statement, or a region the program names itself. */
#define RECORD_STATEMENT_FIELDS(X)                                                                 \
    X(count, COUNT, SUM) /* executions that have ended */                                          \
    X(time, TICKS, SUM)  /* inside the call, callees included; virtual */                          \
    X(self, TICKS, SUM)  /* the same without nested regions and communications */                  \
    X(min, TICKS, MIN)                                                                             \
    X(max, TICKS, MAX)                                                                             \
    X(bytes, BYTES, SUM)                                                                           \
    X(real, TICKS, SUM)      /* the time as it passed, with what the probes cost */                \
    X(sync, TICKS, SUM)      /* part of the time: waiting for a partner; the rest is transfer */   \
    X(unknown, COUNT, SUM)   /* messages whose header was not found: their waiting is not known */ \
    X(reordered, COUNT, SUM) /* from any source: another would have come first without us */       \
    X(uncertain, COUNT, SUM) /* executions whose effect on the delay is not sure */

/* What is known of a node of the program graph outside the target: a statement's statistics, and of
 * probes that `loupe cc` has put there. */
#define RECORD_VALUE_FIELDS(X)                                                                     \
    RECORD_STATEMENT_FIELDS(X)                                                                     \
    X(mpi, TICKS, SUM) /* inside MPI: of a communication its time, of others what is in them */    \
    X(outside, TICKS, SUM)   /* of that: MPI_Init and MPI_Finalize, outside the ranks' time */     \
    X(error, TICKS, SQUARES) /* half the 95 % interval of an estimated time; NAN: not known */     \
    X(self_error, TICKS, SQUARES) /* the same of self, which is the time less the children's */    \
    X(estimated, COUNT, SUM)      /* executions whose time is estimated from others; 0: exact */   \
    X(iterations, COUNT, SUM)

/* One peer of a statement: the destination of a send, the source of a receive. */
#define RECORD_PEER_FIELDS(X)                                                                      \
    X(count, COUNT, SUM) /* messages */                                                            \
    X(time, TICKS, SUM)  /* of blocking calls; nonblocking ones spend it at their Wait */          \
    X(bytes, BYTES, SUM)                                                                           \
    X(sync, TICKS, SUM) /* waiting for this peer, at the statement that waits */

/* Headers beside messages, of a thread: every message received is in one of them. */
#define RECORD_PAIRING_FIELDS(X)                                                                   \
    X(paired, COUNT, SUM)    /* with its header */                                                 \
    X(missing, COUNT, SUM)   /* it had none, or it was lost */                                     \
    X(ambiguous, COUNT, SUM) /* which of several is its own could not be told */

/* Time in which a thread that communicates could run, and others had its processor. */
#define RECORD_PREEMPTED_FIELDS(X)                                                                 \
    X(preempted, TICKS, SUM)     /* outside MPI: no computation */                                 \
    X(preempted_mpi, TICKS, SUM) /* inside */                                                      \
    X(looks, COUNT, SUM)         /* how often that was looked at; 0: it is not known */

/* Buckets of the message size histogram: 0 holds empty messages, b holds [2^(b-1), 2^b). */
#define RECORD_SIZE_BUCKETS 40

#endif
