! SPDX-License-Identifier: BSD-3-Clause
! Ranks take turns of blocks of a shared file, written and read back by collective calls; FLAVOUR 1
! includes mpif.h, 2 uses mpi, 3 uses mpi_f08.
program io
#if FLAVOUR == 2
  use mpi
#elif FLAVOUR == 3
  use mpi_f08
#endif
  implicit none
#if FLAVOUR == 1
  include 'mpif.h'
#endif
  integer, parameter :: length = 3, blocks = 20, n = length*blocks
#if FLAVOUR == 3
  type(MPI_File) :: file
  type(MPI_Datatype) :: turns, view
  type(MPI_Status) :: status
#else
  integer :: file, turns, view, status(MPI_STATUS_SIZE)
#endif
  integer :: rank, ranks, error, i, count
  integer(MPI_OFFSET_KIND) :: start, bytes
  integer(MPI_ADDRESS_KIND) :: extent
  double precision :: x(n), y(n)
  character(len=300) :: path

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  x = [(100.0d0*rank + i, i=1, n)]
  call MPI_Type_contiguous(length, MPI_DOUBLE_PRECISION, turns, error)
  extent = 8_MPI_ADDRESS_KIND*length*ranks
  call MPI_Type_create_resized(turns, 0_MPI_ADDRESS_KIND, extent, view, error)
  call MPI_Type_commit(view, error)
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, &
                     error)
  if (error /= MPI_SUCCESS) call fail("open")
  start = 8_MPI_OFFSET_KIND*length*rank
  call MPI_File_set_view(file, start, MPI_DOUBLE_PRECISION, view, "native", MPI_INFO_NULL, error)
  call MPI_File_write_all(file, x, n, MPI_DOUBLE_PRECISION, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  if (count /= n) call fail("count of a write")
  call MPI_File_write_at_all(file, 5_MPI_OFFSET_KIND, x(6), 1, MPI_DOUBLE_PRECISION, &
                             MPI_STATUS_IGNORE, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  y = 0
  call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, y, n, MPI_DOUBLE_PRECISION, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  if (count /= n .or. any(x /= y)) call fail("what is read")
  call MPI_File_close(file, error)
  ! Only written; an independent call comes after a collective one to the same place.
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
  call MPI_File_set_view(file, start, MPI_DOUBLE_PRECISION, view, "native", MPI_INFO_NULL, error)
  call MPI_File_write_all(file, x + 1000, n, MPI_DOUBLE_PRECISION, status, error)
  call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, x, 1, MPI_DOUBLE_PRECISION, status, error)
  if (error /= MPI_SUCCESS) call fail("an independent write")
  call MPI_File_sync(file, error)
  call MPI_File_get_size(file, bytes, error)
  if (bytes < 8*n*ranks) call fail("size of the file")
  call MPI_File_close(file, error)
  ! Seen without a view, blocks of the ranks follow each other.
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
  call MPI_File_read_all(file, y, n, MPI_DOUBLE_PRECISION, status, error)
  if (any(y(1:length) /= [1.0d0, (1000.0d0 + i, i=2, length)])) call fail("the first block")
  if (any(y(length + 1:2*length) /= [101.0d0, (1100.0d0 + i, i=2, length)])) &
    call fail("the second block")
  call MPI_File_close(file, error)
  call MPI_Type_free(view, error)
  call MPI_Type_free(turns, error)
  if (rank == 0) print '(a)', "WRONG 0"
  call MPI_Finalize(error)

contains

  subroutine fail(what)
    character(len=*), intent(in) :: what
    print '(a)', "WRONG: "//what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine fail
end program io
