! SPDX-License-Identifier: BSD-3-Clause
!> Lines of all ranks through one. Part of the module tailrace.
module tailrace_m_log
  use, intrinsic :: iso_c_binding
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

  type, bind(C) :: c_options
    type(c_ptr) :: target
    integer(c_int) :: level
    real(c_double) :: lines_per_s, repeat_s
    integer(c_int64_t) :: max_lines, max_line_bytes
    real(c_double) :: finish_wait_s
  end type

  interface
    function c_defaults() bind(C, name="tailrace_log_defaults") result(options)
      import :: c_options
      type(c_options) :: options
    end function
    function c_create(comm, options, log) bind(C, name="tailrace_log_create") result(status)
      import :: c_int, c_ptr, c_options
      type(c_ptr), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: log
      integer(c_int) :: status
    end function
    function c_write(log, level, text) bind(C, name="tailrace_log_write") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: log
      integer(c_int), value :: level
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: status
    end function
    function c_progress(log) bind(C, name="tailrace_log_progress") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: log
      integer(c_int) :: status
    end function
    function c_finish(log) bind(C, name="tailrace_log_finish") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: log
      integer(c_int) :: status
    end function
    function c_destroy(log) bind(C, name="tailrace_log_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: log
      integer(c_int) :: status
    end function
  end interface

contains

  !> `file`: "stderr" (default), "stdout", or a file that lines are added to. Collective, blocking.
  subroutine create(self, comm, file, stat, errmsg)
    class(tailrace_log), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in), optional :: file
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_options) :: options
    character(kind=c_char, len=:), allocatable, target :: name
    call self%destroy()
    options = c_defaults()
    if (present(file)) then
      name = to_c(file)
      options%target = c_loc(name)
    end if
    call settle(c_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  !> A line of rank 0. Local, never blocks.
  subroutine info(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_write(self%handle, 1_c_int, to_c(text)))
  end subroutine

  !> Local, never blocks.
  subroutine warning(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_write(self%handle, 2_c_int, to_c(text)))
  end subroutine

  !> Local, never blocks.
  subroutine error(self, text)
    class(tailrace_log), intent(inout) :: self
    character(len=*), intent(in) :: text
    call settle(c_write(self%handle, 3_c_int, to_c(text)))
  end subroutine

  !> Moves lines towards rank 0; once a step. Local, never blocks.
  subroutine progress(self)
    class(tailrace_log), intent(inout) :: self
    call settle(c_progress(self%handle))
  end subroutine

  !> Writes all that is left. Collective, blocking.
  subroutine finish(self)
    class(tailrace_log), intent(inout) :: self
    call settle(c_finish(self%handle))
  end subroutine

  !> Finishes. Collective, blocking.
  subroutine destroy(self)
    class(tailrace_log), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_log), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

end module tailrace_m_log
