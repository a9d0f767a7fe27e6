# SPDX-License-Identifier: BSD-3-Clause
"""What output will cost a run, and how many servers hide it: plain arithmetic, no measuring.

The formulae and what they assume are in docs/servers.md.
"""
