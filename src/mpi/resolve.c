/* SPDX-License-Identifier: MIT */
/*
 * Which MPI the program uses, and what comes next after our stubs. The preloaded library knows no
 * MPI; it finds out at the first call and loads the shim for that ABI. If it cannot, the stubs
 * jump straight on and the program runs as if we were not there.
 */
#include "mpi/shim_table.h"
#include "mpi/stub.h"
#include "mpi/stub_offsets.h"
#include "record/attach.h"
#include "runtime/process.h"
#include "runtime/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(offsetof(struct runtime_tls, fortran_frame) == TLS_FORTRAN_FRAME, "stubs");
_Static_assert(offsetof(struct runtime_tls, fortran_address) == TLS_FORTRAN_ADDRESS, "stubs");
_Static_assert(offsetof(struct runtime_tls, fortran_call) == TLS_FORTRAN_CALL, "stubs");
_Static_assert(offsetof(struct runtime_tls, via_pmpi) == TLS_VIA_PMPI, "stubs");
_Static_assert(offsetof(struct runtime_tls, ready) == TLS_READY, "stubs");

enum { OBJECTS_MAX = 512, PATIENCE = 1000 /* tenths of a millisecond */ };

static void *mpi_library; /* handle; NULL: not found yet */
static const struct shim_table *shim;
static bool looked; /* for a shim */
static uint32_t lock;

static bool is_ours(const void *address)
{
    Dl_info it, us;
    return dladdr(address, &it) && dladdr((void *)is_ours, &us) && it.dli_fbase == us.dli_fbase;
}

/* Objects that were loaded with RTLD_LOCAL (by Python, say) are not behind RTLD_NEXT. */
struct objects {
    const char *name[OBJECTS_MAX];
    int count;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct objects *o = data;
    (void)size;
    if (info->dlpi_name && *info->dlpi_name && o->count < OBJECTS_MAX)
        o->name[o->count++] = info->dlpi_name;
    return 0;
}

static void *library_with(const char *symbol)
{
    static struct objects objects; /* under the lock; too large for a small stack */
    objects.count = 0;
    dl_iterate_phdr(add_object, &objects);
    for (int i = 0; i < objects.count; i++) {
        void *handle = dlopen(objects.name[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        const void *at = dlsym(handle, symbol);
        Dl_info where;
        /* The symbol may be found in what the object depends on: take the one that has it. */
        if (at && !is_ours(at) && dladdr(at, &where) && !strcmp(where.dli_fname, objects.name[i]))
            return handle;
        dlclose(handle);
    }
    return NULL;
}

/* What the program reaches by this name. Loaded into a program that runs, we stand before nobody
 * and are found behind all others, if at all. */
static void *global_definition(const char *name)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    return at && !is_ours(at) ? at : NULL;
}

static void *next_of(const char *name)
{
    return loupe_process.attached ? global_definition(name) : dlsym(RTLD_NEXT, name);
}

static void find_library(void)
{
    Dl_info where;
    const void *next = next_of("PMPI_Init");
    if (next && dladdr(next, &where))
        mpi_library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!mpi_library)
        mpi_library = library_with("PMPI_Init");
}

static void *mpi_symbol(const char *name)
{
    return mpi_library ? dlsym(mpi_library, name) : NULL;
}

/* Data of the library: a program that is not position-independent may hold the one copy. */
static void *mpi_data(const char *name)
{
    void *at = dlsym(RTLD_DEFAULT, name);
    return at ? at : mpi_symbol(name);
}

/* The definition that the program would have reached without us. */
static void *next_definition(const char *name)
{
    void *at = next_of(name);
    return at ? at : mpi_symbol(name);
}

static bool is_standard_abi(void)
{
    int major = 0, minor = 0;
    int (*version)(int *, int *) = NULL;
    *(void **)&version = mpi_symbol("MPI_Abi_get_version");
    return version && !version(&major, &minor) && major >= 1;
}

static bool keeps_mpich_abi(void)
{
    static const char *const families[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "CRAY"};
    static char text[8192]; /* what the longest of them asks for */
    int len = 0, (*version)(char *, int *) = NULL;
    *(void **)&version = mpi_symbol("PMPI_Get_library_version");
    if (!version || version(text, &len))
        return false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(text, families[i]))
            return true;
    return false;
}

static const char *shim_name(void)
{
    if (is_standard_abi())
        return NULL;
    if (mpi_symbol("ompi_mpi_comm_world"))
        return "libloupe-openmpi.so";
    return keeps_mpich_abi() ? "libloupe-mpich.so" : NULL;
}

