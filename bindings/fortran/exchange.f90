! SPDX-License-Identifier: BSD-3-Clause
!> Exchanges. Part of the module tailrace.
module tailrace_m_exchange
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> Moves arrays from one layout to another, again and again.
  type, public :: tailrace_exchange
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: num_fields = 1
    integer(c_int64_t), private :: item_bytes = 8
    integer(c_int), private :: from_dims = 0, to_dims = 0 ! 0: contiguous
    integer(c_int64_t), private :: from_strides(tailrace_max_dims) = 0
    integer(c_int64_t), private :: to_strides(tailrace_max_dims) = 0
  contains
    procedure :: create, run, start, progress, finish, method, why, buffer_bytes, destroy
    final :: finalize
  end type

contains

  !> From layout `from` to layout `to`, of items of `item_bytes` (default 8). Arrays are contiguous,
  !> or, where a memory is given, sections with its strides. With `num_fields` above 1 the arrays
  !> have the fields along their last axis. Fails on all ranks alike. Collective, blocking.
  subroutine create(self, comm, from, to, item_bytes, num_fields, in_place, method, from_memory, &
                    to_memory, stat, errmsg)
    class(tailrace_exchange), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_layout), intent(in) :: from, to
    integer, intent(in), optional :: item_bytes, num_fields
    logical, intent(in), optional :: in_place
    character(len=*), intent(in), optional :: method
    type(tailrace_memory), intent(in), optional :: from_memory, to_memory
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_exchange_options) :: options
    type(c_ptr) :: before, after, source
    integer(c_int) :: status
    character(kind=c_char, len=:), allocatable, target :: name
    call self%destroy()
    options = c_exchange_defaults()
    if (present(item_bytes)) options%item_bytes = item_bytes
    if (present(num_fields)) options%num_fields = int(num_fields, c_int)
    if (present(in_place)) options%in_place = merge(1, 0, in_place)
    call point_to(options%method, method, name)
    before = c_null_ptr
    after = c_null_ptr
    self%from_dims = 0
    self%to_dims = 0
    if (present(from_memory)) then
      before = from_memory%handle
      self%from_dims = from_memory%num_dims
      self%from_strides = from_memory%strides
    end if
    if (present(to_memory)) then
      after = to_memory%handle
      self%to_dims = to_memory%num_dims
      self%to_strides = to_memory%strides
    end if
    self%num_fields = options%num_fields
    self%item_bytes = options%item_bytes
    source = from%handle
    if (present(from_memory)) source = if_made(from_memory, source)
    if (present(to_memory)) source = if_made(to_memory, source)
    status = c_exchange_create(comm%handle, source, before, to%handle, after, options, self%handle)
    if (status /= tailrace_ok .and. c_associated(from%handle) .and. .not. c_associated(source)) &
      status = fail("create: a memory is given that neither of nor ordered has made")
    call settle(status, stat, errmsg)
  contains
    !> The layout, or NULL, which all ranks refuse together.
    function if_made(memory, layout) result(same)
      type(tailrace_memory), intent(in) :: memory
      type(c_ptr), intent(in) :: layout
      type(c_ptr) :: same
      same = layout
      if (.not. c_associated(memory%handle)) same = c_null_ptr
    end function
  end subroutine

  !> Moves `source` to `destination`. Nothing is copied besides. Collective, blocking.
  subroutine run(self, source, destination, stat, errmsg)
    class(tailrace_exchange), intent(inout) :: self
    type(*), dimension(..), intent(in) :: source
    type(*), dimension(..), intent(inout) :: destination
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_exchange(self%handle, 0_c_int, self%num_fields, self%item_bytes, source, &
                             self%from_dims, self%from_strides, destination, self%to_dims, &
                             self%to_strides), stat, errmsg)
  end subroutine

  !> Begins the same: until `finish` the source stays unchanged and the destination untouched; give
  !> both the attribute ASYNCHRONOUS. Collective, does not wait for other ranks to deliver.
  subroutine start(self, source, destination, stat, errmsg)
    class(tailrace_exchange), intent(inout) :: self
    type(*), dimension(..), intent(in), asynchronous :: source
    type(*), dimension(..), intent(inout), asynchronous :: destination
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_exchange(self%handle, 1_c_int, self%num_fields, self%item_bytes, source, &
                             self%from_dims, self%from_strides, destination, self%to_dims, &
                             self%to_strides), stat, errmsg)
  end subroutine

  include "exchange.inc"

end module tailrace_m_exchange
