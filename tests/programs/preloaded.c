/* SPDX-License-Identifier: MIT */
/* A library that the user preloads; being mapped is all it does. */
int preloaded_library_is_here = 1;
