! SPDX-License-Identifier: BSD-3-Clause
!> Ranks split into those that compute and those that serve output. Part of the module tailrace.
module tailrace_m_session
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08, only: MPI_Comm
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_output
  use tailrace_m_status
  use tailrace_m_stream
  implicit none
  private

  !> The ranks of a program:
  !>
  !>     call session%create(MPI_COMM_WORLD, servers="1 per node")
  !>     if (session%computes()) then
  !>       call session%comm(comm)
  !>       call solve(comm, session)
  !>       call session%close()
  !>     else
  !>       call session%serve()
  !>     end if
  type, public :: tailrace_session
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure, private :: create_f08, create_integer, open_output, open_stream
    !> create(world, servers, folder, memory_bytes, transport, threads): world is a type(MPI_Comm)
    !> or an integer; servers "none", "hidden", "thread", "process", "N", "N per node" or
    !> "auto". Collective, blocking.
    generic :: create => create_f08, create_integer
    !> open(name, output, ...): see open_output. Programs of 0.1 give a tailrace_stream.
    generic :: open => open_output, open_stream
    procedure :: computes, comm, serve, num_servers, describe, close, destroy
    final :: finalize
  end type

contains

  subroutine create_f08(self, world, servers, folder, memory_bytes, transport, threads, stat, &
                        errmsg)
    class(tailrace_session), intent(inout) :: self
    type(MPI_Comm), intent(in) :: world
    character(len=*), intent(in), optional :: servers, folder, transport
    integer(int64), intent(in), optional :: memory_bytes
    integer, intent(in), optional :: threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%create_integer(world%MPI_VAL, servers, folder, memory_bytes, transport, threads, &
                             stat, errmsg)
  end subroutine

  subroutine create_integer(self, world, servers, folder, memory_bytes, transport, threads, stat, &
                            errmsg)
    class(tailrace_session), intent(inout) :: self
    integer, intent(in) :: world
    character(len=*), intent(in), optional :: servers, folder, transport
    integer(int64), intent(in), optional :: memory_bytes
    integer, intent(in), optional :: threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_output_options) :: options
    character(kind=c_char, len=:), allocatable, target :: kind, place, way
    call self%destroy()
    options = c_output_defaults()
    call point_to(options%servers, servers, kind)
    call point_to(options%folder, folder, place)
    call point_to(options%transport, transport, way)
    if (present(memory_bytes)) options%memory_bytes = memory_bytes
    if (present(threads)) options%threads = int(threads, c_int)
    call settle(c_session_create_fortran(world, options, self%handle), stat, errmsg)
  end subroutine

  !> Serves until all compute ranks have closed; `lost` is true if output was lost. Only where this
  !> rank does not compute. Blocking.
  subroutine serve(self, lost, stat, errmsg)
    class(tailrace_session), intent(inout) :: self
    logical, intent(out), optional :: lost
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: found
    found = 0
    call settle(c_session_serve(self%handle, found), stat, errmsg)
    if (present(lost)) lost = found /= 0
  end subroutine

  !> Opens an output: names are distinct, the same calls in the same order on all compute ranks.
  !> The rest as in `tailrace_output_options` of C. Collective over the compute ranks, blocking.
  subroutine open_output(self, name, output, products, when_full, on_failure, variables, priority, &
                         stall_budget, wait_limit_s, spill_folder, retry_s, fallback_path, format, &
                         compress, strategy, hints, writers, stripe_bytes, buffered_files, method, &
                         checksums, series, stat, errmsg)
    class(tailrace_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(tailrace_output), intent(inout) :: output
    type(tailrace_product), intent(in), optional :: products(:)
    integer, intent(in), optional :: when_full, on_failure, priority, writers, stripe_bytes, &
                                     buffered_files
    logical, intent(in), optional :: variables, checksums
    real(real64), intent(in), optional :: stall_budget, wait_limit_s, retry_s
    character(len=*), intent(in), optional :: spill_folder, fallback_path, format, compress, &
                                              strategy, method, series
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(tailrace_comm) :: ranks
    integer(c_int) :: status
    call make_output(output, self%handle, products, when_full, on_failure, variables, priority, &
                     stall_budget, wait_limit_s, spill_folder, retry_s, fallback_path, format, &
                     compress, strategy, hints, writers, stripe_bytes, buffered_files, method, &
                     checksums, series, stat, errmsg, name=name)
    if (.not. c_associated(output%handle)) return
    call self%comm(ranks)
    status = rank_of(ranks, output%rank)
  end subroutine

  !> The same for programs of 0.1; rank 0 says once that the type has another name.
  subroutine open_stream(self, name, stream, products, when_full, on_failure, variables, priority, &
                         stat, errmsg)
    class(tailrace_session), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(tailrace_stream), intent(inout) :: stream
    type(tailrace_product), intent(in), optional :: products(:)
    integer, intent(in), optional :: when_full, on_failure, priority
    logical, intent(in), optional :: variables
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(tailrace_output) :: output
    logical, save :: is_said = .false.
    integer(c_int) :: status
    call stream%destroy()
    call self%open_output(name, output, products, when_full, on_failure, variables, priority, &
                          stat=stat, errmsg=errmsg)
    stream%handle = output%handle
    output%handle = c_null_ptr
    if (is_said .or. .not. c_associated(stream%handle)) return
    is_said = .true.
    if (output%rank /= 0) return
    status = c_say(int(tailrace_log_warning, c_int), &
                   to_c("tailrace_stream is a name of 0.1: use tailrace_output"))
  end subroutine

  include "session.inc"

end module tailrace_m_session
