! SPDX-License-Identifier: BSD-3-Clause
!> Files written while the program computes. Part of the module tailrace.
module tailrace_m_output
  use, intrinsic :: iso_c_binding
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_status
  implicit none
  private
  public :: tailrace_output_statistics !< what output has cost on this rank; see the C header

  !> Writes HDF5 files that h5py, xarray and ParaView read, hidden behind the computation.
  type, public :: tailrace_output
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: create => create_output, write => write_file, progress, finish, statistics, &
      last_complete, destroy => destroy_output
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
    call settle(c_output_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  include "output.inc"

end module tailrace_m_output
