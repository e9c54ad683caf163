/* SPDX-License-Identifier: MIT */
#include "mpi/abi.h"

#if defined(OPEN_MPI)
#include <errno.h>

struct abi_constants abi;

int abi_open(void *(*symbol)(const char *name))
{
    abi.comm_world = symbol("ompi_mpi_comm_world");
    abi.comm_self = symbol("ompi_mpi_comm_self");
    abi.comm_null = symbol("ompi_mpi_comm_null");
    abi.request_null = symbol("ompi_request_null");
    abi.datatype_null = symbol("ompi_mpi_datatype_null");
    abi.byte = symbol("ompi_mpi_byte");
    abi.no_op = symbol("ompi_mpi_op_no_op");
    abi.errors_return = symbol("ompi_mpi_errors_return");
    return abi.comm_world && abi.comm_self && abi.comm_null && abi.request_null &&
                   abi.datatype_null && abi.byte && abi.no_op && abi.errors_return
               ? 0
               : -ENOENT;
}
#else
int abi_open(void *(*symbol)(const char *name))
{
    (void)symbol;
    return 0;
}
#endif
