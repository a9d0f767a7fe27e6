! SPDX-License-Identifier: BSD-3-Clause
! The memory of `caf` (see caf.cpp): a coarray, in which every exchange has a part. All images call
! the procedures that reserve or release, in the same order.
!
! One coarray for all exchanges, which grows: Fortran has no pointers to what holds a coarray.
module tailrace_caf
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t
  implicit none
  private
  public :: reserve_part, release_part, write_part, read_part, sync_parts

  integer(c_int8_t), allocatable :: heap(:) [:]
  integer(c_int64_t) :: used = 0  ! bytes that have been given away
  integer :: num_parts = 0        ! that have not been given back

contains

  !> Where a new part of num_bytes begins; the same on all images. Waits for all.
  function reserve_part(num_bytes) result(offset) bind(c, name="tailrace_caf_reserve_part")
    integer(c_int64_t), value :: num_bytes
    integer(c_int64_t) :: offset
    integer(c_int8_t), allocatable :: grown(:) [:]

    allocate (grown(used + num_bytes) [*])
    if (allocated(heap)) then
      grown(1:used) = heap(1:used)  ! others may be about to read what is there
      deallocate (heap)
    end if
    call move_alloc(grown, heap)
    offset = used
    used = used + num_bytes
    num_parts = num_parts + 1
  end function reserve_part

  !> Gives one part back. The memory goes when all parts have been. Waits for all images then.
  subroutine release_part() bind(c, name="tailrace_caf_release_part")
    num_parts = num_parts - 1
    if (num_parts > 0) return
    deallocate (heap)
    used = 0
  end subroutine release_part

  !> Writes to this image's memory, for others to see.
  subroutine write_part(offset, num_bytes, from) bind(c, name="tailrace_caf_write_part")
    integer(c_int64_t), value :: offset, num_bytes
    integer(c_int8_t), intent(in) :: from(num_bytes)

    heap(offset + 1:offset + num_bytes) = from
    sync memory
  end subroutine write_part

  !> Reads the memory of another image (1 is the first one).
  subroutine read_part(image, offset, num_bytes, to) bind(c, name="tailrace_caf_read_part")
    integer(c_int), value :: image
    integer(c_int64_t), value :: offset, num_bytes
    integer(c_int8_t), intent(out) :: to(num_bytes)

    to = heap(offset + 1:offset + num_bytes) [image]
  end subroutine read_part

  !> What other images wrote before this one heard of it can be read.
  subroutine sync_parts() bind(c, name="tailrace_caf_sync_parts")
    sync memory
  end subroutine sync_parts

end module tailrace_caf
