! SPDX-License-Identifier: BSD-3-Clause
!> Reads variables of files on any number of ranks. Part of the module tailrace.
module tailrace_m_input
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> An HDF5 or NetCDF-4 file, by whatever written.
  type, public :: tailrace_input
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: rank = 0
  contains
    procedure :: open => open_file, num_names, name, extents, type => type_of, has_attribute, &
      coordinate, read => read_part, read_all, destroy
    procedure, private :: attribute_int32, attribute_int64, attribute_real, attribute_reals, &
      attribute_text
    !> attribute(name, value): an attribute of the file; texts and lists are allocatable. Local.
    generic :: attribute => attribute_int32, attribute_int64, attribute_real, attribute_reals, &
      attribute_text
    final :: finalize
  end type

contains

  !> `checks` (default .true.): compare with the checksums that the file has. `buffer_bytes`: of a
  !> rank that reads for others (default 16 MiB), which reads more in rounds. Fails on all ranks
  !> alike: tailrace_io if the file is missing, tailrace_corrupt if it is not whole. Collective,
  !> blocking.
  subroutine open_file(self, comm, path, checks, group_size, hints, buffer_bytes, stat, errmsg)
    class(tailrace_input), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in) :: path
    logical, intent(in), optional :: checks
    integer, intent(in), optional :: group_size, buffer_bytes
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_input_options) :: options
    integer(c_int) :: status
    call self%destroy()
    options = c_input_defaults()
    if (present(checks)) options%checks = merge(1, 0, checks)
    if (present(group_size)) options%group_size = int(group_size, c_int)
    if (present(buffer_bytes)) options%buffer_bytes = int(buffer_bytes, c_int64_t)
    if (present(hints)) options%hints = hints%handle
    status = rank_of(comm, self%rank)
    if (status == tailrace_ok) status = c_input_open(comm%handle, to_c(path), options, self%handle)
    call settle(status, stat, errmsg)
  end subroutine

  !> Variables that can be read, coordinates left out. Local.
  integer function num_names(self)
    class(tailrace_input), intent(in) :: self
    integer(c_int64_t) :: found
    integer(c_int) :: status
    integer :: number(1)
    found = 0
    status = c_input_num_names(self%handle, found)
    call narrow([found], number, "number of variables", status)
    call settle(status)
    num_names = number(1)
  end function

  !> Name of variable number `index`, from 1. Local.
  function name(self, index) result(text)
    class(tailrace_input), intent(in) :: self
    integer, intent(in) :: index
    character(len=:), allocatable :: text
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_input_name(self%handle, int(index - 1, c_int64_t), address))
    text = from_c(address)
  end function

  !> Extents of variable `name`, first axis first; it is refused, with the names there are, if
  !> absent. Local.
  subroutine extents(self, name, found, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    integer, allocatable, intent(out) :: found(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: num_dims, status
    integer(c_int64_t) :: numbers(tailrace_max_dims)
    num_dims = 0
    numbers = 0
    status = c_input_extents(self%handle, to_c(name), num_dims, numbers)
    allocate (found(num_dims))
    call narrow(reversed(numbers(:num_dims)), found, "extents of variable "//name, status)
    call settle(status, stat, errmsg)
  end subroutine

  !> Type of variable `name`, e.g. tailrace_float64. Local.
  subroutine type_of(self, name, found, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    integer, intent(out) :: found
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: number
    number = -1
    call settle(c_input_type(self%handle, to_c(name), number), stat, errmsg)
    found = number
  end subroutine

  subroutine attribute_int32(self, name, value, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    integer(int32), intent(out) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int) :: status
    found = 0
    status = c_input_attribute_int(self%handle, to_c(name), found)
    if (found > huge(value) .or. found < -huge(value) - 1_int64) then
      status = fail("attribute "//name//" does not fit into int32")
      found = 0
    end if
    value = int(found, int32)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine attribute_int64(self, name, value, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(out) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    value = 0
    call settle(c_input_attribute_int(self%handle, to_c(name), value), stat, errmsg)
  end subroutine

  subroutine attribute_real(self, name, value, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(out) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    value = 0
    call settle(c_input_attribute_double(self%handle, to_c(name), value), stat, errmsg)
  end subroutine

  subroutine attribute_reals(self, name, value, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), allocatable, intent(out) :: value(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: none(1)
    integer(c_int64_t) :: count
    integer(c_int) :: status
    count = 0
    status = c_input_attribute_doubles(self%handle, to_c(name), 0_c_int64_t, none, count)
    allocate (value(count))
    if (status == tailrace_ok) then
      status = c_input_attribute_doubles(self%handle, to_c(name), count, value, count)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine attribute_text(self, name, value, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    character(len=:), allocatable, intent(out) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_input_attribute_text(self%handle, to_c(name), address), stat, errmsg)
    value = from_c(address)
  end subroutine

  !> Values of a coordinate. Local.
  subroutine coordinate(self, name, values, stat, errmsg)
    class(tailrace_input), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), allocatable, intent(out) :: values(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: none(1)
    integer(c_int64_t) :: count
    integer(c_int) :: status
    count = 0
    status = c_input_coordinate(self%handle, to_c(name), 0_c_int64_t, none, count)
    allocate (values(count))
    if (status == tailrace_ok) then
      status = c_input_coordinate(self%handle, to_c(name), count, values, count)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  !> Fills this rank's part of `layout`: an array with the shape of its box, or a section of one.
  !> Numbers are converted to the array's type; one that does not fit is tailrace_invalid_input.
  !> Fails on all ranks alike. Collective, blocking.
  subroutine read_part(self, name, layout, array, stat, errmsg)
    class(tailrace_input), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(tailrace_layout), intent(in) :: layout
    type(*), dimension(..), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_read(self%handle, to_c(name), layout%handle, self%rank, array), stat, errmsg)
  end subroutine

  !> Fills `array` of every rank, contiguous, with the whole variable. Collective, blocking.
  subroutine read_all(self, name, array, stat, errmsg)
    class(tailrace_input), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_read_all(self%handle, to_c(name), array), stat, errmsg)
  end subroutine

  include "input.inc"

end module tailrace_m_input
