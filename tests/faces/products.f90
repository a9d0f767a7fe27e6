! SPDX-License-Identifier: BSD-3-Clause
!> Four steps of three fields, and the products of them that its words name, through the Fortran
!> binding. check_products.py runs it and checks what it wrote. Usage:
!> products_fortran FOLDER SERVERS MEMBER [NAME PATH EVERY VARIABLE,... STAGE|...]...
program products
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mpi_f08
  use tailrace
  implicit none
  integer, parameter :: nx = 8, ny = 6, nz = 5
  type(tailrace_session) :: session
  type(tailrace_product), allocatable :: wanted(:)
  integer :: provided, member, i
  logical :: lost
  lost = .false.
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  member = number(3)
  allocate (wanted((command_argument_count() - 3)/5))
  do i = 1, size(wanted)
    wanted(i)%name = word(5*i - 1)
    wanted(i)%path = word(5*i)
    wanted(i)%every = number(5*i + 1)
    call split(word(5*i + 2), ",", wanted(i)%variables)
    call split(word(5*i + 3), "|", wanted(i)%stages)
  end do
  call session%create(MPI_COMM_WORLD, servers=word(2), memory_bytes=16777216_int64)
  if (session%computes()) then
    call compute(word(1))
    call session%close()
  else
    call session%serve(lost)
  end if
  call session%destroy()
  call MPI_Finalize()
  if (lost) error stop 1

contains

  function word(place) result(text)
    integer, intent(in) :: place
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(place, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(place, text)
  end function

  integer function number(place)
    integer, intent(in) :: place
    character(len=20) :: text
    call get_command_argument(place, text)
    read (text, *) number
  end function

  !> Cuts a text into the words between marks.
  subroutine split(text, mark, words)
    character(len=*), intent(in) :: text, mark
    character(len=*), intent(inout) :: words(:)
    integer :: i, start, length
    start = 1
    do i = 1, size(words)
      if (start > len(text)) return
      length = index(text(start:)//mark, mark) - 1
      words(i) = text(start:start + length - 1)
      start = start + length + 1
    end do
  end subroutine

  subroutine compute(folder)
    character(len=*), intent(in) :: folder
    character(len=5), parameter :: suffixes(4) = [character(len=5) :: ".h5", ".nc", ".zarr", ".h5"]
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_contents) :: contents
    type(tailrace_output) :: output
    real(real64), allocatable, target :: u(:, :, :), w(:, :, :)
    integer(int32), allocatable, target :: m(:, :, :)
    integer :: s(3), e(3), step, i, j, k, n
    character(len=20) :: name
    call session%comm(comm)
    call layout%slabs([nx, ny, nz], axis=3, num_ranks=comm%num_ranks())
    call layout%box(comm%rank(), s, e)
    allocate (u(e(1), e(2), e(3)), w(e(1), e(2), e(3)), m(e(1), e(2), e(3)))
    call contents%create(comm)
    call contents%variable("u", layout, u)
    call contents%variable("w", layout, w)
    call contents%variable("m", layout, m)
    call contents%coordinate("x", [(0.5_real64*i, i=0, nx - 1)])
    call contents%coordinate("y", [(0.5_real64*i, i=0, ny - 1)])
    call contents%coordinate("z", [(0.5_real64*i, i=0, nz - 1)])
    call session%open("fields", output, products=wanted)
    do step = 1, 4
      do k = 1, e(3)
        do j = 1, e(2)
          do i = 1, e(1)
            n = s(1) + i - 2 + nx*(s(2) + j - 2 + ny*(s(3) + k - 2))
            u(i, j, k) = (mod(7*n + 13*step + member, 31) - 15)/4.0_real64
            w(i, j, k) = 1 + mod(n, 5)
            m(i, j, k) = n + step
          end do
        end do
      end do
      write (name, "(a,i0,a)") "/step_", step, trim(suffixes(step))
      call contents%step(step)
      call contents%attribute("time", 0.5_real64*step)
      call output%write(folder//trim(name), contents)
    end do
    call output%finish()
  end subroutine

end program
