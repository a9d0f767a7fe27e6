// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/c/error.h"

#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>

#include "guard.hpp"
#include "item_type.hpp"
#include "tailrace/more/agreed_error.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace::c {

namespace {

struct LastError {
  int code = TAILRACE_OK;
  int sys_errno = 0;
  ErrorPlace place;
  std::string text;
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

int status_of(Errc code) {
  switch (code) {
    case Errc::invalid_input:
      return TAILRACE_INVALID_INPUT;
    case Errc::io:
      return TAILRACE_IO;
    case Errc::mpi:
      return TAILRACE_MPI;
    case Errc::corrupt:
      return TAILRACE_CORRUPT;
    case Errc::internal:
      break;
  }
  return TAILRACE_INTERNAL;
}

LastError describe_exception(const char* call) {
  const auto told = [call](int code, const char* what, int sys_errno = 0, ErrorPlace place = {}) {
    return LastError{code, sys_errno, std::move(place), std::string(call) + ": " + what};
  };
  try {
    throw;
  } catch (const PlacedError& error) {
    return told(status_of(error.code()), error.what(), error.sys_errno(), error.place());
  } catch (const Error& error) {
    return told(status_of(error.code()), error.what(), error.sys_errno());
  } catch (const std::bad_alloc&) {
    return told(TAILRACE_IO, "no memory", ENOMEM);
  } catch (const std::length_error&) {  // of a container: more than there can be
    return told(TAILRACE_IO, "no memory", ENOMEM);
  } catch (const std::exception& error) {
    return told(TAILRACE_INTERNAL, error.what());
  } catch (...) {
    return told(TAILRACE_INTERNAL, "an unknown exception");
  }
}

}  // namespace

namespace {

void keep_text(int status, const char* text) {
  auto& last = last_error();
  last = {};
  last.code = status;
  last.text = text;
}

}  // namespace

int keep_error(const char* call) noexcept {
  auto& last = last_error();
  try {
    last = describe_exception(call);
  } catch (const std::exception&) {  // no memory for the text
    last = {};
    last.code = TAILRACE_IO;
    last.sys_errno = ENOMEM;
  }
  return last.code;
}

void require_address(const void* address, const char* name) {
  if (address == nullptr) throw Error(Errc::invalid_input, std::string(name) + " is NULL");
}

std::string text(const char* given, const char* name) {
  require_address(given, name);
  return given;
}

std::string text_or(const char* given, const char* otherwise) {
  return given != nullptr ? given : otherwise;
}

std::vector<std::string> texts(const char* const* given, std::int64_t count, const char* name) {
  std::vector<std::string> all;
  for (const char* const one : list_of(given, count, name)) all.emplace_back(one);
  return all;
}

std::vector<std::ptrdiff_t> sizes(const std::int64_t* given, std::int64_t count, const char* name) {
  const auto all = list(given, count, name);
  return {all.begin(), all.end()};
}

ItemType item_type_of(int type) { return enumerator<ItemType>(type, num_item_types, "type"); }

static_assert(static_cast<int>(ItemType::float32) == TAILRACE_FLOAT32 &&
              static_cast<int>(ItemType::float64) == TAILRACE_FLOAT64 &&
              static_cast<int>(ItemType::int32) == TAILRACE_INT32 &&
              static_cast<int>(ItemType::int64) == TAILRACE_INT64 &&
              static_cast<int>(ItemType::int8) == TAILRACE_INT8 &&
              static_cast<int>(ItemType::int16) == TAILRACE_INT16 &&
              static_cast<int>(ItemType::uint8) == TAILRACE_UINT8 &&
              static_cast<int>(ItemType::uint16) == TAILRACE_UINT16 &&
              static_cast<int>(ItemType::uint32) == TAILRACE_UINT32 &&
              static_cast<int>(ItemType::uint64) == TAILRACE_UINT64 &&
              static_cast<int>(ItemType::complex64) == TAILRACE_COMPLEX64 &&
              static_cast<int>(ItemType::complex128) == TAILRACE_COMPLEX128 &&
              static_cast<int>(ItemType::float16) == TAILRACE_FLOAT16 &&
              TAILRACE_FLOAT16 == num_item_types - 1);

}  // namespace tailrace::c

using namespace tailrace::c;

const char* tailrace_error(void) { return last_error().text.c_str(); }
int tailrace_error_code(void) { return last_error().code; }
int tailrace_error_errno(void) { return last_error().sys_errno; }
int tailrace_error_rank(void) { return last_error().place.rank; }
const char* tailrace_error_path(void) { return last_error().place.path.c_str(); }
int64_t tailrace_error_step(void) { return last_error().place.step; }

int tailrace_errors_in_fortran_order(void) {
  tailrace::write_axes_as_fortran();
  return TAILRACE_OK;
}
int tailrace_fail(int status, const char* text) {
  const int kept = guarded(__func__, [&] {
    require_address(text, "text");
    keep_text(status, text);
  });
  return kept == TAILRACE_OK ? status : kept;
}

const char* tailrace_status_name(int status) {
  static constexpr std::array names{"ok",  "invalid input", "input or output failed",
                                    "MPI", "corrupt data",  "defect of the library"};
  const auto index = static_cast<std::size_t>(status);
  return status >= 0 && index < names.size() ? names[index] : nullptr;
}

const char* tailrace_version(void) { return TAILRACE_VERSION; }

int64_t tailrace_type_bytes(int type) {
  if (type < 0 || type >= tailrace::c::num_item_types) return 0;
  return tailrace::item_bytes(static_cast<tailrace::ItemType>(type));
}
