! SPDX-License-Identifier: BSD-3-Clause
module test_files
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
  use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
  use mpi_f08
  use checks
  use tailrace
  use test_moving, only: fill, nx, ny, nz
  implicit none

  interface
    function slabs_in_c(num_dims, extents, axis, num_ranks, layout) &
      bind(C, name="tailrace_layout_slabs") result(status)
      import :: c_int, c_int64_t, c_ptr
      integer(c_int), value :: num_dims, axis, num_ranks
      integer(c_int64_t), intent(in) :: extents(*)
      type(c_ptr), intent(inout) :: layout
      integer(c_int) :: status
    end function
  end interface

contains

  !> Writes an array, the inside of one with a halo, and boxes one after another; reads them again
  !> on another layout.
  subroutine test_output(folder)
    character(len=*), intent(in) :: folder
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    type(tailrace_output_statistics) :: seen
    type(tailrace_hints) :: hints
    real(real64), allocatable, target :: u(:, :, :), wide(:, :, :)
    integer(int16), allocatable, target :: flat(:)
    integer :: s(3), n(3), i, stat
    character(len=:), allocatable :: path
    character(len=300) :: errmsg
    logical :: is_there
    call comm%create(MPI_COMM_WORLD)
    call layout%slabs([nx, ny, nz], axis=2, num_ranks=all_ranks)
    call layout%box(this_rank, s, n)
    allocate (u(n(1), n(2), n(3)), wide(-1:n(1) + 2, 0:n(2) + 1, n(3)))
    allocate (flat(layout%num_items(this_rank)))
    call fill(u, s)
    wide = -1
    wide(1:n(1), 1:n(2), :) = -u
    flat = [(int(i, int16), i=1, size(flat))]

    call contents%create(comm)
    call contents%variable("u", layout, u)
    call contents%variable("wide", layout, wide(1:n(1), 1:n(2), :), dims=["x", "y", "z"])
    call contents%variable("flat", layout, flat)
    call contents%coordinate("x", [(real(i, real64), i=1, nx)])
    call contents%attribute("time", 0.5_real64)
    call contents%attribute("run", 42)
    call contents%attribute("range", [-1.0_real64, 65.0_real64])
    call contents%attribute("title", "slabs")
    call contents%attribute("scale", 0.5, of="u")
    call contents%attribute("flags", [1, 2], of="u")
    call contents%attribute("large", [9007199254740993_int64], of="u")
    call contents%attribute("singles", [0.5, 1.5], of="u")
    call contents%attribute("none", [integer ::], of="u")
    call contents%attribute("units", "m", of="u")
    call contents%step(3)
    call contents%attribute("units", "m", of="no such", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "no such")
    call contents%variable("u", layout, u(:, :, ::2), stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 3 of the array has 4 items")
    call contents%variable("u", layout, u(:, :, nz:1:-1), stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "negative stride")
    call contents%variable("u", layout, [.true.], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "files cannot contain arrays")

    call hints%set("cb_nodes", "1")
    call hints%set("cb_nodes", "many", stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "cb_nodes")
    call output%create(comm, hints=hints)
    path = folder//"/fortran_face.h5"
    call output%write(path, contents)
    call output%progress()
    call output%finish()
    call check(output%last_complete() == path, "last complete file")
    seen = output%statistics()
    call check(seen%complete == 1 .and. seen%call_s > 0, "statistics")
    call read_again(comm, path)
    call output%create(comm, series=folder//"/fortran_series.h5")
    call output%write(folder//"/fortran_step.h5", contents)
    call output%finish()
    inquire (file=folder//"/fortran_series.h5", exist=is_there)
    call check(is_there, "a series")
  end subroutine

  !> What is wrong with an argument is said, and nothing ends the program.
  subroutine test_misuse()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout, far
    type(tailrace_contents) :: contents
    type(tailrace_memory) :: memory
    type(tailrace_output) :: output
    type(tailrace_reduction) :: reduction
    real(real64), target :: u(8, 6)
    character(len=0) :: empty(4)
    integer :: stat, s(3), n(3)
    character(len=300) :: errmsg
    u = 0
    call comm%create(MPI_COMM_WORLD)
    call memory%of(empty, stat=stat) ! items of no bytes
    call check(stat == tailrace_invalid_input, "memory of character(len=0) is refused")
    call layout%slabs([8, 6*all_ranks], axis=2, num_ranks=all_ranks)
    call contents%create(comm)
    call contents%variable("empty", layout, empty, stat=stat)
    call check(stat == tailrace_invalid_input, "character(len=0) is refused")
    call contents%variable("u", layout, u(:, :5), stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 2 of the array has 5 items")
    call contents%variable("u", layout, u(1, :), stat=stat)
    call check(stat == tailrace_invalid_input, "another number of axes is refused")
    stat = slabs_in_c(3_c_int, [2_c_int64_t**33, 4_c_int64_t, 2_c_int64_t], 1_c_int, 1_c_int, &
                      far%handle)
    call check(stat == tailrace_ok, "a layout of more than 2**31 items along an axis")
    call far%box(0, s, n, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "larger than a default integer")
    call far%destroy()
    call layout%destroy()
    call contents%variable("u", layout, u, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "tailrace_layout given is NULL")
    call contents%destroy()
    call layout%slabs([8, 6*all_ranks], axis=2, num_ranks=all_ranks)
    call contents%variable("u", layout, u, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "tailrace_contents given is NULL")
    call contents%create(comm)
    call output%write("misuse.h5", contents, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "tailrace_output given is NULL")
    call reduction%allreduce(u, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "tailrace_reduction given is NULL")
  end subroutine

  subroutine read_again(comm, path)
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in) :: path
    type(tailrace_layout) :: rows
    type(tailrace_input) :: input
    real(real64), allocatable :: v(:, :, :), w(:, :, :), list(:), around(:, :, :)
    real(real32) :: whole(nx, ny, nz)
    integer, allocatable :: extents(:)
    integer :: s(3), n(3), stat, number, type
    real(real64) :: time
    character(len=:), allocatable :: title
    character(len=300) :: errmsg
    call rows%slabs([nx, ny, nz], axis=1, num_ranks=all_ranks)
    call rows%box(this_rank, s, n)
    allocate (v(n(1), n(2), n(3)), w(n(1), n(2), n(3)), around(0:n(1) + 1, n(2), n(3)))
    call fill(w, s)
    call input%open(comm, path, buffer_bytes=2**20)
    call check(input%num_names() == 3 .and. input%name(1) == "flat", "names")
    call input%extents("u", extents)
    call check(all(extents == [nx, ny, nz]), "extents in the order of Fortran")
    call input%type("flat", type)
    call check(type == 5, "int16")
    call input%read("u", rows, v)
    call check(all(v == w), "read on another layout")
    around = 7
    call input%read("wide", rows, around(1:n(1), :, :))
    call check(all(around(1:n(1), :, :) == -w) .and. all(around(0, :, :) == 7), "into a section")
    call input%read_all("u", whole)
    call check(whole(2, 3, 4) == 2 + 300 + 40000, "read all, single precision")
    call input%attribute("time", time)
    call input%attribute("run", number)
    call input%attribute("title", title)
    call input%attribute("range", list)
    call check(time == 0.5_real64 .and. number == 42 .and. title == "slabs", "attributes")
    call check(size(list) == 2 .and. list(2) == 65, "a list")
    call input%coordinate("x", list)
    call check(size(list) == nx .and. list(nx) == nx, "coordinate")
    call check(.not. input%has_attribute("nothing"), "an attribute that is not there")

    call input%read("nothing", rows, v, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "it has flat, u, wide")
    call check(tailrace_error_path() == path, "path of the error")
    call input%read("u", rows, v(:, :, :nz - 1), stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 3 of the array has 6 items")
    call input%attribute("title", number, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "title")
    call input%read_all("u", whole(:, :, ::2), stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "with gaps")
  end subroutine

  subroutine test_file_errors(folder)
    character(len=*), intent(in) :: folder
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    type(tailrace_input) :: input
    type(tailrace_log) :: log
    real(real64), allocatable, target :: u(:, :, :)
    integer :: s(3), n(3), stat
    character(len=300) :: errmsg
    call comm%create(MPI_COMM_WORLD)
    call layout%slabs([nx, ny, nz], axis=2, num_ranks=all_ranks)
    call layout%box(this_rank, s, n)
    allocate (u(n(1), n(2), n(3)))
    call fill(u, s)
    call contents%create(comm)
    call contents%variable("u", layout, u)
    call contents%step(17)
    call output%create(comm, servers="none")
    call output%write("/no/such/folder/u.h5", contents, stat, errmsg)
    call refused(stat, tailrace_io, errmsg, "/no/such/folder/u.h5")
    call check(tailrace_error_errno() == 2 .and. tailrace_error_step() == 17 .and. &
               tailrace_error_rank() == 0, "errno, step and rank")
    call output%destroy()
    call output%write(folder//"/never.h5", contents, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "the tailrace_output given is NULL")
    call output%create(comm, strategy="nonsense", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "nonsense")
    call output%create(comm, "1 per node", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "Session")
    call input%open(comm, "/no/such.h5", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_io, errmsg, "/no/such.h5")
    call log%create(comm, folder//"/fortran_log.txt")
    call log%warning("slow disk")
    call log%progress()
    call log%finish()
  end subroutine

end module
