/* SPDX-License-Identifier: MIT */
/* What a file takes from others and gives to them: of this very program, which knows. */
#include "binary/dynamic.h"
#include "lib/tap.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {
    const char *name;
    uint64_t address;
    int count;
};

static void visit(void *data, const char *name, uint64_t address)
{
    struct found *f = data;
    if (strcmp(name, f->name) != 0)
        return;
    f->address = address;
    f->count++;
}

static int program_bias(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data = info->dlpi_addr;
    return 1; /* the first is the program */
}

static const char *library_path;

static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    library_path = info->dlpi_name;
    *(uint64_t *)data = info->dlpi_addr;
    return 1;
}

static void own_slot(void)
{
    struct found f = {.name = "getppid"};
    uint64_t bias = 0, held = 0;
    pid_t (*volatile function)(void) = getppid;
    ok(getppid() == function(), "the program calls a function of the C library");
    dl_iterate_phdr(program_bias, &bias);
    ok(dynamic_imports("/proc/self/exe", visit, &f) == 0 && f.count > 0, "its slot is found");
    memcpy(&held, (void *)(bias + f.address), sizeof held);
    ok(f.count > 0 && held != 0, "where it is said to be an address stands");
}

static void libc_function(void)
{
    struct found f = {.name = "getppid"};
    uint64_t bias = 0;
    dl_iterate_phdr(find_libc, &bias);
    ok(library_path && dynamic_exports(library_path, visit, &f) == 0 && f.count == 1,
       "the library that defines it is found");
    pid_t (*there)(void) = NULL;
    uint64_t address = bias + f.address;
    memcpy(&there, &address, sizeof there);
    ok(f.count == 1 && there() == getppid(), "it is where the file says");
    f = (struct found){.name = "getppid"};
    ok(dynamic_imports(library_path, visit, &f) == 0 && f.count == 0,
       "what a file defines for itself it need not take");
}

static void visit_choice(void *data, uint64_t resolver, uint64_t slot)
{
    struct found *f = data; /* its address: where the library is loaded */
    uint64_t held = 0;
    memcpy(&held, (void *)(f->address + slot), sizeof held);
    f->count += held && held != f->address + resolver;
}

static void libc_choices(void)
{
    struct found f = {0};
    dl_iterate_phdr(find_libc, &f.address);
    ok(library_path && dynamic_choices(library_path, visit_choice, &f) == 0 && f.count > 0,
       "what was chosen when it was loaded stands in its slots");
}

static void no_such_files(void)
{
    struct found f = {.name = "getppid"};
    char path[] = "/tmp/dynamic-XXXXXX";
    int fd = mkstemp(path);
    ok(dynamic_exports("/nowhere/at/all", visit, &f) == -ENOENT, "no file");
    ok(fd >= 0 && dynamic_imports(path, visit, &f) < 0, "an empty file");
    ok(write(fd, "\177ELF\2\1\1", 7) == 7 && dynamic_exports(path, visit, &f) <= 0 && !f.count,
       "a file that is cut short");
    close(fd);
    unlink(path);
}

int main(void)
{
    own_slot();
    libc_function();
    libc_choices();
    no_such_files();
    return tap_done();
}
