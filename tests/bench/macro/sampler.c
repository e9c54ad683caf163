/* SPDX-License-Identifier: MIT */
/* Preloaded: a statistical profiler as prof(1) was one. SIGPROF every millisecond of CPU time; at
 * the end the addresses that were seen, less where the program is loaded, go to $SAMPLES. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

enum { MOST = 1 << 20 };

static uint64_t addresses[MOST];
static volatile sig_atomic_t count;

static void sample(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    (void)number, (void)info;
    if (count < MOST)
        addresses[count++] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
}

static int first(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    return 1; /* the program itself comes first */
}

__attribute__((destructor)) static void end(void)
{
    struct itimerval never = {0};
    const char *path = getenv("SAMPLES");
    uint64_t base = 0;
    setitimer(ITIMER_PROF, &never, NULL);
    FILE *file = path ? fopen(path, "w") : NULL;
    dl_iterate_phdr(first, &base);
    for (int i = 0; file && i < count; i++)
        fprintf(file, "%lx\n", (unsigned long)(addresses[i] - base));
    if (file)
        fclose(file);
}
