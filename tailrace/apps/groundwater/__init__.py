# SPDX-License-Identifier: BSD-3-Clause
"""The groundwater application: files of aquifers, files in PFLOTRAN's layout, the report."""
