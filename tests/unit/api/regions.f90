! SPDX-License-Identifier: MIT
! A Fortran program names regions through the module; recorder.c stands in for the runtime.
program regions
  use loupe
  implicit none
  integer, external :: recorder_is
  character(len=20) :: padded

  padded = 'inner'
  call loupe_begin('outer loop')
  call loupe_begin(padded)
  call loupe_end(padded)
  call loupe_end('outer loop')
  if (recorder_is('begin(outer loop)begin(inner)end(inner)end(outer loop)') /= 0) then
    print '(a)', 'ok 1 - begins and ends arrive in order, without padding'
  else
    print '(a)', 'not ok 1 - begins and ends arrive in order, without padding'
  end if
  print '(a)', '1..1'
end program regions
