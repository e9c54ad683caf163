! SPDX-License-Identifier: MIT
! Four ranks make communicators from Fortran, through the bindings of either kind.
program ids_f08
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
    implicit none
    interface
        subroutine print_id_of(name, comm) bind(c)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(in) :: comm
        end subroutine
    end interface
    type(MPI_Comm) :: made(5)
    type(MPI_Request) :: request
    integer :: rank, old, i
    external :: make_old

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do i = 1, 2
        call MPI_Comm_dup(MPI_COMM_WORLD, made(1))
        call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, made(2))
        call MPI_Comm_idup(MPI_COMM_WORLD, made(3), request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, 2], [.true., .true.], .false., made(4))
        call make_old(made(2)%MPI_VAL, rank, old)
        made(5)%MPI_VAL = old
        call tell('f-dup', made(1))
        call tell('f-split', made(2))
        call tell('f-idup', made(3))
        call tell('f-cart', made(4))
        call tell('f-inter', made(5))
        call MPI_Comm_free(made(5))
        call MPI_Comm_free(made(4))
        call MPI_Comm_free(made(3))
        call MPI_Comm_free(made(2))
        call MPI_Comm_free(made(1))
    end do
    call MPI_Finalize()

contains

    subroutine tell(name, comm)
        character(*), intent(in) :: name
        type(MPI_Comm), intent(in) :: comm
        character :: digit
        write (digit, '(i1)') i
        call print_id_of(name // '.' // digit // c_null_char, comm%MPI_VAL)
    end subroutine

end program

! Between the halves, as programs of old do.
subroutine make_old(half, rank, new)
    implicit none
    include 'mpif.h'
    integer, intent(in) :: half, rank
    integer, intent(out) :: new
    integer :: error
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 4, new, error)
end subroutine
