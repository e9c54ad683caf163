/* SPDX-License-Identifier: MIT */
/*
 * Included before everything that goes into the target: the program may run in a container whose
 * libc is older than ours, and a library that asks for a newer symbol version keeps it from
 * starting. Functions that moved between libraries of glibc are asked for by their oldest version;
 * stat and fstat, which only have a new one, go to the kernel.
 */
#ifndef LOUPE_RECORD_OLD_LIBC_H
#define LOUPE_RECORD_OLD_LIBC_H

#if !defined(__ASSEMBLER__)
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#define OLDEST(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
OLDEST(dladdr);
OLDEST(dlerror);
OLDEST(dlopen);
OLDEST(dlsym);
OLDEST(dlvsym);
OLDEST(pthread_key_create);
OLDEST(pthread_setspecific);

/* The kernel's struct stat is the C library's on this architecture. */
#define fstat(fd, st)  ((int)syscall(SYS_fstat, fd, st))
#define stat(path, st) ((int)syscall(SYS_stat, path, st))
#endif

#endif /* not for the stubs */

#endif
