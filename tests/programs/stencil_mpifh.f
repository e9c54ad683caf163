! SPDX-License-Identifier: MIT
! The five-point stencil, with mpif.h in fixed form. Rows of the block
! go as a derived datatype.
      program stencil
      implicit none
      include 'mpif.h'
      integer most
      parameter (most = 64)
      integer rank, size, steps, n, dims(2), up, down, left, right
      integer s, i, j, ierr, g, row, d, r(8)
      logical periods(2)
      double precision a(0:most+1, 0:most+1), b(0:most+1, 0:most+1)
      double precision mine, sum
      character*16 text
      call MPI_INIT(ierr)
      call getarg(1, text)
      read (text, *) steps
      call getarg(2, text)
      read (text, *) n
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      dims(1) = 0
      dims(2) = 0
      periods(1) = .false.
      periods(2) = .false.
      d = MPI_DOUBLE_PRECISION
      call MPI_DIMS_CREATE(size, 2, dims, ierr)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &                     g, ierr)
      call MPI_COMM_RANK(g, rank, ierr)
      call MPI_CART_SHIFT(g, 0, 1, up, down, ierr)
      call MPI_CART_SHIFT(g, 1, 1, left, right, ierr)
      call MPI_TYPE_VECTOR(n, 1, most + 2, d, row, ierr)
      call MPI_TYPE_COMMIT(row, ierr)
      do j = 0, n + 1
         do i = 0, n + 1
            a(i, j) = (i + j*(n + 2))*(rank + 1)
            b(i, j) = a(i, j)
         end do
      end do
      do s = 1, steps
! @recv-up
         call MPI_IRECV(a(0, 1), 1, row, up, 1, g, r(1), ierr)
! @recv-down
         call MPI_IRECV(a(n + 1, 1), 1, row, down, 0, g, r(2), ierr)
! @recv-left
         call MPI_IRECV(a(1, 0), n, d, left, 3, g, r(3), ierr)
! @recv-right
         call MPI_IRECV(a(1, n + 1), n, d, right, 2, g, r(4), ierr)
! @send-up
         call MPI_ISEND(a(1, 1), 1, row, up, 0, g, r(5), ierr)
! @send-down
         call MPI_ISEND(a(n, 1), 1, row, down, 1, g, r(6), ierr)
! @send-left
         call MPI_ISEND(a(1, 1), n, d, left, 2, g, r(7), ierr)
! @send-right
         call MPI_ISEND(a(1, n), n, d, right, 3, g, r(8), ierr)
! @waitall
         call MPI_WAITALL(8, r, MPI_STATUSES_IGNORE, ierr)
         do j = 1, n
            do i = 1, n
               b(i, j) = (a(i, j) + a(i - 1, j) + a(i + 1, j)
     &                    + a(i, j - 1) + a(i, j + 1))/5
            end do
         end do
         do j = 1, n
            do i = 1, n
               a(i, j) = b(i, j)
            end do
         end do
      end do
      mine = 0
      do j = 1, n
         do i = 1, n
            mine = mine + a(i, j)
         end do
      end do
! @reduce
      call MPI_REDUCE(mine, sum, 1, d, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a,es23.15)', 'checksum ', sum
      call MPI_TYPE_FREE(row, ierr)
      call MPI_COMM_FREE(g, ierr)
      call MPI_FINALIZE(ierr)
      end
