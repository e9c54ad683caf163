/* SPDX-License-Identifier: MIT */
/* Opens two libraries in turn, perhaps at the same address, calls MPI in each, and closes it. */
#include "checksum.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    int rank;
    uint64_t sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6; i++) {
        void *library = dlopen(argv[1 + i % 2], RTLD_NOW);
        int (*call)(int) = NULL;
        if (library)
            *(void **)&call = dlsym(library, "call_mpi");
        if (!call) {
            fprintf(stderr, "%s\n", dlerror());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int k = 0; k < 5; k++)
            sum = sum * 31 + (uint64_t)call(rank + i + k);
        dlclose(library);
    }
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
