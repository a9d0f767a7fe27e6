#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A CephFS on one machine, to try stripes, clients and faults of a parallel file system.
#   cephfs.sh up FOLDER [TARGETS] [TARGET_BYTES]   starts it (30-60 s), mounted at FOLDER/mnt
#   cephfs.sh client FOLDER MOUNT                  mounts it once more, by a client of its own
#   cephfs.sh rank FOLDER COMMAND...               runs COMMAND as an MPI rank with a client of its own:
#       the first half of the ranks sees FOLDER/mnt, the others FOLDER/mnt1, both as FOLDER/pfs
#   cephfs.sh down FOLDER                          unmounts, stops and removes all of it
# One monitor, manager and metadata server, and TARGETS (4) storage targets (OSDs) on sparse files of
# TARGET_BYTES (4 GiB) in FOLDER, all on 127.0.0.1 without authentication: for tests alone. A target takes
# about 100 MB of memory. Needs root, the fuse device and, on Debian and Ubuntu:
#   apt-get install --no-install-recommends ceph-mon ceph-osd ceph-mds ceph-mgr ceph-fuse ceph-common
# CEPHFS_PORT (40010) and the one after it are the monitor's. For the tool `ceph`: export CEPH_CONF=FOLDER/ceph.conf
set -u

say() { echo "cephfs: $*" >&2; }
fail() { say "$*"; exit 1; }

write_config() { # FOLDER PORT TARGET_BYTES
  local folder=$1 port=$2 bytes=$3
  cat > "$folder/ceph.conf" << CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_initial_members = a
mon_host = [v2:127.0.0.1:$port,v1:127.0.0.1:$((port + 1))]
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
osd_crush_chooseleaf_type = 0
admin_socket = $folder/run/\$name.\$pid.asok
pid_file = $folder/run/\$name.pid
log_file = $folder/log/\$name.log
keyring = $folder/keyring
[mon]
mon_data = $folder/mon.\$id
mon_data_avail_warn = 1
mon_data_avail_crit = 1
# Not in [global]: there it would override the monitor's port.
[mgr]
public_addr = 127.0.0.1
mgr_data = $folder/mgr.\$id
[mds]
public_addr = 127.0.0.1
mds_data = $folder/mds.\$id
[osd]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
osd_data = $folder/osd\$id
osd_objectstore = bluestore
bluestore_block_size = $bytes
bluestore_block_create = true
bluestore_cache_autotune = false
bluestore_cache_size = 134217728
osd_memory_target = 939524096
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 1
CONF
}

start_monitor() { # FOLDER
  local folder=$1 address id
  address=$(sed -n 's/^mon_host = //p' "$folder/ceph.conf")
  id=$(sed -n 's/^fsid = //p' "$folder/ceph.conf")
  ceph-authtool --create-keyring "$folder/keyring" --gen-key -n mon. --cap mon 'allow *' \
    && monmaptool --create --addv a "$address" --fsid "$id" --clobber "$folder/monmap" \
    && ceph-mon --mkfs -i a --monmap "$folder/monmap" --keyring "$folder/keyring" \
    && ceph-mon -i a
}

start_target() { # FOLDER NUMBER
  local folder=$1 number=$2 id
  id=$(cat /proc/sys/kernel/random/uuid)
  mkdir -p "$folder/osd$number" \
    && timeout 60 ceph osd new "$id" "$number" \
    && ceph-osd -i "$number" --mkfs --osd-uuid "$id" \
    && timeout 60 ceph osd crush add "osd.$number" 1.0 root=default host=h0 \
    && ceph-osd -i "$number"
}

start_file_system() {
  ceph-mgr -i x \
    && timeout 60 ceph osd pool create cephfs_meta 8 \
    && timeout 60 ceph osd pool create cephfs_data 32 \
    && timeout 60 ceph fs new cephfs cephfs_meta cephfs_data --force \
    && ceph-mds -i a
}

wait_until_ready() {
  local status _
  for _ in $(seq 120); do
    status=$(timeout 20 ceph -s 2> /dev/null)
    grep -q '1/1 daemons up' <<< "$status" \
      && grep -qE 'pgs: +[0-9]+ active.clean$' <<< "$status" && return 0
    sleep 1
  done
  return 1
}

client() { # FOLDER MOUNT
  local folder=$1 mount=$2 name _
  name=client.$(echo "$mount" | md5sum | cut -c1-8)
  mountpoint -q "$mount" && fail "$mount is a mount point already"
  mkdir -p "$mount" || fail "cannot make $mount"
  for _ in 1 2 3; do
    timeout 60 ceph-fuse -n client.admin --pid-file="$folder/run/$name.pid" \
      --log-file="$folder/log/$name.log" "$mount" > "$folder/log/$name.out" 2>&1
    mountpoint -q "$mount" && { say "mounted at $mount"; return 0; }
    sleep 2
  done
  fail "cannot mount at $mount (see $folder/log/$name.out)"
}

