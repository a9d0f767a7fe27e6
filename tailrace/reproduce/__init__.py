# SPDX-License-Identifier: BSD-3-Clause
"""Published figures of earlier studies, and what Tailrace's models give for them.

A file per study has a function for each figure; `figures.py` lists them. Parameters are those that
were published of the machines; the rest is assumed and said so. Nothing is fitted.
"""
