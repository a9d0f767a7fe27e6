! SPDX-License-Identifier: BSD-3-Clause
!> Parallel 3D Fourier transforms. Part of the module tailrace.
module tailrace_m_fft
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tailrace_m_comm
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> Order of the axes of modes (`mode_order`): modes(kx, kz, ky), or modes(kx, ky, kz).
  integer, parameter, public :: tailrace_ky_kz_kx = 0, tailrace_kz_ky_kx = 1

  !> Transforms fields u(x, y, z) to modes(kx, kz, ky), in this order of axes or another, and back.
  !> A rank's field is whole along x.
  type, public :: tailrace_transform
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: type = tailrace_float64
  contains
    procedure :: create, forward, backward, physical_layout, spectral_layout, modes, box, &
                 num_items, num_modes, kernel, method, describe, destroy
    final :: finalize
  end type

  type, bind(C) :: c_options
    integer(c_int) :: type
    integer(c_int64_t) :: cutoff(3)
    integer(c_int) :: grid(2), max_fields
    type(c_ptr) :: kernel, method, row_method
    integer(c_int) :: threads, chunks
    type(c_ptr) :: trace
    integer(c_int) :: mode_order
    real(c_double) :: scale
  end type

  type, bind(C) :: c_box
    integer(c_int) :: num_dims
    integer(c_int64_t) :: start(tailrace_max_dims)
    integer(c_int64_t) :: extents(tailrace_max_dims)
  end type

  interface
    function c_defaults() bind(C, name="tailrace_transform_defaults") result(options)
      import :: c_options
      type(c_options) :: options
    end function
    function c_create(comm, extents, options, transform) &
        bind(C, name="tailrace_transform_create") result(status)
      import :: c_int, c_int64_t, c_ptr, c_options
      type(c_ptr), value :: comm
      integer(c_int64_t), intent(in) :: extents(3)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: transform
      integer(c_int) :: status
    end function
    function c_transform(transform, backwards, num_fields, type, fields, modes) &
        bind(C, name="tailrace_f_transform") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      integer(c_int), value :: backwards, num_fields, type
      type(*), dimension(..) :: fields, modes
      integer(c_int) :: status
    end function
    function c_layout(transform, layout) bind(C, name="tailrace_transform_physical_layout") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      type(c_ptr), intent(inout) :: layout
      integer(c_int) :: status
    end function
    function c_spectral_layout(transform, layout) &
        bind(C, name="tailrace_transform_spectral_layout") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      type(c_ptr), intent(inout) :: layout
      integer(c_int) :: status
    end function
    function c_get_box(transform, box) bind(C, name="tailrace_transform_physical_box") &
        result(status)
      import :: c_int, c_ptr, c_box
      type(c_ptr), value :: transform
      type(c_box), intent(inout) :: box
      integer(c_int) :: status
    end function
    function c_modes(transform, axis, k, count) bind(C, name="tailrace_transform_modes") &
        result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: transform
      integer(c_int), value :: axis
      type(c_ptr), intent(inout) :: k
      integer(c_int64_t), intent(inout) :: count
      integer(c_int) :: status
    end function
    function c_sizes(transform, num_items, num_modes) bind(C, name="tailrace_transform_sizes") &
        result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: transform
      integer(c_int64_t), intent(inout) :: num_items, num_modes
      integer(c_int) :: status
    end function
    function c_kernel(transform, text) bind(C, name="tailrace_transform_kernel") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_method(transform, text) bind(C, name="tailrace_transform_method") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_describe(transform, text) bind(C, name="tailrace_transform_describe") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: transform
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_destroy(transform) bind(C, name="tailrace_transform_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: transform
      integer(c_int) :: status
    end function
  end interface

contains

  !> Of `extents` (nx, ny, nz) points. `type`, of the field: tailrace_float64 (default) or _float32
  !> for real ones, tailrace_complex128 or _complex64. `cutoff`: largest |k| kept along x, y, z (-1:
  !> all). `grid`: ranks along y and z (0: chosen). `max_fields`: along the last axis of the arrays,
  !> if there are several. `mode_order`: tailrace_ky_kz_kx (default) or _kz_ky_kx. `scale` (1):
  !> what forward multiplies modes by. Collective, blocking.
  subroutine create(self, comm, extents, type, cutoff, grid, max_fields, kernel, method, threads, &
                    mode_order, scale, stat, errmsg)
    class(tailrace_transform), intent(inout) :: self
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(3)
    integer, intent(in), optional :: type, cutoff(3), grid(2), max_fields, threads, mode_order
    character(len=*), intent(in), optional :: kernel, method
    real(real64), intent(in), optional :: scale
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_options) :: options
    character(kind=c_char, len=:), allocatable, target :: kernel_name, method_name
    call self%destroy()
    options = c_defaults()
    if (present(type)) options%type = int(type, c_int)
    if (present(cutoff)) options%cutoff = reversed(int(cutoff, int64))
    if (present(grid)) options%grid = int(grid(2:1:-1), c_int)
    if (present(max_fields)) options%max_fields = int(max_fields, c_int)
    if (present(threads)) options%threads = int(threads, c_int)
    if (present(mode_order)) options%mode_order = int(mode_order, c_int)
    if (present(scale)) options%scale = scale
    if (present(kernel)) then
      kernel_name = to_c(kernel)
      options%kernel = c_loc(kernel_name)
    end if
    if (present(method)) then
      method_name = to_c(method)
      options%method = c_loc(method_name)
    end if
    self%type = options%type
    call settle(c_create(comm%handle, reversed(int(extents, int64)), options, self%handle), stat, &
                errmsg)
  end subroutine

  !> `modes` becomes the sum over points of u exp(-i k x), times `scale`. With `num_fields`
  !> (default 1) above 1 it is the last axis of both arrays. Arrays are contiguous. Collective,
  !> blocking.
  subroutine forward(self, u, modes, num_fields, stat, errmsg)
    class(tailrace_transform), intent(inout) :: self
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(inout) :: modes
    integer, intent(in), optional :: num_fields
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_transform(self%handle, 0_c_int, count_of(num_fields), self%type, u, modes), &
                stat, errmsg)
  end subroutine

  !> `u` becomes the sum over modes of modes exp(+i k x): backward of forward is nx ny nz u where
  !> the scale is 1. Collective, blocking.
  subroutine backward(self, modes, u, num_fields, stat, errmsg)
    class(tailrace_transform), intent(inout) :: self
    type(*), dimension(..), intent(in) :: modes
    type(*), dimension(..), intent(inout) :: u
    integer, intent(in), optional :: num_fields
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_transform(self%handle, 1_c_int, count_of(num_fields), self%type, u, modes), &
                stat, errmsg)
  end subroutine

  !> `layout` becomes that of the points. Local.
  subroutine physical_layout(self, layout, stat, errmsg)
    class(tailrace_transform), intent(in) :: self
    type(tailrace_layout), intent(inout) :: layout
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call layout%destroy()
    call settle(c_layout(self%handle, layout%handle), stat, errmsg)
  end subroutine

  !> `layout` becomes that of the kept modes in their order (kx, ky, kz). Local.
  subroutine spectral_layout(self, layout, stat, errmsg)
    class(tailrace_transform), intent(in) :: self
    type(tailrace_layout), intent(inout) :: layout
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call layout%destroy()
    call settle(c_spectral_layout(self%handle, layout%handle), stat, errmsg)
  end subroutine

  !> This rank's points: the first index along x, y, z, from 1, and how many. Local.
  subroutine box(self, start, counts, stat, errmsg)
    class(tailrace_transform), intent(in) :: self
    integer, intent(out) :: start(3), counts(3)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_box) :: found
    integer(c_int) :: status
    found = c_box(3, 0, 0)
    status = c_get_box(self%handle, found)
    call narrow(reversed(found%start(:3)) + 1, start, "start of a box", status)
    call narrow(reversed(found%extents(:3)), counts, "items of a box", status)
    call settle(status, stat, errmsg)
  end subroutine

  !> The signed wave numbers of this rank's modes: modes(i, l, j) is of kx(i), kz(l), ky(j), in the
  !> other order modes(i, j, l). Local.
  subroutine modes(self, kx, ky, kz, stat, errmsg)
    class(tailrace_transform), intent(in) :: self
    integer, allocatable, intent(out) :: kx(:), ky(:), kz(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    call numbers(0, kz)
    call numbers(1, ky)
    call numbers(2, kx)
    call settle(status, stat, errmsg)
  contains
    subroutine numbers(axis, k)
      integer, intent(in) :: axis
      integer, allocatable, intent(out) :: k(:)
      type(c_ptr) :: address
      integer(c_int64_t) :: count
      integer(c_int), pointer :: found(:)
      address = c_null_ptr
      count = 0
      status = c_modes(self%handle, int(axis, c_int), address, count)
      allocate (k(count))
      if (count == 0) return
      call c_f_pointer(address, found, [count])
      k = found
    end subroutine
  end subroutine

  !> Points of this rank. Local.
  integer(int64) function num_items(self)
    class(tailrace_transform), intent(in) :: self
    integer(c_int64_t) :: others
    num_items = 0
    others = 0
    call settle(c_sizes(self%handle, num_items, others))
  end function

  !> Modes of this rank. Local.
  integer(int64) function num_modes(self)
    class(tailrace_transform), intent(in) :: self
    integer(c_int64_t) :: others
    num_modes = 0
    others = 0
    call settle(c_sizes(self%handle, others, num_modes))
  end function

  !> Library of the 1D transforms. Local.
  function kernel(self) result(name)
    class(tailrace_transform), intent(in) :: self
    character(len=:), allocatable :: name
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_kernel(self%handle, address))
    name = from_c(address)
  end function

  !> Methods of the exchanges. Local.
  function method(self) result(name)
    class(tailrace_transform), intent(in) :: self
    character(len=:), allocatable :: name
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_method(self%handle, address))
    name = from_c(address)
  end function

  !> A paragraph about all. Local.
  function describe(self) result(text)
    class(tailrace_transform), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_describe(self%handle, address))
    text = from_c(address)
  end function

  subroutine destroy(self)
    class(tailrace_transform), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_transform), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

  integer(c_int) function count_of(num_fields)
    integer, intent(in), optional :: num_fields
    count_of = 1
    if (present(num_fields)) count_of = int(num_fields, c_int)
  end function

end module tailrace_m_fft
