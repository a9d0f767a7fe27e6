// SPDX-License-Identifier: BSD-3-Clause
// Copies what the kernel says of the process and its node, and asks MPI for its settings (MPI_T);
// the judging is done where the files are read (tailrace/advice).
#include "profile/launch.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "chooser/environment.hpp"
#include "profile/recorder.hpp"
#include "profile/usage.hpp"
#include "profile/writer.hpp"

extern "C" char** environ;

namespace tailrace::plugins {
namespace {

constexpr const char* of_process[] = {"/proc/self/status", "/proc/self/limits",
                                      "/proc/self/autogroup", "/proc/self/cgroup"};
constexpr const char* of_node[] = {
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/yama/ptrace_scope",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/node/online",
    "/proc/loadavg",
};
struct GroupLimit {
  const char *controller, *root, *file;
};
constexpr GroupLimit limits_of_groups[] = {
    {"", "/sys/fs/cgroup", "cpu.max"},
    {"", "/sys/fs/cgroup", "memory.max"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
    {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"},
    {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_period_us"},
    {"cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us"},
    {"cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_period_us"},
};
constexpr const char* settings[] = {
    "btl_vader_eager_limit",        "btl_sm_eager_limit",
    "btl_tcp_eager_limit",          "btl_vader_single_copy_mechanism",
    "mpi_yield_when_idle",          "mpi_leave_pinned",
    "coll_tuned_use_dynamic_rules", "MPIR_CVAR_ASYNC_PROGRESS",
    "MPIR_CVAR_POLLS_BEFORE_YIELD", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"};
constexpr const char* families_of_variables[] = {
    "OMP_",       "KMP_",          "GOMP_",  "OPENBLAS_",  "MKL_", "BLIS_", "GLIBC_TUNABLES",
    "MALLOC_",    "OMPI_MCA_",     "MPICH_", "MPIR_CVAR_", "UCX_", "FI_",   "I_MPI_",
    "LD_PRELOAD", "SLURM_CPU_BIND"};

// The content of a file as a JSON string, at most `most` bytes; false if there is no file.
bool print_file(Writer& out, const char* path, std::size_t most, const char* before) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  out.print("%s\n  ", before);
  out.text(path);
  out.print(": \"");
  char part[1024];
  for (std::size_t done = 0; done < most;) {
    const ssize_t n = read(fd, part, std::min(sizeof part, most - done));
    if (n <= 0) break;
    for (ssize_t i = 0; i < n; ++i) {
      if (part[i] == '"' || part[i] == '\\') out.print("\\");
      if (part[i] == '\n') out.print("\\n");
      if (part[i] == '\t') out.print(" ");
      if (static_cast<unsigned char>(part[i]) >= ' ') out.print("%c", part[i]);
    }
    done += static_cast<std::size_t>(n);
  }
  out.print("\"");
  close(fd);
  return true;
}

// A limit of a control group and of those around it; `group` is cut.
void print_group(Writer& out, const char* root, char* group, const char* limit) {
  char path[2 * PATH_MAX];
  for (;;) {
    std::snprintf(path, sizeof path, "%s%s/%s", root, group, limit);
    print_file(out, path, 256, ",");
    char* slash = std::strrchr(group, '/');
    if (slash == nullptr) return;
    *slash = '\0';
  }
}

// Limits of control groups, version 2 ("0::/a/b") and 1 ("4:memory:/a/b").
void print_groups(Writer& out) {
  std::FILE* file = std::fopen("/proc/self/cgroup", "re");
  if (file == nullptr) return;
  char line[PATH_MAX] = {};
  while (std::fgets(line, sizeof line, file) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    char* controller = std::strchr(line, ':');
    char* group = controller != nullptr ? std::strchr(controller + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *group++ = '\0';
    char copy[PATH_MAX];
    for (const auto& [name, root, limit] : limits_of_groups) {
      if (std::strcmp(controller + 1, name) != 0) continue;
      std::snprintf(copy, sizeof copy, "%s", group);
      print_group(out, root, copy, limit);
    }
  }
  std::fclose(file);
}

// Which processors are hardware threads of one core, and which belong to a NUMA domain.
void print_processors(Writer& out) {
  char path[128];
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  for (long i = 0; i < processors; ++i) {
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list",
                  i);
    print_file(out, path, 256, ",");
  }
  for (int i = 0; i < 256; ++i) {
    std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", i);
    print_file(out, path, 4096, ",");
  }
}

void print_files(Writer& out, bool whole_node) {
  out.print("\"files\": {");
  const char* comma = "";
  for (const char* path : of_process)
    if (print_file(out, path, 16384, comma)) comma = ",";
  print_groups(out);
  if (whole_node) {
    for (const char* path : of_node) print_file(out, path, 4096, ",");
    print_file(out, "/proc/cpuinfo", 8192, ",");  // the first processor says enough
    print_processors(out);
  }
  out.print("},\n");
}

void print_environment(Writer& out) {
  out.print("\"environment\": {");
  const char* comma = "";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    char name[128];
    const std::size_t length = equals != nullptr ? static_cast<std::size_t>(equals - *entry) : 0;
    if (length == 0 || length >= sizeof name) continue;
    bool known = false;
    for (const char* family : families_of_variables)
      known = known || std::strncmp(*entry, family, std::strlen(family)) == 0;
    if (!known) continue;
    std::memcpy(name, *entry, length);
    name[length] = '\0';
    out.print("%s\n  ", comma);
    out.text(name);
    out.print(": ");
    out.text(equals + 1);
    comma = ",";
  }
  out.print("},\n");
}

// Value of a control variable of MPI_T, as JSON; false if it is of another kind.
bool print_value(Writer& out, int index, const char* name, const char* before) {
  char text[8] = {};
  int text_size = sizeof text;
  char more[8] = {};
  int more_size = sizeof more;
  int verbosity = 0, bind = 0, scope = 0, count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum names{};
  if (MPI_T_cvar_get_info(index, text, &text_size, &verbosity, &type, &names, more, &more_size,
                          &bind, &scope) != MPI_SUCCESS ||
      bind != MPI_T_BIND_NO_OBJECT) {
    return false;
  }
  MPI_T_cvar_handle handle{};
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return false;
  alignas(8) char value[4096] = {};
  bool known = count == 1 && MPI_T_cvar_read(handle, value) == MPI_SUCCESS;
  long long number = 0;
  if (type == MPI_INT) {
    int read = 0;
    std::memcpy(&read, value, sizeof read);
    number = read;
  } else if (type == MPI_UNSIGNED) {
    unsigned read = 0;
    std::memcpy(&read, value, sizeof read);
    number = read;
  } else if (type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG || type == MPI_COUNT) {
    std::memcpy(&number, value, sizeof number);
  } else if (type == MPI_C_BOOL) {
    number = value[0] != 0 ? 1 : 0;
  } else {
    known = false;
  }
  MPI_T_cvar_handle_free(&handle);
  if (known) out.print("%s\n  \"%s\": %lld", before, name, number);
  return known;
}

void print_settings(Writer& out) {
  out.print("\"settings\": {");
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS) {
    const char* comma = "";
    for (const char* name : settings) {
      int index = 0;
      if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
          print_value(out, index, name, comma)) {
        comma = ",";
      }
    }
    MPI_T_finalize();
  }
  out.print("},\n");
}

// What libraries say of themselves: the processor that OpenBLAS serves, the instructions of FFTW.
void print_libraries(Writer& out) {
  using Name = const char* (*)();
  out.print("\"openblas\": ");
  const auto core = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  out.text(core != nullptr ? core() : "");
  out.print(", \"fftw\": ");
  const auto* fftw = static_cast<const char*>(dlsym(RTLD_DEFAULT, "fftw_version"));
  out.text(fftw != nullptr ? fftw : "");
  out.print(",\n");
}

// The ranks that MPI takes for those of one node: how many, and the first.
struct SharedMemory {
  int first = 0, ranks = 0, own = 0;
};

SharedMemory ask_node() {
  SharedMemory found;
  MPI_Comm node = MPI_COMM_NULL;
  if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, state.rank, MPI_INFO_NULL,
                           &node) != MPI_SUCCESS) {
    return found;
  }
  PMPI_Comm_size(node, &found.ranks);
  PMPI_Comm_rank(node, &found.own);
  found.first = state.rank;
  PMPI_Bcast(&found.first, 1, MPI_INT, 0, node);
  PMPI_Comm_free(&node);
  return found;
}

}  // namespace

