// SPDX-License-Identifier: BSD-3-Clause
// CPython 3.11 keeps the frame that runs in memory of the thread: its state leads to the frame, the
// frame to the function's code object, that to its names. The handler reads them by system calls
// that fail where memory is gone. How they lie is compared with what the interpreter's own
// functions say before any sample is taken; where it differs, there are no Python functions.
#include "profile/sampled_python.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "profile/recorder.hpp"

namespace tailrace::plugins {
namespace {

struct ThreadState {  // PyThreadState
  std::byte before[56];
  std::uint64_t cframe;
};
struct CFrame {  // _PyCFrame
  std::uint64_t use_tracing;
  std::uint64_t current_frame;
};
struct Frame {  // _PyInterpreterFrame
  std::byte before[32];
  std::uint64_t code;
};
struct Code {  // PyCodeObject
  std::uint64_t references;
  std::uint64_t type;
  std::byte between[56];
  int first_line;
  std::byte later[36];
  std::uint64_t file_name;
  std::uint64_t name;
  std::uint64_t qualified_name;
};
static_assert(offsetof(Code, first_line) == 72 && offsetof(Code, file_name) == 112);
struct Text {  // PyASCIIObject, before its characters
  std::byte before[16];
  std::uint64_t length;
  std::uint64_t hash;
  std::uint32_t state;
  std::uint32_t unused;
  std::uint64_t wide;
};
static_assert(sizeof(Text) == 48);
constexpr std::uint32_t compact_and_ascii = 3U << 5U;

struct Function {
  std::uint64_t code = 0;
  std::uint64_t name = 0;
  int first_line = 0;
  char file[160] = {};
  char text[96] = {};
};
constexpr std::size_t max_functions = 4096;
std::array<Function, max_functions> functions;  // written by the main thread's handler

const char* reason = "";  // why there are no Python functions in a program that has Python
std::uint64_t thread_state = 0;
std::uint64_t code_type = 0;
std::uint64_t first_instruction = 0;  // of the interpreter
std::uint64_t end_of_instructions = 0;
int (*is_initialized)() = nullptr;

bool read_bytes(std::uint64_t address, void* to, std::size_t size) {
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

template <class Object>
bool read_object(std::uint64_t address, Object& to) {
  return address != 0 && read_bytes(address, &to, sizeof to);
}

// The code object of the function that runs; 0: none.
std::uint64_t find_code(Code& code) {
  ThreadState state{};
  CFrame cframe{};
  Frame frame{};
  const bool is_read = read_object(thread_state, state) && read_object(state.cframe, cframe) &&
                       read_object(cframe.current_frame, frame) && read_object(frame.code, code);
  return is_read && code.type == code_type ? frame.code : 0;
}

template <std::size_t Size>
void copy_text(std::uint64_t object, char (&to)[Size]) {
  Text text{};
  std::strcpy(to, "?");
  if (!read_object(object, text) || (text.state & compact_and_ascii) != compact_and_ascii) return;
  // The end of a long path says more than its beginning.
  const std::size_t length = std::min<std::size_t>(text.length, Size - 1);
  const std::uint64_t at = object + sizeof text + (text.length - length);
  if (read_bytes(at, to, length)) to[length] = '\0';
}

// Number of a function; max_functions: the table is full.
std::size_t number_of(std::uint64_t address, const Code& code) {
  std::size_t at = (address * 0x9E3779B97F4A7C15U >> 40U) % max_functions;
  for (unsigned probe = 0; probe < 64; ++probe, at = (at + 1) % max_functions) {
    Function& one = functions[at];
    if (one.code == 0) {
      copy_text(code.file_name, one.file);
      copy_text(code.qualified_name, one.text);
      one.first_line = code.first_line;
      one.name = code.qualified_name;
      one.code = address;
    }
    // Code objects that are gone leave their addresses to others.
    if (one.code == address && one.name == code.qualified_name &&
        one.first_line == code.first_line) {
      return at;
    }
  }
  return max_functions;
}

int find_interpreter(dl_phdr_info* info, std::size_t /*size*/, void* /*argument*/) {
  const auto inside = reinterpret_cast<std::uint64_t>(is_initialized);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uint64_t first = info->dlpi_addr + header.p_vaddr;
    const bool is_code = header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0;
    if (!is_code || inside < first || inside >= first + header.p_memsz) continue;
    first_instruction = first;
    end_of_instructions = first + header.p_memsz;
    return 1;
  }
  return 0;
}

template <class Call>
Call look_up(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_DEFAULT, name));
}

