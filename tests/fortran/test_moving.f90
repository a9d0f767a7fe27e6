! SPDX-License-Identifier: BSD-3-Clause
module test_moving
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mpi_f08
  use checks
  use tailrace
  implicit none
  integer, parameter :: nx = 9, ny = 8, nz = 7
contains

  subroutine test_comm()
    type(tailrace_comm) :: comm, part, node
    integer :: stat, grid(2)
    character(len=200) :: errmsg
    call comm%create(MPI_COMM_WORLD%MPI_VAL)
    call check(comm%rank() == this_rank, "rank by an integer communicator")
    call comm%create(MPI_COMM_WORLD)
    call check(comm%num_ranks() == all_ranks, "number of ranks")
    call comm%split(mod(this_rank, 2), 0, part)
    call check(part%num_ranks() == (all_ranks + 1 - mod(this_rank, 2))/2, "split")
    call comm%node(node)
    call check(node%num_ranks() >= 1, "node")
    call comm%process_grid([16, 16, 16], 8, grid)
    call check(product(grid) == all_ranks, "process grid")
    call comm%split(merge(-1, 0, this_rank == all_ranks - 1), 0, part, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "color must not be negative")
    call check(tailrace_error_rank() == all_ranks - 1, "the rank that failed")
    call comm%destroy()
    call comm%split(0, 0, part, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "the tailrace_comm given is NULL")
    call comm%create(MPI_COMM_NULL, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "MPI_COMM_NULL")
  end subroutine

  subroutine test_layout()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: layout
    integer :: start(3), counts(3), stat, r, b
    integer(int64) :: total
    character(len=200) :: errmsg
    call comm%create(MPI_COMM_WORLD)
    call layout%slabs([nx, ny, nz], axis=3, num_ranks=all_ranks)
    call check(layout%num_dims() == 3 .and. all(layout%extents() == [nx, ny, nz]), "extents")
    call layout%box(all_ranks - 1, start, counts)
    call check(start(3) + counts(3) - 1 == nz .and. counts(1) == nx .and. start(1) == 1, &
               "last slab")
    total = 0
    do r = 0, all_ranks - 1
      total = total + layout%num_items(r)
    end do
    call check(total == nx*ny*nz, "all items")
    call layout%box(0, start, counts, index=2, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "there is no box 1")
    call layout%blocks([nx, ny], [1, all_ranks])
    call layout%box(all_ranks - 1, start(:2), counts(:2))
    call check(counts(1) == nx .and. start(2) + counts(2) - 1 == ny, "blocks: axes of Fortran")
    call layout%pencils([nx, ny, nz], axis=1, grid=[1, all_ranks])
    call layout%box(0, start, counts)
    call check(counts(1) == nx .and. counts(2) == ny, "pencils: whole along x and y")
    call test_cart(layout)
    call layout%own_boxes(comm, [5, all_ranks], reshape([1, this_rank + 1], [2, 1]), &
                          reshape([5, 1], [2, 1]))
    call layout%box(all_ranks - 1, start(:2), counts(:2))
    call check(all(start(:2) == [1, all_ranks]) .and. all(counts(:2) == [5, 1]), "own boxes")
    call layout%own_box(comm, [5, all_ranks], start=[1, this_rank + 1], counts=[5, 1])
    call layout%box(all_ranks - 1, start(:2), counts(:2))
    call check(all(start(:2) == [1, all_ranks]) .and. all(counts(:2) == [5, 1]), "own box")
    call layout%own_box(comm, [5, all_ranks], [1, this_rank + 1], [6, 1], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "is not inside")
    call test_order_of_errors(comm)
    call layout%own_box(comm, [5, all_ranks], [1], [5], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "num_dims")
    call layout%triangle(9, all_ranks)
    total = 0
    do r = 0, all_ranks - 1
      total = total + layout%num_items(r)
      do b = 1, layout%num_boxes(r)
        call layout%box(r, start(:2), counts(:2), index=b)
        call check(start(1) + counts(1) >= start(2) + counts(2), "blocks have i >= j")
      end do
    end do
    call check(total >= 45 .and. total <= 81, "a triangle and its diagonal blocks")
    call layout%slabs([nx, ny, nz], axis=4, num_ranks=all_ranks, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 4 of an array of 3 axes")
    call refused(stat, tailrace_invalid_input, errmsg, "numbered from 1")
    call layout%blocks([nx, ny], [all_ranks], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "as many entries as extents")
  end subroutine

  !> Errors list axes, extents and boxes in the order of Fortran, and count from 1.
  subroutine test_order_of_errors(comm)
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_layout) :: layout
    type(tailrace_memory) :: memory
    type(tailrace_array_transform) :: transform
    integer :: stat
    character(len=400) :: errmsg
    call layout%own_box(comm, [5, 7], [4, 2], [3, 6], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "box [4:6, 2:7]")
    call refused(stat, tailrace_invalid_input, errmsg, "inside [1:5, 1:7]")
    call layout%own_box(comm, [5, 7], [4, 2], [1, -6], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "count (1, -6)")
    call layout%blocks([2, -3], [1, 1], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "extents [2, -3]")
    call layout%blocks([2, 3], [1, 0], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "grid [1, 0]")
    call layout%blocks([2, 3, 4], [1, 1, 1], stat, errmsg, [1, 2, 2])
    call refused(stat, tailrace_invalid_input, errmsg, "order [1, 2, 2]")
    call layout%cart_blocks(comm, [5, 4], [3], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "MPI_Cart_create")
    call memory%ordered([2, 3, 4], [1, 3, 4], [1, 0, 2], stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "order [1, 3, 4]")
    call refused(stat, tailrace_invalid_input, errmsg, "halo [1, 0, 2]")
    call transform%create(comm, [4, 5, 6], axes=[1, 4], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 4 of an array with 3 axes")
    call transform%create(comm, [4, 0, 6], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "extent 0 of axis 2")
    call transform%create(comm, [4, 5, 6], axes=[3], kept=[9], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis 3: kept 9 of 6")
  end subroutine

  !> Blocks at the coordinates of MPI_Cart_create; on 2 x 2 ranks all have one size.
  subroutine test_cart(layout)
    type(tailrace_layout), intent(inout) :: layout
    type(tailrace_layout) :: numbered
    type(tailrace_comm) :: comm
    type(MPI_Comm) :: cart
    integer :: grid(2), at(2), r, start(3), counts(3), s(3), n(3), stat
    character(len=200) :: errmsg
    grid = merge([2, 2], [all_ranks, 1], all_ranks == 4)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, grid, [.false., .false.], .false., cart)
    call comm%create(cart)
    call layout%cart_blocks(comm, 2*grid)
    call numbered%blocks(2*grid, grid, order=[2, 1])
    do r = 0, all_ranks - 1
      call MPI_Cart_coords(cart, r, 2, at)
      call layout%box(r, start(:2), counts(:2))
      call check(all(start(:2) == 2*at + 1) .and. all(counts(:2) == 2), "blocks of MPI_Cart_create")
      call numbered%box(r, s(:2), n(:2))
      call check(all(s(:2) == start(:2)) .and. all(n(:2) == 2), "blocks numbered as by MPI")
    end do
    call layout%cart_blocks(comm, [5, 2*grid(1), 2*grid(2)], axes=[2, 3])
    call numbered%pencils([5, 2*grid(1), 2*grid(2)], 1, grid, order=[2, 1])
    do r = 0, all_ranks - 1
      call MPI_Cart_coords(cart, r, 2, at)
      call layout%box(r, start, counts)
      call check(all(start == [1, 2*at + 1]) .and. all(counts == [5, 2, 2]), "pencils of a grid")
      call numbered%box(r, s, n)
      call check(all(s == start) .and. all(n == counts), "pencils numbered as by MPI")
    end do
    ! Without an order, the first axis is numbered first.
    call numbered%blocks(2*grid, grid)
    call numbered%box(all_ranks/2, s(:2), n(:2))
    if (all_ranks == 4) call check(all(s(:2) == [1, 3]), "the first axis first")
    call layout%cart_blocks(comm, [4, 4, 4], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "cart_blocks: axes")
    call layout%blocks([4, 4], [2, 2], stat, errmsg, [1, 1])
    call refused(stat, tailrace_invalid_input, errmsg, "order")
    call layout%pencils([4, 4, 4], 1, [2, 2], stat, errmsg, [1])
    call refused(stat, tailrace_invalid_input, errmsg, "two entries")
    call MPI_Comm_free(cart)
  end subroutine

  !> Fills an array with what the items of its box are called.
  subroutine fill(u, start)
    real(real64), intent(out) :: u(:, :, :)
    integer, intent(in) :: start(3)
    integer :: i, j, k
    do k = 1, size(u, 3)
      do j = 1, size(u, 2)
        do i = 1, size(u, 1)
          u(i, j, k) = (start(1) + i - 1) + 100*(start(2) + j - 1) + 10000*(start(3) + k - 1)
        end do
      end do
    end do
  end subroutine

  subroutine test_exchange()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: from, to
    type(tailrace_exchange) :: exchange
    real(real64), allocatable :: u(:, :, :), v(:, :, :), w(:, :, :), several(:, :, :, :)
    real(real64), allocatable, asynchronous :: moved(:, :, :, :)
    integer :: s(3), n(3), t(3), m(3), stat
    character(len=300) :: errmsg
    call comm%create(MPI_COMM_WORLD)
    call from%slabs([nx, ny, nz], axis=3, num_ranks=all_ranks)
    call to%slabs([nx, ny, nz], axis=1, num_ranks=all_ranks)
    call from%box(this_rank, s, n)
    call to%box(this_rank, t, m)
    allocate (u(n(1), n(2), n(3)), v(m(1), m(2), m(3)), w(m(1), m(2), m(3)))
    call fill(u, s)
    call fill(w, t)
    v = 0
    call exchange%create(comm, from, to, method="pairwise")
    call check(exchange%method() == "pairwise" .and. exchange%why() == "", "method")
    call exchange%run(u, v)
    call check(all(v == w), "run")
    call exchange%run(u, v(:, :, :0), stat, errmsg)
    call check(stat == tailrace_invalid_input, "a destination without items")
    call exchange%run(u(:, ::2, :), v, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "the source is a section")

    ! Two fields along the last axis, without waiting.
    allocate (several(n(1), n(2), n(3), 2), moved(m(1), m(2), m(3), 2))
    several(:, :, :, 1) = u
    several(:, :, :, 2) = -u
    moved = 0
    call exchange%create(comm, from, to, num_fields=2)
    call exchange%start(several, moved)
    do while (.not. exchange%progress())
    end do
    call exchange%finish()
    call check(all(moved(:, :, :, 1) == w) .and. all(moved(:, :, :, 2) == -w), "two fields")
    call check(exchange%buffer_bytes() >= 0, "buffer bytes")
    call exchange%run(u, v, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "last axis")
    call exchange%create(comm, from, to, method="nonsense", stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "nonsense")
  end subroutine

  !> From and into the inside of arrays with a halo, where they are.
  subroutine test_sections()
    type(tailrace_comm) :: comm
    type(tailrace_layout) :: from, to
    type(tailrace_memory) :: inside, within, turned
    type(tailrace_exchange) :: exchange
    real(real64), allocatable :: u(:, :, :), v(:, :, :), w(:, :, :), z(:, :, :)
    integer :: s(3), n(3), t(3), m(3), stat
    character(len=300) :: errmsg
    call comm%create(MPI_COMM_WORLD)
    call from%slabs([nx, ny, nz], axis=3, num_ranks=all_ranks)
    call to%slabs([nx, ny, nz], axis=2, num_ranks=all_ranks)
    call from%box(this_rank, s, n)
    call to%box(this_rank, t, m)
    allocate (u(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), source=-1.0_real64)
    allocate (v(-1:m(1) + 2, m(2), 0:m(3)), source=-2.0_real64)
    allocate (w(m(1), m(2), m(3)))
    call fill(u(1:n(1), 1:n(2), 1:n(3)), s)
    call fill(w, t)
    call inside%of(u(1:n(1), 1:n(2), 1:n(3)))
    call within%of(v(1:m(1), :, 1:m(3)))
    call exchange%create(comm, from, to, from_memory=inside, to_memory=within)
    call exchange%run(u(1:n(1), 1:n(2), 1:n(3)), v(1:m(1), :, 1:m(3)))
    call check(all(v(1:m(1), :, 1:m(3)) == w), "inside of arrays with a halo")
    call check(all(v(-1:0, :, :) == -2) .and. all(v(:, :, 0) == -2), "the halo stays")
    call exchange%run(u(1:n(1), 1:n(2), 1:n(3)), w, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "the destination is a section for which")
    allocate (z(m(2), m(3), m(1)), source=-3.0_real64)
    call turned%ordered(m, [2, 3, 1])
    call exchange%create(comm, from, to, from_memory=inside, to_memory=turned)
    call exchange%run(u(1:n(1), 1:n(2), 1:n(3)), z)
    call check(all(z == reshape(w, shape(z), order=[3, 1, 2])), "axes in another order")
    deallocate (z)
    allocate (z(m(2), 0:m(3) + 1, m(1)), source=-3.0_real64)
    call turned%ordered(m, [2, 3, 1], halo=[0, 0, 1])
    call exchange%create(comm, from, to, from_memory=inside, to_memory=turned)
    call exchange%run(u(1:n(1), 1:n(2), 1:n(3)), z)
    call check(all(z(:, 1:m(3), :) == reshape(w, [m(2), m(3), m(1)], order=[3, 1, 2])) .and. &
               all(z(:, 0, :) == -3) .and. all(z(:, m(3) + 1, :) == -3), "and a halo")
    call turned%ordered(m, [1, 2], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "one entry for each axis")
    call turned%ordered(m, [1, 2, 2], stat=stat, errmsg=errmsg)
    call check(stat == tailrace_invalid_input, "axis 2 twice")
    call within%of(v(m(1):1:-1, :, 1:m(3)), stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "negative stride")
  end subroutine

  subroutine test_reduction()
    type(tailrace_comm) :: comm
    type(tailrace_reduction) :: reduction
    real(real64) :: a(4), dot
    real(real32) :: single
    integer(int32) :: whole(2)
    complex(real64) :: x(2), product
    integer :: n, stat
    character(len=200) :: errmsg
    n = all_ranks
    call comm%create(MPI_COMM_WORLD)
    call reduction%create(comm, max_items=4)
    a = [this_rank + 1, 1, 0, -1]
    call reduction%allreduce(a)
    call check(all(a == [n*(n + 1)/2, n, 0, -n]), "allreduce")
    whole = [this_rank, -this_rank]
    call reduction%allreduce(whole, tailrace_max)
    call check(all(whole == [n - 1, 0]), "maximum")
    single = 2
    call reduction%reduce(single, root=0)
    call check(this_rank /= 0 .or. single == 2*real(n), "reduce of one number")
    a = 1
    call reduction%start_allreduce(a, tailrace_min)
    do while (.not. reduction%progress())
    end do
    call reduction%finish()
    call check(all(a == 1), "minimum")
    call reduction%dot(a, a, dot)
    call check(dot == 4*real(n, real64), "dot")
    x = [(1.0_real64, 2.0_real64), (0.0_real64, 1.0_real64)]
    call reduction%dot(x, x, product)
    call check(product == 6*n, "complex dot")
    call reduction%barrier()
    call check(len(reduction%method()) > 0, "method")
    call reduction%dot(x, x, dot, stat, errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "one complex(real64)")
    call reduction%allreduce(a(::2), stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "with gaps")
    call reduction%allreduce(errmsg, stat=stat, errmsg=errmsg)
    call check(stat == tailrace_invalid_input, "a text is no number")
  end subroutine

  subroutine test_transform()
    type(tailrace_comm) :: comm
    type(tailrace_transform) :: transform
    type(tailrace_layout) :: layout
    real(real64), allocatable :: u(:, :, :), v(:, :, :)
    complex(real64), allocatable :: modes(:, :, :), wanted(:, :, :), turned(:, :, :)
    integer, allocatable :: kx(:), ky(:), kz(:)
    integer :: start(3), counts(3), i, j, k, stat
    real(real64) :: pi
    character(len=200) :: errmsg
    pi = acos(-1.0_real64)
    call comm%create(MPI_COMM_WORLD)
    call transform%create(comm, [10, 6, 8]) ! nx, ny, nz
    call transform%box(start, counts)
    call transform%modes(kx, ky, kz)
    call transform%physical_layout(layout)
    call check(all(layout%extents() == [10, 6, 8]), "extents of the points")
    call check(transform%num_items() == product(int(counts, int64)), "points")
    call check(transform%num_modes() == size(kx)*size(ky)*size(kz), "modes")
    allocate (u(counts(1), counts(2), counts(3)), v(counts(1), counts(2), counts(3)))
    allocate (modes(size(kx), size(kz), size(ky)), wanted(size(kx), size(kz), size(ky)))
    do k = 1, counts(3)
      do j = 1, counts(2)
        do i = 1, counts(1)
          u(i, j, k) = cos(2*pi*2*(start(1) + i - 2)/10 + 2*pi*(start(3) + k - 2)/8)
        end do
      end do
    end do
    call transform%forward(u, modes)
    wanted = 0
    do j = 1, size(ky)
      do k = 1, size(kz)
        do i = 1, size(kx)
          if (kx(i) == 2 .and. ky(j) == 0 .and. kz(k) == 1) wanted(i, k, j) = 240
        end do
      end do
    end do
    call check(all(abs(modes - wanted) < 1e-10_real64), "modes of a wave")
    call transform%backward(modes, v)
    call check(all(abs(v/480 - u) < 1e-12_real64), "and back")
    call transform%create(comm, [10, 6, 8], mode_order=tailrace_kz_ky_kx, scale=1/480.0_real64)
    call transform%modes(kx, ky, kz)
    allocate (turned(size(kx), size(ky), size(kz)))
    call transform%forward(u, turned)
    call check(all(abs(turned - reshape(modes, shape(turned), order=[1, 3, 2])/480) &
                   < 1e-14_real64), "modes in the other order, normalised")
    call transform%backward(turned, v)
    call check(all(abs(v - u) < 1e-12_real64), "and back, too")
    call check(len(transform%describe()) > 0 .and. len(transform%kernel()) > 0, "describe")
    call transform%forward(real(u, real32), modes, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "types")
    call transform%forward(u, modes, num_fields=2, stat=stat, errmsg=errmsg)
    call check(stat == tailrace_invalid_input, "arrays of one field for two")
    call transform%create(comm, [4, 0, 4], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "axis y")
    call test_arrays(comm)
  end subroutine

  !> The same without an object: `modes` are the transform of `u`.
  subroutine test_calls(comm, u, modes)
    type(tailrace_comm), intent(in) :: comm
    real(real64), intent(in) :: u(:, :, :)
    complex(real64), intent(in) :: modes(:, :, :)
    type(tailrace_layout) :: points, waves
    real(real64), allocatable :: v(:, :, :)
    complex(real64), allocatable :: found(:, :, :)
    integer :: start(3), counts(3), run, stat
    character(len=200) :: errmsg
    call tailrace_fft_layouts(comm, [8, 9, 6], points, waves, axes=[1, 2], &
                              kinds=[tailrace_fourier, tailrace_dct2])
    call points%box(this_rank, start, counts)
    call check(all(counts == shape(u)), "points of a call")
    call waves%box(this_rank, start, counts)
    call check(all(counts == shape(modes)), "modes of a call")
    allocate (v, mold=u)
    allocate (found, mold=modes)
    do run = 1, 2
      found = 0
      v = 0
      call tailrace_fft_transform(comm, [8, 9, 6], u, found, axes=[1, 2], &
                                  kinds=[tailrace_fourier, tailrace_dct2], scale=1/144.0_real64)
      call check(all(abs(found - modes) < 1e-13_real64), "a transform without an object")
      call tailrace_fft_inverse(comm, [8, 9, 6], found, v, axes=[1, 2], &
                                kinds=[tailrace_fourier, tailrace_dct2], scale=1/144.0_real64)
      call check(all(abs(v - u) < 1e-12_real64), "and its inverse")
    end do
    call tailrace_fft_transform(comm, [8, 9, 6], u, v, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "match the field")
    call tailrace_fft_transform(comm, [8, 9, 6], u, found, kept=[1], stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "num_axes")
  end subroutine

  !> A channel u(x, y, batch): a wave along x, a mode of the cosine transform across.
  subroutine test_arrays(comm)
    type(tailrace_comm), intent(in) :: comm
    type(tailrace_array_transform) :: transform
    type(tailrace_layout) :: points, waves
    real(real64), allocatable :: u(:, :, :), v(:, :, :)
    complex(real64), allocatable :: modes(:, :, :)
    integer :: start(3), counts(3), from(3), numbers(3), i, j, k, stat
    real(real64) :: pi, wanted, error
    character(len=200) :: errmsg
    pi = acos(-1.0_real64)
    call transform%create(comm, [8, 9, 6], axes=[1, 2], kinds=[tailrace_fourier, tailrace_dct2], &
                          scale=1/144.0_real64)
    call transform%physical_layout(points)
    call transform%spectral_layout(waves)
    call check(all(waves%extents() == [5, 9, 6]), "extents of the modes")
    call points%box(this_rank, start, counts)
    call waves%box(this_rank, from, numbers)
    call check(transform%num_items() == product(int(counts, int64)), "points of an array")
    call check(transform%num_modes() == product(int(numbers, int64)), "modes of an array")
    call check(transform%modes_type() == tailrace_complex128, "type of modes")
    call check(abs(transform%normalization()*144 - 1) < 1e-14_real64, "normalization")
    allocate (u(counts(1), counts(2), counts(3)), v(counts(1), counts(2), counts(3)))
    allocate (modes(numbers(1), numbers(2), numbers(3)))
    do k = 1, counts(3)
      do j = 1, counts(2)
        do i = 1, counts(1)
          u(i, j, k) = cos(2*pi*3*(start(1) + i - 2)/8)*cos(pi*2*(start(2) + j - 1.5_real64)/9)
        end do
      end do
    end do
    call transform%forward(u, modes)
    error = 0
    do k = 1, numbers(3)
      do j = 1, numbers(2)
        do i = 1, numbers(1)
          wanted = merge(0.25_real64, 0.0_real64, from(1) + i - 1 == 4 .and. from(2) + j - 1 == 3)
          error = max(error, abs(modes(i, j, k) - wanted))
        end do
      end do
    end do
    call check(error < 1e-13_real64, "modes of a channel")
    call transform%backward(modes, v)
    call check(all(abs(v - u) < 1e-12_real64), "and back to the channel")
    call check(index(transform%describe(), "dct2") > 0, "describe an array")
    call test_calls(comm, u, modes)
    call transform%forward(real(u, real32), modes, stat=stat, errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "types")
    call transform%create(comm, [8, 9, 6], axes=[1, 2], kinds=[tailrace_dct1], stat=stat, &
                          errmsg=errmsg)
    call refused(stat, tailrace_invalid_input, errmsg, "num_axes")
  end subroutine

end module
