// SPDX-License-Identifier: BSD-3-Clause
// What a call has to move, and what all ranks know of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/open_file.hpp"

namespace tailrace::plugins {

// What this rank has to move.
struct OpenFile::Plan {
  Refusal why = Refusal::none;
  std::int64_t first = 0;  // number of the first byte of the view
  std::int64_t bytes = 0;
  std::int64_t end = 0;         // where the last byte ends in the file
  std::vector<FileRun> places;  // in the file
  std::vector<FileRun> memory;  // in the buffer; one run if it lies together
  bool is_packed = false;       // a copy without gaps is moved in place of the buffer
  FilePart part;
  WriteFailure failure;  // of earlier hidden writes

  // Of the places, which hold as many bytes or fewer.
  void make_part(const std::vector<FileRun>& of) {
    part = is_packed ? FilePart::runs(of) : FilePart::runs(of, memory);
  }
};

// What all ranks know then.
struct OpenFile::Agreed {
  Refusal why = Refusal::none;
  std::int64_t end = 0, bytes = 0, runs = 0;  // largest of all ranks
  std::int64_t file_bytes = 0;                // if it is to be read
  bool failed = false;                        // earlier hidden writes of a rank
};

// Copies the runs of a buffer one after another.
void gather(const std::byte* from, const std::vector<FileRun>& runs, std::byte* to);
// MPI's code for errno; `other` if it has none.
int code_of(int error, int other);

}  // namespace tailrace::plugins
