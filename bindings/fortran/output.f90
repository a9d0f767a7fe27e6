! SPDX-License-Identifier: BSD-3-Clause
!> Files written while the program computes. Part of the module tailrace.
module tailrace_m_output
  use, intrinsic :: iso_c_binding
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_status
  implicit none
  private

  !> Writes HDF5 files that h5py, xarray and ParaView read, hidden behind the computation.
  type, public :: tailrace_output
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: create => create_output, write => write_file, progress, finish, statistics, &
                 last_complete, destroy => destroy_output
    final :: finalize_output
  end type

  !> What output has cost so far, on this rank; see the C header.
  type, bind(C), public :: tailrace_output_statistics
    integer(c_int64_t) :: steps, complete, dropped, thinned, lowered, spilled, failed, bytes, &
                          written_bytes, writes, opens, slowest_step
    real(c_double) :: run_s, call_s, agree_s, copy_s, room_s, end_s, stall_s, write_s, slowest_s, &
                      hidden_fraction
  end type

  !> As in the C header; streams have it among theirs.
  type, bind(C), public :: tailrace_output_options
    integer(c_int) :: mode
    type(c_ptr) :: strategy, hints
    integer(c_int) :: writers
    integer(c_int64_t) :: stripe_bytes
    integer(c_int) :: buffered_files
    type(c_ptr) :: method
    integer(c_int) :: checksums
    type(c_ptr) :: trace
  end type

  interface
    function c_defaults() bind(C, name="tailrace_output_defaults") result(options)
      import :: tailrace_output_options
      type(tailrace_output_options) :: options
    end function
    function c_create(comm, options, output) bind(C, name="tailrace_output_create") result(status)
      import :: c_int, c_ptr, tailrace_output_options
      type(c_ptr), value :: comm
      type(tailrace_output_options), intent(in) :: options
      type(c_ptr), intent(inout) :: output
      integer(c_int) :: status
    end function
    function c_write(output, path, contents) bind(C, name="tailrace_output_write") result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: output, contents
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: status
    end function
    function c_progress(output) bind(C, name="tailrace_output_progress") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: output
      integer(c_int) :: status
    end function
    function c_finish(output) bind(C, name="tailrace_output_finish") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: output
      integer(c_int) :: status
    end function
    function c_statistics(output, statistics) bind(C, name="tailrace_output_get_statistics") &
        result(status)
      import :: c_int, c_ptr, tailrace_output_statistics
      type(c_ptr), value :: output
      type(tailrace_output_statistics), intent(inout) :: statistics
      integer(c_int) :: status
    end function
    function c_last_complete(output, path) bind(C, name="tailrace_output_last_complete") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: output
      type(c_ptr), intent(inout) :: path
      integer(c_int) :: status
    end function
    function c_destroy(output) bind(C, name="tailrace_output_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: output
      integer(c_int) :: status
    end function
  end interface

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
    type(tailrace_output_options) :: options
    character(kind=c_char, len=:), allocatable, target :: strategy_name, method_name
    call self%destroy()
    options = c_defaults()
    if (present(hidden)) options%mode = merge(1, 0, hidden)
    if (present(checksums)) options%checksums = merge(1, 0, checksums)
    if (present(hints)) options%hints = hints%handle
    if (present(writers)) options%writers = int(writers, c_int)
    if (present(stripe_bytes)) options%stripe_bytes = stripe_bytes
    if (present(buffered_files)) options%buffered_files = int(buffered_files, c_int)
    if (present(strategy)) then
      strategy_name = to_c(strategy)
      options%strategy = c_loc(strategy_name)
    end if
    if (present(method)) then
      method_name = to_c(method)
      options%method = c_loc(method_name)
    end if
    call settle(c_create(comm%handle, options, self%handle), stat, errmsg)
  end subroutine

  !> Writes `contents` to `path`; when it returns, the arrays may be changed. A failure is of this
  !> file, or (hidden) of an earlier one: then nothing has been written of `contents`. Collective,
  !> blocking for the copy only if hidden.
  subroutine write_file(self, path, contents, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_write(self%handle, to_c(path), contents%handle), stat, errmsg)
  end subroutine

  !> Lets files under way get their final names; once a step, on all ranks. Local.
  subroutine progress(self, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_progress(self%handle), stat, errmsg)
  end subroutine

  !> Waits until every file has its final name. Collective, blocking.
  subroutine finish(self, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_finish(self%handle), stat, errmsg)
  end subroutine

  !> Local.
  function statistics(self) result(seen)
    class(tailrace_output), intent(in) :: self
    type(tailrace_output_statistics) :: seen
    call settle(c_statistics(self%handle, seen))
  end function

  !> Path of the last file known to be complete, or "". Local.
  function last_complete(self) result(path)
    class(tailrace_output), intent(in) :: self
    character(len=:), allocatable :: path
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_last_complete(self%handle, address))
    path = from_c(address)
  end function

  !> Waits for files under way; errors found now are only said, so call `finish` first. Collective.
  subroutine destroy_output(self)
    class(tailrace_output), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize_output(self)
    type(tailrace_output), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

end module tailrace_m_output
