! SPDX-License-Identifier: BSD-3-Clause
!> Files that leave by servers, with products of them. Part of the module tailrace.
module tailrace_m_stream
  use, intrinsic :: iso_c_binding
  use tailrace_m_contents
  use tailrace_m_output
  use tailrace_m_status
  implicit none
  private

  !> What a write does when the staging memory is full (`when_full`).
  integer, parameter, public :: tailrace_wait_for_room = 0, tailrace_drop = 1, tailrace_thin = 2, &
                                tailrace_lower = 3, tailrace_spill = 4
  !> What follows a failed file or product (`on_failure`); continue is the same as proceed.
  integer, parameter, public :: tailrace_stop = 0, tailrace_proceed = 1, tailrace_continue = 1
  !> What became of a step (`result`).
  integer, parameter, public :: tailrace_staged = 0, tailrace_written = 1, tailrace_dropped = 2, &
                                tailrace_lowered = 3, tailrace_spilled = 4

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

  type, bind(C) :: c_product
    type(c_ptr) :: name
    integer(c_int) :: num_variables
    type(c_ptr) :: variables
    integer(c_int) :: num_stages
    type(c_ptr) :: stages, path, format
    integer(c_int64_t) :: every
  end type

  !> A product with its texts and their addresses, for C.
  type :: c_texts
    character(kind=c_char, len=1001) :: name, path, format, stages(8), variables(16)
    type(c_ptr) :: stage_list(8), variable_list(16)
  end type

  type, bind(C) :: c_options
    integer(c_int) :: priority, when_full
    real(c_double) :: stall_budget, wait_limit_s
    type(c_ptr) :: spill_folder
    integer(c_int) :: on_failure
    real(c_double) :: retry_s
    type(c_ptr) :: fallback_path, format
    integer(c_int) :: variables, num_products
    type(c_ptr) :: products
    type(tailrace_output_options) :: output
  end type

  interface
    function c_defaults() bind(C, name="tailrace_stream_defaults") result(options)
      import :: c_options
      type(c_options) :: options
    end function
    function c_open(session, name, options, stream) bind(C, name="tailrace_session_open") &
        result(status)
      import :: c_int, c_ptr, c_char, c_options
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: stream
      integer(c_int) :: status
    end function
    function c_write(stream, path, contents, result) bind(C, name="tailrace_stream_write") &
        result(status)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: stream, contents
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), intent(inout) :: result
      integer(c_int) :: status
    end function
    function c_progress(stream) bind(C, name="tailrace_stream_progress") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function
    function c_finish(stream) bind(C, name="tailrace_stream_finish") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function
    function c_statistics(stream, statistics) bind(C, name="tailrace_stream_get_statistics") &
        result(status)
      import :: c_int, c_ptr, tailrace_output_statistics
      type(c_ptr), value :: stream
      type(tailrace_output_statistics), intent(inout) :: statistics
      integer(c_int) :: status
    end function
    function c_describe(stream, text) bind(C, name="tailrace_stream_describe") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: status
    end function
    function c_last_complete(stream, path) bind(C, name="tailrace_stream_last_complete") &
        result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: stream
      type(c_ptr), intent(inout) :: path
      integer(c_int) :: status
    end function
    function c_destroy(stream) bind(C, name="tailrace_stream_destroy") result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: stream
      integer(c_int) :: status
    end function
  end interface

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
    type(c_options) :: options
    type(c_texts), allocatable, target :: texts(:)
    type(c_product), allocatable, target :: given(:)
    integer :: p
    call self%destroy()
    options = c_defaults()
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
    call settle(c_open(session, to_c(name), options, self%handle), stat, errmsg)
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
  !> `result` is what became of the step. Fails on all compute ranks alike: a wrong argument, or an
  !> earlier file; then nothing has been taken. Collective over the compute ranks; blocking for the
  !> copy, and as `when_full` says.
  subroutine write_file(self, path, contents, result, stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(tailrace_contents), intent(in) :: contents
    integer, intent(out), optional :: result
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: became
    became = -1
    call settle(c_write(self%handle, to_c(path), contents%handle, became), stat, errmsg)
    if (present(result)) result = became
  end subroutine

  !> Moves data on, where the transport needs help; once a step. Local.
  subroutine progress(self, stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_progress(self%handle), stat, errmsg)
  end subroutine

  !> Waits until every file has its final name. Collective over the compute ranks, blocking.
  subroutine finish(self, stat, errmsg)
    class(tailrace_stream), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(c_finish(self%handle), stat, errmsg)
  end subroutine

  !> Local.
  function statistics(self) result(seen)
    class(tailrace_stream), intent(in) :: self
    type(tailrace_output_statistics) :: seen
    call settle(c_statistics(self%handle, seen))
  end function

  !> For people: what output has cost, what became of the steps. Local.
  function describe(self) result(text)
    class(tailrace_stream), intent(in) :: self
    character(len=:), allocatable :: text
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_describe(self%handle, address))
    text = from_c(address)
  end function

  !> Path of the last file known to be complete, or "". Local.
  function last_complete(self) result(path)
    class(tailrace_stream), intent(in) :: self
    character(len=:), allocatable :: path
    type(c_ptr) :: address
    address = c_null_ptr
    call settle(c_last_complete(self%handle, address))
    path = from_c(address)
  end function

  !> Finishes; errors are only said. Collective over the compute ranks, blocking.
  subroutine destroy(self)
    class(tailrace_stream), intent(inout) :: self
    call settle(c_destroy(self%handle))
  end subroutine

  subroutine finalize(self)
    type(tailrace_stream), intent(inout) :: self
    integer(c_int) :: status
    status = c_destroy(self%handle)
  end subroutine

end module tailrace_m_stream
