! SPDX-License-Identifier: MIT
! The ring, with the module mpi_f08: a token of COUNT integers, ROUNDS times.
program ring
   use mpi_f08
   implicit none
   integer :: rank, n, rounds, count, left, right, i, k
   integer, allocatable :: token(:)
   integer :: mine, sum
   character(len=16) :: text
   call MPI_Init()
   call get_command_argument(1, text)
   read (text, *) rounds
   call get_command_argument(2, text)
   read (text, *) count
   allocate (token(count))
   token = 0
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, n)
   right = mod(rank + 1, n)
   left = mod(rank + n - 1, n)
   do i = 1, rounds
      if (rank == 0) then
         ! @first-send
         call MPI_Send(token, count, MPI_INTEGER, right, i, MPI_COMM_WORLD)
         ! @last-recv
         call MPI_Recv(token, count, MPI_INTEGER, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      else
         ! @recv
         call MPI_Recv(token, count, MPI_INTEGER, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
         do k = 1, count
            token(k) = token(k) + rank*k
         end do
         ! @send
         call MPI_Send(token, count, MPI_INTEGER, right, i, MPI_COMM_WORLD)
      end if
   end do
   mine = 0
   do k = 1, count
      mine = mine + k*token(k)
   end do
   ! @reduce
   call MPI_Reduce(mine, sum, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
   if (rank == 0) print '(a,i0)', 'checksum ', sum
   call MPI_Finalize()
end program ring