void write_launch_facts() {
  const char* const old = renamed_environment("TAILRACE_LAUNCH_FACTS", "TAILRACE_PROFILE=launch");
  const bool is_wanted = value_of_word(environment("TAILRACE_PROFILE"), "launch").has_value();
  if (!is_wanted && (old == nullptr || old[0] == '\0')) return;
  const SharedMemory node = ask_node();
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/rank-%06d.launch", record_folder(), state.rank);
  Writer out(path);
  out.print("{\"version\": 1, \"rank\": %d, \"ranks\": %d, \"first_of_node\": %d,\n", state.rank,
            state.num_ranks, node.first);
  out.print("\"ranks_of_node\": %d, ", node.ranks);
  print_node(out);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  PMPI_Get_library_version(version, &length);
  version[std::min<std::size_t>(300, std::strlen(version))] = '\0';
  out.print("\"mpi\": ");
  out.text(version);
  int level = 0;
  PMPI_Query_thread(&level);
  out.print(", \"thread_level\": %d,\n", level);
  print_settings(out);
  print_environment(out);
  print_libraries(out);
  print_files(out, node.own == 0);
  out.print("\"fabric\": %s,\n", access("/dev/infiniband/uverbs0", F_OK) == 0 ? "true" : "false");
  struct statfs system {};
  const bool known = statfs(".", &system) == 0;
  out.print("\"file_system\": %llu}\n",
            known ? static_cast<unsigned long long>(system.f_type) & 0xffffffffULL : 0ULL);
  out.finish();
}

}  // namespace tailrace::plugins
