! SPDX-License-Identifier: BSD-3-Clause
! The calls of bindings_problem.hpp from Fortran: seconds of a call, a line of JSON each.
program bindings_fortran
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use tailrace
  implicit none
  integer, parameter :: edge = 8
  integer :: calls = 20000, repeats = 5
  call read_arguments()
  call MPI_Init()
  call run()
  call MPI_Finalize()
contains

  !> "--calls N --repeats N"
  subroutine read_arguments()
    character(len=32) :: name, value
    integer :: i
    do i = 1, command_argument_count() - 1, 2
      call get_command_argument(i, name)
      call get_command_argument(i + 1, value)
      if (name == "--calls") read (value, *) calls
      if (name == "--repeats") read (value, *) repeats
    end do
  end subroutine

  subroutine run()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: rows, columns
    type(tailrace_exchange) :: exchange
    type(tailrace_reduction) :: reduction
    real(real64), allocatable :: u(:, :), v(:, :)
    real(real64) :: seconds(repeats), x(1), start_s
    integer :: s(2), n(2), t(2), m(2), i, repeat, problem
    character(len=25) :: names(3)
    character(len=1024) :: list
    logical :: done
    names = [character(len=25) :: "progress of an exchange", "exchange of 8 x 8 doubles", &
             "allreduce of one double"]
    call comm%create(MPI_COMM_WORLD)
    call rows%slabs([edge, edge], axis=2, num_ranks=comm%num_ranks())
    call columns%slabs([edge, edge], axis=1, num_ranks=comm%num_ranks())
    call rows%box(comm%rank(), s, n)
    call columns%box(comm%rank(), t, m)
    allocate (u(n(1), n(2)), v(m(1), m(2)))
    u = 1
    x = 1
    call exchange%create(comm, rows, columns, method="alltoallv")
    call reduction%create(comm, max_items=1, method="mpi")
    do problem = 1, 3
      do repeat = 0, repeats
        call MPI_Barrier(MPI_COMM_WORLD)
        start_s = MPI_Wtime()
        do i = 1, calls
          select case (problem)
          case (1)
            done = exchange%progress()
          case (2)
            call exchange%run(u, v)
          case (3)
            call reduction%allreduce(x, tailrace_max)
          end select
        end do
        ! The first does not count.
        if (repeat > 0) seconds(repeat) = (MPI_Wtime() - start_s)/calls
      end do
      call MPI_Allreduce(MPI_IN_PLACE, seconds, repeats, MPI_DOUBLE_PRECISION, MPI_MAX, &
                         MPI_COMM_WORLD)
      write (list, "(*(es14.7,:,','))") seconds
      if (comm%rank() == 0) print "(3a,i0,3a)", '{"problem": "', trim(names(problem)), &
        ", ranks ", comm%num_ranks(), '", "seconds": [', trim(list), "]}"
    end do
  end subroutine
end program
