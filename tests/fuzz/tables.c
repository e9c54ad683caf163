/* SPDX-License-Identifier: MIT */
/* libFuzzer target: any bytes as the static tables of a binary end with a graph or an error, and
 * what is accepted can be shown. */
#include "view/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SEEDS

static const char unit[] = "d\t/src\ta.c\nf\ta.c\nf\tinc/a.h\n"
                           "p\t-\t0\t-\t0\t1\t9\t0\tmain\tmain\n"
                           "l\t0\t1\t2\t0\t2\t5\t0\tfor\t-\n"
                           "c\t1\t3\t-\t0\t3\t3\t0\twork\twork@0000000000000001\n"
                           "m\t1\t-\t-\t0\t4\t4\t8\tMPI_Send\tMPI_Send\n"
                           "c\t0\t4\t-\t0\t6\t7\t1\top->\\tapply\\\\\t-\n"
                           "p\t-\t5\t-\t1\t1\t3\t2\twork\twork@0000000000000001\n";

int main(int argc, char **argv)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/unit", argc > 1 ? argv[1] : ".");
    FILE *file = fopen(path, "w");
    if (!file)
        return 1;
    for (int i = 1; i < 3; i++)
        fprintf(file, "loupe-unit 1 %016d 6 %zu\n%s%c", i, sizeof unit - 1, unit, 0);
    return fclose(file) != 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of a block is put right for it, or few changes would be looked at. */
static int decode(const char *text, size_t length, struct unit *unit, size_t *used)
{
    const char *body = memchr(text, '\n', length);
    if (!body || text[0] == '!')
        return unit_decode(text, length, unit, used);
    struct strbuf mended = {0};
    size_t rest = length - (size_t)(body + 1 - text);
    strbuf_printf(&mended, "loupe-unit 1 7 8 %zu\n", rest);
    strbuf_add(&mended, body + 1, rest);
    int error = unit_decode(mended.text, mended.len, unit, used);
    strbuf_free(&mended);
    *used = length;
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program program = {0};
    struct strbuf out = {0};
    const char *text = (const char *)data;
    for (uint32_t module = 0; size; module++) {
        struct unit unit;
        size_t used;
        if (decode(text, size, &unit, &used))
            break;
        program_add(&program, module, &unit);
        unit_free(&unit);
        text += used;
        size -= used;
    }
    program_finish(&program);
    view_program_text(&program, NULL, "source", &out);
    view_program_json(&program, "*a*", "any", "source", &out);
    program_free(&program);
    strbuf_free(&out);
    return 0;
}
#endif
