! SPDX-License-Identifier: BSD-3-Clause
!> Ranks split into those that compute and those that serve output. Part of the module tailrace.
module tailrace_m_session
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use tailrace_m_comm
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
    procedure, private :: create_f08, create_integer
    !> create(world, servers, folder, memory_bytes, transport, threads): world is a type(MPI_Comm)
    !> or an integer; servers "none", "hidden", "thread", "process", "N", "N per node" or
    !> "auto". Collective, blocking.
    generic :: create => create_f08, create_integer
    procedure :: computes, comm, serve, num_servers, describe, open => open_stream, close, destroy
    final :: finalize
  end type

  type, bind(C) :: c_options
    type(c_ptr) :: servers, placement, transport
    integer(c_int64_t) :: memory_bytes
    integer(c_int) :: senders_at_once
    integer(c_int64_t) :: chunk_bytes
    type(c_ptr) :: progress
    integer(c_int) :: threads
    real(c_double) :: watchdog_s
    type(c_ptr) :: folder, trace
    integer(c_int) :: num_functions
    type(c_ptr) :: functions
    integer(c_int) :: num_server_words
    type(c_ptr) :: server_program
  end type

  interface
    function c_defaults() bind(C, name="tailrace_session_defaults") result(options)
      import :: c_options
      type(c_options) :: options
    end function
    function c_create(world, options, session) bind(C, name="tailrace_session_create_fortran") &
        result(status)
      import :: c_int, c_ptr, c_options
      integer, value :: world
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: session
      integer(c_int) :: status
    end function
    function c_computes(session, computes) bind(C, name="tailrace_session_computes") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), intent(inout) :: computes
      integer(c_int) :: status
    end function
    function c_comm(session, comm) bind(C, name="tailrace_session_comm") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(inout) :: comm
      integer(c_int) :: status
    end function
    function c_serve(session, lost) bind(C, name="tailrace_session_serve") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), intent(inout) :: lost
      integer(c_int) :: status
    end function
    function c_num_servers(session, num_servers) bind(C, name="tailrace_session_num_servers") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int), intent(inout) :: num_servers
      integer(c_int) :: status
    end function
    function c_describe(session, text) bind(C, name="tailrace_session_describe") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_close(session) bind(C, name="tailrace_session_close") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: status
    end function
    function c_destroy(session) bind(C, name="tailrace_session_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: session
      integer(c_int) :: status
    end function
  end interface

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
    type(c_options) :: options
    character(kind=c_char, len=:), allocatable, target :: kind, place, way
    call self%destroy()
    options = c_defaults()
    if (present(servers)) then
      kind = to_c(servers)
      options%servers = c_loc(kind)
    end if
    if (present(folder)) then
      place = to_c(folder)
      options%folder = c_loc(place)
    end if
    if (present(transport)) then
      way = to_c(transport)
      options%transport = c_loc(way)
    end if
    if (present(memory_bytes)) options%memory_bytes = memory_bytes
    if (present(threads)) options%threads = int(threads, c_int)
    call settle(c_create(world, options, self%handle), stat, errmsg)
  end subroutine

  !> Whether this rank computes; else it serves. Local.
  logical function computes(self)
    class(tailrace_session), intent(in) :: self
    integer(c_int) :: found
    found = 0
    call settle(c_computes(self%handle, found))
    computes = found /= 0
  end function

  !> `ranks` becomes those that compute. Only where they do. Collective over them, blocking.
  subroutine comm(self, ranks, stat, errmsg)
    class(tailrace_session), intent(in) :: self
    type(tailrace_comm), intent(inout) :: ranks
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call ranks%destroy()
    call settle(c_comm(self%handle, ranks%handle), stat, errmsg)
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
    call settle(c_serve(self%handle, found), stat, errmsg)
    if (present(lost)) lost = found /= 0
  end subroutine

  !> 0: none. Local.
  integer function num_servers(self)
    class(tailrace_session), intent(in) :: self
    integer(c_int) :: found
    found = 0
    call settle(c_num_servers(self%handle, found))
    num_servers = found
  end function

  !> How many servers there are, of what kind, by which transport, and why. Local.
  function describe(self) result(text)
    class(tailrace_session), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_describe(self%handle, address))
    text = from_c(address)
  end function

  !> Opens an output: names are distinct, the same calls in the same order on all compute ranks.
  !> The rest is said at tailrace_stream. Collective over the compute ranks, blocking.
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
    call stream%open_in(self%handle, name, products, when_full, on_failure, variables, priority, &
                        stat, errmsg)
  end subroutine

  !> Finishes all streams and ends the servers. Collective over the compute ranks, blocking.
  subroutine close(self, stat, errmsg)
    class(tailrace_session), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_close(self%handle), stat, errmsg)
  end subroutine

  !> Closes if that has not been done; errors are then only said. Collective, blocking.
  subroutine destroy(self)
    class(tailrace_session), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_session), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

end module tailrace_m_session
