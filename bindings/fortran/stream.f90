! SPDX-License-Identifier: BSD-3-Clause
!> Files that leave by servers, with products of them. Part of the module tailrace.
module tailrace_m_stream
  use, intrinsic :: iso_c_binding
  use tailrace_m_calls
  use tailrace_m_contents
  use tailrace_m_output
  use tailrace_m_status
  implicit none
  private

  !> What a write does when the staging memory is full (`when_full`).
  public :: tailrace_wait_for_room, tailrace_drop, tailrace_thin, tailrace_lower, tailrace_spill
  !> What follows a failed file or product (`on_failure`); continue is the same as proceed.
  public :: tailrace_stop, tailrace_proceed, tailrace_continue
  !> The outcome of a step (`result`).
  public :: tailrace_staged, tailrace_written, tailrace_dropped, tailrace_lowered, tailrace_spilled

  !> Something that the servers make of the variables of a stream. Blank entries do not count.
  type, public :: tailrace_product
    character(len=100) :: name = ""                   !< in file names and messages
    character(len=200) :: stages(8) = ""              !< in order: "coarsen factor=4", ...
    character(len=100) :: variables(16) = ""          !< none: all
    character(len=1000) :: path = "{path}_{name}.h5"  !< where the result goes
    character(len=20) :: format = "auto"              !< "hdf5", "zarr" or by the suffix
    integer :: every = 1                              !< only of each every-th step
  end type

  !> An output that leaves by the servers of a session (tailrace_session's `open`).
  type, public :: tailrace_stream
    type(c_ptr) :: handle = c_null_ptr !< for calls of C
  contains
    procedure :: open_in, write => write_file, progress, finish, statistics, describe, &
      last_complete, destroy
    final :: finalize
  end type

  !> A product with its texts and their addresses, for C.
  type :: c_texts
    character(kind=c_char, len=1001) :: name, path, format, stages(8), variables(16)
    type(c_ptr) :: stage_list(8), variable_list(16)
  end type

contains

  !> What tailrace_session's `open` calls with its own handle.
  subroutine open_in(self, session, name, products, when_full, on_failure, variables, priority, &
                     stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    type(c_ptr), intent(in) :: session
    character(len=*), intent(in) :: name
    type(tailrace_product), intent(in), optional :: products(:)
    integer, intent(in), optional :: when_full, on_failure, priority
    logical, intent(in), optional :: variables
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_stream_options) :: options
    type(c_texts), allocatable, target :: texts(:)
    type(c_product), allocatable, target :: given(:)
    integer :: p
    call self%destroy()
    options = c_stream_defaults()
    if (present(when_full)) options%when_full = int(when_full, c_int)
    if (present(on_failure)) options%on_failure = int(on_failure, c_int)
    if (present(priority)) options%priority = int(priority, c_int)
    if (present(variables)) options%variables = merge(1, 0, variables)
    if (present(products)) then
      allocate (texts(size(products)), given(size(products)))
      do p = 1, size(products)
        call convert(products(p), texts(p), given(p))
      end do
      options%num_products = size(given, kind=c_int)
      if (size(given) > 0) options%products = c_loc(given)
    end if
    call settle(c_session_open(session, to_c(name), options, self%handle), stat, errmsg)
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
  !> `result` is what outcome of the step. Fails on all compute ranks alike: a wrong argument, or an
  !> earlier file; then nothing has been taken. Collective over the compute ranks; blocking for the
  !> copy, and as `when_full` says.
  subroutine write_file(self, path, contents, result, stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: result
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: outcome
    outcome = -1
    call settle(c_stream_write(self%handle, to_c(path), contents%handle, outcome), stat, errmsg)
    if (present(result)) result = outcome
  end subroutine

  include "stream.inc"

end module tailrace_m_stream
