#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several "nodes" on one machine, so that what differs between nodes can be tried on a laptop:
#   fake_cluster.sh 2x4 PROGRAM ARGUMENTS...                     2 nodes of 4 ranks
#   fake_cluster.sh --nodes nodea:3,nodeb:1 PROGRAM ARGUMENTS...  3 ranks and 1
#   fake_cluster.sh --with mpirun -H nodea:3,nodeb:1 -n 4 ...     a launcher with options of one's own
#   fake_cluster.sh --check                                      0 if it works here, else 77
# Each node is a UTS namespace with a host name of its own, entered where the launcher would go through
# ssh. Ranks of a node share memory; ranks of different nodes talk through TCP on the loopback device.
# FAKE_CLUSTER_CLOCKS=different starts the monotonic clock of each node at another time (Linux 5.6).
# MPIRUN names the launcher (Open MPI's or MPICH's; default mpirun). Needs root or user namespaces;
# the status is 77 where neither is allowed, or the launcher is missing.
set -u

say() { echo "fake_cluster: $*" >&2; }
refuse() { say "$*"; exit 2; }
impossible() { say "not possible here: $*"; exit 77; }

# The words that start a command in a host name space of its own.
namespace() {
  local words
  for words in "unshare -u" "unshare -Ur -u"; do
    [ -n "${FAKE_CLUSTER_CLOCKS:-}" ] && words+=" -T --monotonic 1"
    # shellcheck disable=SC2086
    $words hostname fake-cluster-probe 2> /dev/null && { echo "$words"; return; }
  done
  return 1
}

# What the launcher calls in place of ssh: [OPTIONS] HOST COMMAND...
agent() {
  local words=$FAKE_CLUSTER_NAMESPACE host
  unset FAKE_CLUSTER_NAMESPACE
  while [ "${1#-}" != "$1" ]; do shift; done
  host=$1
  shift
  words=${words/--monotonic 1/--monotonic $(($(cksum <<< "$host" | cut -d " " -f 1) % 100000))}
  # shellcheck disable=SC2086
  exec $words bash -c "hostname '$host' && $*"
}

# nodea:3,nodeb:1 from 2x4, or as it is given.
hosts_of() {
  local nodes ranks list="" i
  case $1 in
    *[!0-9x]* | x* | *x | *x*x* | 0* | *x0*) refuse "expected NODESxRANKS, as in 2x4, not '$1'" ;;
    *x*) nodes=${1%x*} ranks=${1#*x} ;;
    *) refuse "expected NODESxRANKS, as in 2x4, not '$1'" ;;
  esac
  for ((i = 1; i <= nodes; i++)); do list+=",node$i:$ranks"; done
  echo "${list#,}"
}

check_hosts() {
  [[ $1 =~ ^[a-z][a-z0-9]*:[1-9][0-9]*(,[a-z][a-z0-9]*:[1-9][0-9]*)*$ ]] ||
    refuse "expected NAME:RANKS,NAME:RANKS..., as in nodea:3,nodeb:1, not '$1'"
  local twice
  twice=$(tr ',' '\n' <<< "$1" | cut -d: -f1 | sort | uniq -d | head -n 1)
  [ -z "$twice" ] || refuse "node $twice is named twice"
}

ranks_of() {
  local part total=0
  for part in ${1//,/ }; do total=$((total + ${part#*:})); done
  echo "$total"
}

open_mpi_settings() {
  export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$self OMPI_MCA_plm_rsh_no_tree_spawn=1
  export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo
  export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
  # All connections at the start: two ranks that connect to each other at the same moment later on, on
  # a busy machine, now and then lose both connections and wait for ever (Open MPI 4.1).
  export OMPI_MCA_mpi_preconnect_mpi=1
  # As many slots as ranks make it believe that each rank has a core.
  export OMPI_MCA_mpi_yield_when_idle=1
}

open_mpi() { # HOSTS PROGRAM...
  local hosts=$1
  shift
  open_mpi_settings
  local words=(-H "$hosts" -n "$(ranks_of "$hosts")" --bind-to none)
  [ "$(id -u)" = 0 ] && words+=(--allow-run-as-root)
  exec "$launcher" "${words[@]}" "$@"
}

hydra() { # HOSTS PROGRAM...
  local hosts=$1
  shift
  exec "$launcher" -launcher ssh -launcher-exec "$self" -iface lo -hosts "$hosts" \
    -n "$(ranks_of "$hosts")" "$@"
}

# Whatever launcher it is: what each reads of the environment.
with_launcher() { # LAUNCHER OPTIONS PROGRAM...
  open_mpi_settings
  if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$self HYDRA_IFACE=lo
  exec "$@"
}

[ -n "${FAKE_CLUSTER_NAMESPACE:-}" ] && agent "$@"

check="" own=""
case ${1:-} in
  --check) check=yes ;;
  --with) own=yes; shift ;;
  --nodes) hosts=${2:-}; check_hosts "$hosts"; shift 2 ;;
  "" | -*) sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  *) hosts=$(hosts_of "$1") || exit 2; shift ;;
esac
[ -n "$check" ] || [ $# -gt 0 ] || refuse "no program is named"

self=$(realpath "$0")
launcher=${MPIRUN:-mpirun}
command -v "$launcher" > /dev/null || impossible "$launcher is not on PATH"
FAKE_CLUSTER_NAMESPACE=$(namespace) ||
  impossible "no host name space can be made (needs root, or user namespaces)"
[ -n "$check" ] && exit 0
export FAKE_CLUSTER_NAMESPACE
[ -n "$own" ] && with_launcher "$@"
case $("$launcher" --version 2>&1 | tr '[:upper:]' '[:lower:]') in
  *"open mpi"* | *openrte*) open_mpi "$hosts" "$@" ;;
  *hydra* | *mpich*) hydra "$hosts" "$@" ;;
  *) impossible "$launcher is neither Open MPI's nor MPICH's" ;;
esac
