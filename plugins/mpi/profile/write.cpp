// SPDX-License-Identifier: BSD-3-Clause
// The record of a rank: rank-NNNNNN.json (counters, communicators, modules, traffic) and
// rank-NNNNNN.events (the events as they lie in memory), in the folder TAILRACE_PROFILE_DIR.
// Written without MPI and without the heap, as the program may be ending by a signal.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "chooser/environment.hpp"
#include "profile/clocks.hpp"
#include "profile/comms.hpp"
#include "profile/counters.hpp"
#include "profile/files.hpp"
#include "profile/recorder.hpp"
#include "profile/regions.hpp"
#include "profile/samples.hpp"
#include "profile/usage.hpp"
#include "profile/writer.hpp"

namespace tailrace::plugins {

extern Thread threads[];
extern std::atomic<std::uint32_t> num_threads;
extern std::atomic<std::uint64_t> lost_calls;
extern Instant first_instant;

namespace {

struct Modules {
  Writer* out;
  bool is_first = true;
};

void print_build_id(Writer& out, const dl_phdr_info& info, const ElfW(Phdr) & header) {
  const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
  const char* const end = at + header.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) < end) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* name = at + sizeof *note;
    const char* id = name + ((note->n_namesz + 3U) & ~3U);
    if (note->n_type == NT_GNU_BUILD_ID && std::memcmp(name, "GNU", 4) == 0) {
      for (unsigned i = 0; i < note->n_descsz; ++i)
        out.print("%02x", static_cast<unsigned>(static_cast<unsigned char>(id[i])));
      return;
    }
    at = id + ((note->n_descsz + 3U) & ~3U);
  }
}

int print_module(dl_phdr_info* info, std::size_t /*size*/, void* argument) {
  auto& modules = *static_cast<Modules*>(argument);
  Writer& out = *modules.out;
  std::uint64_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && header.p_vaddr + header.p_memsz > end)
      end = header.p_vaddr + header.p_memsz;
  }
  char path[PATH_MAX] = {};
  const bool is_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  if (is_program && readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 0;
  if (is_program && !modules.is_first) return 0;  // the kernel's own page
  out.print("%s\n  {\"path\": ", modules.is_first ? "" : ",");
  modules.is_first = false;
  out.text(is_program ? path : info->dlpi_name);
  out.print(", \"base\": %llu, \"size\": %llu, \"build_id\": \"",
            static_cast<unsigned long long>(info->dlpi_addr), static_cast<unsigned long long>(end));
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_NOTE) {
      print_build_id(out, *info, info->dlpi_phdr[i]);
    }
  out.print("\"}");
  return 0;
}

void print_rows(Writer& out) {
  out.print("\"rows\": [");
  const char* comma = "";
  for (std::uint32_t t = 0; t < num_threads.load() && t < max_threads; ++t) {
    const Thread& thread = threads[t];
    for (std::size_t i = 0; thread.rows != nullptr && i < rows_of_a_thread + max_calls; ++i) {
      const CallCounts& row = thread.rows[i];
      if (row.count == 0) continue;
      const auto call = static_cast<unsigned>((row.what & 0xFFFFU) - 1);
      out.print(
          "%s\n  [%zu, \"%s\", \"%s\", %llu, %u, %u, %llu, %llu, %llu, %llu, %llu]", comma,
          thread.first_row + i, call_name(call), call_kind(call),
          static_cast<unsigned long long>(row.site),
          static_cast<unsigned>(row.what >> 16U & 0xFFFFFFU),
          static_cast<unsigned>(row.what >> 40U), static_cast<unsigned long long>(row.count),
          static_cast<unsigned long long>(row.bytes), static_cast<unsigned long long>(row.ticks),
          static_cast<unsigned long long>(row.least), static_cast<unsigned long long>(row.most));
      comma = ",";
    }
  }
  out.print("],\n");
}

// The places in Python scripts of all rows: [[site, "file:line function"], ...].
void print_python(Writer& out) {
  out.print("\"python\": [");
  const char* comma = "";
  for (std::uint32_t t = 0; t < num_threads.load() && t < max_threads; ++t) {
    for (std::size_t i = 0; threads[t].rows != nullptr && i < rows_of_a_thread; ++i) {
      const CallCounts& row = threads[t].rows[i];
      if (row.count == 0 || (row.site & python_bit) == 0) continue;
      out.print("%s\n  [%llu, ", comma, static_cast<unsigned long long>(row.site));
      out.text(python_place(row.site));
      out.print("]");
      comma = ",";
    }
  }
  out.print("],\n");
}

