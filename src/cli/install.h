/* SPDX-License-Identifier: MIT */
/* Where the parts of Loupe are, installed or in the build directory. */
#ifndef LOUPE_CLI_INSTALL_H
#define LOUPE_CLI_INSTALL_H

#define INSTALL_PRELOAD      "libloupe.so"
#define INSTALL_SHIM_OPENMPI "libloupe-openmpi.so"
#define INSTALL_SHIM_MPICH   "libloupe-mpich.so"
#define INSTALL_INSTRUMENT   "loupe-instrument"
#define INSTALL_PROBE_HEADER "loupe-probe.h"
#define INSTALL_ENV_LIBDIR   "LOUPE_LIBDIR"
/* Another loupe-instrument, for tests. */
#define INSTALL_ENV_INSTRUMENT "LOUPE_INSTRUMENT"

/* Absolute path of this executable, owned by the caller; NULL if /proc is not there. */
char *install_self(void);
/* Absolute path of a library of ours, owned by the caller; NULL: not found. */
char *install_library(const char *name);
/* The pre-processor of loupe cc, and a header of ours; likewise. */
char *install_instrument(void);
char *install_header(const char *name);

#endif
