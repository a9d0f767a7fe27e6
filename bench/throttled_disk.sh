#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A slow disk, to see what output costs when the disk is the bottleneck.
#   throttled_disk.sh up FOLDER BYTES_PER_S [SIZE]    mounts it at FOLDER (made if missing)
#   throttled_disk.sh down FOLDER                     removes all of it again
#   throttled_disk.sh hold FOLDER BYTES_PER_S [SIZE]  mounts it, says so, and removes it at the end of
#                                                     standard input: also where the caller is killed
# An ext4 without journal on a loop device over the image FOLDER.img, mounted `sync`, its writes limited
# by the root control group (blkio of control groups version 1). Needs root; changes nothing else. The image is
# written past the page cache, so that the slow disk takes hardly any processor time from the program.
set -u

say() { echo "throttled_disk: $*" >&2; }
fail() { say "$*"; exit 1; }

limit() { # DEVICE_NUMBER BYTES_PER_S (0 = none)
  if [ -w /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device ]; then
    echo "$1 $2" > /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
  else
    return 1
  fi
}

down() {
  local folder=$1 image=$2 device
  device=$(findmnt -n -o SOURCE --mountpoint "$folder") || device=""
  [ -n "$device" ] && { umount "$folder" || fail "cannot unmount $folder"; }
  for device in $device $(losetup -n -O NAME -j "$image" 2> /dev/null); do
    [ -b "$device" ] || continue
    limit "$(lsblk -no MAJ:MIN "$device" | tr -d ' ')" 0 2> /dev/null
    losetup -d "$device" 2> /dev/null
  done
  rm -f "$image"
}

up() {
  local folder=$1 speed=$2 size=$3 image=$4 device number
  [ "$(id -u)" = 0 ] || fail "needs root (loop device, mount, blkio)"
  case $speed in *[!0-9]* | "") fail "BYTES_PER_S must be a number, not '$speed'" ;; esac
  mountpoint -q "$folder" && fail "$folder is a mount point already"
  mkdir -p "$folder" && truncate -s "$size" "$image" || fail "cannot make $image"
  device=$(losetup -f --show --direct-io=on "$image") || { rm -f "$image"; fail "no loop device is free"; }
  number=$(lsblk -no MAJ:MIN "$device" | tr -d ' ')
  mkfs.ext4 -q -O ^has_journal "$device" && mount -o sync "$device" "$folder" \
    || { losetup -d "$device"; rm -f "$image"; fail "cannot make or mount the file system"; }
  limit "$number" "$speed" \
    || { down "$folder" "$image"; fail "no writable blkio controller in /sys/fs/cgroup"; }
  say "$folder: $device ($number), $speed bytes/s"
}

[ $# -ge 2 ] || fail "usage: $0 up FOLDER BYTES_PER_S [SIZE] | down FOLDER | hold as up"
action=$1
folder=$(realpath -m "$2")
image=$folder.img
case $action in
  up) up "$folder" "${3:-}" "${4:-4G}" "$image" ;;
  down) down "$folder" "$image" ;;
  hold)
    up "$folder" "${3:-}" "${4:-4G}" "$image"
    echo up
    exec > /dev/null 2>&1
    cat
    until "$0" down "$folder" 2> /dev/null; do sleep 0.5; done # busy while ranks write
    ;;
  *) fail "unknown action $action" ;;
esac
