/* SPDX-License-Identifier: MIT */
/*
 * Answers: what goes back to the sender of a message that may have to wait for its receiver (a
 * synchronous send, a long one): when the receive was posted, and the receiver's delay then. They
 * stand in the receiver's board, in a table for each sender; stream and number in it say where, so
 * that a sender looks at one place. What is not there when the send has ended is not waited for.
 *
 * To another node an answer goes as headers do (twin.h), before the receive is posted, and the
 * sender keeps the last of them in such a table of its own. Of what the receiver's MPI sends once
 * it has matched the message the answer is ahead, so it has mostly come when the send ends; it is
 * waited for as a header is. Only for what waits between nodes for sure: such an answer costs more.
 *
 * Only for receives with room for ANSWER_BYTES: shorter messages are on their way at once in any
 * MPI. From which size on an MPI waits is learnt: a send that had ended when its receive was posted
 * did not wait.
 */
#ifndef LOUPE_MPI_ANSWER_H
#define LOUPE_MPI_ANSWER_H

#include "mpi/stream.h"

#pragma GCC visibility push(hidden)

enum { ANSWER_BYTES = 1024, ANSWERS = 256 };

/* A number that is odd while the slot changes; the other fields as in a ring, and no neighbours in
 * memory either. */
static inline uint32_t answer_place(uint32_t key, uint32_t stream)
{
    uint32_t at = key * 0x9e3779b1u + stream;
    return (at << 1 | (at / (ANSWERS / 2) & 1)) % ANSWERS;
}

/* To the rank that sends the messages of `s`: number `number` will be received by what was posted
 * then, by the thread `t`. Slow the first time. */
void answer_publish(struct thread *t, struct stream *s, uint32_t number, uint64_t posted,
                    int64_t delay);
/* The receiver's path beside an answer that is there, met at virtual moment `at`. */
void answer_meet_path(struct stream *s, uint32_t number, const struct header *h, int64_t at);

/* One has come from another node. */
void answer_arrive(int32_t rank, const struct ring_slot *slot, const struct path_told *told);

enum answer { ANSWER_NONE, ANSWER_THERE, ANSWER_NOT_NEEDED };

/* About a message of `s`, whose send was of `bytes` and has ended. */
enum answer answer_read(struct stream *s, uint32_t number, uint64_t bytes, int64_t ended,
                        struct header *h);

#pragma GCC visibility pop

#endif
