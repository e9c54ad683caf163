! SPDX-License-Identifier: MIT
! The ring, with the module mpi: a token of COUNT integers, ROUNDS times.
program ring
   use mpi
   implicit none
   integer :: rank, n, rounds, count, left, right, i, k, ierr
   integer, allocatable :: token(:)
   integer :: mine, sum
   character(len=16) :: text
   call MPI_Init(ierr)
   call get_command_argument(1, text)
   read (text, *) rounds
   call get_command_argument(2, text)
   read (text, *) count
   allocate (token(count))
   token = 0
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
   right = mod(rank + 1, n)
   left = mod(rank + n - 1, n)
   do i = 1, rounds
      if (rank == 0) then
         ! @first-send
         call MPI_Send(token, count, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
         ! @last-recv
         call MPI_Recv(token, count, MPI_INTEGER, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      else
         ! @recv
         call MPI_Recv(token, count, MPI_INTEGER, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
         do k = 1, count
            token(k) = token(k) + rank*k
         end do
         ! @send
         call MPI_Send(token, count, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
      end if
   end do
   mine = 0
   do k = 1, count
      mine = mine + k*token(k)
   end do
   ! @reduce
   call MPI_Reduce(mine, sum, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
   if (rank == 0) print '(a,i0)', 'checksum ', sum
   call MPI_Finalize(ierr)
end program ring
