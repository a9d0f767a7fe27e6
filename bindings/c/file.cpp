// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/file.hpp"

#include <fmt/format.h>

#include "call_check.hpp"
#include "calls/statistics.hpp"
#include "objects.hpp"
#include "tailrace/c/file.h"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::c {

namespace {

struct PartObject {
  FilePart part;
  std::ptrdiff_t array_bytes;  ///< with halo
};

struct PoolObject {
  std::shared_ptr<Comm> comm;
  FilePool pool;
};

struct FileObject {
  std::shared_ptr<PoolObject> pool;  ///< it must outlive the file
  std::shared_ptr<Trace> trace;      ///< and so must this
  std::string path;
  File file;
};

}  // namespace

TAILRACE_BEHIND(tailrace_file_part, PartObject)
TAILRACE_BEHIND(tailrace_file_pool, PoolObject)
TAILRACE_BEHIND(tailrace_file, FileObject)

namespace {

/// This rank's part for a call, checked_part with its array.
std::shared_ptr<PartObject> checked_part(const FileObject& made, const tailrace_file_part* part,
                                         const void* data, std::int64_t num_bytes) {
  std::shared_ptr<PartObject> given;
  prepare_together(*made.pool->comm, [&] {
    given = get(part);
    list(static_cast<const std::byte*>(data), num_bytes, "data");
    if (num_bytes != given->array_bytes) {
      throw Error(Errc::invalid_input,
                  fmt::format("an array of {} bytes is given, but the part has {}", num_bytes,
                              given->array_bytes));
    }
  });
  return given;
}

Made<tailrace_file_part> file_part_boxes(int64_t offset, int num_dims, const int64_t* extents,
                                         int64_t item_bytes, int64_t num_boxes,
                                         const tailrace_box* boxes, const tailrace_memory* memory) {
  require(num_dims >= 1 && num_dims <= max_dims, "num_dims must be 1 to 5");
  const FileArray array{offset, sizes(extents, num_dims, "extents"), item_bytes};
  std::vector<Box> own;
  for (const auto& box : list(boxes, num_boxes, "boxes")) own.push_back(from_c(box));
  const auto place = memory != nullptr ? *get(memory) : Memory::dense(own);
  return std::make_shared<PartObject>(
      PartObject{FilePart::boxes(array, own, place), place.num_items * item_bytes});
}

Made<tailrace_file_part> file_part_runs(int64_t num_runs, const int64_t* offsets,
                                        const int64_t* num_bytes) {
  const auto starts = list(offsets, num_runs, "offsets");
  const auto lengths = list(num_bytes, num_runs, "num_bytes");
  std::vector<FileRun> runs;
  for (std::size_t r = 0; r < starts.size(); ++r) runs.push_back({starts[r], lengths[r]});
  auto made = FilePart::runs(runs);
  const auto bytes = made.bytes();
  return std::make_shared<PartObject>(PartObject{std::move(made), bytes});
}

int64_t file_part_bytes(Ref<tailrace_file_part> part) { return part->part.bytes(); }

Made<tailrace_file_pool> file_pool_create(Ref<tailrace_comm> ranks) {
  return std::make_shared<PoolObject>(PoolObject{ranks, FilePool(*ranks)});
}

void file_open(Ref<tailrace_file_pool> shared, const char* path, int access,
               const tailrace_hints* hints, const tailrace_trace* trace, tailrace_file** file) {
  std::shared_ptr<Trace> spans;
  Hints settings;
  FileAccess mode = FileAccess::read;
  prepare_together(*shared->comm, [&] {
    require_address(file, "file");
    require_address(path, "path");
    mode = enumerator<FileAccess>(access, 3, "access");
    spans = get_if(trace);
    settings = hints_of(hints);
  });
  with_place(path, -1, [&] {
    put(file, std::make_shared<FileObject>(FileObject{
                  shared, spans, path, File(shared->pool, path, mode, settings, spans.get())}));
  });
}

void file_write(Ref<tailrace_file> made, const tailrace_file_part* part, const void* data,
                int64_t num_bytes) {
  const auto given = checked_part(*made, part, data, num_bytes);
  with_place(made->path, -1, [&] { made->file.write(given->part, data); });
}

void file_read(Ref<tailrace_file> made, const tailrace_file_part* part, void* data,
               int64_t num_bytes) {
  const auto given = checked_part(*made, part, data, num_bytes);
  with_place(made->path, -1, [&] { made->file.read(given->part, data); });
}

void file_close(Ref<tailrace_file> made) {
  with_place(made->path, -1, [&] { made->file.close(); });
}

void file_setting(Ref<tailrace_file> file, int index, const char** name, const char** value,
                  const char** source) {
  const auto& settings = file->file.settings();
  require(index >= 0 && index < std::ssize(settings), "the file has no setting of this index");
  const auto& setting = settings[static_cast<std::size_t>(index)];
  *name = setting.name.c_str();
  *value = setting.value.c_str();
  *source = setting.source.c_str();
}

tailrace_file_statistics file_get_statistics(Ref<tailrace_file> file) {
  return file_statistics_of(file->file.statistics());
}

void file_get_total_statistics(Ref<tailrace_file> made, tailrace_file_statistics* statistics) {
  check_call(*made->pool->comm, [&] { require_address(statistics, "statistics"); });
  *statistics = file_statistics_of(made->file.total_statistics());
}

}  // namespace

}  // namespace tailrace::c

#include "calls/file.inc"
