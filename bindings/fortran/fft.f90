! SPDX-License-Identifier: BSD-3-Clause
!> Parallel 3D Fourier transforms. Part of the module tailrace.
module tailrace_m_fft
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> Order of the axes of modes (`mode_order`): modes(kx, kz, ky), or modes(kx, ky, kz).
  public :: tailrace_ky_kz_kx, tailrace_kz_ky_kx

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
    type(c_transform_options) :: options
    character(kind=c_char, len=:), allocatable, target :: kernel_name, method_name
    call self%destroy()
    options = c_transform_defaults()
    if (present(type)) options%type = int(type, c_int)
    if (present(cutoff)) options%cutoff = reversed(int(cutoff, int64))
    if (present(grid)) options%grid = int(grid(2:1:-1), c_int)
    if (present(max_fields)) options%max_fields = int(max_fields, c_int)
    if (present(threads)) options%threads = int(threads, c_int)
    if (present(mode_order)) options%mode_order = int(mode_order, c_int)
    if (present(scale)) options%scale = scale
    call point_to(options%kernel, kernel, kernel_name)
    call point_to(options%method, method, method_name)
    self%type = options%type
    call settle(c_transform_create(comm%handle, reversed(int(extents, int64)), options, &
                                   self%handle), stat, errmsg)
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
    call settle(c_f_transform(self%handle, 0_c_int, count_of(num_fields), self%type, u, modes), &
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
    call settle(c_f_transform(self%handle, 1_c_int, count_of(num_fields), self%type, u, modes), &
                stat, errmsg)
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
    status = c_transform_physical_box(self%handle, found)
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
      status = c_transform_modes(self%handle, int(axis, c_int), address, count)
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
    call settle(c_transform_sizes(self%handle, num_items, others))
  end function

  !> Modes of this rank. Local.
  integer(int64) function num_modes(self)
    class(tailrace_transform), intent(in) :: self
    integer(c_int64_t) :: others
    num_modes = 0
    others = 0
    call settle(c_transform_sizes(self%handle, others, num_modes))
  end function

  integer(c_int) function count_of(num_fields)
    integer, intent(in), optional :: num_fields
    count_of = 1
    if (present(num_fields)) count_of = int(num_fields, c_int)
  end function

  include "fft.inc"

end module tailrace_m_fft
