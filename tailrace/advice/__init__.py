# SPDX-License-Identifier: BSD-3-Clause
"""What a launch really is, what is wrong with it, and which settings make a program faster."""
