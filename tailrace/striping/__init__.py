# SPDX-License-Identifier: BSD-3-Clause
"""Stripes of files: how a file system spreads a file over its storage targets.

`advice` says what suits a number of files, writers and bytes; `lustre` and `ceph` read and set
layouts; `file_system` finds out which of them a path is on.
"""
