// SPDX-License-Identifier: BSD-3-Clause
// Counts the MPI calls that a test program makes, to be compared with those that the profile saw.
#pragma once
#include <mpi.h>

#include <cstdio>
#include <map>
#include <string>

inline std::map<std::string, long long>& made_calls() {
  static std::map<std::string, long long> calls;
  return calls;
}

// Returns `code` after counting a call written as `text`, "MPI_Send(...)".
inline int count_made(const std::string& text, int code) {
  ++made_calls()[text.substr(0, text.find('('))];
  return code;
}
#define MADE(call) count_made(#call, call)

// Rank 0 prints "MADE name count" for all ranks together. By PMPI, so that the profile sees
// nothing.
inline void print_made_calls(int rank) {
  for (const auto& [name, count] : made_calls()) {
    long long sum = 0;
    PMPI_Reduce(&count, &sum, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("MADE %s %lld\n", name.c_str(), sum);
  }
}
