! SPDX-License-Identifier: MIT
! Regions for Fortran programs; include/loupe.h says what they do.
!
!     use loupe
!     call loupe_begin('assemble')
!     ...
!     call loupe_end('assemble')
module loupe
  implicit none
  private
  public :: loupe_begin, loupe_end

  interface
    subroutine loupe_begin(name)
      character(len=*), intent(in) :: name
    end subroutine loupe_begin

    subroutine loupe_end(name)
      character(len=*), intent(in) :: name
    end subroutine loupe_end
  end interface
end module loupe
