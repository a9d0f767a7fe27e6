! SPDX-License-Identifier: BSD-3-Clause
!> Layouts, and how arrays lie in memory. Part of the module tailrace.
!>
!> Axes, extents, grids and indices are in the order of Fortran: the first axis is the fastest in
!> memory and in files, so (i, j, k) here is (z, y, x) there. Axes and indices count from 1, ranks
!> from 0.
module tailrace_m_layout
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_status
  implicit none
  private

  !> Which boxes of a global index space each rank holds. All calls are local but
  !> `own_box` and `own_boxes`.
  type, public :: tailrace_layout
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: blocks, pencils, slabs, cart_blocks, triangle, own_box, own_boxes
    procedure :: num_dims, extents, num_boxes, box, num_items, describe
    procedure :: destroy => destroy_layout
    final :: finalize_layout
  end type

  !> How a section of an array lies in memory, for exchanges from it or to it.
  type, public :: tailrace_memory
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int) :: num_dims = 0
    integer(c_int64_t) :: strides(tailrace_max_dims) = 0
  contains
    procedure :: of, ordered, destroy => destroy_memory
    final :: finalize_memory
  end type

contains

  !> `grid(d)` parts along axis d. `order` lists the entries of `grid` as ranks are numbered along
  !> them, the fastest first. The default is [1, 2, 3]. MPI_Cart_create numbers ranks along the last
  !> axis first: `order=[3, 2, 1]`, or use `cart_blocks`.
  subroutine blocks(self, extents, grid, stat, errmsg, order)
    class(tailrace_layout), intent(inout) :: self
    integer, intent(in) :: extents(:), grid(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(in), optional :: order(:)
    integer(c_int) :: numbered(size(grid))
    call self%destroy()
    if (size(grid) /= size(extents)) then
      call settle(fail("blocks: grid must have as many entries as extents"), stat, errmsg)
    else if (.not. is_order(order, size(grid))) then
      call settle(fail("blocks: order must have as many entries as grid"), stat, errmsg)
    else
      call set_order(numbered, order)
      call settle(c_layout_blocks_ordered(size(extents, kind=c_int), &
                                          reversed(int(extents, int64)), &
                                          int(reversed(int(grid, int64)), c_int), numbered, &
                                          self%handle), stat, errmsg)
    end if
  end subroutine

  !> Three axes, whole along `axis`, `grid` parts along the two others in order. `order` as for
  !> `blocks`: [1, 2], which is the default, or [2, 1], the order of MPI_Cart_create.
  subroutine pencils(self, extents, axis, grid, stat, errmsg, order)
    class(tailrace_layout), intent(inout) :: self
    integer, intent(in) :: extents(3), axis, grid(2)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(in), optional :: order(:)
    integer(c_int) :: numbered(2)
    call self%destroy()
    if (.not. is_order(order, 2)) then
      call settle(fail("pencils: order must have two entries"), stat, errmsg)
    else
      call set_order(numbered, order)
      call settle(c_layout_pencils_ordered(reversed(int(extents, int64)), int(3 - axis, c_int), &
                                           int(grid(2:1:-1), c_int), numbered, self%handle), &
                  stat, errmsg)
    end if
  end subroutine

  !> Blocks on the grid of ranks that the communicator of `comm` has from MPI_Cart_create: each rank
  !> holds the block at its coordinates. Dimension d of the grid divides axis `axes(d)` of the array;
  !> by default axis d. Axes that are not listed are whole on each rank: x pencils of a grid of
  !> two dimensions are `axes=[2, 3]`.
  subroutine cart_blocks(self, comm, extents, axes, stat, errmsg)
    class(tailrace_layout), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:)
    integer, intent(in), optional :: axes(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int), allocatable :: divided(:)
    integer :: n, d
    call self%destroy()
    n = size(extents)
    if (present(axes)) then
      allocate (divided, source=int(n - int(axes, int64), c_int))
    else
      allocate (divided, source=[(int(n - d, c_int), d=1, n)])
    end if
    call settle(c_layout_cart_blocks(comm%handle, int(n, c_int), reversed(int(extents, int64)), &
                                     size(divided, kind=c_int), divided, self%handle), stat, errmsg)
  end subroutine

  !> `num_ranks` parts along `axis`, whole along the others.
  subroutine slabs(self, extents, axis, num_ranks, stat, errmsg)
    class(tailrace_layout), intent(inout) :: self
    integer, intent(in) :: extents(:), axis, num_ranks
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%destroy()
    call settle(c_layout_slabs(size(extents, kind=c_int), reversed(int(extents, int64)), &
                               int(size(extents) - axis, c_int), int(num_ranks, c_int), &
                               self%handle), stat, errmsg)
  end subroutine

  !> A program's own decomposition: each rank gives the part that it holds, which begins at index
  !> `start` (from 1) and has `counts` items along each axis. A count of 0: it holds nothing. Parts
  !> may leave gaps, and overlap in what is read; what is written must have one rank. A halo is not
  !> counted: give the section without it. Collective over `comm`, blocking; errors are on all ranks.
  subroutine own_box(self, comm, extents, start, counts, stat, errmsg)
    class(tailrace_layout), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:), start(:), counts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer :: n
    call self%destroy()
    n = size(extents)
    if (size(start) /= n .or. size(counts) /= n) n = -1 ! refused on all ranks together
    call settle(c_layout_own_box(comm%handle, int(n, c_int), reversed(int(extents, int64)), &
                                 reversed(int(start, int64)) - 1, reversed(int(counts, int64)), &
                                 self%handle), stat, errmsg)
  end subroutine

  !> Each rank gives its own boxes: box b begins at index `start(:, b)` (from 1) and has
  !> `counts(:, b)` items along each axis. Collective over `comm`, blocking.
  subroutine own_boxes(self, comm, extents, start, counts, stat, errmsg)
    class(tailrace_layout), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    integer, intent(in) :: extents(:), start(:, :), counts(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_box) :: boxes(size(start, 2))
    integer :: b, n
    call self%destroy()
    n = size(extents)
    do b = 1, size(boxes)
      boxes(b) = c_box(size(start, 1, kind=c_int), 0, 0)
      if (n > tailrace_max_dims .or. size(start, 1) /= n .or. &
          any(shape(start) /= shape(counts))) then
        boxes(b)%num_dims = -1 ! refused on all ranks together
      else
        boxes(b)%start(:n) = reversed(int(start(:, b), int64)) - 1
        boxes(b)%extents(:n) = reversed(int(counts(:, b), int64))
      end if
    end do
    call settle(c_layout_from_own_boxes(comm%handle, int(n, c_int), reversed(int(extents, int64)), &
                                        size(boxes, kind=c_int64_t), boxes, self%handle), stat, &
                errmsg)
  end subroutine

  !> Whether `order` is absent, or has `n` entries.
  logical function is_order(order, n)
    integer, intent(in), optional :: order(:)
    integer, intent(in) :: n
    is_order = .true.
    if (present(order)) is_order = size(order) == n
  end function

  !> `order` as C has it, from the slowest entry to the fastest, entries backwards and from 0.
  subroutine set_order(numbered, order)
    integer(c_int), intent(out) :: numbered(:)
    integer, intent(in), optional :: order(:)
    integer :: d, n
    n = size(numbered)
    numbered = [(int(d - 1, c_int), d=1, n)]
    if (present(order)) numbered = int(n - reversed(int(order, int64)), c_int)
  end subroutine

  function extents(self) result(found)
    class(tailrace_layout), intent(in) :: self
    integer, allocatable :: found(:)
    integer(c_int64_t) :: numbers(tailrace_max_dims)
    integer(c_int) :: status
    integer :: n
    numbers = 0
    n = self%num_dims()
    allocate (found(n))
    status = c_layout_extents(self%handle, numbers)
    call narrow(reversed(numbers(:n)), found, "extents of a layout", status)
    call settle(status)
  end function

  !> Boxes of `rank`.
  integer function num_boxes(self, rank)
    class(tailrace_layout), intent(in) :: self
    integer, intent(in) :: rank
    integer(c_int64_t) :: found
    integer(c_int) :: status
    integer :: number(1)
    found = 0
    status = c_layout_num_boxes(self%handle, int(rank, c_int), found)
    call narrow([found], number, "number of boxes", status)
    call settle(status)
    num_boxes = number(1)
  end function

  !> Box number `index` (from 1; default 1) of `rank`: its first index along each axis, and items.
  !> A rank without boxes has one without items.
  subroutine box(self, rank, start, counts, index, stat, errmsg)
    class(tailrace_layout), intent(in) :: self
    integer, intent(in) :: rank
    integer, intent(out) :: start(:), counts(:)
    integer, intent(in), optional :: index
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_box) :: found
    integer(c_int) :: status, n
    integer(c_int64_t) :: num_boxes, wanted
    start = 1
    counts = 0
    n = 0
    num_boxes = 0
    wanted = 1
    if (present(index)) wanted = index
    status = c_layout_num_dims(self%handle, n)
    if (status == tailrace_ok) status = c_layout_num_boxes(self%handle, int(rank, c_int), num_boxes)
    if (status == tailrace_ok .and. (size(start) /= n .or. size(counts) /= n)) &
      status = fail("box: start and counts must have one entry for each axis")
    if (status == tailrace_ok .and. (num_boxes > 0 .or. present(index))) then
      status = c_layout_box(self%handle, int(rank, c_int), wanted - 1, found)
      if (status == tailrace_ok) then
        call narrow(reversed(found%start(:n)) + 1, start, "start of a box", status)
        call narrow(reversed(found%extents(:n)), counts, "items of a box", status)
      end if
    end if
    call settle(status, stat, errmsg)
  end subroutine

  !> Of an array, or a section of one, with the shape of this rank's box, e.g. `u(1:nx, 1:ny, 1:nz)`
  !> of an array with a halo. Only its strides count. Local.
  subroutine of(self, array, stat, errmsg)
    class(tailrace_memory), intent(inout) :: self
    type(*), dimension(..), intent(in) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%destroy()
    call settle(c_f_memory(array, self%handle, self%num_dims, self%strides), stat, errmsg)
  end subroutine

  !> Of a contiguous array whose axes are stored in another order than those of this rank's box, of
  !> `counts` items along its axes: `order` names the axes as the array has them, its fastest first;
  !> [2, 1] is a transposed matrix. `halo(d)`: further items on both sides along axis d. Local.
  subroutine ordered(self, counts, order, halo, stat, errmsg)
    class(tailrace_memory), intent(inout) :: self
    integer, intent(in) :: counts(:), order(:)
    integer, intent(in), optional :: halo(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_box) :: box
    integer(c_int64_t) :: width(tailrace_max_dims)
    integer :: n
    call self%destroy()
    n = size(counts)
    width = 0
    if (n < 1 .or. n > tailrace_max_dims .or. size(order) /= n) then
      call settle(fail("ordered: counts and order must have one entry for each axis"), stat, errmsg)
      return
    end if
    if (present(halo)) then
      if (size(halo) /= n) then
        call settle(fail("ordered: halo must have one entry for each axis"), stat, errmsg)
        return
      end if
      width(:n) = reversed(int(halo, int64))
    end if
    box = c_box(int(n, c_int), 0, 0)
    box%extents(:n) = reversed(int(counts, int64))
    self%num_dims = 0 ! contiguous
    call settle(c_memory_ordered(box, int(n - reversed(int(order, int64)), c_int), width, &
                                 self%handle), stat, errmsg)
  end subroutine

  include "layout.inc"

end module tailrace_m_layout
