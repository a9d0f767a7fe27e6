! SPDX-License-Identifier: BSD-3-Clause
! Heat spreads on blocks that the program itself distributes, each with a halo. Every 10 steps the
! field is written without the halo, while the program computes the next steps. A run may start
! from a file of another run, on any number of ranks. The same program as own_blocks.cpp, with the
! same files.
!   mpirun -n 4 own_blocks_fortran FOLDER LAST_STEP [FILE FIRST_STEP]
! Seven lines use the library, all of them in run.
program own_blocks
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use tailrace
  implicit none
  integer, parameter :: points(3) = [16, 18, 20], output_every = 10 ! x, y, z
  character(len=1000) :: argument(4)
  integer :: last_step, first_step, a

  argument = [character(len=1000) :: ".", "20", "", "0"]
  do a = 1, command_argument_count()
    call get_command_argument(a, argument(a))
  end do
  read (argument(2), *) last_step
  read (argument(4), *) first_step
  call MPI_Init()
  call run(trim(argument(1)), trim(argument(3)))
  call MPI_Finalize()

contains

  subroutine run(folder, from)
    character(len=*), intent(in) :: folder, from
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_output) :: output
    type(tailrace_input) :: input
    type(MPI_Comm) :: ranks ! a grid of ranks
    real(real64), allocatable :: u(:, :, :)
    integer :: grid(3), at(3), start(3), counts(3), s, size_, rank
    character(len=12) :: number

    ! This rank's block of a periodic box, with one item more on both sides of each axis.
    grid = 0
    call MPI_Comm_size(MPI_COMM_WORLD, size_)
    call MPI_Dims_create(size_, 3, grid)
    call MPI_Cart_create(MPI_COMM_WORLD, 3, grid, [.true., .true., .true.], .true., ranks)
    call MPI_Comm_rank(ranks, rank)
    call MPI_Cart_coords(ranks, rank, 3, at)
    start = points*at/grid + 1
    counts = points*(at + 1)/grid + 1 - start
    allocate (u(0:counts(1) + 1, 0:counts(2) + 1, 0:counts(3) + 1), source=0.0_real64)
    call set_start(u, start, counts)

    call comm%create(ranks)
    call layout%own_box(comm, points, start, counts)
    call output%create(comm)
    if (from /= "") then
      call input%open(comm, from)
      call input%read("u", layout, u(1:counts(1), 1:counts(2), 1:counts(3)))
    end if
    do s = first_step + 1, last_step
      call step(u, counts, ranks)
      if (mod(s, output_every) /= 0) cycle
      write (number, "(i0)") s
      call output%write(folder//"/u_"//trim(number)//".h5", "u", layout, &
                        u(1:counts(1), 1:counts(2), 1:counts(3))) ! copies it and returns
    end do
    call output%finish()
    call MPI_Comm_free(ranks)
  end subroutine

  !> A hot line.
  subroutine set_start(u, start, counts)
    integer, intent(in) :: start(3), counts(3)
    real(real64), intent(inout) :: u(0:counts(1) + 1, 0:counts(2) + 1, 0:*)
    integer :: k
    do k = start(3), min(9, start(3) + counts(3) - 1)
      if (all(start(:2) <= [4, 5] .and. start(:2) + counts(:2) > [4, 5])) then
        u(4 - start(1) + 1, 5 - start(2) + 1, k - start(3) + 1) = 100
      end if
    end do
  end subroutine

  !> One explicit step of du/dt = laplace u.
  subroutine step(u, counts, ranks)
    real(real64), allocatable, intent(inout) :: u(:, :, :)
    integer, intent(in) :: counts(3)
    type(MPI_Comm), intent(in) :: ranks
    real(real64), allocatable :: next(:, :, :)
    integer :: i, j, k
    do i = 1, 3
      call fill_halo(u, i, ranks)
    end do
    next = u
    do k = 1, counts(3)
      do j = 1, counts(2)
        do i = 1, counts(1)
          next(i, j, k) = u(i, j, k) + 0.125_real64*(u(i, j, k - 1) + u(i, j, k + 1) + &
                                                     u(i, j - 1, k) + u(i, j + 1, k) + &
                                                     u(i - 1, j, k) + u(i + 1, j, k) - 6*u(i, j, k))
        end do
      end do
    end do
    u(1:counts(1), 1:counts(2), 1:counts(3)) = next(1:counts(1), 1:counts(2), 1:counts(3))
  end subroutine

  !> Sends the planes at both ends of axis d to the neighbours, which keep them in their halos.
  subroutine fill_halo(u, d, ranks)
    real(real64), intent(inout) :: u(:, :, :)
    integer, intent(in) :: d
    type(MPI_Comm), intent(in) :: ranks
    type(MPI_Datatype) :: planes(4)
    integer :: before, after, shape_(3), first(3), place(4), p
    call MPI_Cart_shift(ranks, d - 1, 1, before, after)
    place = [size(u, d) - 2, 0, 1, size(u, d) - 1]
    shape_ = shape(u)
    shape_(d) = 1
    do p = 1, 4
      first = 0
      first(d) = place(p)
      call MPI_Type_create_subarray(3, shape(u), shape_, first, MPI_ORDER_FORTRAN, &
                                    MPI_DOUBLE_PRECISION, planes(p))
      call MPI_Type_commit(planes(p))
    end do
    call MPI_Sendrecv(u, 1, planes(1), after, 0, u, 1, planes(2), before, 0, ranks, &
                      MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u, 1, planes(3), before, 0, u, 1, planes(4), after, 0, ranks, &
                      MPI_STATUS_IGNORE)
    do p = 1, 4
      call MPI_Type_free(planes(p))
    end do
  end subroutine

end program
