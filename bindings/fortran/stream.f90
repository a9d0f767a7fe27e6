! SPDX-License-Identifier: BSD-3-Clause
!> A name of 0.1, which compiles for one more release. Part of the module tailrace.
module tailrace_m_stream
  use, intrinsic :: iso_c_binding
  use tailrace_m_calls
  use tailrace_m_contents
  use tailrace_m_status
  implicit none
  private

  !> An output of a session in programs of 0.1: use tailrace_output.
  type, public :: tailrace_stream
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: write => write_file, progress, finish, statistics, describe, last_complete, destroy
    final :: finalize
  end type

contains

  !> As tailrace_output's, with `result` in another place.
  subroutine write_file(self, path, contents, result, stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: result
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status, outcome
    outcome = -1
    status = c_output_write(self%handle, to_c(path), contents%handle)
    if (status == tailrace_ok) status = c_output_last_result(self%handle, outcome)
    call settle(status, stat, errmsg)
    if (present(result)) result = outcome
  end subroutine

  !> tailrace_output's describe_statistics.
  function describe(self) result(text)
    class(tailrace_stream), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: found
    found = c_null_ptr
    call settle(c_output_describe_statistics(self%handle, found))
    text = from_c(found)
  end function

  include "stream.inc"

end module tailrace_m_stream
