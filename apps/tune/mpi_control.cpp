// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_control.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "tailrace/error.hpp"

namespace tailrace::apps {

namespace {

std::vector<MpiControl::Value> values_of_enum(MPI_T_enum list) {
  std::vector<MpiControl::Value> values;
  std::array<char, 256> name{};
  int length = static_cast<int>(name.size());
  int count = 0;
  if (MPI_T_enum_get_info(list, &count, name.data(), &length) != MPI_SUCCESS) return values;
  for (int i = 0; i < count; ++i) {
    int number = 0;
    length = static_cast<int>(name.size());
    MPI_T_enum_get_item(list, i, &number, name.data(), &length);
    values.push_back({number, name.data()});
  }
  return values;
}

// MPICH tells its values in words only, in order from 0: "... auto - Internal ...)nb  - Force
// nonblocking algorithmpairwise - Force ..." (line ends are lost).
std::vector<MpiControl::Value> values_of_words(std::string_view description) {
  std::vector<MpiControl::Value> values{{0, "auto"}};
  constexpr std::string_view mark = "- Force ";
  constexpr std::string_view glued = "algorithm";
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_0123456789";
  for (auto at = description.find(mark); at != std::string_view::npos;
       at = description.find(mark, at + 1)) {
    const auto end = description.find_last_not_of(' ', at - 1) + 1;
    const auto before = description.find_last_not_of(letters, end - 1);
    std::string_view name = description.substr(before + 1, end - before - 1);
    if (name.substr(0, glued.size()) == glued) name.remove_prefix(glued.size());
    values.push_back({static_cast<int>(values.size()), std::string(name)});
  }
  return values;
}

}  // namespace

std::optional<MpiControl> MpiControl::find(const std::string& name) {
  // Left open to the end of the process: MPICH forgets its variables when it is closed.
  static const bool open = [] {
    int provided = 0;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }();
  if (!open) return std::nullopt;
  MpiControl control;
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  std::array<char, 256> found{};
  std::array<char, 8192> description{};
  int name_length = static_cast<int>(found.size());
  int length = static_cast<int>(description.size());
  int verbosity = 0, binding = 0, scope = 0, count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum list = MPI_T_ENUM_NULL;
  if (MPI_T_cvar_get_info(index, found.data(), &name_length, &verbosity, &type, &list,
                          description.data(), &length, &binding, &scope) != MPI_SUCCESS ||
      type != MPI_INT ||
      MPI_T_cvar_handle_alloc(index, nullptr, &control.handle_, &count) != MPI_SUCCESS) {
    return std::nullopt;
  }
  control.values_ =
      list != MPI_T_ENUM_NULL ? values_of_enum(list) : values_of_words(description.data());
  return control;
}

MpiControl::MpiControl(MpiControl&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_T_cvar_handle{})),
      values_(std::move(other.values_)) {}

MpiControl::~MpiControl() {
  if (handle_ != MPI_T_cvar_handle{}) MPI_T_cvar_handle_free(&handle_);
}

void MpiControl::set(int number) const { check_mpi(MPI_T_cvar_write(handle_, &number)); }

}  // namespace tailrace::apps