static const struct shim_table *load_shim(const char *name)
{
    char path[4096];
    Dl_info us;
    if (!dladdr((void *)load_shim, &us))
        return NULL;
    const char *slash = strrchr(us.dli_fname, '/');
    int dir = slash ? (int)(slash - us.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*s/%s", dir, us.dli_fname, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct shim_table *table = handle ? dlsym(handle, SHIM_SYMBOL) : NULL;
    if (!table || table->version != SHIM_VERSION || table->calls != stub_calls) {
        process_say("this MPI's part of Loupe cannot be loaded; the program goes on unmonitored: ",
                    table ? path : dlerror());
        return NULL;
    }
    return table;
}

static bool prepare(const struct shim_table *table)
{
    char name[128] = "P";
    for (uint32_t i = 0; i < stub_calls; i++) {
        if (!table->wrappers[i])
            continue;
        snprintf(name + 1, sizeof name - 1, "%s", stub_symbols[i]);
        void *next = mpi_symbol(name);
        table->next[i] = table->next[stub_calls + i] = next;
    }
    return !table->open(mpi_data);
}

static void find_shim(void)
{
    looked = true;
    if (!process_open())
        return;
    const char *name = shim_name();
    if (!name) {
        record_trouble(loupe_process.writer.header, RECORD_TROUBLE_UNKNOWN_MPI);
        process_say("this MPI is neither Open MPI nor of MPICH's ABI; "
                    "the program goes on without its calls being seen",
                    NULL);
        return;
    }
    shim = load_shim(name);
    if (shim && !prepare(shim))
        shim = NULL;
}

static _Noreturn void missing(const char *name)
{
    /* As the dynamic linker ends a program that calls what no library has. */
    process_say("the MPI library has no function ", name);
    _exit(127);
}

static void *call_target(uint32_t call, bool pmpi)
{
    char name[128] = "P";
    snprintf(name + 1, sizeof name - 1, "%s", stub_symbols[call]);
    if (!mpi_library)
        find_library();
    if (mpi_library && !looked)
        find_shim();
    void *as_mpi = next_definition(name + 1), *as_pmpi = next_definition(name);
    if (!as_pmpi)
        as_pmpi = as_mpi;
    if (shim && shim->wrappers[call] && as_pmpi) {
        shim->next[call] = as_mpi ? as_mpi : as_pmpi;
        shim->next[stub_calls + call] = as_pmpi;
        return shim->wrappers[call];
    }
    void *target = pmpi || !as_mpi ? as_pmpi : as_mpi;
    if (!target)
        missing(name + !pmpi);
    return target;
}

static void *fortran_target(uint32_t index)
{
    const char *name = stub_fortran_symbols[index];
    void *target = next_of(name);
    void *library = target ? NULL : library_with(name);
    if (library)
        target = dlsym(library, name);
    if (!target)
        missing(name);
    return target;
}

/* Whoever holds the lock may wait for the dynamic linker, and that for us: a library that calls MPI
 * while it is being loaded. Then this one call goes on unseen. */
static void *unseen_target(uint64_t slot)
{
    char name[128] = "P";
    if (slot >= 2 * (uint64_t)stub_calls)
        return next_of(stub_fortran_symbols[slot - 2 * stub_calls]);
    snprintf(name + 1, sizeof name - 1, "%s", stub_symbols[slot % stub_calls]);
    void *target = next_definition(slot < stub_calls ? name + 1 : name);
    return target ? target : next_definition(name);
}

static void *lock_or_target(uint64_t slot)
{
    for (int tries = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); tries++) {
        void *target = tries < PATIENCE ? NULL : unseen_target(slot);
        if (target)
            return target;
        usleep(100);
    }
    return NULL;
}

__attribute__((visibility("hidden"))) void *stub_target(uint64_t slot)
{
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    void *target = lock_or_target(slot);
    if (target) {
        pthread_setcancelstate(cancel, NULL);
        errno = saved;
        return target;
    }
    if (slot < 2 * (uint64_t)stub_calls)
        target = call_target((uint32_t)slot % stub_calls, slot >= stub_calls);
    else
        target = fortran_target((uint32_t)slot - 2 * stub_calls);
    slow_unlock(&lock);
    __atomic_store_n(&loupe_slots[slot], target, __ATOMIC_RELEASE);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return target;
}

/* ---- a program that runs already ---- */

EXPORT struct attach_block *loupe_runtime_attached;

static int failed(struct attach_block *b, const char *text, const char *more)
{
    snprintf(b->error, sizeof b->error, "%.100s%.150s", text, more ? more : "");
    return ATTACH_FAILED;
}

static bool says(const char *function)
{
    int flag = 0, (*ask)(int *) = NULL;
    *(void **)&ask = mpi_symbol(function);
    return ask && !ask(&flag) && flag;
}

static int attach(struct attach_block *b)
{
    if (loupe_process.writer.header && !loupe_process.attached)
        return failed(b, "it is monitored already", NULL);
    loupe_process.attached = b; /* or we would look for MPI in the wrong place */
    if (!mpi_library)
        find_library();
    if (!mpi_library)
        return failed(b, "its MPI library cannot be found", NULL);
    if (!says("PMPI_Initialized"))
        return ATTACH_WAITING;
    if (says("PMPI_Finalized"))
        return failed(b, "it has called MPI_Finalize", NULL);
    if (!process_attach(b))
        return failed(b, "there is no room for statistics in ", b->job_dir);
    if (!shim)
        find_shim();
    if (!shim)
        return failed(b,
                      "its MPI is neither Open MPI nor of MPICH's ABI, or the part of loupe for "
                      "it is not installed",
                      NULL);
    shim->attach();
    b->header = (uintptr_t)loupe_process.writer.header;
    loupe_runtime_attached = b;
    return ATTACH_LOADED;
}

/* Called by the loader, in a thread of the program that is about to call MPI. */
EXPORT int loupe_runtime_attach(struct attach_block *b)
{
    int saved = errno, cancel;
    if (b->magic != ATTACH_MAGIC || b->version != ATTACH_VERSION)
        return ATTACH_FAILED;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    slow_lock(&lock);
    int state = ATTACH_LOADED;
    if (b == loupe_runtime_attached) /* once more, with procedures that are to have probes */
        process_attach_units(b->units);
    else
        state = attach(b);
    slow_unlock(&lock);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return state;
}
