! SPDX-License-Identifier: BSD-3-Clause
!> What is written to files, and their settings. Part of the module tailrace.
module tailrace_m_contents
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> Settings of a file by their MPI-IO names.
  type, public :: tailrace_hints
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: set, destroy => destroy_hints
    final :: finalize_hints
  end type

  !> What is written to a file: made once, changed from step to step. Setting something of a name
  !> that is there replaces it. All local.
  type, public :: tailrace_contents
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: rank = 0
  contains
    procedure :: create => create_contents, step, variable, compress, coordinate, &
      destroy => destroy_contents
    procedure, private :: attribute_int32, attribute_int64, attribute_real, attribute_reals, &
      attribute_text, attribute_real32, attribute_int32s, attribute_int64s, &
      attribute_real32s
    !> attribute(name, value [, of]): of the file, or of the variable or coordinate `of`, which
    !> keeps its type. A list of one item is a list.
    generic :: attribute => attribute_int32, attribute_int64, attribute_real, attribute_reals, &
      attribute_text, attribute_real32, attribute_int32s, &
      attribute_int64s, attribute_real32s
    final :: finalize_contents
  end type

contains

  !> Sets or replaces a hint. Local.
  subroutine set(self, name, value, stat, errmsg)
    class(tailrace_hints), intent(inout) :: self
    character(len=*), intent(in) :: name, value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (.not. c_associated(self%handle)) call settle(c_hints_create(self%handle))
    call settle(c_hints_set(self%handle, to_c(name), to_c(value)), stat, errmsg)
  end subroutine

  !> Empty, for files that the ranks of `comm` write.
  subroutine create_contents(self, comm, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    call self%destroy()
    status = rank_of(comm, self%rank)
    if (status == tailrace_ok) status = c_contents_create(self%handle)
    call settle(status, stat, errmsg)
  end subroutine

  !> An array: this rank's part of `layout`, with the shape of its box, also a section such as
  !> `u(1:nx, 1:ny, 1:nz)` of an array with a halo. It is read by each write that follows, where it
  !> is: give it the attribute TARGET and keep it. Several boxes of a rank go one after another into
  !> a contiguous array of one axis. `dims` names its axes; else x, y, z.
  subroutine variable(self, name, layout, array, dims, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(tailrace_layout), intent(in) :: layout
    type(*), dimension(..), intent(in), target :: array
    character(len=*), intent(in), optional :: dims(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=100), target :: names(tailrace_max_dims)
    type(c_ptr) :: addresses(tailrace_max_dims)
    integer(c_int) :: status
    integer :: d, n
    status = c_f_variable(self%handle, to_c(name), layout%handle, self%rank, array)
    if (status == tailrace_ok .and. present(dims)) then
      n = size(dims)
      if (n > tailrace_max_dims .or. len(dims) >= len(names)) then
        status = fail("variable: dims are too many or too long")
      else
        do d = 1, n
          names(d) = trim(dims(n + 1 - d))//c_null_char
          addresses(d) = c_loc(names(d))
        end do
        status = c_contents_dims(self%handle, to_c(name), int(n, c_int), addresses)
      end if
    end if
    call settle(status, stat, errmsg)
  end subroutine

  include "contents.inc"

end module tailrace_m_contents
