// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/file.hpp"

#include <fmt/format.h>

#include "call_check.hpp"
#include "core/agreed_error.hpp"
#include "objects.hpp"
#include "tailrace/c/file.h"

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
      throw Error(Errc::invalid_input, fmt::format("an array of {} bytes is given, the part has {}",
                                                   num_bytes, given->array_bytes));
    }
  });
  return given;
}

tailrace_file_statistics statistics_of(const FileStatistics& seen) {
  return {.opens = seen.opens,
          .reads = seen.reads,
          .writes = seen.writes,
          .bytes_read = seen.bytes_read,
          .bytes_written = seen.bytes_written,
          .locks = seen.locks,
          .io_s = seen.io_s,
          .move_s = seen.move_s};
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

int tailrace_file_part_boxes(int64_t offset, int num_dims, const int64_t* extents,
                             int64_t item_bytes, int64_t num_boxes, const tailrace_box* boxes,
                             const tailrace_memory* memory, tailrace_file_part** part) {
  return guarded(__func__, [&] {
    require_address(part, "part");
    require(num_dims >= 1 && num_dims <= max_dims, "num_dims must be 1 to 5");
    const FileArray array{offset, sizes(extents, num_dims, "extents"), item_bytes};
    std::vector<Box> own;
    for (const auto& box : list(boxes, num_boxes, "boxes")) own.push_back(from_c(box));
    const auto place = memory != nullptr ? *get(memory) : Memory::dense(own);
    put(part, std::make_shared<PartObject>(
                  PartObject{FilePart::boxes(array, own, place), place.num_items * item_bytes}));
  });
}

int tailrace_file_part_runs(int64_t num_runs, const int64_t* offsets, const int64_t* num_bytes,
                            tailrace_file_part** part) {
  return guarded(__func__, [&] {
    require_address(part, "part");
    const auto starts = list(offsets, num_runs, "offsets");
    const auto lengths = list(num_bytes, num_runs, "num_bytes");
    std::vector<FileRun> runs;
    for (std::size_t r = 0; r < starts.size(); ++r) runs.push_back({starts[r], lengths[r]});
    auto made = FilePart::runs(runs);
    const auto bytes = made.bytes();
    put(part, std::make_shared<PartObject>(PartObject{std::move(made), bytes}));
  });
}

int tailrace_file_part_bytes(const tailrace_file_part* part, int64_t* num_bytes) {
  return guarded(__func__, [&] {
    require_address(num_bytes, "num_bytes");
    *num_bytes = get(part)->part.bytes();
  });
}

int tailrace_file_part_destroy(tailrace_file_part** part) {
  return guarded(__func__, [&] {
    require_address(part, "part");
    end(part);
  });
}

int tailrace_file_pool_create(const tailrace_comm* comm, tailrace_file_pool** pool) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    require_address(pool, "pool");
    put(pool, std::make_shared<PoolObject>(PoolObject{ranks, FilePool(*ranks)}));
  });
}

int tailrace_file_pool_destroy(tailrace_file_pool** pool) {
  return guarded(__func__, [&] {
    require_address(pool, "pool");
    end(pool);
  });
}

int tailrace_file_open(tailrace_file_pool* pool, const char* path, int access,
                       const tailrace_hints* hints, const tailrace_trace* trace,
                       tailrace_file** file) {
  return guarded(__func__, [&] {
    const auto shared = get(pool);
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
  });
}

int tailrace_file_write(tailrace_file* file, const tailrace_file_part* part, const void* data,
                        int64_t num_bytes) {
  return guarded(__func__, [&] {
    const auto made = get(file);
    const auto given = checked_part(*made, part, data, num_bytes);
    with_place(made->path, -1, [&] { made->file.write(given->part, data); });
  });
}

int tailrace_file_read(tailrace_file* file, const tailrace_file_part* part, void* data,
                       int64_t num_bytes) {
  return guarded(__func__, [&] {
    const auto made = get(file);
    const auto given = checked_part(*made, part, data, num_bytes);
    with_place(made->path, -1, [&] { made->file.read(given->part, data); });
  });
}

int tailrace_file_close(tailrace_file* file) {
  return guarded(__func__, [&] {
    const auto made = get(file);
    with_place(made->path, -1, [&] { made->file.close(); });
  });
}

int tailrace_file_setting(const tailrace_file* file, int index, const char** name,
                          const char** value, const char** source) {
  return guarded(__func__, [&] {
    require_address(name, "name");
    require_address(value, "value");
    require_address(source, "source");
    const auto& settings = get(file)->file.settings();
    require(index >= 0 && index < std::ssize(settings), "the file has no setting of this index");
    const auto& setting = settings[static_cast<std::size_t>(index)];
    *name = setting.name.c_str();
    *value = setting.value.c_str();
    *source = setting.source.c_str();
  });
}

int tailrace_file_get_statistics(const tailrace_file* file, tailrace_file_statistics* statistics) {
  return guarded(__func__, [&] {
    require_address(statistics, "statistics");
    *statistics = statistics_of(get(file)->file.statistics());
  });
}

int tailrace_file_get_total_statistics(const tailrace_file* file,
                                       tailrace_file_statistics* statistics) {
  return guarded(__func__, [&] {
    const auto made = get(file);
    check_call(*made->pool->comm, [&] { require_address(statistics, "statistics"); });
    *statistics = statistics_of(made->file.total_statistics());
  });
}

int tailrace_file_destroy(tailrace_file** file) {
  return guarded(__func__, [&] {
    require_address(file, "file");
    end(file);
  });
}
