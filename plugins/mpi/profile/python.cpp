// SPDX-License-Identifier: BSD-3-Clause
// The line of a Python script that called MPI through an extension module, such as mpi4py.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "profile/recorder.hpp"

namespace tailrace::plugins {
namespace {

// The interpreter's functions, found in the running program; null: it has no Python.
struct Interpreter {
  int (*is_initialized)() = nullptr;
  int (*take_lock)() = nullptr;
  void (*give_lock)(int) = nullptr;
  void* (*frame)() = nullptr;
  void* (*code_of)(void*) = nullptr;
  int (*line_of)(void*) = nullptr;
  void (*unref)(void*) = nullptr;
  void* (*attribute)(void*, const char*) = nullptr;
  const char* (*text_of)(void*) = nullptr;
  void (*clear_error)() = nullptr;
};
Interpreter python;

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

struct Place {
  void* code = nullptr;  // the function's code object; null: free
  int line = 0;
  char text[216] = {};
};
constexpr unsigned max_places = 2048;
Place places[max_places];  // written with the interpreter's lock held

// Whether addresses lie in extension modules: address << 1, and 1 if so.
constexpr unsigned num_known = 1024;
std::atomic<std::uint64_t> known[num_known];

bool is_extension(const void* address) {
  const auto bits = reinterpret_cast<std::uint64_t>(address);
  std::atomic<std::uint64_t>& slot = known[(bits * 0x9E3779B97F4A7C15U >> 40U) % num_known];
  const std::uint64_t there = slot.load(std::memory_order_relaxed);
  if (there >> 1U == bits) return (there & 1U) != 0;
  Dl_info info{};
  const bool is = dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
                  (std::strstr(info.dli_fname, ".cpython-") != nullptr ||
                   std::strstr(info.dli_fname, ".abi3.so") != nullptr ||
                   std::strstr(info.dli_fname, "/libffi.so") != nullptr);  // of ctypes
  slot.store(bits << 1U | (is ? 1U : 0U), std::memory_order_relaxed);
  return is;
}

// Copies a text attribute of an object.
void copy(void* object, const char* name, char* to, std::size_t room) {
  void* value = python.attribute(object, name);
  const char* text = value != nullptr ? python.text_of(value) : nullptr;
  std::snprintf(to, room, "%s", text != nullptr ? text : "?");
  if (text == nullptr) python.clear_error();
  if (value != nullptr) python.unref(value);
}

void describe(Place& place, void* code, int line) {
  char file[144];
  char function[48];
  copy(code, "co_filename", file, sizeof file);
  copy(code, "co_name", function, sizeof function);
  std::snprintf(place.text, sizeof place.text, "%s:%d %s", file, line, function);
  place.line = line;
  place.code = code;
}

// Index of the place; max_places: the table is full.
unsigned find_place(void* code, int line) {
  const auto bits = reinterpret_cast<std::uint64_t>(code) ^ static_cast<std::uint64_t>(line) << 20U;
  auto at = static_cast<unsigned>((bits * 0x9E3779B97F4A7C15U >> 40U) % max_places);
  for (unsigned probe = 0; probe < 64; ++probe, at = (at + 1) % max_places) {
    Place& place = places[at];
    if (place.code == nullptr) describe(place, code, line);
    if (place.code == code && place.line == line) return at;
  }
  return max_places;
}

}  // namespace

bool find_python() {
  return find(python.is_initialized, "Py_IsInitialized") &&
         find(python.take_lock, "PyGILState_Ensure") &&
         find(python.give_lock, "PyGILState_Release") && find(python.frame, "PyEval_GetFrame") &&
         find(python.code_of, "PyFrame_GetCode") && find(python.line_of, "PyFrame_GetLineNumber") &&
         find(python.unref, "Py_DecRef") && find(python.attribute, "PyObject_GetAttrString") &&
         find(python.text_of, "PyUnicode_AsUTF8") && find(python.clear_error, "PyErr_Clear");
}

const void* python_site(const void* address) {
  if (!is_extension(address) || python.is_initialized() == 0) return address;
  const int lock = python.take_lock();
  unsigned place = max_places;
  if (void* frame = python.frame()) {
    void* code = python.code_of(frame);
    place = find_place(code, python.line_of(frame));
    python.unref(code);
  }
  python.give_lock(lock);
  return place < max_places ? reinterpret_cast<const void*>(python_bit | place) : address;
}

const char* python_place(std::uint64_t site) { return places[site & ~python_bit].text; }

}  // namespace tailrace::plugins
