! SPDX-License-Identifier: BSD-3-Clause
! The same calls by mpif.h (FLAVOUR 1), use mpi (2) and use mpi_f08 (3); prints how many it made.
program calls
#if FLAVOUR == 3
  use mpi_f08
#elif FLAVOUR == 2
  use mpi
#endif
  implicit none
#if FLAVOUR == 1
  include 'mpif.h'
#endif
#if FLAVOUR == 3
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: copy
  type(MPI_Status) :: status
  type(MPI_File) :: file
#else
  integer :: requests(2), copy, status(MPI_STATUS_SIZE), file
#endif
  integer :: rank, ranks, next, last, i, error
  double precision :: x(4), y(4)
  character(len=200) :: path
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  do i = 1, 10
    x = rank
    call MPI_Allreduce(x, y, 4, MPI_DOUBLE_PRECISION, MPI_SUM, copy, error)
    call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (any(x /= y) .or. x(1) /= ranks*(ranks - 1)/2) call fail("MPI_Allreduce in place")
  end do
  do i = 1, 6
    x = rank
    call MPI_Irecv(y, 4, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 3, copy, requests(1), error)
    call MPI_Isend(x, 4, MPI_DOUBLE_PRECISION, next, 3, copy, requests(2), error)
    if (i <= 2) then
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    else
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
      call MPI_Wait(requests(2), status, error)
    end if
    if (any(y /= last)) call fail("MPI_Irecv")
  end do
  call MPI_Sendrecv(x, 4, MPI_DOUBLE_PRECISION, next, 1, y, 4, MPI_DOUBLE_PRECISION, last, 1, &
                    copy, status, error)
  call MPI_Bcast(x, 4, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Pcontrol(3)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Pcontrol(-3)
  call get_command_argument(1, path)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, error)
  if (error /= MPI_SUCCESS) call fail("MPI_File_open")
  call MPI_File_write(file, x, 4, MPI_DOUBLE_PRECISION, status, error)
  call MPI_File_close(file, error)
  call MPI_Comm_free(copy, error)
  if (rank == 0) then
    print '(a,i0)', "MADE MPI_Comm_dup ", ranks, "MADE MPI_Allreduce ", 20*ranks, &
      "MADE MPI_Irecv ", 6*ranks, "MADE MPI_Isend ", 6*ranks, "MADE MPI_Waitall ", 2*ranks, &
      "MADE MPI_Wait ", 8*ranks, "MADE MPI_Sendrecv ", ranks, "MADE MPI_Bcast ", ranks, &
      "MADE MPI_Barrier ", ranks, "MADE MPI_File_open ", ranks, "MADE MPI_File_write ", ranks, &
      "MADE MPI_File_close ", ranks, "MADE MPI_Comm_free ", ranks
  end if
  call MPI_Finalize(error)
contains
  subroutine fail(what)
    character(len=*), intent(in) :: what
    print *, "wrong result of ", what
    call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end subroutine
end program
