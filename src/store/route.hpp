// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "move/device_copies.hpp"
#include "move/strided_copy.hpp"
#include "store/contents_check.hpp"
#include "store/file_image.hpp"
#include "store/staging.hpp"
#include "store/write_plan.hpp"
#include "store/writer_part.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// How the variables of one set of shapes get from the ranks' memory to the writers' staging
/// buffers, and from there to their places in the file. Made once for a set of shapes and a plan.
class Route {
 public:
  /// Collective, blocking. Throws on all ranks.
  Route(const Comm& comm, const FileContents& contents, const WritePlan& plan,
        std::int64_t plan_number);

  /// True if `contents` has the same shapes on this rank. Local.
  bool fits(const FileContents& contents, int rank) const;
  std::int64_t plan_number() const { return plan_number_; }
  /// What this rank writes.
  const std::shared_ptr<const WriterPart>& part() const { return part_; }
  /// Rows of the tables of checksums of all writers.
  std::ptrdiff_t table_rows() const { return table_rows_; }
  std::ptrdiff_t box_rows() const { return box_rows_; }
  /// Of each variable, the boxes that this rank writes and where each lies in its slot, without
  /// gaps.
  struct Part {
    Box box;
    std::ptrdiff_t staging_bytes;
  };
  const std::vector<std::vector<Part>>& parts() const { return parts_; }
  /// Of each variable, what lies where if each writer has a file of its own.
  const std::vector<std::vector<PieceSource>>& sources() const { return sources_; }
  /// Lays this rank's piece file out, if it has one. Local.
  void lay_out_piece(bool checksums);
  const std::shared_ptr<const FileImage>& piece_image() const { return piece_image_; }
  /// Brings the data into slot `slot` of the writers. The caller synchronises the ranks before and
  /// after if data is pushed, and finishes `copies`; arrays in device memory can only be pushed.
  /// Collective.
  void move(const FileContents& contents, const Staging& staging, int slot, DeviceCopies& copies);

 private:
  // One piece that this rank pushes to a writer.
  struct Push {
    std::size_t variable;
    int writer;                    // its rank
    std::ptrdiff_t staging_bytes;  // what the copy counts from, in the writer's slot
    StridedCopy copy;
  };
  // Bytes of this rank's slot that no rank puts anything into.
  struct Hole {
    std::size_t variable;
    std::ptrdiff_t staging_bytes, bytes;
  };
  // The boxes of a writer, where they lie in its slot, and what it writes.
  struct Writer {
    WriterPart part;
    std::vector<Box> boxes;  // of the variable at hand
    std::vector<StagedBox> staged;
  };
  void add_variable(const Comm& comm, const Variable& variable, std::size_t v,
                    const WritePlan& plan, std::vector<Writer>& writers);
  void place(Writer& writer, int rank, const DatasetShape& dataset, bool pieces);
  void add_pushes(std::size_t v, const Layout& to, const std::vector<int>& place_of_rank,
                  const std::vector<Writer>& writers);
  void add_holes(std::size_t v, const Layout& layout, std::ptrdiff_t item, const Writer& writer);
  void fill_holes(const FileContents& contents, std::byte* slot) const;
  void number_rows(const WritePlan& plan, std::vector<Writer>& writers);

  std::int64_t plan_number_;
  bool pieces_;
  int rank_;
  std::vector<Shape> shapes_;
  std::vector<Push> pushes_;
  std::vector<Hole> holes_;
  std::shared_ptr<const WriterPart> part_;
  std::shared_ptr<const FileImage> piece_image_;
  std::vector<std::vector<PieceSource>> sources_;
  std::vector<Exchange> exchanges_;
  std::vector<std::vector<Part>> parts_;
  std::ptrdiff_t table_rows_ = 0;
  std::ptrdiff_t box_rows_ = 0;
};

}  // namespace tailrace::store
