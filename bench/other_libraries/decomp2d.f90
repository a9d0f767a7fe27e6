! SPDX-License-Identifier: BSD-3-Clause
! 2DECOMP&FFT for the drivers in C++: its calls with C types. One grid a process.
module bench_decomp2d
  use, intrinsic :: iso_c_binding, only: c_int, c_double, c_double_complex, c_ptr, c_f_pointer
  use decomp_2d
  use decomp_2d_constants, only: D2D_LOG_QUIET, PHYSICAL_IN_X
  use decomp_2d_fft
  implicit none
  private

contains

  !> A cube of n^3 points on rows x columns ranks (0 x 0: the library times which grid is best).
  !> Returns of x-pencils and y-pencils where this rank's part starts (from 0) and how long it is,
  !> x first.
  subroutine start(n, rows, columns, x_start, x_extents, y_start, y_extents) &
    bind(c, name='decomp2d_start')
    integer(c_int), value :: n, rows, columns
    integer(c_int), intent(out) :: x_start(3), x_extents(3), y_start(3), y_extents(3)
    integer :: grid(2)

    decomp_log = D2D_LOG_QUIET
    grid = [rows, columns]
    call decomp_2d_init(n, n, n, grid(1), grid(2), complex_pool=.true.)
    x_start = xstart - 1
    x_extents = xsize
    y_start = ystart - 1
    y_extents = ysize
  end subroutine start

  !> Makes its plans, and returns how many complex numbers this rank holds of the spectrum.
  subroutine start_transforms(spectrum_items) bind(c, name='decomp2d_start_transforms')
    integer(c_int), intent(out) :: spectrum_items
    type(decomp_info), pointer :: spectrum

    call decomp_2d_fft_init(PHYSICAL_IN_X)
    spectrum => decomp_2d_fft_get_sp()
    spectrum_items = product(spectrum%zsz)
  end subroutine start_transforms

  !> Forward from `field` (x-pencils) to `spectrum` (z-pencils), and back. Neither scales.
  subroutine transform_pair(field, spectrum) bind(c, name='decomp2d_transform_pair')
    type(c_ptr), value :: field, spectrum
    real(c_double), pointer :: x(:, :, :)
    complex(c_double_complex), pointer :: z(:, :, :)
    type(decomp_info), pointer :: in, out

    in => decomp_2d_fft_get_ph()
    out => decomp_2d_fft_get_sp()
    call c_f_pointer(field, x, in%xsz)
    call c_f_pointer(spectrum, z, out%zsz)
    call decomp_2d_fft_3d(x, z)
    call decomp_2d_fft_3d(z, x)
  end subroutine transform_pair

  !> Complex numbers from x-pencils to y-pencils, both with x fastest.
  subroutine x_to_y(source, target) bind(c, name='decomp2d_x_to_y')
    type(c_ptr), value :: source, target
    complex(c_double_complex), pointer :: x(:, :, :), y(:, :, :)

    call c_f_pointer(source, x, xsize)
    call c_f_pointer(target, y, ysize)
    call transpose_x_to_y(x, y)
  end subroutine x_to_y
end module bench_decomp2d
