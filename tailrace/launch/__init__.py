# SPDX-License-Identifier: BSD-3-Clause
"""How programs are started and watched: launchers, batch systems, processes, signals."""
