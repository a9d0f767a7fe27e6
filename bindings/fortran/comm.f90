! SPDX-License-Identifier: BSD-3-Clause
!> Communicators. Part of the module tailrace.
module tailrace_m_comm
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use tailrace_m_calls
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
    call settle(c_comm_create_fortran(user, self%handle), stat, errmsg)
  end subroutine

  !> The same for calls that have a `stat` of their own: the status.
  integer(c_int) function rank_of(comm, rank)
    class(tailrace_comm), intent(in) :: comm
    integer(c_int), intent(inout) :: rank
    rank_of = c_comm_rank(comm%handle, rank)
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
    call settle(c_comm_process_grid(self%handle, reversed(int(extents, int64)), &
                                    int(item_bytes, c_int64_t), found, why), stat, errmsg)
    grid = found(2:1:-1)
  end subroutine

  include "comm.inc"

end module tailrace_m_comm