# Whether this script has started the process: it was given the folder's configuration.
is_ours() { # FOLDER PID
  { tr '\0' '\n' < "/proc/$2/environ"; } 2> /dev/null | grep -qxF "CEPH_CONF=$1/ceph.conf"
}

down() { # FOLDER
  local folder=$1 mount pid file signal try left pids=()
  findmnt -n -l -t fuse.ceph-fuse -o TARGET | while read -r mount; do
    for file in "$folder"/run/client.*.pid; do
      [ -e "$file" ] || continue
      { tr '\0' '\n' < "/proc/$(cat "$file")/cmdline"; } 2> /dev/null | grep -qxF "$mount" \
        && { umount "$mount" || umount -l "$mount"; }
    done
  done
  sleep 1
  for file in "$folder"/run/*.pid; do
    [ -e "$file" ] && is_ours "$folder" "$(cat "$file")" && pids+=("$(cat "$file")")
  done
  for signal in TERM KILL; do
    for try in $(seq 30); do
      left=0
      for pid in ${pids[@]+"${pids[@]}"}; do
        is_ours "$folder" "$pid" && left=1 && [ "$try" = 1 ] && kill -$signal "$pid"
      done
      [ $left = 0 ] && break 2
      sleep 0.5
    done
  done
  findmnt -n -l -t fuse.ceph-fuse -o TARGET | grep -q "^$folder/" \
    && fail "still mounted below $folder: nothing is removed"
  rmdir "$folder/pfs" 2> /dev/null
  rm -rf "$folder"/{run,log,mon.a,mds.a,mgr.x,keyring,monmap,ceph.conf} "$folder"/osd[0-9]*
  rmdir "$folder"/mnt* "$folder" 2> /dev/null
  say "$folder: stopped and removed"
}

up() { # FOLDER TARGETS TARGET_BYTES
  local folder=$1 targets=$2 bytes=$3 number log=$1/log/up
  [ "$(id -u)" = 0 ] || fail "needs root (fuse mount)"
  [ -c /dev/fuse ] || fail "there is no /dev/fuse"
  [ -e "$folder/ceph.conf" ] && fail "$folder/ceph.conf exists: already up, or not taken down"
  case $targets$bytes in *[!0-9]*) fail "TARGETS and TARGET_BYTES must be numbers" ;; esac
  for number in ceph ceph-mon ceph-osd ceph-mds ceph-mgr ceph-fuse; do
    command -v "$number" > /dev/null || fail "$number is not installed (see the top of this script)"
  done
  mkdir -p "$folder"/{mon.a,mds.a,mgr.x,run,log} || fail "cannot make $folder"
  write_config "$folder" "${CEPHFS_PORT:-40010}" "$bytes"
  start_monitor "$folder" >> "$log" 2>&1 || fail "the monitor does not start (see $log)"
  for number in $(seq 0 $((targets - 1))); do
    start_target "$folder" "$number" >> "$log" 2>&1 || fail "target $number does not start (see $log)"
  done
  start_file_system >> "$log" 2>&1 || fail "the file system does not start (see $log)"
  wait_until_ready || fail "not ready within minutes (CEPH_CONF=$folder/ceph.conf ceph -s)"
  client "$folder" "$folder/mnt"
  say "$folder: $targets targets"
}

rank() { # FOLDER COMMAND...
  local folder=$1 mount=$1/mnt number size
  shift
  [ $# -ge 1 ] || fail "rank: COMMAND is missing"
  number=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}
  size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-}}
  [ -n "$number" ] && [ -n "$size" ] || fail "rank: not started by mpirun"
  [ "$number" -ge $((size / 2)) ] && mount=$folder/mnt1
  mountpoint -q "$mount" || fail "$mount is not mounted (cephfs.sh client $folder $mount)"
  mkdir -p "$folder/pfs"
  # shellcheck disable=SC2016
  exec unshare -m bash -c 'mount --make-rprivate / && mount --bind "$0" "$1" && shift && exec "$@"' \
    "$mount" "$folder/pfs" "$@"
}

[ $# -ge 2 ] || fail "usage: $0 up FOLDER [TARGETS] [TARGET_BYTES] | client FOLDER MOUNT | rank FOLDER COMMAND... | down FOLDER"
action=$1
folder=$(realpath -m "$2")
export CEPH_CONF=$folder/ceph.conf
[ "$action" = up ] || [ -e "$CEPH_CONF" ] || fail "$CEPH_CONF does not exist: nothing is up there"
case $action in
  up) up "$folder" "${3:-4}" "${4:-4294967296}" ;;
  client) client "$folder" "$(realpath -m "${3:?MOUNT is missing}")" ;;
  rank) shift 2 && rank "$folder" "$@" ;;
  down) down "$folder" ;;
  *) fail "unknown action $action" ;;
esac
