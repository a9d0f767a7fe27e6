! SPDX-License-Identifier: BSD-3-Clause
!> Lines of all ranks through one. Part of the module tailrace.
module tailrace_m_log
  use, intrinsic :: iso_c_binding
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_status
  implicit none
  private

  !> A funnel for what the ranks print: info from rank 0 only, warnings and errors from any rank,
  !> identical lines once with their number and ranks.
  type, public :: tailrace_log
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: create, info, warning, error, progress, finish, destroy
    final :: finalize
  end type

contains

  !> `file`: "stderr" (default), "stdout", or a file that lines are added to. Collective, blocking.
  subroutine create(self, comm, file, stat, errmsg)
    class(tailrace_log), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in), optional :: file
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_log_options) :: options
    character(kind=c_char, len=:), allocatable, target :: name
    call self%destroy()
    options = c_log_defaults()
    call point_to(options%target, file, name)
    call settle(c_log_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  !> A line of rank 0. Local, never blocks.
  subroutine info(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_log_write(self%handle, 1_c_int, to_c(text)))
  end subroutine

  !> Local, never blocks.
  subroutine warning(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_log_write(self%handle, 2_c_int, to_c(text)))
  end subroutine

  !> Local, never blocks.
  subroutine error(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_log_write(self%handle, 3_c_int, to_c(text)))
  end subroutine

  include "log.inc"

end module tailrace_m_log
