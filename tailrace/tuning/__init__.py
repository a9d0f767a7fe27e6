# SPDX-License-Identifier: BSD-3-Clause
"""The tuner's memory of winners: reading it, and handing it to MPI libraries."""