// Whether a code object lies as the handler expects; `code` is that of the frame that runs.
bool lies_as_expected(void* code) {
  const auto attribute = look_up<void* (*)(void*, const char*)>("PyObject_GetAttrString");
  const auto text_of = look_up<const char* (*)(void*)>("PyUnicode_AsUTF8");
  const auto number_of_object = look_up<long (*)(void*)>("PyLong_AsLong");
  const auto unref = look_up<void (*)(void*)>("Py_DecRef");
  if (attribute == nullptr || text_of == nullptr || number_of_object == nullptr) return false;
  Code read{};
  if (find_code(read) != reinterpret_cast<std::uint64_t>(code)) return false;
  bool is_same = true;
  const auto compare = [&](const char* name, const auto& same) {
    void* const value = attribute(code, name);
    is_same = is_same && value != nullptr && same(value);
    if (value != nullptr) unref(value);
  };
  const auto is_text = [&](std::uint64_t found) {
    return [&, found](void* value) {
      char copied[sizeof functions[0].file];
      copy_text(found, copied);
      const char* const text = text_of(value);
      return text != nullptr && found == reinterpret_cast<std::uint64_t>(value) &&
             (std::strcmp(copied, "?") == 0 || std::strstr(text, copied) != nullptr);
    };
  };
  compare("co_filename", is_text(read.file_name));
  compare("co_qualname", is_text(read.qualified_name));
  compare("co_firstlineno",
          [&](void* value) { return number_of_object(value) == read.first_line; });
  return is_same;
}

}  // namespace

void find_python_frames() {
  is_initialized = look_up<int (*)()>("Py_IsInitialized");
  const auto version = look_up<const char* (*)()>("Py_GetVersion");
  if (!state.has_python || is_initialized == nullptr || version == nullptr) return;
  if (is_initialized() == 0) return;
  reason = "only of CPython 3.11 are they known";
  if (std::strncmp(version(), "3.11.", 5) != 0) return;
  reason = "the interpreter's frames are not as expected";
  const auto take_lock = look_up<int (*)()>("PyGILState_Ensure");
  const auto give_lock = look_up<void (*)(int)>("PyGILState_Release");
  const auto this_state = look_up<void* (*)()>("PyThreadState_Get");
  const auto this_frame = look_up<void* (*)()>("PyEval_GetFrame");
  const auto code_of = look_up<void* (*)(void*)>("PyFrame_GetCode");
  const auto unref = look_up<void (*)(void*)>("Py_DecRef");
  code_type = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
  if (this_state == nullptr || this_frame == nullptr || code_of == nullptr) return;
  const int lock = take_lock();
  thread_state = reinterpret_cast<std::uint64_t>(this_state());
  void* const frame = this_frame();
  void* const code = frame != nullptr ? code_of(frame) : nullptr;
  if (code != nullptr && lies_as_expected(code) && dl_iterate_phdr(find_interpreter, nullptr) != 0)
    reason = "";
  if (code != nullptr) unref(code);
  give_lock(lock);
}

std::uint64_t python_function(std::uint64_t instruction) {
  if (instruction < first_instruction || instruction >= end_of_instructions) return instruction;
  Code code{};
  const std::uint64_t address = is_initialized() != 0 ? find_code(code) : 0;
  const std::size_t number = address != 0 ? number_of(address, code) : max_functions;
  return number < max_functions ? sampled_python_bit | number : instruction;
}

void print_sampled_python(Writer& out) {
  out.print("\"python_missing\": ");
  out.text(reason);
  out.print(", \"python\": [");
  const char* comma = "";
  for (std::size_t i = 0; i < max_functions; ++i) {
    const Function& one = functions[i];
    if (one.code == 0) continue;
    out.print("%s\n  [%zu, ", comma, i);
    out.text(one.file);
    out.print(", %d, ", one.first_line);
    out.text(one.text);
    out.print("]");
    comma = ",";
  }
  out.print("],\n");
}

}  // namespace tailrace::plugins
