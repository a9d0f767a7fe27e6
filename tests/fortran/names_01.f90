! SPDX-License-Identifier: BSD-3-Clause
! A program of 0.1: its names and calls still compile, and do what they did.
! Usage: mpirun -n 3 fortran_names_01 FOLDER
program names_01
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use checks
  use tailrace
  implicit none
  character(len=1000) :: folder
  integer :: total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, this_rank)
  call MPI_Comm_size(MPI_COMM_WORLD, all_ranks)
  call get_command_argument(1, folder)
  call test_hidden()
  call test_stream("none")
  call test_stream("thread")
  call MPI_Allreduce(num_failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total > 0) error stop 1

contains

  subroutine make_array(comm, layout, contents, u)
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_layout), intent(inout) :: layout
    type(tailrace_contents), intent(inout) :: contents
    real(real64), allocatable, target, intent(inout) :: u(:, :)
    integer :: s(2), n(2)
    call layout%slabs([6, 7], axis=2, num_ranks=comm%num_ranks())
    call layout%box(comm%rank(), s, n)
    allocate (u(n(1), n(2)), source=7.0_real64)
    call contents%create(comm)
    call contents%variable("u", layout, u)
  end subroutine

  subroutine check_file(comm, path)
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in) :: path
    type(tailrace_input) :: input
    real(real64) :: whole(6, 7)
    call input%open(comm, path)
    call input%read_all("u", whole)
    call check(all(whole == 7), path)
  end subroutine

  !> `hidden` by its place and by its name, and calls without it.
  subroutine test_hidden()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    real(real64), allocatable, target :: u(:, :)
    integer :: stat, k
    character(len=300) :: errmsg
    character(len=:), allocatable :: path
    call comm%create(MPI_COMM_WORLD)
    call make_array(comm, layout, contents, u)
    do k = 1, 4
      select case (k)
      case (1)
        call output%create(comm, .false., "auto")
      case (2)
        call output%create(comm, hidden=.true., buffered_files=1)
      case (3)
        call output%create(comm, strategy="collective", writers=1)
      case (4)
        call output%create(comm)
      end select
      path = trim(folder)//"/names_01_"//achar(iachar("0") + k)//".h5"
      call output%write(path, contents, stat, errmsg)
      call check(stat == tailrace_ok, errmsg)
      call output%finish()
      call output%write(path, "u", layout, u, stat, errmsg)
      call check(stat == tailrace_ok, errmsg)
      call output%finish()
      call check_file(comm, path)
    end do
  end subroutine

  subroutine test_stream(servers)
    character(len=*), intent(in) :: servers
    type(tailrace_session) :: session
    type(tailrace_stream) :: stream
    type(tailrace_product) :: product
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output_statistics) :: seen
    real(real64), allocatable, target :: u(:, :)
    integer :: became, stat
    character(len=300) :: errmsg
    character(len=:), allocatable :: path
    call session%create(MPI_COMM_WORLD, servers, trim(folder))
    call session%comm(comm)
    call make_array(comm, layout, contents, u)
    product%name = "same"
    product%stages(1) = "convert type=float64"
    call session%open("fields", stream, [product], tailrace_wait_for_room, tailrace_stop, .true., 1)
    path = trim(folder)//"/names_01_"//servers
    call stream%write(path//".h5", contents, became)
    call check(became == tailrace_staged .or. became == tailrace_written, "the outcome")
    call stream%write("", contents, became, stat, errmsg)
    call check(stat == tailrace_invalid_input .and. became == -1, "an empty path")
    call stream%progress()
    call stream%finish()
    call check(stream%last_complete() == path//".h5", "last complete file")
    seen = stream%statistics()
    call check(seen%complete == 1, "statistics")
    call check(index(stream%describe(), "1 of 1 steps") > 0, "describe")
    call stream%destroy()
    call check_file(comm, path//".h5")
    call check_file(comm, path//"_same.h5")
    call session%open("wrong", stream, when_full=9, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "when_full: 9")
    call session%close()
  end subroutine

end program
