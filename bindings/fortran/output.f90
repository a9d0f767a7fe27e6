! SPDX-License-Identifier: BSD-3-Clause
!> Files, and products of them, written while the program computes. Part of the module tailrace.
module tailrace_m_output
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tailrace_m_calls
  use tailrace_m_comm
  use tailrace_m_contents
  use tailrace_m_layout
  use tailrace_m_status
  implicit none
  private
  public :: make_output
  public :: tailrace_output_statistics !< what output has cost on this rank; see the C header
  !> What a write does when the staging memory is full (`when_full`).
  public :: tailrace_wait_for_room, tailrace_drop, tailrace_thin, tailrace_lower, tailrace_spill
  !> What follows a failed file or product (`on_failure`); continue is the same as proceed.
  public :: tailrace_stop, tailrace_proceed, tailrace_continue
  !> The outcome of a step (`result`).
  public :: tailrace_staged, tailrace_written, tailrace_dropped, tailrace_lowered, tailrace_spilled

  !> Something that those who write make of the variables of an output. Blank entries do not count.
  type, public :: tailrace_product
    character(len=100) :: name = ""                   !< in file names and messages
    character(len=200) :: stages(8) = ""              !< in order: "coarsen factor=4", ...
    character(len=100) :: variables(16) = ""          !< none: all
    character(len=1000) :: path = "{path}_{name}.h5"  !< where the result goes
    character(len=20) :: format = "auto"              !< "hdf5", "zarr" or by the suffix
    integer :: every = 1                              !< only of each every-th step
  end type

  !> Writes files that h5py, xarray and ParaView read, hidden behind the computation.
  type, public :: tailrace_output
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
    integer(c_int) :: rank = 0 !< of those that write, for calls of C
  contains
    procedure, private :: create_output, create_hidden, write_file, write_array
    !> create(comm, servers, ...): see create_output. Programs of 0.1 give `hidden`, a logical, in
    !> place of `servers`.
    generic :: create => create_output, create_hidden
    !> write(path, contents), or write(path, name, layout, array): a file of one array.
    generic :: write => write_file, write_array
    procedure :: progress, finish, statistics, describe, describe_statistics, last_complete, &
      destroy => destroy_output
    final :: finalize_output
  end type

  !> A product with its texts and their addresses, for C.
  type :: c_texts
    character(kind=c_char, len=1001) :: name, path, format, stages(8), variables(16)
    type(c_ptr) :: stage_list(8), variable_list(16)
  end type

