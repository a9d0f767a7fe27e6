! SPDX-License-Identifier: BSD-3-Clause
module test_sessions
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mpi_f08
  use checks
  use tailrace
  use test_moving, only: fill, nx, ny, nz
  implicit none
contains

  subroutine test_session(folder)
    character(len=*), intent(in) :: folder
    type(tailrace_session) :: session
    character(len=6), parameter :: kinds(3) = ["none  ", "thread", "1     "]
    integer :: k, stat
    logical :: lost
    character(len=300) :: errmsg
    do k = 1, merge(3, 2, all_ranks > 1)
      call session%create(MPI_COMM_WORLD, servers=trim(kinds(k)), folder=folder)
      call check((session%num_servers() == 0) .eqv. (k == 1), "number of servers")
      call check(len(session%describe()) > 0, "describe")
      if (session%computes()) then
        call compute(session, folder//"/fortran_"//trim(kinds(k)))
        call session%close()
      else
        call session%serve(lost)
        call check(.not. lost, "nothing is lost")
      end if
      call session%destroy()
    end do
    call session%create(MPI_COMM_WORLD%MPI_VAL, servers="many", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "many")
  end subroutine

  !> A step of an array with a halo, and a copy of it in single precision.
  subroutine compute(session, path)
    type(tailrace_session), intent(inout) :: session
    character(len=*), intent(in) :: path
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    type(tailrace_product) :: product
    type(tailrace_output_statistics) :: seen
    type(tailrace_input) :: input
    real(real64), allocatable, target :: u(:, :, :)
    real(real32) :: single(nx, ny, nz)
    integer :: s(3), n(3), stat, became, type
    character(len=300) :: errmsg
    call session%comm(comm)
    call layout%slabs([nx, ny, nz], axis=3, num_ranks=comm%num_ranks())
    call layout%box(comm%rank(), s, n)
    allocate (u(0:n(1) + 1, 0:n(2) + 1, n(3)), source=-1.0_real64)
    call fill(u(1:n(1), 1:n(2), :), s)
    product%name = "single"
    product%stages(1) = "convert type=float32"
    call session%open("fields", output, products=[product], when_full=tailrace_wait_for_room)
    call contents%create(comm)
    call contents%variable("u", layout, u(1:n(1), 1:n(2), :))
    call contents%step(4)
    call output%write(path//"_4.h5", contents, result=became)
    call check(became == tailrace_staged .or. became == tailrace_written, "what became of it")
    call output%progress()
    call output%finish()
    call check(output%last_complete() == path//"_4.h5", "last complete file")
    seen = output%statistics()
    call check(seen%steps == 1 .and. seen%complete == 1, "steps")
    call check(len(output%describe()) > 0, "describe an output")
    call check(index(output%describe_statistics(), "1 of 1 steps") > 0, "describe its statistics")
    call output%write(path//"_5.h5", "u", layout, u(1:n(1), 1:n(2), :), result=became)
    call check(became == tailrace_staged .or. became == tailrace_written, "a file of one array")
    call output%write("", contents, stat=stat, errmsg=errmsg, result=became)
    call check(stat == tailrace_invalid_input .and. became == -1, "an empty path")
    call output%destroy()
    call input%open(comm, path//"_4_single.h5")
    call input%type("u", type)
    call check(type == tailrace_float32, "single precision")
    call input%read_all("u", single)
    call check(single(2, 3, 4) == 2 + 300 + 40000 .and. single(1, 1, 1) == 10101, "values")
    call session%open("wrong", output, when_full=9, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "when_full: 9")
    call check(tailrace_continue == tailrace_proceed, "two names for the same")
    call session%open("continues", output, on_failure=tailrace_continue)
    call output%destroy()
    call session%open("wrong", output, on_failure=2, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "on_failure: 2")
  end subroutine

end module