void print_comms(Writer& out) {
  out.print("\"comms\": [");
  for (unsigned i = 0; i < num_comms(); ++i) {
    const CommInfo& info = comm_info(i);
    out.print(
        "%s\n  {\"members\": \"%016llx\", \"ordinal\": %u, \"size\": %d, \"rank\": %d, "
        "\"inter\": %s, \"loose\": %s}",
        i == 0 ? "" : ",", static_cast<unsigned long long>(info.members_hash), info.ordinal,
        info.size, info.rank, info.is_inter ? "true" : "false", info.is_loose ? "true" : "false");
  }
  out.print("],\n");
}

void print_traffic(Writer& out) {
  out.print("\"traffic\": [");
  const char* comma = "";
  for (int i = 0; state.sent_bytes != nullptr && i < state.num_ranks; ++i) {
    if (state.sent_messages[i] == 0) continue;
    out.print("%s[%d, %llu, %llu]", comma, i, static_cast<unsigned long long>(state.sent_bytes[i]),
              static_cast<unsigned long long>(state.sent_messages[i]));
    comma = ", ";
  }
  out.print("],\n");
}

void print_windows(Writer& out, Tick last_tick) {
  const Tick last = (last_tick - windows.first) >> windows.shift;
  out.print("\"windows\": {\"ticks\": %llu, \"mpi\": [", 1ULL << windows.shift);
  for (Tick i = 0; i < num_windows && i <= last; ++i)
    out.print("%s%llu", i == 0 ? "" : ", ", static_cast<unsigned long long>(windows.ticks[i]));
  out.print("]},\n");
}

void print_regions(Writer& out) {
  out.print("\"lost_regions\": %llu,\n\"regions\": [",
            static_cast<unsigned long long>(lost_regions()));
  for (unsigned i = 0; i < num_regions(); ++i) {
    const Region& region = region_at(i);
    out.print("%s\n  {\"name\": ", i == 0 ? "" : ",");
    out.text(region.name);
    out.print(
        ", \"parent\": %d, \"count\": %llu, \"ticks\": %llu, \"mpi_ticks\": %llu, \"counts\": ",
        region.parent, static_cast<unsigned long long>(region.count),
        static_cast<unsigned long long>(region.ticks),
        static_cast<unsigned long long>(region.mpi_ticks));
    print_counts(out, region.counts);
    out.print("}");
  }
  out.print("],\n");
}

void print_files(Writer& out) {
  out.print("\"files\": [");
  for (unsigned i = 0; i < num_files(); ++i) {
    const FileCounts& file = file_counts(i);
    const auto number = [&](const char* name, const std::atomic<std::uint64_t>& counter) {
      out.print(", \"%s\": %llu", name, static_cast<unsigned long long>(counter.load()));
    };
    out.print("%s\n  {\"path\": ", i == 0 ? "" : ",");
    out.text(file.path);
    number("opens", file.opens);
    number("reads", file.reads);
    number("writes", file.writes);
    number("syncs", file.syncs);
    number("read_bytes", file.read_bytes);
    number("written_bytes", file.written_bytes);
    number("small", file.small);
    number("jumps", file.jumps);
    number("in_mpi", file.in_mpi);
    number("ticks", file.ticks);
    number("mpi_reads", file.mpi_reads);
    number("mpi_writes", file.mpi_writes);
    number("mpi_read_bytes", file.mpi_read_bytes);
    number("mpi_written_bytes", file.mpi_written_bytes);
    number("mpi_ticks", file.mpi_ticks);
    out.print("}");
  }
  out.print("],\n");
}

// Says once on standard error that there is no record; the program goes on as it would have.
int complain(const char* path, int error) {
  char line[PATH_MAX + 160];
  const int n = std::snprintf(line, sizeof line,
                              "tailrace profile: rank %d: %s: %s; no record of this rank\n",
                              state.rank, path, strerrordesc_np(error));
  if (n > 0 && write(STDERR_FILENO, line, static_cast<std::size_t>(n)) < 0) return error;
  return error;
}

std::size_t kept_events() { return std::min(state.num_events.load(), state.max_events); }

