// SPDX-License-Identifier: BSD-3-Clause
// hidden_streams FOLDER: writes files by C++'s streams and prints what it sees, so a run with
// hidden writes must print the same and leave the same files as a run without.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::size_t sum(const std::string& text) { return std::hash<std::string>{}(text); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string folder = argv[1];
  std::vector<double> values(200000);
  std::iota(values.begin(), values.end(), 1.0);
  const auto* const bytes = reinterpret_cast<const char*>(values.data());
  const auto count = static_cast<std::streamsize>(values.size() * sizeof(double));

  // A file per step: a header as text, an array, and the header again with what is known then.
  for (int step = 0; step < 3; ++step) {
    const std::string path = folder + "/step" + std::to_string(step) + ".h5";
    std::ofstream file(path, std::ios::binary);
    file << "step " << step << " of 3, complete: no \n";
    for (int i = 0; i < 20; ++i) file.write(bytes + i, count / 20);
    std::cout << "at " << file.tellp() << '\n';
    file.seekp(0);
    file << "step " << step << " of 3, complete: yes\n";
    file.close();
    std::cout << file.good() << ' ' << std::filesystem::file_size(path) << ' ' << sum(content(path))
              << '\n';
  }
  // One that is written, read and extended.
  const std::string path = folder + "/both.h5";
  std::fstream both(path, std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
  for (int i = 0; i < 5000; ++i) both << i << ' ';
  both.seekg(1000);
  std::string word;
  for (int i = 0; i < 5; ++i) both >> word;
  std::cout << word << ' ' << both.tellg() << '\n';
  both.clear();
  both.seekp(0, std::ios::end);
  both << "end";
  both.flush();
  std::cout << std::filesystem::file_size(path) << ' ' << sum(content(path)) << '\n';
  both << " that is written by the destructor";
  // At the end of an existing file: written as without hiding.
  std::ofstream(folder + "/both.h5", std::ios::app) << "appended";
  // Failures.
  std::ofstream none(folder + "/nosuch/file.h5");
  std::cout << none.is_open() << '\n';
  // C's streams, one of which stays open until the end.
  std::FILE* const open = std::fopen((folder + "/open.h5").c_str(), "w");
  for (int i = 0; i < 30000; ++i) std::fprintf(open, "%d\n", i);
  return 0;
}
