// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/group.hpp"
#include "server/step.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/output_options.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace::server {

/// Numbers of a step that stages found, alike on all servers: a line of the product's table.
struct Scalars {
  std::vector<std::pair<std::string, double>> values;  ///< column, value
  bool only = false;  ///< set by a stage after which, if it is the last, no fields are written
};

/// What stages may use.
struct StageContext {
  Group& group;
  int threads = 1;             ///< that this server may use
  const std::string& product;  ///< its name
  Scalars* scalars = nullptr;  ///< set by the pipeline
};

/// One stage of a product, with its own state from step to step (averages over time).
class Stage {
 public:
  virtual ~Stage() = default;
  /// Changes `step` in place: replaces fields, adds memory that keeps their bytes alive, sets
  /// encodings; a step without fields is not written. Bytes of incoming parts must not be changed.
  /// Collective over the servers. May throw `Error` on any server at any moment: the others leave
  /// at their next call of `context.group` (they must not catch what it throws), and all report it.
  virtual void run(Step& step, StageContext& context) = 0;
  /// Whether it computes with items, or else leaves them as they are.
  virtual bool computes() const { return true; }
  /// Copies what it calls of the user's functions, once, before it runs. Throws
  /// `Errc::invalid_input` if that is not among them. Local.
  virtual void take_functions(const StageFunctions&) {}
};

using StageSettings = std::vector<std::pair<std::string, std::string>>;

/// A kind of stage: a line of `stage_table()`.
struct StageEntry {
  const char* name;
  const char* settings;  ///< "factor=2", for lists and messages
  const char* summary;
  /// Throws `Errc::invalid_input` naming a wrong setting and what would be right. Local.
  std::unique_ptr<Stage> (*make)(const StageSettings& settings);
};
std::span<const StageEntry> stage_table();
/// "NAME key=value ..." made a stage. Throws `Errc::invalid_input` (unknown name: the nearest known
/// one; unknown key: the known ones; unknown function: the known ones). Local.
std::unique_ptr<Stage> make_stage(const std::string& text, const StageFunctions& functions = {});

/// The products of a stream on a server. Scalars of a product go to a table, a CSV file that
/// server 0 writes: the product's path if that ends in ".csv", else NAME.csv beside its files.
class Pipeline {
 public:
  /// Throws `Errc::invalid_input` for a product that cannot be (names, stages, patterns of paths).
  /// `functions` are those that stages may call. Local.
  explicit Pipeline(std::vector<Product> products, const StageFunctions& functions = {});
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;

  struct Result {
    Step step;
    std::string format;
  };
  struct Failure {
    std::string product;
    Error error;  ///< names product, stage, path and step
  };
  /// Runs every product that is due for `input` and appends a step to write for each. A product
  /// that fails (alike on all servers) is reported and does not disturb the others. Collective over
  /// the servers.
  void run(const Step& input, Group& group, int threads, std::vector<Result>& results,
           std::vector<Failure>& failures);

 private:
  class Line;
  std::vector<Line> lines_;
};

/// Throws `Errc::invalid_input` if one has no name, or a name no function. Local.
void check_functions(const StageFunctions& functions);

}  // namespace tailrace::server
