! SPDX-License-Identifier: BSD-3-Clause
!> Communicators. Part of the module tailrace.
module tailrace_m_comm
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use tailrace_m_status
  implicit none
  private
  public :: rank_of

  !> A duplicate of a communicator, owned.
  type, public :: tailrace_comm
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure, private :: create_f08, create_integer
    !> create(user): user is a type(MPI_Comm) of mpi_f08, or an integer. Collective, blocking.
    generic :: create => create_f08, create_integer
    procedure :: split, node, rank, num_ranks, process_grid, destroy
    final :: finalize
  end type

  interface
    function c_create(user, comm) bind(C, name="tailrace_comm_create_fortran") result(status)
      import :: c_int, c_ptr
      integer, value :: user
      type(c_ptr), intent(inout) :: comm
      integer(c_int) :: status
    end function
    function c_split(comm, color, key, part) bind(C, name="tailrace_comm_split") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int), value :: color, key
      type(c_ptr), intent(inout) :: part
      integer(c_int) :: status
    end function
    function c_node(comm, node) bind(C, name="tailrace_comm_node") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      type(c_ptr), intent(inout) :: node
      integer(c_int) :: status
    end function
    function c_rank(comm, rank) bind(C, name="tailrace_comm_rank") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int), intent(inout) :: rank
      integer(c_int) :: status
    end function
    function c_num_ranks(comm, num_ranks) bind(C, name="tailrace_comm_num_ranks") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: comm
      integer(c_int), intent(inout) :: num_ranks
      integer(c_int) :: status
    end function
    function c_process_grid(comm, extents, item_bytes, grid, why) &
        bind(C, name="tailrace_comm_process_grid") result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: comm
      integer(c_int64_t), intent(in) :: extents(3)
      integer(c_int64_t), value :: item_bytes
      integer(c_int), intent(inout) :: grid(2)
      type(c_ptr), intent(inout) :: why
      integer(c_int) :: status
    end function
    function c_destroy(comm) bind(C, name="tailrace_comm_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: comm
      integer(c_int) :: status
    end function
  end interface

contains

  subroutine create_f08(self, user, stat, errmsg)
    class(tailrace_comm), intent(inout) :: self
    type(MPI_Comm), intent(in) :: user
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%create(user%MPI_VAL, stat, errmsg)
  end subroutine

  subroutine create_integer(self, user, stat, errmsg)
    class(tailrace_comm), intent(inout) :: self
    integer, intent(in) :: user
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%destroy()
    call settle(c_create(user, self%handle), stat, errmsg)
  end subroutine

  !> `part` becomes the ranks of the same `color` (not negative), ordered by `key`, then rank.
  !> Collective, blocking.
  subroutine split(self, color, key, part, stat, errmsg)
    class(tailrace_comm), intent(in) :: self
    integer, intent(in) :: color, key
    type(tailrace_comm), intent(inout) :: part
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call part%destroy()
    call settle(c_split(self%handle, int(color, c_int), int(key, c_int), part%handle), stat, errmsg)
  end subroutine

  !> `part` becomes the ranks that share this rank's node. Collective, blocking.
  subroutine node(self, part, stat, errmsg)
    class(tailrace_comm), intent(in) :: self
    type(tailrace_comm), intent(inout) :: part
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call part%destroy()
    call settle(c_node(self%handle, part%handle), stat, errmsg)
  end subroutine

  !> This rank, from 0 as in MPI. Local.
  integer function rank(self)
    class(tailrace_comm), intent(in) :: self
    integer(c_int) :: found
    found = -1
    call settle(c_rank(self%handle, found))
    rank = found
  end function

  !> The same for calls that have a `stat` of their own: the status.
  integer(c_int) function rank_of(comm, rank)
    class(tailrace_comm), intent(in) :: comm
    integer(c_int), intent(inout) :: rank
    rank_of = c_rank(comm%handle, rank)
  end function

  !> Local.
  integer function num_ranks(self)
    class(tailrace_comm), intent(in) :: self
    integer(c_int) :: found
    found = 0
    call settle(c_num_ranks(self%handle, found))
    num_ranks = found
  end function

  !> `grid`: ranks along the second and the third axis, for transposes of an array of `extents`.
  !> Collective, blocking.
  subroutine process_grid(self, extents, item_bytes, grid, stat, errmsg)
    class(tailrace_comm), intent(in) :: self
    integer, intent(in) :: extents(3), item_bytes
    integer, intent(out) :: grid(2)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: found(2)
    type(c_ptr) :: why
    found = 0
    call settle(c_process_grid(self%handle, reversed(int(extents, int64)), &
                               int(item_bytes, c_int64_t), found, why), stat, errmsg)
    grid = found(2:1:-1)
  end subroutine

  !> Collective where this is the last use of the communicator.
  subroutine destroy(self)
    class(tailrace_comm), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_comm), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

end module tailrace_m_comm
