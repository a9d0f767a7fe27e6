// SPDX-License-Identifier: BSD-3-Clause
// Random problems of `File`: any boxes or runs, written once or several times by any strategy
// through any back end with random hints, from random memory; read back on another distribution,
// by another strategy where the bytes are the same, with a rank that is late. Beside it a model of
// the file in plain memory.
#include <fcntl.h>

#include <array>

#include "file/back_end.hpp"
#include "file/strategy.hpp"
#include "random_boxes.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file.hpp"
#include "temp_folder.hpp"

namespace tailrace {
namespace {

using Bytes = std::vector<std::byte>;

/// Who has what of the file, in one of two forms.
struct Distribution {
  std::vector<std::vector<Box>> boxes;
  std::vector<std::vector<FileRun>> runs;  // if there is no array
};

/// Contiguous bytes of the file in a rank's memory.
struct Place {
  std::ptrdiff_t file = 0, memory = 0, bytes = 0;
};

/// One rank's part with guards around its memory.
struct RankPart {
  FilePart part;
  std::vector<Place> places;
  std::ptrdiff_t memory_bytes = 0;
};
constexpr std::ptrdiff_t guard_bytes = 64;

/// What the file is: an array, or (no extents) any bytes.
struct Shape {
  FileArray array;
  std::ptrdiff_t end = 0;     // of the bytes that are ever written
  std::ptrdiff_t factor = 1;  // from one item in memory to the next
};

Shape random_shape(Dice& dice) {
  Shape shape;
  shape.array.offset = dice.chance(50) ? 0 : dice.below(5000);
  if (dice.chance(35)) {
    shape.array.item_bytes = 1;
    shape.end = shape.array.offset + dice.between(1, 60000);
    return shape;
  }
  shape.array.item_bytes = dice.between(1, 64);
  shape.array.extents = random_extents(dice, max_dims, dice.chance(70) ? 800 : 4000);
  shape.end =
      shape.array.offset + whole_box(shape.array.extents).num_items() * shape.array.item_bytes;
  return shape;
}

// The last piece is always written, so that the file is as long as the shape says.
template <class Piece>
void leave_holes(Dice& dice, std::vector<Piece>& pieces, const Piece& last) {
  if (!dice.chance(40)) return;
  std::erase_if(pieces, [&](const Piece& piece) { return piece != last && dice.chance(30); });
}

std::vector<FileRun> random_runs(Dice& dice, const Shape& shape, std::ptrdiff_t count) {
  std::vector<std::ptrdiff_t> cuts{shape.array.offset, shape.end};
  for (std::ptrdiff_t n = 1; n < count; ++n) {
    cuts.push_back(dice.between(shape.array.offset, shape.end));
  }
  std::ranges::sort(cuts);
  std::vector<FileRun> runs;
  for (std::size_t n = 1; n < cuts.size(); ++n)
    runs.push_back({cuts[n - 1], cuts[n] - cuts[n - 1]});
  return runs;
}

Distribution random_distribution(Dice& dice, const Shape& shape, int num_ranks, bool writing) {
  Distribution all;
  const auto count = dice.between(1, dice.chance(70) ? 3 * num_ranks : 20 * num_ranks);
  if (shape.array.extents.empty()) {
    auto runs = random_runs(dice, shape, count);
    const auto last = *std::ranges::max_element(runs, {}, &FileRun::end);
    leave_holes(dice, runs, last);
    dice.shuffle(runs);
    all.runs = deal(dice, runs, num_ranks);
    return all;
  }
  const auto whole = whole_box(shape.array.extents);
  if (!writing && dice.chance(30)) {
    all.boxes =
        deal(dice, random_boxes(dice, whole, std::min<std::ptrdiff_t>(count, 8)), num_ranks);
    // A rank's own boxes must not overlap.
    for (auto& boxes : all.boxes) boxes.resize(std::min<std::size_t>(boxes.size(), 1));
    return all;
  }
  auto boxes = random_partition(dice, whole, count);
  const auto holds_last = [&](const Box& box) {
    for (std::size_t d = 0; d < shape.array.extents.size(); ++d) {
      if (box.start[d] + box.extents[d] != shape.array.extents[d]) return false;
    }
    return true;
  };
  leave_holes(dice, boxes, *std::ranges::find_if(boxes, holds_last));
  dice.shuffle(boxes);
  all.boxes = deal(dice, boxes, num_ranks);
  return all;
}

RankPart part_of_boxes(Dice& dice, const Shape& shape, const std::vector<Box>& boxes) {
  RankPart own;
  const auto item = shape.array.item_bytes;
  const auto memory = spread(random_memory(dice, boxes, dice.chance(40)), shape.factor);
  own.part = FilePart::boxes(shape.array, boxes, memory);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    for_each_item(boxes[b], memory.boxes[b], [&](const Index& at, std::ptrdiff_t place) {
      const auto flat = flat_index(shape.array.extents, at);
      own.places.push_back({shape.array.offset + flat * item, place * item, item});
    });
  }
  own.memory_bytes = memory.num_items * item;
  return own;
}

RankPart part_of_runs(const std::vector<FileRun>& runs) {
  RankPart own;
  own.part = FilePart::runs(runs);
  for (const auto& run : runs) {
    own.places.push_back({run.offset, own.memory_bytes, run.bytes});
    own.memory_bytes += run.bytes;
  }
  return own;
}

RankPart part_of_rank(Dice& dice, const Shape& shape, const Distribution& all, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return all.boxes.empty() ? part_of_runs(all.runs[r]) : part_of_boxes(dice, shape, all.boxes[r]);
}

std::byte content(std::uint64_t seed, std::ptrdiff_t offset) {
  auto mixed = (static_cast<std::uint64_t>(offset) + seed * 7919) * 0x9e3779b97f4a7c15U;
  return static_cast<std::byte>(mixed >> 56);
}

/// How a file is written, and by what it can be read.
struct Access {
  std::string back_end, strategy;
};

bool applies(const Access& access) {
  const auto& back_end = file::find_back_end(access.back_end);
  if (!back_end.available()) return false;
  if (access.strategy == "auto") return true;
  for (const auto& entry : file::strategy_table()) {
    if (entry.name == access.strategy) return entry.applies(back_end);
  }
  return false;
}

Access random_writer(Dice& dice) {
  while (true) {
    Access access;
    access.back_end = dice.one_of(file::back_end_table()).hint();
    const auto choice =
        static_cast<std::size_t>(dice.below(std::ssize(file::strategy_table()) + 1));
    access.strategy = choice == file::strategy_table().size()
                          ? "auto"
                          : std::string(file::strategy_table()[choice].name);
    if (applies(access)) return access;
  }
}

Access random_reader(Dice& dice, const Access& writer) {
  while (true) {
    auto access = random_writer(dice);
    if ((writer.back_end == "hdf5") != (access.back_end == "hdf5")) continue;
    return access;
  }
}

Hints random_hints(Dice& dice, const Access& access, int num_ranks, bool one_node) {
  Hints hints{{"back_end", access.back_end}, {"strategy", access.strategy}, {"sync", "false"}};
  const auto maybe = [&](const char* name, const std::string& value) {
    if (dice.chance(50)) hints.set(name, value);
  };
  constexpr std::array sizes{4096, 6000, 10240, 16384, 65536};
  constexpr std::array switches{"enable", "disable", "automatic"};
  maybe("cb_align", std::to_string(dice.below(3)));
  maybe("cb_nodes", std::to_string(dice.between(1, num_ranks)));
  maybe("cb_buffer_size", std::to_string(dice.one_of(sizes)));
  maybe("cb_longest_piece", std::to_string(dice.below(4000)));
  maybe("striping_unit", std::to_string(dice.one_of(sizes)));
  maybe("group_size", std::to_string(dice.between(1, num_ranks)));
  const bool shares_memory = dice.chance(50) && one_node;
  maybe("cb_exchange", shares_memory ? "node" : "messages");
  maybe("romio_ds_read", dice.one_of(switches));
  maybe("romio_ds_write", dice.one_of(switches));
  maybe("ind_rd_buffer_size", std::to_string(dice.one_of(sizes)));
  maybe("ind_wr_buffer_size", std::to_string(dice.one_of(sizes)));
  return hints;
}

std::string describe(const Hints& hints) {
  std::string text;
  for (const auto& [name, value] : hints.pairs()) text += fmt::format("{}={} ", name, value);
  return text;
}

class FileProblem {
 public:
  FileProblem(const Comm& comm, FilePool& pool, std::string path, std::uint64_t seed)
      : comm_(comm),
        pool_(pool),
        path_(std::move(path)),
        seed_(seed),
        dice_(seed),
        own_dice_(seed * 1000 + static_cast<std::uint64_t>(comm.rank())),
        late_(comm, seed),
        one_node_(comm.node().num_ranks() == comm.num_ranks()),
        shape_(random_shape(dice_)),
        model_(static_cast<std::size_t>(shape_.end), unknown) {
    if (seed % 7 == 0) shape_.factor = 2;
  }

