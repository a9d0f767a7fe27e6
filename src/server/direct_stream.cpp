// SPDX-License-Identifier: BSD-3-Clause
#include "server/direct_stream.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "core/say.hpp"
#include "core/whole_file.hpp"
#include "move/strided_copy.hpp"
#include "server/step_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

// Each rank is a server of its own boxes.
Step step_of(const std::string& path, std::int64_t number, const FileContents& contents, int rank) {
  Step step{path, contents.step, number, contents.coordinates, contents.attributes, {}, {}, {}};
  for (const auto& variable : contents.variables) {
    Field& field = step.fields.emplace_back();
    field.name = variable.name;
    field.type = variable.type;
    field.dims = variable.dims;
    field.extents = variable.layout->global_extents();
    field.attributes = variable.attributes;
    const auto boxes = variable.layout->boxes(rank);
    const auto item = item_bytes(variable.type);
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const auto bytes = static_cast<std::size_t>(boxes[b].num_items() * item);
      auto memory = std::make_shared<std::vector<std::byte>>(bytes);
      StridedCopy(boxes[b], side_of(boxes[b], boxes[b], variable.memory.boxes[b]),
                  packed_side(boxes[b], 0), item)
          .run(static_cast<const std::byte*>(variable.data), memory->data());
      field.parts.push_back({boxes[b], memory->data()});
      step.memory.push_back(std::move(memory));
    }
  }
  return step;
}

std::vector<std::int64_t> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::span<const std::byte> bytes_of(const std::vector<std::int64_t>& numbers) {
  return std::as_bytes(std::span(numbers));
}

// All ranks together, one stage after another. Collective.
std::int64_t write_together(const Comm& comm, MpiGroup& group, const Step& step,
                            const std::string& format, const FileSettings& settings) {
  std::unique_ptr<StepFile> file;
  std::vector<std::int64_t> layout;
  run_agreed(comm.raw(), [&] {
    file = find_format(format, step.path).make(step, settings, comm.rank(), comm.num_ranks());
  });
  std::vector<std::vector<std::int64_t>> needs;
  for (const auto& bytes : group.gather(bytes_of(file->needs())))
    needs.push_back(numbers_of(bytes));
  try {
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0) layout = file->lay_out(needs);
    });
    layout = numbers_of(group.gather(bytes_of(layout))[0]);
    run_agreed(comm.raw(), [&] {
      file->place(layout);
      file->write();
    });
    run_agreed(comm.raw(), [&] {
      if (comm.rank() == 0) file->commit();
    });
  } catch (const Error& error) {
    std::string left;
    if (comm.rank() == 0) left = file->discard();
    int any_left = left.empty() ? 0 : 1;
    check_mpi(MPI_Bcast(&any_left, 1, MPI_INT, 0, comm.raw()));
    if (any_left == 0) throw;
    throw naming_left(error, step.path + ".partial");
  }
  return file->bytes();
}

}  // namespace

DirectStream::DirectStream(std::string stream_name, StreamOptions options, const Team& team,
                           int threads, Trace* trace)
    : State(std::move(stream_name), std::move(options)),
      team_(team),
      threads_(threads),
      trace_(trace),
      group_(*team.compute),
      pipeline_(options_.products) {
  options_.output.mode = OutputMode::synchronous;
  options_.output.trace = trace;
  const bool plain = std::string(find_format(options_.format, "x.h5").name) == "hdf5";
  if (options_.variables && plain) output_.emplace(*team.compute, options_.output);
}

WriteResult DirectStream::write(const std::string& path, const FileContents& contents) {
  const double start_s = now_s();
  ++statistics_.steps;
  ++number_;
  const auto failed_before = statistics_.failed;
  try {
    if (options_.variables) write_variables(path, contents);
    if (!pipeline_.empty()) write_products(path, contents);
  } catch (const Error& error) {
    statistics_.call_s += now_s() - start_s;
    settle(path, error);
    return WriteResult::dropped;
  }
  if (statistics_.failed == failed_before) {
    ++statistics_.complete;
    last_complete_ = path;
  }
  const double seconds = now_s() - start_s;
  statistics_.call_s += seconds;
  statistics_.room_s += seconds;
  statistics_.write_s += seconds;
  if (seconds > statistics_.slowest_s) {
    statistics_.slowest_s = seconds;
    statistics_.slowest_step = contents.step;
  }
  return WriteResult::written;
}

// As servers do it: again while the disk has no room, then somewhere else.
template <class Action>
void DirectStream::with_fallback(const std::string& path, Action&& action) {
  const double start_s = now_s();
  while (true) {
    try {
      action(path);
      return;
    } catch (const Error& error) {
      double waited_s = now_s() - start_s;
      check_mpi(MPI_Bcast(&waited_s, 1, MPI_DOUBLE, 0, team_.compute->raw()));
      const bool no_room = error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT;
      if (no_room && waited_s < options_.retry_s) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        continue;
      }
      if (error.code() != Errc::io || options_.fallback_path.empty()) throw;
      const auto instead = in_folder(options_.fallback_path, path);
      if (team_.client == 0) {
        say(LogLevel::warning, fmt::format("{}: {} is written instead", error.what(), instead));
      }
      action(instead);
      return;
    }
  }
}

void DirectStream::write_variables(const std::string& path, const FileContents& contents) {
  with_fallback(path, [&](const std::string& to) {
    const auto& format = find_format(options_.format, to);
    if (output_ && std::string(format.name) != "zarr") {
      output_->write(to, contents);
      statistics_.written_bytes += output_->statistics().bytes - statistics_.bytes;
      statistics_.bytes = output_->statistics().bytes;
      return;
    }
    const FileSettings settings{options_.output, threads_, false};
    const auto bytes =
        write_together(*team_.compute, group_, step_of(to, number_ - 1, contents, team_.client),
                       options_.format, settings);
    statistics_.bytes += bytes;
    statistics_.written_bytes += bytes;
  });
}

void DirectStream::write_products(const std::string& path, const FileContents& contents) {
  const Span span(trace_, Activity::compute, "products");
  std::vector<Pipeline::Result> results;
  std::vector<Pipeline::Failure> failures;
  pipeline_.run(step_of(path, number_ - 1, contents, team_.client), group_, threads_, results,
                failures);
  const FileSettings settings{options_.output, threads_, false};
  for (auto& result : results) {
    with_fallback(result.step.path, [&](const std::string& to) {
      result.step.path = to;
      write_together(*team_.compute, group_, result.step, result.format, settings);
    });
  }
  if (!failures.empty()) throw failures[0].error;
}

void DirectStream::settle(const std::string&, const Error& error) {
  ++statistics_.failed;
  if (options_.on_failure == OnFailure::stop || error.code() == Errc::invalid_input) throw error;
  if (team_.client == 0) say(LogLevel::error, error.what());
}

}  // namespace tailrace::server
