! SPDX-License-Identifier: BSD-3-Clause
!> Files written while the program computes. Part of the module tailrace.
module tailrace_m_output
  use, intrinsic :: iso_c_binding
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private
  public :: tailrace_output_statistics !< what output has cost on this rank; see the C header

  !> Writes HDF5 files that h5py, xarray and ParaView read, hidden behind the computation.
  type, public :: tailrace_output
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int), private :: rank = 0
  contains
    procedure, private :: write_file, write_array
    !> write(path, contents), or write(path, name, layout, array): a file of one array.
    generic :: write => write_file, write_array
    procedure :: create => create_output, progress, finish, statistics, last_complete, &
      destroy => destroy_output
    final :: finalize_output
  end type

contains

  !> `hidden` (default .true.): a background thread of each writer writes while the program
  !> computes. The rest as in C, docs/files.md. Collective, blocking.
  subroutine create_output(self, comm, hidden, strategy, hints, writers, stripe_bytes, &
                           buffered_files, method, checksums, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    logical, intent(in), optional :: hidden, checksums
    character(len=*), intent(in), optional :: strategy, method
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(in), optional :: writers, stripe_bytes, buffered_files
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_output_options) :: options
    character(kind=c_char, len=:), allocatable, target :: strategy_name, method_name
    integer(c_int) :: status
    call self%destroy()
    options = c_output_defaults()
    if (present(hidden)) options%mode = merge(1, 0, hidden)
    if (present(checksums)) options%checksums = merge(1, 0, checksums)
    if (present(hints)) options%hints = hints%handle
    if (present(writers)) options%writers = int(writers, c_int)
    if (present(stripe_bytes)) options%stripe_bytes = stripe_bytes
    if (present(buffered_files)) options%buffered_files = int(buffered_files, c_int)
    call point_to(options%strategy, strategy, strategy_name)
    call point_to(options%method, method, method_name)
    status = rank_of(comm, self%rank)
    if (status == tailrace_ok) status = c_output_create(comm%handle, options, self%handle)
    call settle(status, stat, errmsg)
  end subroutine

  !> tailrace_output_write of C.
  subroutine write_file(self, path, contents, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_output_write(self%handle, to_c(path), contents%handle), stat, errmsg)
  end subroutine

  !> The same for a file of one array: this rank's part of `layout`, with the shape of its box, also
  !> a section such as `u(1:nx, 1:ny, 1:nz)` of an array with a halo. Copies it and returns; fails on
  !> all ranks alike. Collective.
  subroutine write_array(self, path, name, layout, array, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    character(len=*), intent(in) :: path, name
    type(tailrace_layout), intent(in) :: layout
    type(*), dimension(..), intent(in) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_f_write(self%handle, to_c(path), to_c(name), layout%handle, self%rank, array), &
                stat, errmsg)
  end subroutine

  include "output.inc"

end module tailrace_m_output