  std::string run() {
    const auto writer = random_writer(dice_);
    const auto write_hints = random_hints(dice_, writer, comm_.num_ranks(), one_node_);
    const auto steps = dice_.between(1, 3);
    const bool one_handle = dice_.chance(50);
    bool read_at_once = one_handle && dice_.chance(50);
    std::optional<File> file;
    for (std::ptrdiff_t step = 0; step < steps; ++step) {
      if (!file) {
        file.emplace(pool_, path_,
                     step == 0 && dice_.chance(70) ? FileAccess::write : FileAccess::update,
                     write_hints);
      }
      write(*file, step);
      if (step + 1 == steps && read_at_once) read(*file, "at once, " + describe(write_hints));
      if (one_handle && step + 1 < steps) continue;
      file->close();
      file.reset();
    }
    if (writer.back_end != "hdf5") check_file(write_hints);
    for (int again = 0; again < 2; ++again) {
      const auto reader_access = random_reader(dice_, writer);
      const auto hints = random_hints(dice_, reader_access, comm_.num_ranks(), one_node_);
      File reader(pool_, path_, FileAccess::read, hints);
      read(reader, fmt::format("{}, written with {}", describe(hints), describe(write_hints)));
      reader.close();
    }
    return failure_.empty() ? ""
                            : fmt::format("{} (array of {} axes, items of {} bytes at byte {})",
                                          failure_, shape_.array.extents.size(),
                                          shape_.array.item_bytes, shape_.array.offset);
  }

