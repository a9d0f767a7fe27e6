// SPDX-License-Identifier: BSD-3-Clause
#include "move/strided_copy.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "move/numbered_items.hpp"

namespace tailrace {
namespace {

/// A copy of some bytes that ends where memory ends, or begins where memory begins: whoever reads
/// or writes beyond is stopped at once.
class Fenced {
 public:
  enum class At { end, begin };

  Fenced(const std::vector<std::uint8_t>& bytes, At at) : num_bytes_(bytes.size()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto inside = (num_bytes_ + page - 1) / page * page;
    mapped_bytes_ = inside + 2 * page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page, inside, PROT_READ | PROT_WRITE);
    data_ = base_ + page + (at == At::end ? inside - num_bytes_ : 0);
    std::memcpy(data_, bytes.data(), num_bytes_);
  }
  ~Fenced() { munmap(base_, mapped_bytes_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  std::byte* data() const { return data_; }
  bool equals(const std::vector<std::uint8_t>& bytes) const {
    return bytes.size() == num_bytes_ && std::memcmp(data_, bytes.data(), num_bytes_) == 0;
  }

 private:
  std::size_t num_bytes_, mapped_bytes_ = 0;
  std::byte *base_ = nullptr, *data_ = nullptr;
};

/// Copies `part` of `box` between two memories that have nothing on one side of them. What lies
/// between the items of the destination (its halo) must stay as it is.
void check(const Box& box, const Box& part, const Memory& from, const Memory& to,
           std::ptrdiff_t item_bytes) {
  const auto source = testing::make_fields({box}, from, item_bytes, 1, true)[0];
  const auto untouched = testing::make_fields({part}, to, item_bytes, 1, false)[0];
  const auto expected = testing::make_fields({part}, to, item_bytes, 1, true)[0];
  StridedCopy copy(part, side_of(part, box, from.boxes[0]), side_of(part, part, to.boxes[0]),
                   item_bytes);
  EXPECT_EQ(copy.num_bytes(), part.num_items() * item_bytes);
  static std::size_t turn = 0;  // the plain kind each time, of the others one after another
  const auto& other = copy_kinds()[1 + turn++ % (copy_kinds().size() - 1)];
  for (const auto* kind : {&copy_kinds().front(), &other}) {
    copy.use(*kind);
    for (const auto at : {Fenced::At::end, Fenced::At::begin}) {
      const Fenced in(source, at), out(untouched, at);
      copy.run(in.data(), out.data());
      EXPECT_TRUE(out.equals(expected))
          << kind->name << ", " << item_bytes << " bytes, " << box.describe();
      EXPECT_TRUE(in.equals(source));
    }
  }
}

void check(const Box& box, const Box& part, std::span<const int> from_order,
           std::span<const int> to_order, std::ptrdiff_t halo, std::ptrdiff_t item_bytes) {
  const std::vector<std::ptrdiff_t> cells(from_order.size(), halo);
  check(box, part, Memory::ordered(box, from_order, cells), Memory::ordered(part, to_order, cells),
        item_bytes);
}

/// All items of up to this many bytes are tried: the code differs by size.
constexpr std::ptrdiff_t longest_item = 64;

TEST(StridedCopy, AllOrdersAndSizesOfThreeAxes) {
  const Box box{3, {10, 20, 30}, {5, 11, 19}};
  const Box part{3, {11, 21, 30}, {3, 9, 19}};
  std::vector<int> from_order{0, 1, 2};
  do {
    std::vector<int> to_order{0, 1, 2};
    do {
      for (std::ptrdiff_t bytes = 1; bytes <= longest_item; ++bytes) {
        check(box, part, from_order, to_order, bytes % 3, bytes);
        check(part, part, from_order, to_order, 0, bytes);
      }
    } while (std::ranges::next_permutation(to_order).found);
  } while (std::ranges::next_permutation(from_order).found);
}

// The copy turns planes in strips of some 4096 bytes, in squares.
TEST(StridedCopy, PlanesLongerThanAStrip) {
  for (std::ptrdiff_t bytes = 1; bytes <= longest_item; ++bytes) {
    const auto strip = 4096 / bytes;
    for (const auto length : {strip + 1, 2 * strip + 7}) {
      const Box wide{3, {0, 0, 0}, {11, 2, length}};
      const Box tall{3, {0, 0, 0}, {length, 2, 11}};
      for (const auto& box : {wide, tall}) {
        for (const std::ptrdiff_t halo : {0, 1}) {
          check(box, box, std::vector{0, 1, 2}, std::vector{1, 2, 0}, halo, bytes);
          check(box, box, std::vector{0, 1, 2}, std::vector{2, 1, 0}, halo, bytes);
        }
      }
    }
  }
}

// Two items side by side on both sides are copied as one of twice the size.
TEST(StridedCopy, ItemsThatBelongTogether) {
  for (std::ptrdiff_t bytes = 1; bytes <= longest_item / 2; ++bytes) {
    for (const std::ptrdiff_t together : {2, 3, 4}) {
      const Box box{3, {0, 0, 0}, {13, 401, together}};
      check(box, box, std::vector{0, 1, 2}, std::vector{1, 0, 2}, 0, bytes);
    }
  }
}

TEST(StridedCopy, NegativeAndWideStrides) {
  const Box box{3, {0, 0, 0}, {4, 7, 19}};
  for (std::ptrdiff_t bytes = 1; bytes <= longest_item; ++bytes) {
    for (int signs = 0; signs < 64; ++signs) {
      const auto side = [&](int bits, std::array<std::size_t, 3> order, std::ptrdiff_t apart) {
        Memory memory{{{0, {}}}, 1};
        std::ptrdiff_t stride = apart;
        for (auto place = order.size(); place-- > 0;) {
          const auto d = order[place];
          const auto length = (box.extents[d] - 1) * stride;
          const bool backwards = (bits >> d & 1) != 0;
          memory.boxes[0].strides[d] = backwards ? -stride : stride;
          memory.boxes[0].offset += backwards ? length : 0;
          memory.num_items += length;
          stride = memory.num_items + apart - 1;
        }
        return memory;
      };
      check(box, box, side(signs % 8, {0, 1, 2}, 1), side(signs / 8, {2, 0, 1}, 1), bytes);
      check(box, box, side(signs % 8, {1, 2, 0}, 2), side(signs / 8, {1, 0, 2}, 3), bytes);
    }
  }
}

TEST(StridedCopy, FiveAxesAndExtentsOfOne) {
  const Box box{5, {0, 0, 0, 0, 0}, {3, 1, 4, 2, 5}};
  std::vector<int> order{0, 1, 2, 3, 4};
  std::ptrdiff_t bytes = 0;
  do {
    bytes = bytes % longest_item + 1;
    check(box, box, std::vector{0, 1, 2, 3, 4}, order, 0, bytes);
    check(box, box, order, std::vector{2, 0, 4, 1, 3}, 1, bytes);
  } while (std::ranges::next_permutation(order).found);
}

TEST(StridedCopy, NothingToCopy) {
  const Box none{2, {0, 0}, {0, 4}};
  const StridedCopy copy(none, packed_side(none, 0), packed_side(none, 0), 8);
  copy.run(nullptr, nullptr);
  EXPECT_EQ(copy.num_bytes(), 0);
}

}  // namespace
}  // namespace tailrace
