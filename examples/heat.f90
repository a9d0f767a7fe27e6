! SPDX-License-Identifier: BSD-3-Clause
! Heat spreads from a hot spot in a periodic box of side 2 pi: du/dt = laplace u, exactly solved in
! Fourier space, with the field written to HDF5 files while the program computes. The same
! program as heat.cpp, with the same files: u(x, y, z) here is u[z][y][x] there.
!   mpirun -n 2 heat_fortran [points along each axis] [folder]
! Fails if the result differs from the exact solution.
program heat
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use tailrace
  implicit none
  real(real64), parameter :: start_time = 0.1_real64, time_step = 0.005_real64
  integer, parameter :: num_steps = 40, output_every = 10
  real(real64) :: error
  integer :: n, provided
  character(len=1000) :: argument, folder

  n = 128
  folder = "."
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) n
  end if
  if (command_argument_count() > 1) call get_command_argument(2, folder)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  error = run()
  call MPI_Finalize()
  if (error >= 1e-10_real64) error stop 1

contains

  !> Root mean square of the difference from the exact solution.
  real(real64) function run()
    type(tailrace_comm) :: comm
    type(tailrace_transform) :: transform
    type(tailrace_layout) :: layout ! which boxes of the grid each rank holds
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    type(tailrace_output_statistics) :: cost
    real(real64), allocatable, target :: u(:, :, :)
    complex(real64), allocatable :: u_hat(:, :, :)
    integer, allocatable :: kx(:), ky(:), kz(:)
    integer :: start(3), counts(3), step
    real(real64) :: num_points
    character(len=12) :: number

    call comm%create(MPI_COMM_WORLD)
    call transform%create(comm, [n, n, n])
    call transform%physical_layout(layout)
    call transform%box(start, counts)
    call transform%modes(kx, ky, kz)
    allocate (u_hat(size(kx), size(kz), size(ky)))
    u = exact_field(start, counts, start_time)

    call contents%create(comm)
    call contents%variable("u", layout, u) ! dimensions x, y, z; in the file z, y, x
    call output%create(comm)               ! hidden behind the computation

    num_points = real(n, real64)**3
    call transform%forward(u, u_hat)
    u_hat = u_hat/num_points ! transforms do not normalise
    do step = 1, num_steps
      call decay(u_hat, kx, ky, kz)
      if (mod(step, output_every) == 0) then
        call transform%backward(u_hat, u)
        call contents%step(step)
        call contents%attribute("time", step*time_step)
        write (number, "(i0)") step
        call output%write(trim(folder)//"/heat_"//trim(number)//".h5", contents) ! copies u
      end if
      call output%progress() ! never waits
    end do

    run = difference(u, exact_field(start, counts, start_time + num_steps*time_step), num_points)
    call output%finish() ! waits for the last file
    cost = output%statistics()
    if (comm%rank() == 0) then
      print "(i0,a,f0.4,a,f0.4,a)", cost%complete, " files: the computation spent ", cost%call_s, &
        " s on them, the background ", cost%write_s, " s"
      print "(a,es8.1)", "difference from the exact solution:", run
    end if
  end function

  !> One time step: every mode decays.
  subroutine decay(u_hat, kx, ky, kz)
    complex(real64), intent(inout) :: u_hat(:, :, :)
    integer, intent(in) :: kx(:), ky(:), kz(:)
    integer :: i, j, l
    do j = 1, size(ky)
      do l = 1, size(kz)
        do i = 1, size(kx)
          u_hat(i, l, j) = u_hat(i, l, j)*exp(-(kx(i)**2 + ky(j)**2 + kz(l)**2)*time_step)
        end do
      end do
    end do
  end subroutine

  !> A line of the exact solution at time t, which is the product of three such lines.
  function exact_line(t) result(line)
    real(real64), intent(in) :: t
    real(real64) :: line(n)
    real(real64) :: x
    integer :: i, k
    do i = 1, n
      x = 2*acos(-1.0_real64)*(i - 1)/n
      line(i) = 1
      do k = 1, (n - 1)/2
        line(i) = line(i) + 2*exp(-t*k*k)*cos(k*x)
      end do
    end do
  end function

  !> This rank's part of the exact solution.
  function exact_field(start, counts, t) result(u)
    integer, intent(in) :: start(3), counts(3)
    real(real64), intent(in) :: t
    real(real64) :: u(counts(1), counts(2), counts(3))
    real(real64) :: line(n)
    integer :: i, j, k
    line = exact_line(t)
    do k = 1, counts(3)
      do j = 1, counts(2)
        do i = 1, counts(1)
          u(i, j, k) = line(start(3) + k - 1)*line(start(2) + j - 1)*line(start(1) + i - 1)
        end do
      end do
    end do
  end function

  !> Root mean square of a - b over the points of all ranks.
  real(real64) function difference(a, b, num_points)
    real(real64), intent(in) :: a(:, :, :), b(:, :, :), num_points
    real(real64) :: total
    total = sum((a - b)**2)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    difference = sqrt(total/num_points)
  end function

end program heat
