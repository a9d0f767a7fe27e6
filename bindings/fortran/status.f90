! SPDX-License-Identifier: BSD-3-Clause
!> How calls end, texts to and from C, and constants. Part of the module tailrace.
module tailrace_m_status
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: tailrace_error, tailrace_error_errno, tailrace_error_rank, tailrace_error_path, &
            tailrace_error_step, tailrace_version, tailrace_now_s
  public :: settle, to_c, from_c, reversed, fail, narrow

  !> What `stat` is: the kinds of failure of C and C++.
  integer, parameter, public :: tailrace_ok = 0, tailrace_invalid_input = 1, tailrace_io = 2, &
                                tailrace_mpi = 3, tailrace_corrupt = 4, tailrace_internal = 5
  integer, parameter, public :: tailrace_float32 = 0, tailrace_float64 = 1, tailrace_int32 = 2, &
                                tailrace_int64 = 3, tailrace_complex64 = 10, &
                                tailrace_complex128 = 11
  integer, parameter, public :: tailrace_sum = 0, tailrace_min = 1, tailrace_max = 2
  integer, parameter, public :: tailrace_max_dims = 5

  interface
    function c_error() bind(C, name="tailrace_error") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_error_path() bind(C, name="tailrace_error_path") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_version() bind(C, name="tailrace_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_error_errno() bind(C, name="tailrace_error_errno") result(number)
      import :: c_int
      integer(c_int) :: number
    end function
    function c_error_rank() bind(C, name="tailrace_error_rank") result(rank)
      import :: c_int
      integer(c_int) :: rank
    end function
    function c_error_step() bind(C, name="tailrace_error_step") result(step)
      import :: c_int64_t
      integer(c_int64_t) :: step
    end function
    function c_now_s() bind(C, name="tailrace_now_s") result(seconds)
      import :: c_double
      real(c_double) :: seconds
    end function
    function c_fail(status, text) bind(C, name="tailrace_fail") result(same)
      import :: c_int, c_char
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: same
    end function
    subroutine c_stop(text) bind(C, name="tailrace_f_stop")
      import :: c_ptr
      type(c_ptr), value :: text
    end subroutine
    function c_strlen(text) bind(C, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> Ends a call: `stat` and `errmsg` are set; without `stat`, a failure ends the job with its text.
  subroutine settle(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (present(stat)) stat = status
    if (status == tailrace_ok) return
    if (present(errmsg)) errmsg = tailrace_error()
    if (.not. present(stat)) call c_stop(c_error())
  end subroutine

  !> A failure that this face finds itself.
  integer(c_int) function fail(text)
    character(len=*), intent(in) :: text
    fail = c_fail(int(tailrace_invalid_input, c_int), to_c(text))
  end function

  !> Numbers of the library (64 bits) as default integers; `status` becomes a failure where one of
  !> `what` does not fit, and the numbers become 0.
  subroutine narrow(numbers, found, what, status)
    integer(int64), intent(in) :: numbers(:)
    integer, intent(out) :: found(:)
    character(len=*), intent(in) :: what
    integer(c_int), intent(inout) :: status
    found = 0
    if (any(numbers > huge(found)) .or. any(numbers < -int(huge(found), int64))) then
      if (status == tailrace_ok) &
        status = fail(what//": larger than a default integer")
    else
      found = int(numbers)
    end if
  end subroutine

  !> A text for C: without blanks at its end, with a zero.
  pure function to_c(text) result(copy)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: copy
    copy = trim(text)//c_null_char
  end function

  !> A text of C.
  function from_c(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    if (.not. c_associated(address)) then
      text = ""
      return
    end if
    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  !> Numbers of axes in the order of files, from that of Fortran, and back.
  pure function reversed(numbers) result(others)
    integer(int64), intent(in) :: numbers(:)
    integer(c_int64_t) :: others(size(numbers))
    others = numbers(size(numbers):1:-1)
  end function

  !> Text of the last failed call of this thread.
  function tailrace_error() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_error())
  end function
  !> errno of its system call, or 0.
  integer function tailrace_error_errno()
    tailrace_error_errno = c_error_errno()
  end function
  !> The rank that failed, or -1.
  integer function tailrace_error_rank()
    tailrace_error_rank = c_error_rank()
  end function
  !> The file, or "".
  function tailrace_error_path() result(path)
    character(len=:), allocatable :: path
    path = from_c(c_error_path())
  end function
  !> The step of that file, or -1.
  integer(int64) function tailrace_error_step()
    tailrace_error_step = c_error_step()
  end function
  !> Version of the library.
  function tailrace_version() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_version())
  end function
  !> Seconds of the library's clock.
  real(real64) function tailrace_now_s()
    tailrace_now_s = c_now_s()
  end function

end module tailrace_m_status