 private:
  static constexpr std::uint16_t unknown = 256;

  void write(File& file, std::ptrdiff_t step) {
    const auto all = random_distribution(dice_, shape_, comm_.num_ranks(), true);
    const auto version = seed_ * 4 + static_cast<std::uint64_t>(step);
    Dice any(seed_);
    for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
      for (const auto& place : part_of_rank(any, shape_, all, rank).places) {
        for (auto at = place.file; at < place.file + place.bytes; ++at) {
          model_[static_cast<std::size_t>(at)] = static_cast<std::uint16_t>(content(version, at));
        }
      }
    }
    const auto own = part_of_rank(own_dice_, shape_, all, comm_.rank());
    Bytes data(static_cast<std::size_t>(own.memory_bytes), std::byte{0x5a});
    for (const auto& place : own.places) {
      for (std::ptrdiff_t n = 0; n < place.bytes; ++n) {
        data[static_cast<std::size_t>(place.memory + n)] = content(version, place.file + n);
      }
    }
    const auto before = data;
    late_.nap();
    file.write(own.part, data.data());
    late_.nap();
    if (data != before) fail("write changed the caller's memory");
  }

  // Against the model, and with guard bytes around the memory and between the boxes.
  void read(File& file, const std::string& how) {
    const auto all = random_distribution(dice_, shape_, comm_.num_ranks(), false);
    const auto own = part_of_rank(own_dice_, shape_, all, comm_.rank());
    Bytes expected(static_cast<std::size_t>(own.memory_bytes + 2 * guard_bytes), std::byte{0xa5});
    auto data = expected;
    late_.nap();
    file.read(own.part, data.data() + guard_bytes);
    late_.nap();
    for (const auto& place : own.places) {
      for (std::ptrdiff_t n = 0; n < place.bytes; ++n) {
        const auto value = model_[static_cast<std::size_t>(place.file + n)];
        const auto at = static_cast<std::size_t>(guard_bytes + place.memory + n);
        expected[at] = value == unknown ? data[at] : static_cast<std::byte>(value);
      }
    }
    const auto wrong =
        std::ssize(data) -
        std::inner_product(data.begin(), data.end(), expected.begin(), std::ptrdiff_t{0},
                           std::plus<>(), [](std::byte a, std::byte b) { return a == b ? 1 : 0; });
    if (wrong == 0) return;
    const auto at = std::ranges::mismatch(data, expected).in1 - data.begin() - guard_bytes;
    fail(fmt::format("{} of {} bytes read are wrong, the first at {} of the memory; {}", wrong,
                     own.part.bytes(), at, how));
  }

