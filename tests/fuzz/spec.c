/* SPDX-License-Identifier: MIT */
/* libFuzzer target: any text as a spec of `loupe probe` is parsed, or refused at a place in it. */
#include "inject/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SEEDS

static const char *const seeds[] = {
    "counter calls; entry foo { addCounter(calls, 1) }",
    "counter bytes; entry lib*!write { addCounter(bytes, arg3 * arg4); }",
    "counter in; timer wait; entry foo { addCounter(in, 1) } exit foo { subtractCounter(in, 1) }\n"
    "entry MPI_Recv { if (in > 0) startTimer(wait, wall) }\n"
    "exit MPI_Recv { if (in > 0 and ret == 0) { stopTimer(wait) } }",
    "counter a, b; timer t; // names\n/* x */ loop a.c:17 iteration { setCounter(a, -0x1F % b) } # "
    "y\n"
    "call \"f(int)\" in g { setTimer(t, 0.5); if (!(a < 1 || arg1 != 2) && b) startTimer(t, "
    "process) }",
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/spec%zu", argc > 1 ? argv[1] : ".", i);
        FILE *file = fopen(path, "w");
        if (!file)
            return 1;
        fputs(seeds[i], file);
        if (fclose(file))
            return 1;
    }
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct spec_error error;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    struct spec *spec = spec_parse(text, &error);
    if (spec && !spec->request_count)
        abort(); /* a spec does something */
    if (!spec && (!error.line || !error.column || !*error.message))
        abort(); /* an error says where and what */
    spec_free(spec);
    free(text);
    return 0;
}
#endif
