! SPDX-License-Identifier: BSD-3-Clause
! Tests of the Fortran face. Usage: mpirun -n 3 test_fortran_face FOLDER
program test_fortran_face
  use mpi_f08
  use checks
  use test_moving
  use test_files
  use test_sessions
  implicit none
  character(len=1000) :: folder
  integer :: provided, total
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, this_rank)
  call MPI_Comm_size(MPI_COMM_WORLD, all_ranks)
  call get_command_argument(1, folder)
  call test_comm()
  call test_layout()
  call test_exchange()
  call test_sections()
  call test_reduction()
  call test_transform()
  call test_output(trim(folder))
  call test_misuse()
  call test_file_errors(trim(folder))
  call test_session(trim(folder))
  call MPI_Allreduce(num_failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total > 0) error stop 1
end program
