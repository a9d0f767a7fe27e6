! SPDX-License-Identifier: BSD-3-Clause
! Every procedure of the Fortran face with every argument wrong in turn: refused on all ranks alike
! with a text, and the objects go on working. make_sweep.py writes the calls from the modules.
! Usage: mpirun -n 3 test_fortran_sweep FOLDER [case that ends the job | count]
program sweep
  use sweep_calls
  use sweep_objects
  implicit none
  character(len=1000) :: folder, word
  integer :: provided, number, total
  type(c_funptr) :: before
  call get_command_argument(1, folder)
  call get_command_argument(2, word)
  if (word == "count") then
    write (*, "(i0)") num_stops
    stop
  end if
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, this_rank)
  call MPI_Comm_size(MPI_COMM_WORLD, all_ranks)
  is_last = this_rank == all_ranks - 1
  path = trim(folder)//"/written.h5"
  input_path = trim(folder)//"/read.h5"
  before = c_signal(14_c_int, c_funloc(hangs))
  call make_objects()
  if (word /= "") then
    read (word, *) number
    call stop_in(number)
    call MPI_Barrier(MPI_COMM_WORLD)
    write (*, "(a)") "went on"
    call MPI_Finalize()
    stop
  end if
  call sweep_all()
  call end_objects()
  if (this_rank == 0) write (*, "(i0,a,i0,a)") num_refused, " refused, ", num_allowed, " allowed"
  call MPI_Allreduce(num_failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total > 0 .or. num_refused < 500) error stop 1
end program
