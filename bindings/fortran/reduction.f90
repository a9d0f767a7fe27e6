! SPDX-License-Identifier: BSD-3-Clause
!> Reductions. Part of the module tailrace.
module tailrace_m_reduction
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_m_calls
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
    type(c_reduction_options) :: options
    character(kind=c_char, len=:), allocatable, target :: name
    call self%destroy()
    options = c_reduction_defaults()
    if (present(max_items)) options%max_items = max_items
    if (present(type)) options%type = int(type, c_int)
    call point_to(options%method, method, name)
    call settle(c_reduction_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  !> Replaces `values` by their reduction over all ranks; `op` is tailrace_sum (default), _min or
  !> _max. Collective, blocking.
  subroutine allreduce(self, values, op, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(inout) :: values
    integer, intent(in), optional :: op
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_reduce(self%handle, 0_c_int, 1_c_int, values, chosen(op), 0_c_int), stat, &
                errmsg)
  end subroutine

  !> Replaces `values` of rank `root` alone. Collective, blocking.
  subroutine reduce(self, values, root, op, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(inout) :: values
    integer, intent(in) :: root
    integer, intent(in), optional :: op
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_reduce(self%handle, 0_c_int, 0_c_int, values, chosen(op), int(root, c_int)), &
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
    call settle(c_f_reduce(self%handle, 1_c_int, 1_c_int, values, chosen(op), 0_c_int), stat, &
                errmsg)
  end subroutine

  !> `result` (real64, or complex(real64) of complex vectors) becomes the sum of conjg(x) * y over
  !> all ranks. Collective, blocking.
  subroutine dot(self, x, y, result, stat, errmsg)
    class(tailrace_reduction), intent(inout) :: self
    type(*), dimension(..), intent(in) :: x, y
    type(*), dimension(..), intent(inout) :: result
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_dot(self%handle, x, y, result), stat, errmsg)
  end subroutine

  integer(c_int) function chosen(op)
    integer, intent(in), optional :: op
    chosen = tailrace_sum
    if (present(op)) chosen = int(op, c_int)
  end function

  include "reduction.inc"

end module tailrace_m_reduction
