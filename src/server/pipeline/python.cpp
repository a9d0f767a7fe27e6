// SPDX-License-Identifier: BSD-3-Clause
// A user's Python function on each server's parts, in a process of its own: its faults are not the
// server's. Arrays are handed over in shared memory: one copy in, none out.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "chooser/environment.hpp"
#include "core/agreed_error.hpp"
#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "core/shared_memory.hpp"
#include "core/worker.hpp"
#include "server/pipeline/python_worker.hpp"
#include "server/pipeline/settings.hpp"
#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

/// "f8", "c16", "u1": what NumPy calls it.
std::string numpy_type(ItemType type) {
  return fmt::format("{}{}", type_name(type).front(), item_bytes(type));
}

/// A part on its way to Python.
struct Handed {
  FieldPart* part;
  std::ptrdiff_t offset;
  std::ptrdiff_t bytes;
};

class PythonStage : public Stage {
 public:
  explicit PythonStage(const StageSettings& settings) {
    SettingsReader reader("python", settings);
    worker_settings_.file = reader.required("file");
    worker_settings_.function = reader.required("function");
    combine_ = reader.word("combine", "sum", {"sum", "min", "max"});
    worker_settings_.limit_s = reader.real("limit_s", 60);
    const char* variable = environment("TAILRACE_PYTHON");
    const bool set = variable != nullptr && *variable != '\0';
    worker_settings_.python = reader.text("python", set ? variable : "python3");
    reader.finish();
    if (worker_settings_.limit_s <= 0) {
      throw Error(Errc::invalid_input, "stage python: limit_s must be greater than 0");
    }
    if (::access(worker_settings_.file.c_str(), R_OK) != 0) {
      refuse_input("stage python: cannot read file={}: {}", worker_settings_.file,
                   std::strerror(errno));
    }
  }

  void run(Step& step, StageContext& context) override {
    const auto scalars = combined(context.group.gather_values(call(step, context.threads)));
    if (scalars.empty()) return;
    auto& all = context.scalars->values;
    all.insert(all.end(), scalars.begin(), scalars.end());
    context.scalars->only = true;
  }

 private:
  using Values = std::vector<std::pair<std::string, double>>;

  /// Hands this server's parts over; they then lie in the shared memory. A server without items
  /// does not call: it has no values, not even none.
  std::vector<Values> call(Step& step, int threads) {
    std::vector<Handed> handed;
    std::ptrdiff_t total = 0;
    auto request = fmt::format("step {}", step.step);
    for (auto& field : step.fields) {
      for (auto& part : field.parts) {
        const auto bytes = part.box.num_items() * item_bytes(field.type);
        if (bytes == 0) continue;
        handed.push_back({&part, total, bytes});
        request += line(field, part.box, total);
        total += round_up(bytes, line_bytes);
      }
    }
    if (handed.empty()) return {};
    Descriptor file = make_memory_file(total);
    if (!file) fail_errno(errno);
    // Taken now, so that a lack of memory is an error here and no signal later.
    const int lacking = take_space(file.get(), 0, total);
    if (lacking != 0) fail_errno(lacking);
    const auto memory = std::make_shared<Mapping>(file.get(), total);
    parallel_for(static_cast<std::ptrdiff_t>(handed.size()), threads, [&](std::ptrdiff_t i) {
      const auto& one = handed[static_cast<std::size_t>(i)];
      std::memcpy(memory->data() + one.offset, one.part->data, static_cast<std::size_t>(one.bytes));
    });
    auto values = parse(ask(request, file.get()));
    for (const auto& one : handed) one.part->data = memory->data() + one.offset;
    step.memory.push_back(memory);
    return {std::move(values)};
  }

  static std::string line(const Field& field, const Box& box, std::ptrdiff_t offset) {
    auto text = fmt::format("\n{} {} {}", offset, numpy_type(field.type), box.num_dims);
    for (const auto* numbers : {&box.start, &box.extents, &field.extents}) {
      for (std::size_t d = 0; d < static_cast<std::size_t>(box.num_dims); ++d) {
        text += fmt::format(" {}", (*numbers)[d]);
      }
    }
    return text + " " + field.name;
  }

  std::string ask(const std::string& request, int memory) {
    try {
      if (!worker_) worker_ = std::make_unique<PythonWorker>(worker_settings_);
      return worker_->call(request, memory);
    } catch (const Error& error) {
      if (error.code() == Errc::io) worker_.reset();  // the next step starts another one
      throw about(worker_settings_.function + " of " + worker_settings_.file, error);
    }
  }

  static Values parse(const std::string& reply) {
    Values values;
    for (std::size_t start = 0; start < reply.size();) {
      const auto end = std::min(reply.find('\n', start), reply.size());
      const auto text = reply.substr(start, end - start);
      const auto blank = text.find(' ');
      values.emplace_back(text.substr(blank + 1), std::strtod(text.c_str(), nullptr));
      start = end + 1;
    }
    return values;
  }

  Values combined(const std::vector<std::vector<Values>>& of_servers) const {
    std::optional<Values> result;
    for (const auto& called : of_servers) {
      for (const auto& values : called) {
        if (result) {
          add(values, *result);
        } else {
          result = values;
        }
      }
    }
    return result.value_or(Values{});
  }

  void add(const Values& values, Values& result) const {
    bool same = values.size() == result.size();
    for (std::size_t i = 0; same && i < values.size(); ++i) {
      same = values[i].first == result[i].first;
      auto& total = result[i].second;
      const double value = values[i].second;
      total = combine_ == "sum"   ? total + value
              : combine_ == "min" ? std::min(total, value)
                                  : std::max(total, value);
    }
    if (same) return;
    refuse_input("{} of {} returned different names on different servers",
                 worker_settings_.function, worker_settings_.file);
  }

  PythonWorker::Settings worker_settings_;
  std::string combine_;
  std::unique_ptr<PythonWorker> worker_;
};

}  // namespace

MadeStage make_python(const StageSettings& settings) {
  return std::make_unique<PythonStage>(settings);
}

}  // namespace tailrace::server
