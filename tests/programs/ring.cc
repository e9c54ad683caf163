/* SPDX-License-Identifier: MIT */
/* The ring in C++: the calls stand in a template's member and in a lambda. */
#include "checksum.h"

#include <vector>

namespace
{
template <typename T> class Ring
{
    std::vector<T> token;
    int left, right;

  public:
    Ring(int count, int rank, int size)
        : token(static_cast<size_t>(count)), left((rank + size - 1) % size),
          right((rank + 1) % size)
    {
    }
    __attribute__((noinline)) void send(int tag)
    {
        /* @send */
        MPI_Send(token.data(), bytes(), MPI_BYTE, right, tag, MPI_COMM_WORLD);
        token[0] += 1;
    }
    void receive(int tag)
    {
        auto get = [&](int from) {
            /* @recv */
            MPI_Recv(token.data(), bytes(), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            token[0] += 1;
        };
        get(left);
    }
    int bytes() const
    {
        return static_cast<int>(token.size() * sizeof(T));
    }
    uint64_t checksum() const
    {
        return mix(1, token.data(), token.size() * sizeof(T));
    }
};
} // namespace

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argument(argc, argv, 1, 10);
    Ring<double> ring(argument(argc, argv, 2, 8), rank, size);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0)
            ring.send(i);
        ring.receive(i);
        if (rank != 0)
            ring.send(i);
    }
    print_checksum(ring.checksum());
    MPI_Finalize();
    return 0;
}
