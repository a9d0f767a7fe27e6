# SPDX-License-Identifier: BSD-3-Clause
"""The turbulence application: the flow of a run, its resolution, the published reference."""
