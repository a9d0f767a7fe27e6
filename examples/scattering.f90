! SPDX-License-Identifier: BSD-3-Clause
! Scattering of plane waves by a dielectric cylinder (2-D, TM): the volume integral equation of the
! Helmholtz equation in square cells (Richmond, IEEE Trans. Antennas Propag. 13 (1965) 334). Its
! system is dense and complex, as those of codes for radio-frequency heating of plasmas. The program
! assembles it by columns in ScaLAPACK's block-cyclic distribution, solves it by pzgesv, and compares
! the field in the centre with the series of cylindrical waves. It makes no call of Tailrace:
!   mpirun -n 4 ./scattering 81
!   tailrace exec --with refine -n 4 -- ./scattering 81
! Argument: cells along the diameter (odd).
program scattering
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: block = 32, num_waves = 3  ! directions of incidence
  real(real64), parameter :: pi = acos(-1.0_real64), radius = 1, wave_number = 3, permittivity = 2.5
  complex(real64), parameter :: i = (0, 1)
  integer :: across, n, centre, context, rows, columns, row, column, me, ranks, info
  integer :: desc_a(9), desc_b(9), local_rows, local_columns, local_waves, p, q, m, k
  integer(int64) :: start, end, rate
  integer, allocatable :: pivots(:)
  real(real64), allocatable :: x(:), y(:)
  complex(real64), allocatable :: a(:, :), b(:, :)
  complex(real64) :: field(num_waves), series
  real(real64) :: cell, difference
  character(len=16) :: argument
  integer, external :: numroc, indxl2g

  across = 31
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) across
  end if
  if (across < 3 .or. modulo(across, 2) == 0) error stop 'the argument must be odd and at least 3'
  call make_cells()

  call blacs_pinfo(me, ranks)
  rows = int(sqrt(real(ranks) + 0.5))
  do while (modulo(ranks, rows) /= 0)
    rows = rows - 1
  end do
  call blacs_get(-1, 0, context)
  call blacs_gridinit(context, 'R', rows, ranks/rows)
  call blacs_gridinfo(context, rows, columns, row, column)
  local_rows = numroc(n, block, row, 0, rows)
  local_columns = numroc(n, block, column, 0, columns)
  local_waves = numroc(num_waves, block, column, 0, columns)
  call descinit(desc_a, n, n, block, block, 0, 0, context, max(1, local_rows), info)
  call descinit(desc_b, n, num_waves, block, block, 0, 0, context, max(1, local_rows), info)
  allocate (a(max(1, local_rows), max(1, local_columns)))
  allocate (b(max(1, local_rows), max(1, local_waves)), pivots(local_rows + block))

  do q = 1, local_columns
    k = indxl2g(q, block, column, 0, columns)
    do p = 1, local_rows
      a(p, q) = interaction(indxl2g(p, block, row, 0, rows), k)
    end do
  end do
  do q = 1, local_waves
    k = indxl2g(q, block, column, 0, columns)
    do p = 1, local_rows
      m = indxl2g(p, block, row, 0, rows)
      b(p, q) = exp(-i*wave_number*(x(m)*cos(angle(k)) + y(m)*sin(angle(k))))
    end do
  end do

  call system_clock(start, rate)
  call pzgesv(n, num_waves, a, 1, 1, desc_a, pivots, b, 1, 1, desc_b, info)
  call system_clock(end)
  if (info /= 0) error stop 'pzgesv failed'

  field = 0
  do q = 1, local_waves
    do p = 1, local_rows
      if (indxl2g(p, block, row, 0, rows) /= centre) cycle
      field(indxl2g(q, block, column, 0, columns)) = b(p, q)
    end do
  end do
  call zgsum2d(context, 'All', ' ', num_waves, 1, field, num_waves, -1, -1)
  series = exact_field()
  difference = maxval(abs(field - series))/abs(series)
  if (me == 0) then
    print '(a, i0, a, f0.3, a)', 'pzgesv of ', n, ' cells: ', &
      real(end - start, real64)/real(rate, real64), ' s'
    print '(a, 2f9.5)', 'field in the centre: ', field(1)
    print '(a, 2f9.5)', 'series:              ', series
    print '(a, f6.3, a)', 'difference of the worst wave: ', 100*difference, ' %'
  end if
  if (.not. difference < 0.03) error stop 'the field in the centre is wrong'
  call blacs_gridexit(context)
  call blacs_exit(0)

contains

  real(real64) pure function angle(wave)
    integer, intent(in) :: wave
    angle = 2*pi*(wave - 1)/num_waves
  end function angle

  !> Cells whose centres are in the cylinder; all together have its area.
  subroutine make_cells()
    integer :: u, v, half, pass
    half = across/2
    do pass = 1, 2
      n = 0
      do v = -half, half
        do u = -half, half
          if (u*u + v*v > (half + 0.5)**2) cycle
          n = n + 1
          if (pass == 1) cycle
          x(n) = u*cell
          y(n) = v*cell
          if (u == 0 .and. v == 0) centre = n
        end do
      end do
      if (pass == 2) return
      cell = radius*sqrt(pi/n)
      allocate (x(n), y(n))
    end do
  end subroutine make_cells

  complex(real64) pure function hankel_0(z)
    real(real64), intent(in) :: z
    hankel_0 = bessel_j0(z) - i*bessel_y0(z)
  end function hankel_0

  complex(real64) pure function hankel_1(z)
    real(real64), intent(in) :: z
    hankel_1 = bessel_j1(z) - i*bessel_y1(z)
  end function hankel_1

  !> What the field in cell k adds to that in cell m; cells count as discs of their area.
  complex(real64) pure function interaction(m, k)
    integer, intent(in) :: m, k
    real(real64) :: disc
    disc = wave_number*cell/sqrt(pi)
    if (m == k) then
      interaction = 1 + (permittivity - 1)*i/2*(pi*disc*hankel_1(disc) - 2*i)
    else
      interaction = (permittivity - 1)*i*pi*disc/2*bessel_j1(disc) &
                    *hankel_0(wave_number*hypot(x(m) - x(k), y(m) - y(k)))
    end if
  end function interaction

  !> In the centre only the wave without a direction is left.
  complex(real64) pure function exact_field()
    real(real64) :: outside, inside
    outside = wave_number*radius
    inside = outside*sqrt(permittivity)
    exact_field = 2*i/(pi*(outside*hankel_1(outside)*bessel_j0(inside) &
                           - inside*bessel_j1(inside)*hankel_0(outside)))
  end function exact_field
end program scattering
