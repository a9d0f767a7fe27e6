! SPDX-License-Identifier: BSD-3-Clause
!> Reductions. Part of the module tailrace.
module tailrace_m_reduction
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_m_comm
  use tailrace_m_status
  implicit none
  private

  !> Allreduce, reduce, barrier and dot products by the fastest method. Arrays are contiguous, of
  !> real32, real64, their complex kinds, int32 or int64. All ranks make the same calls.
  type, public :: tailrace_reduction
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: create, allreduce, reduce, barrier, dot, start_allreduce, progress, finish, &
                 method, why, destroy
    final :: finalize
  end type

  type, bind(C) :: c_options
    integer(c_int) :: type
    integer(c_int64_t) :: max_items
    type(c_ptr) :: method
  end type

  interface
    function c_defaults() bind(C, name="tailrace_reduction_defaults") result(options)
      import :: c_options
      type(c_options) :: options
    end function
    function c_create(comm, options, reduction) bind(C, name="tailrace_reduction_create") &
        result(status)
      import :: c_int, c_ptr, c_options
      type(c_ptr), value :: comm
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: reduction
      integer(c_int) :: status
    end function
    function c_reduce(reduction, starts, to_all, values, op, root) &
        bind(C, name="tailrace_f_reduce") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      integer(c_int), value :: starts, to_all, op, root
      type(*), dimension(..) :: values
      integer(c_int) :: status
    end function
    function c_dot(reduction, x, y, result) bind(C, name="tailrace_f_dot") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      type(*), dimension(..), intent(in) :: x, y
      type(*), dimension(..) :: result
      integer(c_int) :: status
    end function
    function c_barrier(reduction) bind(C, name="tailrace_reduction_barrier") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      integer(c_int) :: status
    end function
    function c_progress(reduction, done) bind(C, name="tailrace_reduction_progress") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      integer(c_int), intent(inout) :: done
      integer(c_int) :: status
    end function
    function c_finish(reduction) bind(C, name="tailrace_reduction_finish") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      integer(c_int) :: status
    end function
    function c_method(reduction, text) bind(C, name="tailrace_reduction_method") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_why(reduction, text) bind(C, name="tailrace_reduction_why") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: reduction
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_destroy(reduction) bind(C, name="tailrace_reduction_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: reduction
      integer(c_int) :: status
    end function
  end interface

contains

  !> For arrays of at most `max_items` items (default 1); methods are timed with numbers of `type`
  !> (default tailrace_float64). Collective, blocking.
  subroutine create(self, comm, max_items, type, method, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in), optional :: max_items, type
    character(len=*), intent(in), optional :: method
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_options) :: options
    character(kind=c_char, len=:), allocatable, target :: name
    call self%destroy()
    options = c_defaults()
    if (present(max_items)) options%max_items = max_items
    if (present(type)) options%type = int(type, c_int)
    if (present(method)) then
      name = to_c(method)
      options%method = c_loc(name)
    end if
    call settle(c_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  !> Replaces `values` by their reduction over all ranks; `op` is tailrace_sum (default), _min or
  !> _max. Collective, blocking.
  subroutine allreduce(self, values, op, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(inout) :: values
    integer, intent(in), optional :: op
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_reduce(self%handle, 0_c_int, 1_c_int, values, chosen(op), 0_c_int), stat, errmsg)
  end subroutine

  !> Replaces `values` of rank `root` alone. Collective, blocking.
  subroutine reduce(self, values, root, op, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(inout) :: values
    integer, intent(in) :: root
    integer, intent(in), optional :: op
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_reduce(self%handle, 0_c_int, 0_c_int, values, chosen(op), int(root, c_int)), &
                stat, errmsg)
  end subroutine

  !> Begins an allreduce; `values` stays untouched until `finish`: give it the attribute
  !> ASYNCHRONOUS.
  subroutine start_allreduce(self, values, op, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(inout), asynchronous :: values
    integer, intent(in), optional :: op
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_reduce(self%handle, 1_c_int, 1_c_int, values, chosen(op), 0_c_int), stat, errmsg)
  end subroutine

  !> `result` (real64, or complex(real64) of complex vectors) becomes the sum of conjg(x) * y over
  !> all ranks. Collective, blocking.
  subroutine dot(self, x, y, result, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(in) :: x, y
    type(*), dimension(..), intent(inout) :: result
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_dot(self%handle, x, y, result), stat, errmsg)
  end subroutine

  !> Returns when all ranks have called it. Collective, blocking.
  subroutine barrier(self, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_barrier(self%handle), stat, errmsg)
  end subroutine

  !> Lets the operation advance; true when `finish` would not wait. Local.
  logical function progress(self)
    class(tailrace_reduction), intent(inout) :: self
    integer(c_int) :: done
    done = 0
    call settle(c_progress(self%handle, done))
    progress = done /= 0
  end function

  !> Waits until the result is there. Collective, blocking.
  subroutine finish(self, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_finish(self%handle), stat, errmsg)
  end subroutine

  !> Name of the method. Local.
  function method(self) result(name)
    class(tailrace_reduction), intent(in) :: self
    character(len=:), allocatable :: name
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_method(self%handle, address))
    name = from_c(address)
  end function

  !> Why this method. Local.
  function why(self) result(text)
    class(tailrace_reduction), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_why(self%handle, address))
    text = from_c(address)
  end function

  !> Waits for an operation under way.
  subroutine destroy(self)
    class(tailrace_reduction), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_reduction), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

  integer(c_int) function chosen(op)
    integer, intent(in), optional :: op
    chosen = tailrace_sum
    if (present(op)) chosen = int(op, c_int)
  end function

end module tailrace_m_reduction
