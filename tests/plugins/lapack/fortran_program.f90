! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program that solves systems by pdgesv and knows nothing of us: by itself, and with
! libtailrace_lapack.so before its ScaLAPACK. Each answer is compared with the one that
! ScaLAPACK's pdgetrf and pdgetrs give, and with the system; the factors are used again.
program fortran_program
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 180, nrhs = 2, block = 16
  integer :: context, rows, columns, row, column, ranks, me, call_number, info
  integer :: desc_a(9), desc_b(9), local_m, local_n, local_nrhs
  integer, allocatable :: pivots(:), their_pivots(:)
  real(real64), allocatable :: a(:, :), whole(:, :), given(:, :), kept(:, :)
  real(real64), allocatable :: x(:, :), right(:, :), theirs(:, :), b(:, :)
  integer, external :: numroc

  call blacs_pinfo(me, ranks)
  rows = int(sqrt(real(ranks) + 0.5))
  columns = ranks/rows
  call blacs_get(-1, 0, context)
  call blacs_gridinit(context, 'R', rows, columns)
  call blacs_gridinfo(context, rows, columns, row, column)
  if (rows*columns /= ranks) error stop 'run on 1, 2 or 4 ranks'
  local_m = numroc(n, block, row, 0, rows)
  local_n = numroc(n, block, column, 0, columns)
  local_nrhs = numroc(nrhs, block, column, 0, columns)
  call descinit(desc_a, n, n, block, block, 0, 0, context, max(1, local_m), info)
  call descinit(desc_b, n, nrhs, block, block, 0, 0, context, max(1, local_m), info)
  allocate (a(max(1, local_m), max(1, local_n)), x(max(1, local_m), max(1, local_nrhs)))
  allocate (pivots(local_m + block), their_pivots(local_m + block))
  allocate (whole(n, n), b(n, nrhs))

  do call_number = 1, 4
    call make_system(call_number)
    given = a
    right = x
    call pdgesv(n, nrhs, a, 1, 1, desc_a, pivots, x, 1, 1, desc_b, info)
    call require(info == 0, 'info of pdgesv')
    kept = given
    theirs = right
    call pdgetrf(n, n, kept, 1, 1, desc_a, their_pivots, info)
    call pdgetrs('N', n, nrhs, kept, 1, 1, desc_a, their_pivots, theirs, 1, 1, desc_b, info)
    call require(info == 0, 'info of pdgetrs')
    call require(backward_error() <= 1e-15_real64, 'backward error')
    call require(largest(x - theirs) <= 1e-9_real64*largest(theirs), 'answer')
    x = 2*right
    call pdgetrs('N', n, nrhs, a, 1, 1, desc_a, pivots, x, 1, 1, desc_b, info)
    call require(info == 0, 'info of pdgetrs with the factors')
    call require(largest(x - 2*theirs) <= 1e-9_real64*largest(theirs), 'second answer')
  end do

  whole = 0  ! a zero row: ScaLAPACK's info
  call deal(whole, a)
  call pdgesv(n, nrhs, a, 1, 1, desc_a, pivots, x, 1, 1, desc_b, info)
  call require(info == 1, 'info of a matrix of zeros')
  if (me == 0) print '(a)', 'all is right'
  call blacs_gridexit(context)
  call blacs_exit(0)

contains

  !> The same random system on every rank, and its part of it.
  subroutine make_system(seed)
    integer, intent(in) :: seed
    integer :: seeds(64)
    seeds = seed
    call random_seed(put=seeds)
    call random_number(whole)
    call random_number(b)
    whole = whole - 0.5_real64
    call deal(whole, a)
    call deal(b, x)
  end subroutine

  subroutine deal(from, to)
    real(real64), intent(in) :: from(:, :)
    real(real64), intent(out) :: to(:, :)
    integer :: i, j
    integer, external :: indxl2g
    to = 0
    do j = 1, numroc(size(from, 2), block, column, 0, columns)
      do i = 1, local_m
        to(i, j) = from(indxl2g(i, block, row, 0, rows), indxl2g(j, block, column, 0, columns))
      end do
    end do
  end subroutine

  !> The largest item of all ranks.
  real(real64) function largest(part)
    real(real64), intent(in) :: part(:, :)
    real(real64) :: item(1, 1)
    item = 0
    if (local_m > 0 .and. local_nrhs > 0) item = maxval(abs(part(:local_m, :local_nrhs)))
    call dgamx2d(context, 'All', ' ', 1, 1, item, 1, -1, -1, -1, -1, -1)
    largest = item(1, 1)
  end function

  !> |b - A x| / (|A| |x| + |b|), largest items and row sums.
  real(real64) function backward_error()
    real(real64), allocatable :: left(:, :)
    left = right
    call pdgemm('N', 'N', n, nrhs, n, -1.0_real64, given, 1, 1, desc_a, x, 1, 1, desc_b, &
                1.0_real64, left, 1, 1, desc_b)
    backward_error = largest(left)/(maxval(sum(abs(whole), 2))*largest(x) + maxval(abs(b)))
  end function

  subroutine require(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    print '(2a)', 'wrong: ', what
    error stop 1
  end subroutine

end program fortran_program
