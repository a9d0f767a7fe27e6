# SPDX-License-Identifier: BSD-3-Clause
"""What belongs to one application, a folder each: its tools and its pages of the report.

The report of a run loads ``tailrace.apps.NAME.report`` by the application's name
(`tailrace.report.application`), and nothing outside of this folder and the command line imports
from here.
"""
