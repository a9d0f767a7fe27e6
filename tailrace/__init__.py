# SPDX-License-Identifier: BSD-3-Clause
"""Tailrace keeps parallel simulations computing while their data moves."""

__version__ = "0.1.0"
