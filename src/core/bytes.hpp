// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tailrace/error.hpp"

namespace tailrace {

/// Writes plain values and texts one after another, to be read back by a program of the same build.
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(T));
  }
  void put(const std::string& text) { put_all(std::span(text.data(), text.size())); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put_all(std::span<const T> values) {
    put(values.size());
    const auto* first = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), first, first + values.size_bytes());
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put_all(std::span<const T>(values));
  }
  void put(const Error& error) {
    put(static_cast<std::int32_t>(error.code()));
    put(static_cast<std::int32_t>(error.sys_errno()));
    put(std::string(error.what()));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what `ByteWriter` wrote. Throws `Errc::corrupt` if there is less than asked for.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value{};
    std::memcpy(&value, next(sizeof(T)), sizeof(T));
    return value;
  }
  std::string get_text() {
    const auto values = get_all<char>();
    return {values.begin(), values.end()};
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> get_all() {
    const auto count = get<std::size_t>();
    if (count > bytes_.size() / sizeof(T)) next(bytes_.size() + 1);
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), next(count * sizeof(T)), count * sizeof(T));
    return values;
  }
  Error get_error() {
    const auto code = static_cast<Errc>(get<std::int32_t>());
    const int sys_errno = get<std::int32_t>();
    return {code, get_text(), sys_errno};
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  const std::byte* next(std::size_t count) {
    if (count > bytes_.size()) throw Error(Errc::corrupt, "a message between ranks is too short");
    const auto* first = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return first;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace tailrace
