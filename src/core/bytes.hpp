// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tailrace/error.hpp"

namespace tailrace {

namespace detail {

/// The variant with its alternative number `kind`.
template <class Variant, std::size_t... I>
Variant alternative(std::size_t kind, std::index_sequence<I...>) {
  Variant made;
  (static_cast<void>(I == kind && (made.template emplace<I>(), true)), ...);
  return made;
}

/// One value to `bytes` or from it. A type with members to pass on has a function
/// `travel(bytes, value)` beside it, which calls `bytes(value.a, value.b)`: one for both ways.
template <class Bytes, class T>
void pass(Bytes& bytes, T& value) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    bytes.raw(&value, sizeof(T));
  } else if constexpr (requires { travel(bytes, value); }) {
    travel(bytes, value);
  } else if constexpr (requires { value.second; }) {  // a pair
    bytes(value.first, value.second);
  } else if constexpr (requires { std::variant_size<T>::value; }) {
    auto kind = value.index();
    bytes(kind);
    if constexpr (Bytes::reads) {
      value = alternative<T>(kind, std::make_index_sequence<std::variant_size_v<T>>());
    }
    std::visit([&](auto& held) { bytes(held); }, value);
  } else if constexpr (requires { value.has_value(); }) {  // an optional
    bool given = value.has_value();
    bytes(given);
    if constexpr (Bytes::reads) {
      value.reset();
      if (given) value.emplace();
    }
    if (given) bytes(*value);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {  // has no items to point at
    std::vector<char> items(value.begin(), value.end());
    bytes(items);
    if constexpr (Bytes::reads) value.assign(items.begin(), items.end());
  } else {  // a text or a vector
    auto count = value.size();
    bytes(count);
    if constexpr (Bytes::reads) value.resize(bytes.checked(count));
    if constexpr (std::is_trivially_copyable_v<typename T::value_type>) {
      bytes.raw(value.data(), count * sizeof(typename T::value_type));
    } else {
      for (auto& item : value) bytes(item);
    }
  }
}

}  // namespace detail

/// Writes values one after another, to be read back by a program of the same build: plain ones,
/// texts, vectors, pairs, variants and optionals of such, and what can `travel`.
class ByteWriter {
 public:
  static constexpr bool reads = false;
  template <class... T>
  void operator()(T&... values) {
    (detail::pass(*this, values), ...);
  }
  template <class T>
  void put(const T& value) {
    detail::pass(*this, const_cast<T&>(value));  // which is only read
  }
  void put(const Error& error) {
    put(error.code());
    put(error.sys_errno());
    put(std::string(error.what()));
  }
  void raw(const void* values, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), first, first + count);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what `ByteWriter` wrote. Throws `Errc::corrupt` if there is less than asked for.
class ByteReader {
 public:
  static constexpr bool reads = true;
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (detail::pass(*this, values), ...);
  }
  template <class T>
  T get() {
    T value{};
    detail::pass(*this, value);
    return value;
  }
  Error get_error() {
    const auto code = get<Errc>();
    const int sys_errno = get<int>();
    return {code, get<std::string>(), sys_errno};
  }
  bool at_end() const { return bytes_.empty(); }
  /// A number of items to come, each of a byte or more.
  std::size_t checked(std::size_t count) const {
    if (count > bytes_.size()) throw Error(Errc::corrupt, "a message between ranks is too short");
    return count;
  }
  void raw(void* values, std::size_t count) {
    if (checked(count) > 0) std::memcpy(values, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }

 private:
  std::span<const std::byte> bytes_;
};

/// One value as `ByteWriter` writes it, and back.
template <class T>
std::vector<std::byte> bytes_from(const T& value) {
  ByteWriter to;
  to.put(value);
  return to.take();
}
template <class T>
T value_from(std::span<const std::byte> bytes) {
  return ByteReader(bytes).get<T>();
}

}  // namespace tailrace
