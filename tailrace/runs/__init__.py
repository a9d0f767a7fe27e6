# SPDX-License-Identifier: BSD-3-Clause
"""Runs of applications: the job, the run folder, the rounds of a demo."""
