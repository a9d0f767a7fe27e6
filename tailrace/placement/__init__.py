# SPDX-License-Identifier: BSD-3-Clause
"""Which rank runs on which node: orders, what each costs, and the files of launchers."""
