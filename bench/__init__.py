# SPDX-License-Identifier: BSD-3-Clause
"""Studies and drivers of other libraries, for `tailrace bench` in a clone of the repository."""
