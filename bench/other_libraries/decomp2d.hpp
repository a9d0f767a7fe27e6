// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The calls of decomp2d.f90, which says what they do. Axes are x, y, z.

extern "C" {
void decomp2d_start(int n, int rows, int columns, int* x_start, int* x_extents, int* y_start,
                    int* y_extents);
void decomp2d_start_transforms(int* spectrum_items);
void decomp2d_transform_pair(double* field, void* spectrum);
void decomp2d_x_to_y(const void* source, void* target);
}
