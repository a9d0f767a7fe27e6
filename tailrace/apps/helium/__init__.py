# SPDX-License-Identifier: BSD-3-Clause
"""The helium application: the demo, cross-sections, photoelectrons, the report."""
