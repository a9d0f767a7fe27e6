// SPDX-License-Identifier: BSD-3-Clause
// tailrace-verify FILE...: compares files with their checksums, the pieces distributed to the ranks
// that it runs on. Prints JSON lines: one a dataset, then one for the file. Files that virtual
// datasets lie in are checked after the file that names them. Exit status 1 if anything is damaged,
// else 4 if something could not be checked.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "tailrace/comm.hpp"
#include "tailrace/more/launched_alone.hpp"
#include "tailrace/more/verify.hpp"

namespace {

using Json = nlohmann::ordered_json;
using tailrace::Damage;
using tailrace::VerifiedDataset;
using tailrace::VerifiedFile;

std::string_view name_of(VerifiedDataset::Check check) {
  switch (check) {
    case VerifiedDataset::Check::pieces:
      return "pieces";
    case VerifiedDataset::Check::boxes:
      return "boxes";
    case VerifiedDataset::Check::read:
      return "read";
    case VerifiedDataset::Check::structure:
      return "structure";
    case VerifiedDataset::Check::header:
      return "header";
  }
  return "";
}

void print(const Json& json) {
  std::puts(json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

void print_dataset(const std::string& path, const VerifiedDataset& dataset) {
  auto damages = Json::array();
  for (std::size_t i = 0; i < dataset.damages.size(); ++i) {
    const Damage& damage = dataset.damages[i];
    damages.push_back({{"box", damage.box.describe()},
                       {"first_byte", damage.bytes.start},
                       {"bytes", damage.bytes.count},
                       {"file", dataset.files[i].empty() ? path : dataset.files[i]},
                       {"file_offset", damage.file_offset}});
  }
  print({{"path", path},
         {"dataset", dataset.name},
         {"check", name_of(dataset.check)},
         {"checked", dataset.checked},
         {"bytes", dataset.bytes},
         {"num_damages", dataset.num_damages},
         {"problem", dataset.problem},
         {"unreadable", dataset.unreadable},
         {"damages", std::move(damages)}});
}

void print_file(const VerifiedFile& file) {
  for (const auto& dataset : file.datasets) print_dataset(file.path, dataset);
  print({{"path", file.path},
         {"checksums", file.checksums},
         {"damaged", file.damaged()},
         {"unreadable", file.unchecked()},
         {"problem", file.problem},
         {"sources", file.sources}});
  std::fflush(stdout);
}

// What is wrong with a name before the file is looked at, on rank 0.
std::string problem_of(const std::string& path) {
  constexpr std::string_view partial = ".partial";
  struct stat status {};
  if (path.ends_with(partial)) {
    return fmt::format(
        "{} is an unfinished output: its run is still writing, or was killed. The last "
        "complete file is {}, if there is one",
        path, path.substr(0, path.size() - partial.size()));
  }
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fmt::format("{} is a folder; name the files in it", path);
  }
  return {};
}

// The list is the same on all ranks: sources are found by rank 0, and it says how many.
void add_sources(const tailrace::Comm& comm, const VerifiedFile& file,
                 std::vector<std::string>& paths, std::set<std::string>& pieces) {
  int count = static_cast<int>(file.sources.size());
  tailrace::check_mpi(MPI_Bcast(&count, 1, MPI_INT, 0, comm.raw()));
  for (int i = 0; i < count; ++i) {
    const auto path = tailrace::broadcast_text(
        comm.raw(), comm.rank() == 0 ? file.sources[static_cast<std::size_t>(i)] : "");
    if (std::ranges::find(paths, path) != paths.end()) continue;
    if (file.pieces_checked) pieces.insert(path);
    paths.push_back(path);
  }
}

int run(int argc, char** argv) {
  const tailrace::Comm comm(MPI_COMM_WORLD);
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool help = !paths.empty() && (paths[0] == "--help" || paths[0] == "-h");
  if (paths.empty() || help) {
    if (comm.rank() == 0) std::fputs("usage: tailrace-verify FILE...\n", help ? stdout : stderr);
    return help ? 0 : 2;
  }
  std::set<std::string> pieces;  // whose data has been checked
  int status = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    VerifiedFile file;
    file.path = paths[i];
    int wrong = 0;
    if (comm.rank() == 0) file.problem = problem_of(file.path);
    wrong = file.problem.empty() ? 0 : 1;
    tailrace::check_mpi(MPI_Bcast(&wrong, 1, MPI_INT, 0, comm.raw()));
    if (wrong == 0) file = tailrace::verify_file(comm, paths[i], !pieces.contains(paths[i]));
    if (comm.rank() == 0) print_file(file);
    if (file.damaged()) status = 1;
    if (file.unchecked() && status == 0) status = 4;
    add_sources(comm, file, paths, pieces);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 3;
  try {
    if (!tailrace::refuses_to_run_alone("tailrace-verify")) status = run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tailrace-verify: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return status;
}