int write_events(const char* path) {
  Writer out(path);
  out.bytes(state.events, kept_events() * sizeof(Event));
  return out.finish();
}

int write_counters(const char* path, const char* how, const Instant& last, const Counts& counts) {
  Writer out(path);
  out.print("{\"version\": 2, \"rank\": %d, \"ranks\": %d, \"pid\": %d, \"ended\": \"%s\",\n",
            state.rank, state.num_ranks, static_cast<int>(getpid()), how);
  out.print("\"first_tick\": %llu, \"last_tick\": %llu, \"first_ns\": %llu, \"last_ns\": %llu,\n",
            static_cast<unsigned long long>(first_instant.tick),
            static_cast<unsigned long long>(last.tick),
            static_cast<unsigned long long>(first_instant.ns),
            static_cast<unsigned long long>(last.ns));
  out.print(
      "\"events\": %zu, \"lost_events\": %zu, \"lost_calls\": %llu, \"threads\": %s,\n"
      "\"lost_files\": %llu,\n",
      kept_events(), state.num_events.load() - kept_events(),
      static_cast<unsigned long long>(lost_calls.load()), state.has_threads ? "true" : "false",
      static_cast<unsigned long long>(lost_files()));
  std::uint32_t main_row = 0;
  for (std::uint32_t t = 0; t < num_threads.load() && t < max_threads; ++t)
    if (threads[t].is_main) main_row = threads[t].first_row;
  out.print("\"main_row\": %u, \"rows_of_a_thread\": %zu,\n", main_row,
            rows_of_a_thread + max_calls);
  print_node(out);
  print_clock(out);
  print_usage(out);
  print_counters(out, counts);
  print_placement(out);
  print_comms(out);
  print_traffic(out);
  print_rows(out);
  print_python(out);
  print_files(out);
  print_windows(out, last.tick);
  print_regions(out);
  print_samples(out);
  out.print("\"modules\": [");
  Modules modules{&out};
  dl_iterate_phdr(print_module, &modules);
  out.print("]}\n");
  return out.finish();
}

}  // namespace

namespace {

constexpr std::size_t most_of_folder = PATH_MAX - 64;  // its files have names, too
char first_folder[PATH_MAX];                           // the program's when it was started
char folder_of_records[most_of_folder];

__attribute__((constructor)) void remember_folder() {
  if (getcwd(first_folder, sizeof first_folder) == nullptr) first_folder[0] = '\0';
}

}  // namespace

void choose_record_folder() {
  const char* given = environment("TAILRACE_PROFILE_DIR");
  const bool is_given = given != nullptr && given[0] != '\0';
  if (!is_given) given = "tailrace-profile";
  const bool is_whole = given[0] == '/' || first_folder[0] == '\0';
  const char* const before = is_whole ? "" : first_folder;
  const char* const slash = is_whole ? "" : "/";
  const int length =
      std::snprintf(folder_of_records, most_of_folder, "%s%s%s", before, slash, given);
  // Cut, it would be another folder.
  if (static_cast<std::size_t>(length) >= most_of_folder) complain(given, ENAMETOOLONG);
  if (!is_given) mkdir(folder_of_records, 0777);
}

const char* record_folder() { return folder_of_records; }

void write_record(const char* how) {
  if (static_cast<int>(getpid()) != state.pid) return;
  stop_samples();
  const Instant last = this_instant();
  const Counts counts = read_counters();
  end_regions(last.tick, counts);
  add_to_windows(last.tick, last.tick);  // so many windows that all of the run lies in them
  const char* folder = record_folder();
  char events[PATH_MAX];
  char part[PATH_MAX];
  char whole[PATH_MAX];
  const auto name = [&](char* path, const char* ending) {
    std::snprintf(path, PATH_MAX, "%s/rank-%06d.%s", folder, state.rank, ending);
  };
  name(events, "events");
  name(part, "part");
  name(whole, "json");
  char clock[PATH_MAX];
  name(clock, "clock");
  unlink(clock);  // of an earlier run; ours comes after the record
  if (const int error = write_events(events)) {
    complain(events, error);
    unlink(events);
    return;
  }
  int error = write_counters(part, how, last, counts);
  if (error == 0 && rename(part, whole) != 0) error = errno;
  if (error != 0) {
    complain(whole, error);
    unlink(part);
    unlink(events);
  }
}

}  // namespace tailrace::plugins
