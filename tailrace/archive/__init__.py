# SPDX-License-Identifier: BSD-3-Clause
"""The archive: files are packed into tar bundles, which lie on a second tier (docs/archive.md)."""
