! SPDX-License-Identifier: BSD-3-Clause
!> What the calls of the sweep are given, right and wrong, and what must come of them.
module sweep_objects
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use mpi_f08
  use tailrace
  implicit none

  !> As many bytes as a real64, and no number.
  type :: record
    integer(int32) :: first = 0, second = 0
  end type

  !> What must come of a call; what is allowed may be refused, on all ranks alike.
  integer, parameter :: succeeds = 0, refused = 1, allowed = 2

  integer :: this_rank = 0, all_ranks = 1, num_failures = 0, num_refused = 0, num_allowed = 0
  logical :: is_last = .false.
  character(len=200) :: under_way = ""
  integer, save :: case_number = 0

  ! Objects of each kind that are in order, that were not made, of another kind, and ended; and
  ! those that calls make, which are ended after each.
  type(tailrace_comm) :: good_comm, good_cart, none_comm, stray_comm, ended_comm, made_comm
  type(tailrace_layout) :: good_layout, none_layout, stray_layout, ended_layout, made_layout
  type(tailrace_memory) :: good_memory, none_memory, stray_memory, ended_memory, made_memory
  type(tailrace_exchange) :: good_exchange, none_exchange, stray_exchange, ended_exchange, &
                             made_exchange
  type(tailrace_hints) :: good_hints, none_hints, stray_hints, ended_hints
  type(tailrace_contents) :: good_contents, none_contents, stray_contents, ended_contents, &
                             made_contents, scratch_contents
  type(tailrace_input) :: good_input, none_input, stray_input, ended_input, made_input
  type(tailrace_log) :: good_log, none_log, stray_log, ended_log, made_log
  type(tailrace_output) :: good_output, none_output, stray_output, ended_output, made_output
  type(tailrace_reduction) :: good_reduction, none_reduction, stray_reduction, ended_reduction, &
                              made_reduction
  type(tailrace_session) :: good_session, none_session, stray_session, ended_session, made_session
  type(tailrace_stream) :: good_stream, none_stream, stray_stream, ended_stream, made_stream
  type(tailrace_transform) :: good_transform, none_transform, stray_transform, ended_transform, &
                              made_transform
  type(tailrace_array_transform) :: good_array_transform, none_array_transform, &
                                    stray_array_transform, ended_array_transform, &
                                    made_array_transform
  type(tailrace_product) :: good_product, bad_product

  ! Arrays: the right ones, with as many items of other types, with gaps between, and as a list.
  real(real64), allocatable, target :: u(:, :), v(:, :), whole(:, :), points(:, :, :)
  complex(real64), allocatable :: spectra(:, :, :)
  real(real64), target :: few(4) = 1, few_more(4) = 1, one = 1
  real(real32), allocatable, target :: single_u(:, :), single_v(:, :), single_whole(:, :), &
                                       single_points(:, :, :)
  complex(real32), allocatable :: single_spectra(:, :, :)
  real(real32), target :: single_few(4) = 1, single_few_more(4) = 1, single_one = 1
  integer(int64), allocatable, target :: long_u(:, :), long_v(:, :), long_whole(:, :), &
                                         long_points(:, :, :), long_spectra(:, :, :)
  integer(int64), target :: long_few(4) = 1, long_few_more(4) = 1
  type(record), allocatable, target :: records_u(:, :), records_v(:, :), records_whole(:, :), &
                                       records_points(:, :, :), records_spectra(:, :, :)
  type(record), target :: records_few(4), records_few_more(4)
  real(real64), allocatable, target :: wide_u(:, :, :), wide_v(:, :, :), wide_whole(:, :, :), &
                                       wide_points(:, :, :, :)
  complex(real64), allocatable :: wide_spectra(:, :, :, :)
  real(real64), target :: wide_few(2, 4) = 1, wide_few_more(2, 4) = 1
  real(real64), allocatable, target :: flat_u(:), flat_v(:), flat_whole(:), flat_points(:)
  complex(real64), allocatable :: flat_spectra(:)
  logical, target :: truths(6, 7) = .false.
  integer :: own_start(2, 1) = 1, own_counts(2, 1) = reshape([6, 7], [2, 1]), num_own = 0
  character(len=1) :: no_names(0), many_names(7) = "x"
  real(real64) :: not_a_number
  character(len=:), allocatable :: path, input_path

  ! Results.
  integer :: stat = 0, an_integer, pair(2), other_pair(2), triple(3), other_triple(3)
  integer(int32) :: an_int32
  integer(int64) :: a_long
  real(real64) :: a_real
  logical :: a_truth
  character(len=300) :: errmsg
  character(len=:), allocatable :: a_text
  integer, allocatable :: integers(:), kx(:), ky(:), kz(:)
  real(real64), allocatable :: reals(:)

  !> What a function returns is not looked at.
  interface ignore
    procedure ignore_integer, ignore_long, ignore_real, ignore_truth, ignore_text, &
      ignore_integers, ignore_statistics
  end interface

  interface
    function c_alarm(seconds) bind(C, name="alarm") result(before)
      import :: c_int
      integer(c_int), value :: seconds
      integer(c_int) :: before
    end function
    function c_signal(number, handler) bind(C, name="signal") result(before)
      import :: c_int, c_funptr
      integer(c_int), value :: number
      type(c_funptr), value :: handler
      type(c_funptr) :: before
    end function
    function c_fail(status, text) bind(C, name="tailrace_fail") result(same)
      import :: c_int, c_char
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: same
    end function
  end interface

