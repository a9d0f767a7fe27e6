! SPDX-License-Identifier: BSD-3-Clause
! `KIND STEM`: as unfinished_program.cpp, from Fortran: MPI_Finalize completes the files.
program unfinished
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use tailrace
  implicit none
  integer, parameter :: num_steps = 20, num_variables = 200
  character(len=400) :: kind, stem
  type(tailrace_comm) :: comm
  type(tailrace_session) :: session
  type(tailrace_output) :: output
  type(tailrace_contents) :: contents
  type(tailrace_layout) :: layout
  real(real64), allocatable, target :: u(:, :)
  integer :: rank, step, whole
  logical :: there, lost
  call MPI_Init()
  call get_command_argument(1, kind)
  call get_command_argument(2, stem)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (rank == 0) call remove_files(whole)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (kind == "output") then
    call comm%create(MPI_COMM_WORLD)
    call output%create(comm)
    call fill()
    do step = 1, num_steps
      call output%write(path_of(step), contents)
    end do
  else
    call session%create(MPI_COMM_WORLD, servers=trim(kind))
    if (session%computes()) then
      call session%comm(comm)
      call session%open("field", output)
      call fill()
      do step = 1, num_steps
        call output%write(path_of(step), contents)
      end do
    else
      call session%serve(lost)
    end if
  end if
  call MPI_Finalize()
  if (rank /= 0) stop
  call remove_files(whole)
  print "(a, i2, a, i2, a)", trim(kind)//":", whole, " of", num_steps, " files"
  if (whole /= num_steps) error stop 1
contains

  subroutine fill()
    integer :: s(2), n(2), v
    character(len=8) :: name
    call layout%slabs([64, 64], axis=2, num_ranks=comm%num_ranks())
    call layout%box(comm%rank(), s, n)
    allocate (u(n(1), n(2)), source=1.0_real64)
    call contents%create(comm)
    do v = 1, num_variables
      write (name, "(a, i0)") "u", v
      call contents%variable(trim(name), layout, u)
    end do
  end subroutine

  function path_of(step) result(path)
    integer, intent(in) :: step
    character(len=:), allocatable :: path
    character(len=8) :: number
    write (number, "(i0)") step
    path = trim(stem)//"_"//trim(number)//".h5"
  end function

  subroutine remove_files(whole)
    integer, intent(out) :: whole
    integer :: unit
    whole = 0
    do step = 1, num_steps
      inquire (file=path_of(step), exist=there)
      if (.not. there) cycle
      whole = whole + 1
      open (newunit=unit, file=path_of(step))
      close (unit, status="delete")
    end do
  end subroutine
end program
