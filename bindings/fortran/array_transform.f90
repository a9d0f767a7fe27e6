! SPDX-License-Identifier: BSD-3-Clause
!> Parallel transforms of any axes of an array: Fourier, cosine and sine. Part of the module
!> tailrace.
module tailrace_m_array_transform
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private

  !> Transforms along an axis (`kinds`), not normalised, as in FFTW.
  public :: tailrace_fourier, tailrace_dct1, tailrace_dct2, tailrace_dct3, tailrace_dct4, &
            tailrace_dst1, tailrace_dst2, tailrace_dst3, tailrace_dst4
  public :: tailrace_fft_transform, tailrace_fft_inverse, tailrace_fft_layouts

  !> Transforms some axes of u(:, :, ...) to modes(:, :, ...) in the same order of axes, and back.
  !> Axes that are not listed are batches.
  type, public :: tailrace_array_transform
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: type = tailrace_float64
  contains
    procedure :: create, forward, backward, physical_layout, spectral_layout, num_items, &
      num_modes, modes_type, normalization, kernel, describe, destroy
    final :: finalize
  end type

  !> A text of C that options point to.
  type :: c_name
    character(kind=c_char, len=:), allocatable :: text
  end type

contains

  !> Of `extents` items, 1 to 5 axes. `type`, of the field: tailrace_float64 (default), _float32,
  !> _complex128 or _complex64. `axes`: the first of them is transformed first, default all. For
  !> each of `axes`: `kinds` (default tailrace_fourier); `kept` (the modes of this number
  !> of points, 0: all); `swap_with` (the axis that ranks divide afterwards if they divide this one,
  !> 0: the axis before). `grid`: ranks along each axis of the field (0: chosen). `scale` (1): what
  !> forward multiplies modes by. Collective, blocking.
  subroutine create(self, comm, extents, type, axes, kinds, kept, swap_with, grid, scale, kernel, &
                    method, threads, stat, errmsg)
    class(tailrace_array_transform), intent(inout) :: self
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:)
    integer, intent(in), optional :: type, axes(:), kinds(:), kept(:), swap_with(:), grid(:), &
                                     threads
    character(len=*), intent(in), optional :: kernel, method
    real(real64), intent(in), optional :: scale
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_array_transform_options) :: options
    type(c_name), target :: names(2)
    integer :: num_dims
    call self%destroy()
    num_dims = size(extents)
    call set_options(options, names, num_dims, axes, kinds, kept, swap_with, grid, scale, kernel, &
                     method, threads)
    if (present(type)) options%type = int(type, c_int)
    self%type = options%type
    call settle(c_array_transform_create(comm%handle, int(num_dims, c_int), &
                                         int(extents(num_dims:1:-1), c_int64_t), options, &
                                         self%handle), stat, errmsg)
  end subroutine

  !> The options of C. Lists of wrong lengths make a number of axes that C refuses on all ranks.
  subroutine set_options(options, names, num_dims, axes, kinds, kept, swap_with, grid, scale, &
                         kernel, method, threads)
    type(c_array_transform_options), intent(out) :: options
    type(c_name), intent(out), target :: names(2) !< of the kernel and the method, for `options`
    integer, intent(in) :: num_dims
    integer, intent(in), optional :: axes(:), kinds(:), kept(:), swap_with(:), grid(:), threads
    real(real64), intent(in), optional :: scale
    character(len=*), intent(in), optional :: kernel, method
    integer :: num_axes
    logical :: fits
    options = c_array_transform_defaults()
    num_axes = num_dims
    if (present(axes)) num_axes = size(axes)
    fits = num_axes >= 1 .and. num_axes <= 5
    if (present(kinds)) fits = fits .and. size(kinds) == num_axes
    if (present(kept)) fits = fits .and. size(kept) == num_axes
    if (present(swap_with)) fits = fits .and. size(swap_with) == num_axes
    if (present(grid)) fits = fits .and. size(grid) == num_dims .and. num_dims <= 5
    if (present(threads)) options%threads = int(threads, c_int)
    if (present(scale)) options%scale = scale
    call point_to(options%kernel, kernel, names(1)%text)
    call point_to(options%method, method, names(2)%text)
    if (.not. fits) then
      options%num_axes = -1
      return
    end if
    options%num_axes = int(num_axes, c_int)
    ! Axes of C count from the slowest, from 0; without `axes` all of them stand there.
    if (present(axes)) options%axes(:num_axes) = turned(axes)
    if (present(kinds)) options%kinds(:num_axes) = int(kinds(num_axes:1:-1), c_int)
    if (present(kept)) options%kept(:num_axes) = int(kept(num_axes:1:-1), c_int64_t)
    if (present(swap_with)) then
      options%swap_with(:num_axes) = turned(swap_with)
      where (swap_with(num_axes:1:-1) == 0) options%swap_with(:num_axes) = -1
    end if
    if (present(grid)) options%grid(:num_dims) = int(grid(num_dims:1:-1), c_int)
  contains
    function turned(given) result(numbers)
      integer, intent(in) :: given(:)
      integer(c_int) :: numbers(size(given))
      numbers = int(num_dims, c_int) - int(given(size(given):1:-1), c_int)
    end function
  end subroutine

  !> `modes` becomes the transform of `u` without an object, with the arguments of `create`: `comm`
  !> keeps the plans of its last 8 problems until it ends. Collective, blocking.
  subroutine tailrace_fft_transform(comm, extents, u, modes, axes, kinds, kept, swap_with, grid, &
                                    scale, kernel, method, threads, stat, errmsg)
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:)
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(inout) :: modes
    integer, intent(in), optional :: axes(:), kinds(:), kept(:), swap_with(:), grid(:), threads
    real(real64), intent(in), optional :: scale
    character(len=*), intent(in), optional :: kernel, method
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_array_transform_options) :: options
    type(c_name), target :: names(2)
    integer :: num_dims
    num_dims = size(extents)
    call set_options(options, names, num_dims, axes, kinds, kept, swap_with, grid, scale, kernel, &
                     method, threads)
    call settle(c_f_fft(comm%handle, 0_c_int, int(num_dims, c_int), &
                        int(extents(num_dims:1:-1), c_int64_t), options, u, modes), stat, errmsg)
  end subroutine

  !> `u` becomes the inverse transform of `modes`: u of tailrace_fft_transform again if all modes
  !> are kept. Collective, blocking.
  subroutine tailrace_fft_inverse(comm, extents, modes, u, axes, kinds, kept, swap_with, grid, &
                                  scale, kernel, method, threads, stat, errmsg)
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:)
    type(*), dimension(..), intent(in) :: modes
    type(*), dimension(..), intent(inout) :: u
    integer, intent(in), optional :: axes(:), kinds(:), kept(:), swap_with(:), grid(:), threads
    real(real64), intent(in), optional :: scale
    character(len=*), intent(in), optional :: kernel, method
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_array_transform_options) :: options
    type(c_name), target :: names(2)
    integer :: num_dims
    num_dims = size(extents)
    call set_options(options, names, num_dims, axes, kinds, kept, swap_with, grid, scale, kernel, &
                     method, threads)
    call settle(c_f_fft(comm%handle, 1_c_int, int(num_dims, c_int), &
                        int(extents(num_dims:1:-1), c_int64_t), options, u, modes), stat, errmsg)
  end subroutine

  !> Layouts of the points and of the modes of both; `type` is that of the field. Local.
  subroutine tailrace_fft_layouts(comm, extents, points, modes, type, axes, kinds, kept, &
                                  swap_with, grid, stat, errmsg)
    class(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:)
    class(tailrace_layout), intent(inout) :: points, modes
    integer, intent(in), optional :: type, axes(:), kinds(:), kept(:), swap_with(:), grid(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_array_transform_options) :: options
    type(c_name), target :: names(2)
    integer(c_int) :: status
    integer :: num_dims
    call points%destroy()
    call modes%destroy()
    num_dims = size(extents)
    call set_options(options, names, num_dims, axes, kinds, kept, swap_with, grid)
    if (present(type)) options%type = int(type, c_int)
    status = c_fft_physical_layout(comm%handle, int(num_dims, c_int), &
                                   int(extents(num_dims:1:-1), c_int64_t), options, points%handle)
    if (status == tailrace_ok) then
      status = c_fft_spectral_layout(comm%handle, int(num_dims, c_int), &
                                     int(extents(num_dims:1:-1), c_int64_t), options, modes%handle)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  !> `modes` becomes the transform of `u`, times `scale`: complex where a real field has a Fourier
  !> axis, see modes_type. Arrays are contiguous. Collective, blocking.
  subroutine forward(self, u, modes, stat, errmsg)
    class(tailrace_array_transform), intent(inout) :: self
    type(*), dimension(..), intent(in) :: u
    type(*), dimension(..), intent(inout) :: modes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_array_transform(self%handle, 0_c_int, self%type, u, modes), stat, errmsg)
  end subroutine

  !> `u` becomes the inverse transform of `modes`, not normalised: backward of forward is u divided
  !> by the normalization where the scale is 1. Collective, blocking.
  subroutine backward(self, modes, u, stat, errmsg)
    class(tailrace_array_transform), intent(inout) :: self
    type(*), dimension(..), intent(in) :: modes
    type(*), dimension(..), intent(inout) :: u
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_array_transform(self%handle, 1_c_int, self%type, u, modes), stat, errmsg)
  end subroutine

  !> Points of this rank. Local.
  integer(int64) function num_items(self)
    class(tailrace_array_transform), intent(in) :: self
    integer(c_int64_t) :: others
    num_items = 0
    others = 0
    call settle(c_array_transform_sizes(self%handle, num_items, others))
  end function

  !> Modes of this rank. Local.
  integer(int64) function num_modes(self)
    class(tailrace_array_transform), intent(in) :: self
    integer(c_int64_t) :: others
    num_modes = 0
    others = 0
    call settle(c_array_transform_sizes(self%handle, others, num_modes))
  end function

  include "array_transform.inc"

end module tailrace_m_array_transform