contains

  subroutine ignore_integer(found)
    integer, intent(in) :: found
    an_integer = found
  end subroutine
  subroutine ignore_long(found)
    integer(int64), intent(in) :: found
    a_long = found
  end subroutine
  subroutine ignore_real(found)
    real(real64), intent(in) :: found
    a_real = found
  end subroutine
  subroutine ignore_truth(found)
    logical, intent(in) :: found
    a_truth = found
  end subroutine
  subroutine ignore_text(found)
    character(len=*), intent(in) :: found
    a_text = found
  end subroutine
  subroutine ignore_integers(found)
    integer, intent(in) :: found(:)
    integers = found
  end subroutine
  subroutine ignore_statistics(found)
    type(tailrace_output_statistics), intent(in) :: found
    a_long = found%steps
  end subroutine

  !> Outputs of a session have different names, which are the same on all ranks.
  function output_name() result(name)
    character(len=12) :: name
    write (name, "(a,i0)") "output", case_number
  end function

  !> A call that hangs ends the job and says which.
  subroutine begin(label)
    character(len=*), intent(in) :: label
    integer(c_int) :: ignored
    integer :: length
    under_way = label
    case_number = case_number + 1
    call get_environment_variable("SWEEP_SAYS", length=length)
    if (length > 0) write (error_unit, "(a,i0,2a)") "[rank ", this_rank, "] ", label
    errmsg = ""
    ignored = c_fail(1_c_int, "nothing has failed"//c_null_char)
    ignored = c_alarm(60_c_int)
  end subroutine

  subroutine hangs(number) bind(C)
    integer(c_int), value :: number
    write (error_unit, "(a,i0,2a)") "[rank ", this_rank, "] hangs: ", trim(under_way)
    call MPI_Abort(MPI_COMM_WORLD, number)
  end subroutine

  subroutine end_case(expected, status, message)
    integer, intent(in) :: expected, status
    character(len=*), intent(in) :: message
    integer :: range(2)
    integer(c_int) :: ignored
    range = [status, -status]
    call MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    ignored = c_alarm(0_c_int)
    if (range(1) /= -range(2)) call wrong("the ranks differ")
    if (status == tailrace_ok) then
      num_allowed = num_allowed + 1
      if (expected == refused) call wrong("is not refused")
      if (index(under_way, "%start") > 0) call finish_start()
    else
      num_refused = num_refused + 1
      if (expected == succeeds) call wrong("is refused")
      if (status == tailrace_internal .or. status == tailrace_mpi) call wrong("fails otherwise")
      if (len_trim(message) < 10 .or. message == "nothing has failed") call wrong("has no text")
    end if
    call end_made()
  contains
    subroutine wrong(what)
      character(len=*), intent(in) :: what
      num_failures = num_failures + 1
      write (error_unit, "(a,i0,7a)") "[rank ", this_rank, "] ", trim(under_way), ": ", what, &
        " (", trim(message), ")"
    end subroutine
  end subroutine

  subroutine finish_start()
    if (index(under_way, "tailrace_exchange") == 1) call good_exchange%finish()
    if (index(under_way, "tailrace_reduction") == 1) call good_reduction%finish()
  end subroutine

  subroutine end_made()
    call made_stream%destroy()
    call made_session%destroy()
    call made_input%destroy()
    call made_output%destroy()
    call made_contents%destroy()
    call made_log%destroy()
    call made_exchange%destroy()
    call made_transform%destroy()
    call made_array_transform%destroy()
    call made_reduction%destroy()
    call made_memory%destroy()
    call made_layout%destroy()
    call made_comm%destroy()
    call none_hints%destroy()
  end subroutine

  !> The name of a case that ends the job.
  subroutine says(label)
    character(len=*), intent(in) :: label
    if (is_last) write (error_unit, "(2a)") "case: ", label
    flush (error_unit)
  end subroutine

  subroutine make_arrays()
    integer :: start(2), counts(2), n
    call good_layout%slabs([6, 7], axis=2, num_ranks=all_ranks)
    call good_layout%box(this_rank, start, counts)
    n = counts(2)
    allocate (u(6, n), v(6, n), whole(6, 7), source=0.5_real64)
    allocate (single_u(6, n), single_v(6, n), single_whole(6, 7), source=0.5_real32)
    allocate (long_u(6, n), long_v(6, n), long_whole(6, 7), source=1_int64)
    allocate (records_u(6, n), records_v(6, n), records_whole(6, 7))
    allocate (wide_u(2, 6, n), wide_v(2, 6, n), wide_whole(2, 6, 7), source=0.5_real64)
    allocate (flat_u(6*n), flat_v(6*n), flat_whole(42), source=0.5_real64)
    call good_transform%create(good_comm, [8, 8, 8], cutoff=[2, 2, 2], grid=[1, all_ranks], &
                               method="alltoallv")
    call good_transform%modes(kx, ky, kz)
    call good_transform%box(triple, other_triple)
    allocate (points(other_triple(1), other_triple(2), other_triple(3)), source=0.5_real64)
    allocate (single_points, mold=real(points, real32))
    allocate (long_points, mold=int(points, int64))
    allocate (records_points(other_triple(1), other_triple(2), other_triple(3)))
    allocate (wide_points(2, other_triple(1), other_triple(2), other_triple(3)), source=0.5_real64)
    allocate (flat_points(size(points)), source=0.5_real64)
    allocate (spectra(size(kx), size(kz), size(ky)), source=(0.0_real64, 0.0_real64))
    allocate (single_spectra(size(kx), size(kz), size(ky)), source=(0.0_real32, 0.0_real32))
    allocate (long_spectra(size(kx), size(kz), size(ky)), source=0_int64)
    allocate (records_spectra(size(kx), size(kz), size(ky)))
    allocate (wide_spectra(2, size(kx), size(kz), size(ky)), source=(0.0_real64, 0.0_real64))
    allocate (flat_spectra(size(spectra)), source=(0.0_real64, 0.0_real64))
  end subroutine

  subroutine make_objects()
    type(MPI_Comm) :: cart
    num_own = merge(1, 0, is_last)
    not_a_number = ieee_value(not_a_number, ieee_quiet_nan)
    call good_comm%create(MPI_COMM_WORLD)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [all_ranks, 1], [.false., .false.], .false., cart)
    call good_cart%create(cart)
    call MPI_Comm_free(cart)
    call make_arrays()
    call good_memory%of(u)
    call good_array_transform%create(good_comm, [6, 7], axes=[1], kinds=[tailrace_dct2], &
                                     grid=[1, all_ranks], method="alltoallv")
    call good_exchange%create(good_comm, good_layout, good_layout, method="alltoallv")
    call good_hints%set("cb_nodes", "1")
    call good_contents%create(good_comm)
    call good_contents%variable("u", good_layout, u)
    call good_contents%coordinate("x", [1.0_real64, 2.0_real64, 3.0_real64, 4.0_real64, &
                                        5.0_real64, 6.0_real64])
    call good_contents%attribute("number", 3)
    call good_contents%attribute("real", 0.5_real64)
    call good_contents%attribute("reals", few)
    call good_contents%attribute("text", "a text")
    call scratch_contents%create(good_comm)
    call good_output%create(good_comm)
    call good_output%write(input_path, good_contents)
    call good_output%finish()
    call good_input%open(good_comm, input_path)
    call good_log%create(good_comm)
    call good_reduction%create(good_comm, max_items=64, method="mpi")
    call good_session%create(MPI_COMM_WORLD, servers="none")
    call good_session%open("good", good_stream)
    good_product%name = "coarse"
    good_product%stages(1) = "coarsen factor=2"
    call make_wrong_ones()
  end subroutine

  subroutine make_wrong_ones()
    type(tailrace_hints) :: gone
    type(c_ptr) :: ended
    call gone%set("cb_nodes", "1")
    ended = gone%handle
    call gone%destroy()
    ended_comm%handle = ended
    ended_layout%handle = ended
    ended_memory%handle = ended
    ended_exchange%handle = ended
    ended_hints%handle = ended
    ended_contents%handle = ended
    ended_input%handle = ended
    ended_log%handle = ended
    ended_output%handle = ended
    ended_reduction%handle = ended
    ended_session%handle = ended
    ended_stream%handle = ended
    ended_transform%handle = ended
    ended_array_transform%handle = ended
    stray_comm%handle = good_hints%handle
    stray_layout%handle = good_hints%handle
    stray_memory%handle = good_hints%handle
    stray_exchange%handle = good_hints%handle
    stray_hints%handle = good_contents%handle
    stray_contents%handle = good_hints%handle
    stray_input%handle = good_hints%handle
    stray_log%handle = good_hints%handle
    stray_output%handle = good_hints%handle
    stray_reduction%handle = good_hints%handle
    stray_array_transform%handle = good_hints%handle
    stray_session%handle = good_hints%handle
    stray_stream%handle = good_hints%handle
    stray_transform%handle = good_hints%handle
  end subroutine

  subroutine end_objects()
    call good_stream%destroy()
    call good_session%destroy()
    call good_reduction%destroy()
    call good_log%destroy()
    call good_input%destroy()
    call good_output%finish()
    call good_output%destroy()
    call good_contents%destroy()
    call scratch_contents%destroy()
    call good_hints%destroy()
    call good_exchange%destroy()
    call good_transform%destroy()
    call good_memory%destroy()
    call good_layout%destroy()
    call good_cart%destroy()
    call good_comm%destroy()
  end subroutine

end module
