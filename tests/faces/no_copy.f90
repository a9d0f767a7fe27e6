! SPDX-License-Identifier: BSD-3-Clause
!> The Fortran binding copies no array and no section: calls that have run once take no large
!> memory, and a file gets what the array holds when it is written.
!> Usage: mpirun -n 2 no_copy_fortran FOLDER
program no_copy
  use, intrinsic :: iso_c_binding, only: c_long_long
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  use tailrace
  implicit none
  interface
    function watched_bytes() bind(c) result(bytes)
      import :: c_long_long
      integer(c_long_long) :: bytes
    end function
  end interface
  integer, parameter :: n = 128
  integer :: failures = 0
  call MPI_Init()
  call run()
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures > 0) error stop 1
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    write (error_unit, "(2a)") "not so: ", what
  end subroutine

  subroutine run()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: from, to
    real(real64), allocatable, target :: u(:, :, :), v(:, :, :)
    integer :: s(3), k(3), t(3), m(3)
    integer(c_long_long) :: before
    call comm%create(MPI_COMM_WORLD)
    call from%slabs([n, n, n], axis=3, num_ranks=comm%num_ranks())
    call to%slabs([n, n, n], axis=1, num_ranks=comm%num_ranks())
    call from%box(comm%rank(), s, k)
    call to%box(comm%rank(), t, m)
    before = watched_bytes()
    allocate (u(0:k(1) + 1, 0:k(2) + 1, 0:k(3) + 1)) ! with a halo
    allocate (v(m(1), m(2), m(3)))
    call check(watched_bytes() - before == 8_c_long_long*(size(u) + size(v)), &
               "the watch sees memory")
    u = 1
    v = 0
    call moves(comm, from, to, u, v, k)
    call files(comm, from, to, u, v, k)
  end subroutine

  subroutine moves(comm, from, to, u, v, k)
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_layout), intent(in) :: from, to
    real(real64), intent(inout) :: u(0:, 0:, 0:), v(:, :, :)
    integer, intent(in) :: k(3)
    type(tailrace_memory) :: inside
    type(tailrace_exchange) :: exchange
    type(tailrace_reduction) :: reduction
    integer(c_long_long) :: before
    integer :: pass
    before = 0
    call inside%of(u(1:k(1), 1:k(2), 1:k(3)))
    call exchange%create(comm, from, to, from_memory=inside)
    do pass = 1, 2
      before = watched_bytes()
      call exchange%run(u(1:k(1), 1:k(2), 1:k(3)), v)
    end do
    call check(watched_bytes() == before, "an exchange of a section takes nothing")
    call check(all(v == 1), "and moves it")
    call reduction%create(comm, max_items=n*n)
    do pass = 1, 2
      before = watched_bytes()
      call reduction%allreduce(v(:, :, 1))
    end do
    call check(watched_bytes() == before, "a reduction takes nothing")
  end subroutine

  subroutine files(comm, from, to, u, v, k)
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_layout), intent(in) :: from, to
    real(real64), intent(inout), target :: u(0:, 0:, 0:)
    real(real64), intent(inout) :: v(:, :, :)
    integer, intent(in) :: k(3)
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    type(tailrace_input) :: input
    integer(c_long_long) :: before
    integer :: pass
    character(len=1000) :: folder
    before = 0
    call get_command_argument(1, folder)
    call contents%create(comm)
    before = watched_bytes()
    call contents%variable("u", from, u(1:k(1), 1:k(2), 1:k(3)))
    call check(watched_bytes() == before, "a variable takes nothing")
    u = 7
    call output%create(comm, buffered_files=1)
    do pass = 1, 2
      before = watched_bytes()
      call output%write(trim(folder)//"/no_copy_fortran.h5", contents)
      if (pass == 2) call check(watched_bytes() == before, "a file takes nothing")
      call output%finish()
    end do
    call input%open(comm, trim(folder)//"/no_copy_fortran.h5")
    call input%read("u", to, v) ! readers have buffers, in every language
    call check(all(v == 7), "the file has the later values")
  end subroutine
end program