contains

  !> `servers`: "none", "hidden", "thread", "process" or "auto" (default: "hidden"). The rest as in
  !> `tailrace_output_options` of C. Collective, blocking.
  subroutine create_output(self, comm, servers, folder, memory_bytes, transport, threads, &
                           products, when_full, on_failure, variables, priority, stall_budget, &
                           wait_limit_s, spill_folder, retry_s, fallback_path, format, compress, &
                           strategy, hints, writers, stripe_bytes, buffered_files, method, &
                           checksums, series, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    character(len=*), intent(in), optional :: servers, folder, transport, spill_folder, series, &
                                              fallback_path, format, compress, strategy, method
    integer(int64), intent(in), optional :: memory_bytes
    type(tailrace_product), intent(in), optional :: products(:)
    integer, intent(in), optional :: threads, when_full, on_failure, priority, writers, &
                                     stripe_bytes, buffered_files
    logical, intent(in), optional :: variables, checksums
    real(real64), intent(in), optional :: stall_budget, wait_limit_s, retry_s
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    call make_output(self, comm%handle, products, when_full, on_failure, variables, priority, &
                     stall_budget, wait_limit_s, spill_folder, retry_s, fallback_path, format, &
                     compress, strategy, hints, writers, stripe_bytes, buffered_files, method, &
                     checksums, series, stat, errmsg, servers=servers, folder=folder, &
                     memory_bytes=memory_bytes, &
                     transport=transport, threads=threads)
    if (c_associated(self%handle)) status = rank_of(comm, self%rank)
  end subroutine

  !> The call of 0.1: `servers` is "hidden" where `hidden` is true, else "none".
  subroutine create_hidden(self, comm, hidden, strategy, hints, writers, stripe_bytes, &
                           buffered_files, method, checksums, stat, errmsg)
    class(tailrace_output), intent(inout) :: self
    type(tailrace_comm), intent(in) :: comm
    logical, intent(in) :: hidden
    character(len=*), intent(in), optional :: strategy, method
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(in), optional :: writers, stripe_bytes, buffered_files
    logical, intent(in), optional :: checksums
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%create_output(comm, merge("hidden", "none  ", hidden), strategy=strategy, &
                            hints=hints, writers=writers, stripe_bytes=stripe_bytes, &
                            buffered_files=buffered_files, method=method, checksums=checksums, &
                            stat=stat, errmsg=errmsg)
  end subroutine

  !> What `create`, and `open` of a session, call. `owner` is the communicator or, if the output has
  !> a `name`, the session.
  subroutine make_output(self, owner, products, when_full, on_failure, variables, priority, &
                         stall_budget, wait_limit_s, spill_folder, retry_s, fallback_path, format, &
                         compress, strategy, hints, writers, stripe_bytes, buffered_files, method, &
                         checksums, series, stat, errmsg, servers, folder, memory_bytes, &
                         transport, threads, name)
    class(tailrace_output), intent(inout) :: self
    type(c_ptr), intent(in) :: owner
    type(tailrace_product), intent(in), optional :: products(:)
    character(len=*), intent(in), optional :: servers, folder, transport, spill_folder, &
                                              fallback_path, format, compress, strategy, method, &
                                              series, name
    integer(int64), intent(in), optional :: memory_bytes
    integer, intent(in), optional :: threads, when_full, on_failure, priority, writers, &
                                     stripe_bytes, buffered_files
    logical, intent(in), optional :: variables, checksums
    real(real64), intent(in), optional :: stall_budget, wait_limit_s, retry_s
    type(tailrace_hints), intent(in), optional :: hints
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_output_options) :: options
    type(c_texts), allocatable, target :: texts(:)
    type(c_product), allocatable, target :: given(:)
    character(kind=c_char, len=:), allocatable, target :: kind, place, way, disk, other, ending, &
                                                          packing, rule, moves, whole
    integer(c_int) :: status
    integer :: p
    call self%destroy()
    options = c_output_defaults()
    call point_to(options%servers, servers, kind)
    call point_to(options%transport, transport, way)
    if (present(memory_bytes)) options%memory_bytes = memory_bytes
    if (present(threads)) options%threads = int(threads, c_int)
    call point_to(options%folder, folder, place)
    call point_to(options%strategy, strategy, rule)
    if (present(hints)) options%hints = hints%handle
    if (present(writers)) options%writers = int(writers, c_int)
    if (present(stripe_bytes)) options%stripe_bytes = stripe_bytes
    if (present(buffered_files)) options%buffered_files = int(buffered_files, c_int)
    call point_to(options%method, method, moves)
    if (present(checksums)) options%checksums = merge(1, 0, checksums)
    if (present(priority)) options%priority = int(priority, c_int)
    if (present(when_full)) options%when_full = int(when_full, c_int)
    if (present(stall_budget)) options%stall_budget = stall_budget
    if (present(wait_limit_s)) options%wait_limit_s = wait_limit_s
    call point_to(options%spill_folder, spill_folder, disk)
    if (present(on_failure)) options%on_failure = int(on_failure, c_int)
    if (present(retry_s)) options%retry_s = retry_s
    call point_to(options%fallback_path, fallback_path, other)
    call point_to(options%format, format, ending)
    call point_to(options%compress, compress, packing)
    if (present(variables)) options%variables = merge(1, 0, variables)
    call point_to(options%series, series, whole)
    if (present(products)) then
      allocate (texts(size(products)), given(size(products)))
      do p = 1, size(products)
        call convert(products(p), texts(p), given(p))
      end do
      options%num_products = size(given, kind=c_int)
      if (size(given) > 0) options%products = c_loc(given)
    end if
    if (present(name)) then
      status = c_session_open_output(owner, to_c(name), options, self%handle)
    else
      status = c_output_create(owner, options, self%handle)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine convert(product, texts, given)
    type(tailrace_product), intent(in) :: product
    type(c_texts), intent(inout), target :: texts
    type(c_product), intent(out) :: given
    texts%name = to_c(product%name)
    texts%path = to_c(product%path)
    texts%format = to_c(product%format)
    given%name = c_loc(texts%name)
    given%path = c_loc(texts%path)
    given%format = c_loc(texts%format)
    given%every = product%every
    call list(product%stages, texts%stages, texts%stage_list, given%num_stages)
    call list(product%variables, texts%variables, texts%variable_list, given%num_variables)
    given%stages = c_loc(texts%stage_list)
    given%variables = c_loc(texts%variable_list)
  end subroutine

  !> Those of the entries that are not blank.
  subroutine list(entries, copies, addresses, count)
    character(len=*), intent(in) :: entries(:)
    character(kind=c_char, len=*), intent(inout), target :: copies(:)
    type(c_ptr), intent(inout) :: addresses(:)
    integer(c_int), intent(out) :: count
    integer :: i
    count = 0
    do i = 1, size(entries)
      if (len_trim(entries(i)) == 0) cycle
      count = count + 1_c_int
      copies(count) = to_c(entries(i))
      addresses(count) = c_loc(copies(count))
    end do
  end subroutine

  !> Hands over `contents`, to be written to `path`; when it returns, the arrays may be changed.
  !> `result` is the outcome of the step, -1 if the call fails. It fails on all ranks alike: a wrong
  !> argument, or an earlier file; then nothing has been taken. Collective over the ranks that
  !> compute; blocking for the copy, and as `when_full` says.
  subroutine write_file(self, path, contents, stat, errmsg, result)
    class(tailrace_output), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(out), optional :: result
    call end_write(self, c_output_write(self%handle, to_c(path), contents%handle), stat, errmsg, &
                   result)
  end subroutine

  !> The same for a file of one array: this rank's part of `layout`, with the shape of its box, also
  !> a section such as `u(1:nx, 1:ny, 1:nz)` of an array with a halo.
  subroutine write_array(self, path, name, layout, array, stat, errmsg, result)
    class(tailrace_output), intent(inout) :: self
    character(len=*), intent(in) :: path, name
    type(tailrace_layout), intent(in) :: layout
    type(*), dimension(..), intent(in) :: array
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(out), optional :: result
    call end_write(self, c_f_write(self%handle, to_c(path), to_c(name), layout%handle, self%rank, &
                                   array), stat, errmsg, result)
  end subroutine

  subroutine end_write(self, written, stat, errmsg, result)
    class(tailrace_output), intent(in) :: self
    integer(c_int), intent(in) :: written
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(out), optional :: result
    integer(c_int) :: status, outcome
    status = written
    outcome = -1
    if (status == tailrace_ok) status = c_output_last_result(self%handle, outcome)
    call settle(status, stat, errmsg)
    if (present(result)) result = outcome
  end subroutine

  include "output.inc"

end module tailrace_m_output
