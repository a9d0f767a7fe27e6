// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <type_traits>

#include "core/same_on_all.hpp"
#include "store/file_index.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

/// Plain values to bytes and back, in one order for both: `visit` names each value once.
class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(T& value) { raw(&value, sizeof(T)); }
  void operator()(std::string& text) { items(text); }
  template <class T>
  void operator()(std::vector<T>& values) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      items(values);
    } else {
      auto count = values.size();
      (*this)(count);
      values.resize(count);
      for (auto& value : values) visit(value);
    }
  }
  void visit(FileIndex::Entry& entry) {
    (*this)(entry.name);
    (*this)(entry.type);
    (*this)(entry.extents);
    (*this)(entry.offset);
    (*this)(entry.chunk);
    (*this)(entry.scale);
    (*this)(entry.values);
    (*this)(entry.missing);
    (*this)(entry.parts);
    (*this)(entry.pieces);
    (*this)(entry.boxes);
  }
  void visit(FileIndex::Part& part) {
    (*this)(part.box);
    (*this)(part.file);
    (*this)(part.dataset);
  }
  void visit(FileIndex::Refused& refused) {
    (*this)(refused.name);
    (*this)(refused.why);
    (*this)(refused.damaged);
  }
  void visit(std::pair<std::string, AttributeValue>& attribute) {
    (*this)(attribute.first);
    auto kind = attribute.second.index();
    (*this)(kind);
    if (unpacking) {
      if (kind == 0) attribute.second = std::int64_t{};
      if (kind == 1) attribute.second = double{};
      if (kind == 2) attribute.second = std::string{};
      if (kind == 3) attribute.second = std::vector<double>{};
    }
    std::visit([this](auto& value) { (*this)(value); }, attribute.second);
  }
  void all(FileIndex& index) {
    (*this)(index.entries);
    (*this)(index.refused);
    (*this)(index.attributes);
  }
  std::string bytes;
  bool unpacking = false;

 private:
  template <class Container>
  void items(Container& values) {
    auto count = values.size();
    (*this)(count);
    values.resize(count);
    raw(values.data(), count * sizeof(values[0]));
  }
  void raw(void* value, std::size_t count) {
    if (count == 0) return;
    if (unpacking) {
      std::memcpy(value, bytes.data() + at_, count);
      at_ += count;
    } else {
      bytes.append(static_cast<const char*>(value), count);
    }
  }
  std::size_t at_ = 0;
};

}  // namespace

void share_index(const Comm& comm, FileIndex& index) {
  Packer packer;
  if (comm.rank() == 0) packer.all(index);
  packer.bytes = broadcast_text(comm.raw(), std::move(packer.bytes));
  if (comm.rank() == 0) return;
  packer.unpacking = true;
  packer.all(index);
}

}  // namespace tailrace::store
