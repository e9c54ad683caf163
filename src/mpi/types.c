/* SPDX-License-Identifier: MIT */
/* Sizes of datatypes, looked up at their first use at a site; good while shim_type_epoch stands
 * still. */
#include "mpi/shim.h"

uint32_t shim_type_epoch = 1;

void type_forget(void)
{
    __atomic_fetch_add(&shim_type_epoch, 1, __ATOMIC_RELEASE);
    epoch_moves();
}

uint64_t type_size_slow(struct site *site, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == ABI_DATATYPE_NULL) /* of which there are none; to ask for its size is an error */
        return 0;
    if (PM(Type_size_x)(type, &size) != MPI_SUCCESS || size < 0)
        size = 0;
    site->type = HANDLE(type);
    site->type_epoch = shim_type_epoch;
    site->type_size = (uint64_t)size;
    return site->type_size;
}
