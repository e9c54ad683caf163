# SPDX-License-Identifier: MIT
"""The ring in Python: buffers, pickled objects, a collective."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
rounds, count = int(sys.argv[1]), int(sys.argv[2])
token = array("i", [0] * count)
right, left = (rank + 1) % size, (rank - 1) % size
for i in range(rounds):
    if rank == 0:
        comm.Send([token, MPI.INT], dest=right, tag=i)
        comm.Recv([token, MPI.INT], source=left, tag=i)
    else:
        comm.Recv([token, MPI.INT], source=left, tag=i)
        for k in range(count):
            token[k] += rank * (k + 1)
        comm.Send([token, MPI.INT], dest=right, tag=i)
parts = comm.gather({"rank": rank, "sum": sum(token)}, root=0)
total = array("i", [0])
comm.Allreduce([array("i", [sum(token)]), MPI.INT], [total, MPI.INT])
if rank == 0:
    print("checksum", total[0], [p["sum"] for p in parts], flush=True)
