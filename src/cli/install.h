/* SPDX-License-Identifier: MIT */
/* Where the parts of Loupe are, installed or in the build directory. */
#ifndef LOUPE_CLI_INSTALL_H
#define LOUPE_CLI_INSTALL_H

#define INSTALL_PRELOAD      "libloupe.so"
#define INSTALL_SHIM_OPENMPI "libloupe-openmpi.so"
#define INSTALL_SHIM_MPICH   "libloupe-mpich.so"
#define INSTALL_ENV_LIBDIR   "LOUPE_LIBDIR"

/* Absolute path of this executable, owned by the caller; NULL if /proc is not there. */
char *install_self(void);
/* Absolute path of a library of ours, owned by the caller; NULL: not found. */
char *install_library(const char *name);

#endif
