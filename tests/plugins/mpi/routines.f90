! SPDX-License-Identifier: BSD-3-Clause
! Works in a procedure of a module, an external one and the main program: 3, 2 and 1 units of
! one loop.
module heat
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer(int64), parameter :: unit = 50000000_int64
  real(real64), volatile :: sink

contains

  subroutine step(units)
    integer, intent(in) :: units
    real(real64) :: x
    integer(int64) :: i
    x = 1.0_real64
    do i = 1, units*unit
      x = x*0.999_real64 + 0.5_real64/x
    end do
    sink = x
  end subroutine step
end module heat

subroutine relax_all(units)
  use heat
  implicit none
  integer, intent(in) :: units
  real(real64) :: x
  integer(int64) :: i
  x = 1.0_real64
  do i = 1, units*unit
    x = x*0.999_real64 + 0.5_real64/x
  end do
  sink = x
end subroutine relax_all

program main
  use mpi
  use heat
  implicit none
  interface
    subroutine relax_all(units)
      integer, intent(in) :: units
    end subroutine relax_all
  end interface
  integer :: error, k
  real(real64) :: x
  integer(int64) :: i
  call MPI_Init(error)
  do k = 1, 4
    call step(3)
    call relax_all(2)
    x = 1.0_real64
    do i = 1, unit
      x = x*0.999_real64 + 0.5_real64/x
    end do
    sink = x
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program main