  // What lies on the disk, by plain system calls.
  void check_file(const Hints& hints) {
    if (comm_.rank() != 0) return;
    Bytes held(model_.size());
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const auto there = fd < 0 ? -1 : pread(fd, held.data(), held.size(), 0);
    if (fd >= 0) ::close(fd);
    if (there != std::ssize(held)) {
      return fail(
          fmt::format("the file has {} of {} bytes; {}", there, held.size(), describe(hints)));
    }
    std::ptrdiff_t wrong = 0, first = -1;
    for (std::size_t at = 0; at < held.size(); ++at) {
      if (model_[at] == unknown || held[at] == static_cast<std::byte>(model_[at])) continue;
      if (wrong++ == 0) first = static_cast<std::ptrdiff_t>(at);
    }
    if (wrong > 0) {
      fail(fmt::format("{} of {} bytes in the file are wrong, the first at {}; {}", wrong,
                       held.size(), first, describe(hints)));
    }
  }

  void fail(const std::string& text) {
    if (failure_.empty()) failure_ = text;
  }

  const Comm& comm_;
  FilePool& pool_;
  std::string path_;
  std::uint64_t seed_;
  Dice dice_;      // the same on all ranks
  Dice own_dice_;  // of this rank: how its memory looks
  LateRank late_;
  const bool one_node_;
  Shape shape_;
  std::vector<std::uint16_t> model_;
  std::string failure_;
};

class FileRandom : public ::testing::Test {
 protected:
  // What OMPIO loses below HDF5 cannot be gone round, but is said.
  std::string run(std::uint64_t seed) {
    const auto path = folder / fmt::format("file{}", seed);
    std::string failure;
    try {
      failure = FileProblem(comm, pool, path, seed).run();
    } catch (const Error& error) {
      const std::string text = error.what();
      if (text.find("HDF5 and MPI-IO (OMPIO) reported success") == std::string::npos) throw;
    }
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      std::filesystem::remove_all(path);
      std::filesystem::remove_all(path + ".pieces");
    }
    return failure;
  }
  const Comm comm{MPI_COMM_WORLD};
  const TempFolder folder{comm};
  FilePool pool{comm};
};

TEST_F(FileRandom, ReadsWhatWasWritten) {
  RandomProblems(comm, 60).run([&](std::uint64_t seed) { return run(seed); });
}

// Unions of boxes in HDF5.
TEST_F(FileRandom, WhatFailedOnceIsRight) {
  std::vector<std::uint64_t> seeds{987504724};
  if (comm.num_ranks() == 2) seeds = {226587042, 226587386};
  if (comm.num_ranks() == 5) seeds = {120258720, 120259184};
  for (const auto seed : seeds) EXPECT_EQ(run(seed), "") << seed;
}

}  // namespace
}  // namespace tailrace
