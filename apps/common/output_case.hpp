// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/keys.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace {

class Session;
class Output;

}  // namespace tailrace

namespace tailrace::app {

/// Section `[output]` of a case file: how files are written, by whichever application. The meaning
/// of every member stands in `output_keys`.
struct OutputCase {
  std::string servers = "hidden";
  std::int64_t every = 100;
  std::string strategy = "auto";
  std::vector<std::string> hints;
  std::int64_t writers = 0, stripe_bytes = 1 << 20, buffered_files = 2;
  // Of servers alone.
  std::string transport = "auto", memory = "1G";
  std::string when_full = "wait", spill_folder, on_failure = "stop", fallback_path, compress;
  double stall_budget = 0, retry_s = 0;
  bool whole_fields = true;
  std::string series = "fields.h5";
  std::vector<Product> products;
};

/// What every application's case has beside its output: sections `[case]`, `[checkpoint]`,
/// `[restart]` and `[trace]`. The meaning of every member stands in `case_keys` and `run_keys`.
struct RunCase {
  explicit RunCase(const char* application) { about.application = application; }

  std::string source;           ///< path of the case file, for messages
  std::set<std::string> given;  ///< keys that the file or --set gave
  struct {
    std::string name, application;
  } about;
  struct {
    std::int64_t every = 0;
    bool at_end = false;
  } checkpoint;
  struct {
    std::string file;
  } restart;
  struct {
    std::int64_t spans = 20000;
  } trace;
};

/// The keys of `[case]`, and of the other sections, bound to `values`. Local.
Keys case_keys(RunCase& values);
Keys run_keys(RunCase& values);

/// The keys of `[output]`, bound to `values`. Local, as all of this file but what says so.
Keys output_keys(OutputCase& values);

/// Throws `Errc::invalid_input` if products lack names, or need other fields than `fields`, if a
/// size is none, or if one of `keys`, which are `usual` by default, does not go with the servers.
/// `source` is the path of the case file.
void require_output(const OutputCase& values, const Keys& keys, const Keys& usual,
                    std::span<const std::string> fields, const std::string& source);

/// Whether some of the ranks may serve, so that how many compute is known when the job has started.
bool ranks_may_serve(const OutputCase& values);

/// `output.hints` as hints. Throws `Errc::invalid_input` for one that is not NAME=VALUE.
Hints file_hints(const OutputCase& values, const std::string& source);

/// The session that `output.servers` asks for; output goes to `folder`.
OutputOptions session_options(const OutputCase& values, const std::string& folder, Trace* trace);

/// How a session writes the fields, products included: a product's path that neither begins with
/// "{path}" nor with a slash lies in `folder`.
OutputOptions field_options(const OutputCase& values, const std::string& source,
                            const std::string& folder);

/// Makes folders. Collective, blocking. Throws `Errc::io` on all ranks.
void make_folders(const Comm& comm, const std::set<std::string>& folders);

/// Folders that files of fields and of products go to.
std::set<std::string> output_folders(const OutputCase& values, const std::string& source,
                                     const std::string& folder);

/// The output of the fields, named `name`; their folders are made. Collective over the ranks that
/// compute, blocking. Throws `Errc::invalid_input` or `Errc::io` on all of them.
Output open_fields(Session& session, const std::string& name, const OutputCase& values,
                   const std::string& source, const std::string& folder);

/// The index that shows all fields as one data set; "" if there is none. Local.
std::string series_path(const OutputCase& values, const std::string& folder);

/// How checkpoints are written: none is left out, and a failure ends the run.
OutputOptions checkpoint_options(const OutputCase& values, const std::string& source);

/// What the summary calls the kind of output (none, synchronous, hidden or servers), and what the
/// session says of its servers.
std::pair<std::string, std::string> kind_of_output(const OutputCase& values,
                                                   const Session& session);

}  // namespace tailrace::app
