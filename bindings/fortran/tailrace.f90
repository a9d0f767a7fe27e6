! SPDX-License-Identifier: BSD-3-Clause
!> Tailrace from Fortran 2018: parallel arrays moved between layouts, transformed, and written to
!> HDF5 files while the program computes.
!>
!>     use mpi_f08
!>     use tailrace
!>     type(tailrace_comm) :: comm
!>     call comm%create(MPI_COMM_WORLD)
!>
!> Rules of all calls:
!> - `stat` and `errmsg` are optional and last (of tailrace_output%write, `result` is). `stat` is
!>   tailrace_ok (0) or the kind of failure; without it a failure ends the job with its text.
!>   tailrace_error() and the functions beside it describe the last failure.
!> - "Collective" calls are made by all ranks of the communicator, in the same order, and fail on
!>   all alike.
!> - Axes are in the order of Fortran, the first is the fastest: u(i, j, k) here is u[z][y][x] in
!>   files, C and C++, so all languages write the same file. Axes and indices count from 1, ranks
!>   from 0.
!> - Arrays are of real32, real64, complex of both, int8, int16, int32 or int64, and are never
!>   copied, sections neither: what a call cannot use where it lies, it refuses.
!> - An object ends when it goes out of scope, or by `destroy`; those of the main program only by
!>   `destroy`, before MPI_Finalize. Objects are not assigned to each other (both would be the
!>   same). What ends collectively must do so on all ranks in the same order.
!> - A procedure that a type binds and its module does not define calls the C function of its type
!>   and name. The comment of that function in include/tailrace/c describes it.
!> docs/bindings.md has the table of C++, C and Fortran calls.
module tailrace
  use tailrace_m_array_transform
  use tailrace_m_comm, only: tailrace_comm
  use tailrace_m_contents
  use tailrace_m_exchange
  use tailrace_m_fft
  use tailrace_m_input
  use tailrace_m_layout
  use tailrace_m_log
  use tailrace_m_output, only: &
    tailrace_output, tailrace_output_statistics, tailrace_product, tailrace_wait_for_room, &
    tailrace_drop, tailrace_thin, tailrace_lower, tailrace_spill, tailrace_stop, tailrace_proceed, &
    tailrace_continue, tailrace_staged, tailrace_written, tailrace_dropped, tailrace_lowered, &
    tailrace_spilled
  use tailrace_m_reduction
  use tailrace_m_session
  use tailrace_m_status, only: &
    tailrace_ok, tailrace_invalid_input, tailrace_io, tailrace_mpi, tailrace_corrupt, &
    tailrace_internal, tailrace_float32, tailrace_float64, tailrace_int32, tailrace_int64, &
    tailrace_complex64, tailrace_complex128, tailrace_sum, tailrace_min, tailrace_max, &
    tailrace_error, tailrace_error_errno, tailrace_error_rank, tailrace_error_path, &
    tailrace_error_step, tailrace_version, tailrace_now_s
  use tailrace_m_stream
  implicit none
  public
end module tailrace
