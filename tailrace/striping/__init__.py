# SPDX-License-Identifier: BSD-3-Clause
"""Stripes of files: how a file system spreads a file over its storage targets.

`advice` says what suits a number of files, writers and bytes. `file_system` reads and sets layouts:
through the library's ``tailrace-stripe``, on Lustre through `lustre`, which runs its tool ``lfs``.
"""
