/* SPDX-License-Identifier: MIT */
/* The few things that differ between the ABIs beyond mpi.h: how to look into a status without a
 * call, and handles that are addresses of the library's data. */
#ifndef LOUPE_MPI_ABI_H
#define LOUPE_MPI_ABI_H

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#define HANDLE(h) ((uintptr_t)(h))

#if defined(OPEN_MPI)

/* Addresses of data in libmpi: looked up when the shim is opened, so that it need not be linked
 * with (and thus never loads) a libmpi of its own. */
struct abi_constants {
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Datatype datatype_null, byte;
    MPI_Op no_op;
    MPI_Errhandler errors_return;
};
extern struct abi_constants abi;
#define ABI_COMM_WORLD    abi.comm_world
#define ABI_COMM_SELF     abi.comm_self
#define ABI_COMM_NULL     abi.comm_null
#define ABI_REQUEST_NULL  abi.request_null
#define ABI_DATATYPE_NULL abi.datatype_null
#define ABI_BYTE          abi.byte
#define ABI_NO_OP         abi.no_op
#define ABI_ERRORS_RETURN abi.errors_return

static inline uint64_t abi_status_bytes(const MPI_Status *s)
{
    return s->_ucount;
}

static inline bool abi_status_cancelled(const MPI_Status *s)
{
    return s->_cancelled;
}

/* Not cancelled; the bytes then. MPICH's are in two parts, of which one says it all mostly. */
static inline bool abi_status_plain(const MPI_Status *s, uint64_t *bytes)
{
    *bytes = s->_ucount;
    return !s->_cancelled;
}

#else /* MPICH and those who keep its ABI */

#define ABI_COMM_WORLD    MPI_COMM_WORLD
#define ABI_COMM_SELF     MPI_COMM_SELF
#define ABI_COMM_NULL     MPI_COMM_NULL
#define ABI_REQUEST_NULL  MPI_REQUEST_NULL
#define ABI_DATATYPE_NULL MPI_DATATYPE_NULL
#define ABI_BYTE          MPI_BYTE
#define ABI_NO_OP         MPI_NO_OP
#define ABI_ERRORS_RETURN MPI_ERRORS_RETURN

static inline uint64_t abi_status_bytes(const MPI_Status *s)
{
    return (uint64_t)((unsigned)s->count_hi_and_cancelled >> 1) << 32 | (unsigned)s->count_lo;
}

static inline bool abi_status_cancelled(const MPI_Status *s)
{
    return s->count_hi_and_cancelled & 1;
}

static inline bool abi_status_plain(const MPI_Status *s, uint64_t *bytes)
{
    *bytes = (unsigned)s->count_lo;
    return s->count_hi_and_cancelled == 0;
}

#endif

int abi_open(void *(*symbol)(const char *name));

#endif
