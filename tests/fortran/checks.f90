! SPDX-License-Identifier: BSD-3-Clause
!> Failures are counted on each rank, and added up at the end.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tailrace
  implicit none
  integer :: num_failures = 0, this_rank = 0, all_ranks = 1
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    num_failures = num_failures + 1
    write (error_unit, "(a,i0,4a)") "[rank ", this_rank, "] not so: ", what, "; last error: ", &
      tailrace_error()
  end subroutine

  !> A call was refused, with a text in its message.
  subroutine refused(stat, wanted, errmsg, text)
    integer, intent(in) :: stat, wanted
    character(len=*), intent(in) :: errmsg, text
    call check(stat == wanted .and. index(errmsg, text) > 0, "refused with: "//text)
  end subroutine
end module
