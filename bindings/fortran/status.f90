! SPDX-License-Identifier: BSD-3-Clause
!> How calls end, texts to and from C, and constants. Part of the module tailrace.
module tailrace_m_status
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tailrace_m_calls
  implicit none
  private
  public :: tailrace_error, tailrace_error_errno, tailrace_error_rank, tailrace_error_path, &
            tailrace_error_step, tailrace_version, tailrace_now_s
  public :: settle, to_c, from_c, address_of, point_to, reversed, fail, narrow
  !> What `stat` is: the kinds of failure of C and C++.
  public :: tailrace_ok, tailrace_invalid_input, tailrace_io, tailrace_mpi, tailrace_corrupt, &
            tailrace_internal
  public :: tailrace_float32, tailrace_float64, tailrace_int32, tailrace_int64, &
            tailrace_complex64, tailrace_complex128
  public :: tailrace_sum, tailrace_min, tailrace_max, tailrace_max_dims

  interface
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
    if (.not. present(stat)) call c_f_stop(c_error())
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

  !> The address of `copy`, which becomes the text for C; NULL if no text is given.
  function address_of(text, copy) result(address)
    character(len=*), intent(in), optional :: text
    character(kind=c_char, len=:), allocatable, target, intent(inout) :: copy
    type(c_ptr) :: address
    address = c_null_ptr
    call point_to(address, text, copy)
  end function

  !> The same for an option, which keeps its default if no text is given.
  subroutine point_to(address, text, copy)
    type(c_ptr), intent(inout) :: address
    character(len=*), intent(in), optional :: text
    character(kind=c_char, len=:), allocatable, target, intent(inout) :: copy
    if (.not. present(text)) return
    copy = to_c(text)
    address = c_loc(copy)
  end subroutine

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
