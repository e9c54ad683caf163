/* SPDX-License-Identifier: MIT */
/* libFuzzer target: any bytes as an ELF file end with an analysis and a program graph, or an error.
 */
#include "binary/code.h"
#include "binary/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef SEEDS

int main(int argc, char **argv)
{
    char buffer[65536], path[4096];
    size_t got;
    snprintf(path, sizeof path, "%s/self", argc > 1 ? argv[1] : ".");
    FILE *from = fopen("/proc/self/exe", "r"), *to = fopen(path, "w");
    if (!from || !to)
        return 1;
    while ((got = fread(buffer, 1, sizeof buffer, from)) > 0)
        fwrite(buffer, 1, got, to);
    fclose(from);
    return fclose(to) != 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct code *code;
    unsetenv("HOME"); /* no cache */
    unsetenv("XDG_CACHE_HOME");
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    /* libdw reads past the end of some damaged line tables, which is not ours to find */
    bool lines = memmem(data, size, ".debug_", 7) != NULL;
    if (!code_open(path, false, &code)) {
        for (size_t i = 0; i < code->function_count; i++)
            code_at(code, code->functions[i].start);
        code_close(code);
    }
    struct machine_facts facts;
    struct tables tables;
    if (!lines) {
        machine_read(&tables, path, size & 1, &facts);
        tables_free(&tables);
    }
    close(fd);
    return 0;
}
#endif
