! SPDX-License-Identifier: BSD-3-Clause
!> What is written to files, and their settings. Part of the module tailrace.
module tailrace_m_contents
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
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
    procedure :: create => create_contents, step, variable, coordinate, &
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

  interface
    function c_hints_create(hints) bind(C, name="tailrace_hints_create") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: hints
      integer(c_int) :: status
    end function
    function c_hints_set(hints, name, value) bind(C, name="tailrace_hints_set") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: hints
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int) :: status
    end function
    function c_hints_destroy(hints) bind(C, name="tailrace_hints_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: hints
      integer(c_int) :: status
    end function
    function c_contents_create(contents) bind(C, name="tailrace_contents_create") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: contents
      integer(c_int) :: status
    end function
    function c_contents_destroy(contents) bind(C, name="tailrace_contents_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: contents
      integer(c_int) :: status
    end function
    function c_step(contents, step) bind(C, name="tailrace_contents_step") result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: contents
      integer(c_int64_t), value :: step
      integer(c_int) :: status
    end function
    function c_variable(contents, name, layout, rank, array) &
        bind(C, name="tailrace_f_variable") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: contents, layout
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: rank
      type(*), dimension(..), intent(in) :: array
      integer(c_int) :: status
    end function
    function c_dims(contents, name, num_dims, dims) bind(C, name="tailrace_contents_dims") &
        result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: contents
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: num_dims
      type(c_ptr), intent(in) :: dims(*)
      integer(c_int) :: status
    end function
    function c_coordinate(contents, name, values, num_values) &
        bind(C, name="tailrace_contents_coordinate") result(status)
      import :: c_int, c_int64_t, c_ptr, c_char, c_double
      type(c_ptr), value :: contents
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int64_t), value :: num_values
      integer(c_int) :: status
    end function
    function c_attribute_int(contents, of, name, value) &
        bind(C, name="tailrace_contents_attribute_int") result(status)
      import :: c_int, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: contents, of
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
      integer(c_int) :: status
    end function
    function c_attribute_double(contents, of, name, value) &
        bind(C, name="tailrace_contents_attribute_double") result(status)
      import :: c_int, c_ptr, c_char, c_double
      type(c_ptr), value :: contents, of
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int) :: status
    end function
    function c_attribute_doubles(contents, of, name, values, num_values) &
        bind(C, name="tailrace_contents_attribute_doubles") result(status)
      import :: c_int, c_int64_t, c_ptr, c_char, c_double
      type(c_ptr), value :: contents, of
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(in) :: values(*)
      integer(c_int64_t), value :: num_values
      integer(c_int) :: status
    end function
    function c_attribute_number(contents, of, name, type, value) &
        bind(C, name="tailrace_contents_attribute_number") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: contents, of, value
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_int) :: status
    end function
    function c_attribute_numbers(contents, of, name, type, values, num_values) &
        bind(C, name="tailrace_contents_attribute_numbers") result(status)
      import :: c_int, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: contents, of, values
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: num_values
      integer(c_int) :: status
    end function
    function c_attribute_text(contents, of, name, value) &
        bind(C, name="tailrace_contents_attribute_text") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: contents, of
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int) :: status
    end function
  end interface

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

  subroutine destroy_hints(self)
    class(tailrace_hints), intent(inout) :: self
    call settle(c_hints_destroy(self%handle))
  end subroutine

  subroutine finalize_hints(self)
    type(tailrace_hints), intent(inout) :: self
    integer(c_int) :: status
    status = c_hints_destroy(self%handle)
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

  !> Number of the step, named in error messages.
  subroutine step(self, number, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    integer, intent(in) :: number
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_step(self%handle, int(number, c_int64_t)), stat, errmsg)
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
    status = c_variable(self%handle, to_c(name), layout%handle, self%rank, array)
    if (status == tailrace_ok .and. present(dims)) then
      n = size(dims)
      if (n > tailrace_max_dims .or. len(dims) >= len(names)) then
        status = fail("variable: dims are too many or too long")
      else
        do d = 1, n
          names(d) = trim(dims(n + 1 - d))//c_null_char
          addresses(d) = c_loc(names(d))
        end do
        status = c_dims(self%handle, to_c(name), int(n, c_int), addresses)
      end if
    end if
    call settle(status, stat, errmsg)
  end subroutine

  !> A small array that every rank has alike, copied; `name` is a dimension's.
  subroutine coordinate(self, name, values, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: values(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_coordinate(self%handle, to_c(name), values, size(values, kind=c_int64_t)), &
                stat, errmsg)
  end subroutine

  subroutine attribute_int32(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int32), intent(in), target :: value
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call set_numbers(self, name, tailrace_int32, c_loc(value), -1_c_int64_t, of, stat, errmsg)
  end subroutine

  subroutine attribute_real32(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in), target :: value
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call set_numbers(self, name, tailrace_float32, c_loc(value), -1_c_int64_t, of, stat, errmsg)
  end subroutine

  subroutine attribute_int32s(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: value(:)
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int32), allocatable, target :: values(:)
    values = value
    call set_numbers(self, name, tailrace_int32, c_loc(values), &
                     size(values, kind=c_int64_t), of, stat, errmsg)
  end subroutine

  subroutine attribute_int64s(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: value(:)
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int64), allocatable, target :: values(:)
    values = value
    call set_numbers(self, name, tailrace_int64, c_loc(values), &
                     size(values, kind=c_int64_t), of, stat, errmsg)
  end subroutine

  subroutine attribute_real32s(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in) :: value(:)
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(real32), allocatable, target :: values(:)
    values = value
    call set_numbers(self, name, tailrace_float32, c_loc(values), &
                     size(values, kind=c_int64_t), of, stat, errmsg)
  end subroutine

  !> `count` numbers of `type`; one that is no list if it is negative.
  subroutine set_numbers(self, name, type, values, count, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer, intent(in) :: type
    type(c_ptr), intent(in) :: values
    integer(c_int64_t), intent(in) :: count
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: owner
    if (count < 0) then
      call settle(c_attribute_number(self%handle, address_of(of, owner), to_c(name), &
                                     int(type, c_int), values), stat, errmsg)
    else
      call settle(c_attribute_numbers(self%handle, address_of(of, owner), to_c(name), &
                                      int(type, c_int), values, count), stat, errmsg)
    end if
  end subroutine

  subroutine attribute_int64(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: value
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: owner
    call settle(c_attribute_int(self%handle, address_of(of, owner), to_c(name), value), stat, &
                errmsg)
  end subroutine

  subroutine attribute_real(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: value
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: owner
    call settle(c_attribute_double(self%handle, address_of(of, owner), to_c(name), value), stat, &
                errmsg)
  end subroutine

  subroutine attribute_reals(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: value(:)
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: owner
    call settle(c_attribute_doubles(self%handle, address_of(of, owner), to_c(name), value, &
                                    size(value, kind=c_int64_t)), stat, errmsg)
  end subroutine

  subroutine attribute_text(self, name, value, of, stat, errmsg)
    class(tailrace_contents), intent(inout) :: self
    character(len=*), intent(in) :: name, value
    character(len=*), intent(in), optional :: of
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: owner
    call settle(c_attribute_text(self%handle, address_of(of, owner), to_c(name), to_c(value)), &
                stat, errmsg)
  end subroutine

  !> NULL for the file.
  function address_of(of, owner) result(address)
    character(len=*), intent(in), optional :: of
    character(kind=c_char, len=:), allocatable, target, intent(inout) :: owner
    type(c_ptr) :: address
    address = c_null_ptr
    if (.not. present(of)) return
    owner = to_c(of)
    address = c_loc(owner)
  end function

  subroutine destroy_contents(self)
    class(tailrace_contents), intent(inout) :: self
    call settle(c_contents_destroy(self%handle))
  end subroutine

  subroutine finalize_contents(self)
    type(tailrace_contents), intent(inout) :: self
    integer(c_int) :: status
    status = c_contents_destroy(self%handle)
  end subroutine

end module tailrace_m_contents
