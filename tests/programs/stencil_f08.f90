! SPDX-License-Identifier: MIT
! The five-point stencil, with the module mpi_f08. Rows of the block go as a derived datatype.
program stencil
   use mpi_f08
   implicit none
   integer :: rank, size, steps, n, dims(2), up, down, left, right, s, i, j
   type(MPI_Comm) :: grid
   type(MPI_Datatype) :: row
   type(MPI_Request) :: r(8)
   logical :: periods(2)
   double precision, allocatable, asynchronous :: a(:, :)
   double precision, allocatable :: b(:, :)
   double precision :: mine, sum
   character(len=16) :: text
   call MPI_Init()
   call get_command_argument(1, text)
   read (text, *) steps
   call get_command_argument(2, text)
   read (text, *) n
   call MPI_Comm_size(MPI_COMM_WORLD, size)
   dims = 0
   periods = .false.
   call MPI_Dims_create(size, 2, dims)
   call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid)
   call MPI_Comm_rank(grid, rank)
   call MPI_Cart_shift(grid, 0, 1, up, down)
   call MPI_Cart_shift(grid, 1, 1, left, right)
   call MPI_Type_vector(n, 1, n + 2, MPI_DOUBLE_PRECISION, row)
   call MPI_Type_commit(row)
   allocate (a(0:n + 1, 0:n + 1), b(0:n + 1, 0:n + 1))
   do j = 0, n + 1
      do i = 0, n + 1
         a(i, j) = (i + j*(n + 2))*(rank + 1)
      end do
   end do
   b = a
   do s = 1, steps
      ! @recv-up
      call MPI_Irecv(a(0, 1), 1, row, up, 1, grid, r(1))
      ! @recv-down
      call MPI_Irecv(a(n + 1, 1), 1, row, down, 0, grid, r(2))
      ! @recv-left
      call MPI_Irecv(a(1, 0), n, MPI_DOUBLE_PRECISION, left, 3, grid, r(3))
      ! @recv-right
      call MPI_Irecv(a(1, n + 1), n, MPI_DOUBLE_PRECISION, right, 2, grid, r(4))
      ! @send-up
      call MPI_Isend(a(1, 1), 1, row, up, 0, grid, r(5))
      ! @send-down
      call MPI_Isend(a(n, 1), 1, row, down, 1, grid, r(6))
      ! @send-left
      call MPI_Isend(a(1, 1), n, MPI_DOUBLE_PRECISION, left, 2, grid, r(7))
      ! @send-right
      call MPI_Isend(a(1, n), n, MPI_DOUBLE_PRECISION, right, 3, grid, r(8))
      ! @waitall
      call MPI_Waitall(8, r, MPI_STATUSES_IGNORE)
      do j = 1, n
         do i = 1, n
            b(i, j) = (a(i, j) + a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))/5
         end do
      end do
      a = b
   end do
   mine = 0
   do j = 1, n
      do i = 1, n
         mine = mine + a(i, j)
      end do
   end do
   ! @reduce
   call MPI_Reduce(mine, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
   if (rank == 0) print '(a,es23.15)', 'checksum ', sum
   call MPI_Type_free(row)
   call MPI_Comm_free(grid)
   call MPI_Finalize()
end program stencil
