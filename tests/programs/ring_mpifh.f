! SPDX-License-Identifier: MIT
! The ring, with mpif.h in fixed form.
      program ring
      implicit none
      include 'mpif.h'
      integer rank, n, rounds, count, left, right, i, k, ierr
      integer token(1024), mine, sum, w, t, status(MPI_STATUS_SIZE)
      character*16 text
      call MPI_INIT(ierr)
      call getarg(1, text)
      read (text, *) rounds
      call getarg(2, text)
      read (text, *) count
      w = MPI_COMM_WORLD
      t = MPI_INTEGER
      do k = 1, count
         token(k) = 0
      end do
      call MPI_COMM_RANK(w, rank, ierr)
      call MPI_COMM_SIZE(w, n, ierr)
      right = mod(rank + 1, n)
      left = mod(rank + n - 1, n)
      do i = 1, rounds
         if (rank .eq. 0) then
! @first-send
            call MPI_SEND(token, count, t, right, i, w, ierr)
! @last-recv
            call MPI_RECV(token, count, t, left, i, w, status, ierr)
         else
! @recv
            call MPI_RECV(token, count, t, left, i, w, status, ierr)
            do k = 1, count
               token(k) = token(k) + rank*k
            end do
! @send
            call MPI_SEND(token, count, t, right, i, w, ierr)
         end if
      end do
      mine = 0
      do k = 1, count
         mine = mine + k*token(k)
      end do
! @reduce
      call MPI_REDUCE(mine, sum, 1, MPI_INTEGER, MPI_SUM, 0, w, ierr)
      if (rank .eq. 0) print '(a,i0)', 'checksum ', sum
      call MPI_FINALIZE(ierr)
      end
