! SPDX-License-Identifier: BSD-3-Clause
! A failure without `stat` ends all ranks with its text.
program stops
  use mpi_f08
  use tailrace
  implicit none
  type(tailrace_comm) :: comm
  type(tailrace_input) :: input
  call MPI_Init()
  call comm%create(MPI_COMM_WORLD)
  call input%open(comm, "/no/such/file.h5")
  print *, "went on"
  call MPI_Finalize()
end program
