/* SPDX-License-Identifier: MIT */
/* Numbers of base/json.c, which prints them itself, and the size of what view_json prints. */
#include "fixture.h"
#include "tap.h"

#include "base/json.h"
#include "view/report.h"
#include "view/structure.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void number(double value, const char *wanted)
{
    struct strbuf out = {0};
    struct json j = {.out = &out};
    json_double(&j, NULL, value);
    ok(!strcmp(out.text, wanted), "%.17g is printed as %s (%s)", value, wanted, out.text);
    strbuf_free(&out);
}

static void test_numbers(void)
{
    number(0, "0");
    number(0.1, "0.1");
    number(1e-7, "1e-7");
    number(1.5e-7, "1.5e-7");
    number(12.3, "12.3");
    number(10, "10");
    number(0.0001, "0.0001");
    number(0.00001, "1e-5");
    number(0.9999999996, "1");
    number(0.999999999, "0.999999999");
    number(99999999.6, "99999999.6");
    number(1e300, "1e+300");
    number(-2.5, "-2.5");
    number(INFINITY, "null");
    number(NAN, "null");
}

static void test_all_magnitudes(void)
{
    int good = 1;
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = (double)(state >> 11) * 0x1p-53 * pow(10, (double)(i % 30) - 18);
        struct strbuf out = {0};
        struct json j = {.out = &out};
        json_double(&j, NULL, value);
        double back = strtod(out.text, NULL);
        if (good && fabs(back - value) > 5.001e-9 * fabs(value)) {
            printf("# %.17g became %s\n", value, out.text);
            good = 0;
        }
        strbuf_free(&out);
    }
    ok(good, "every number comes back with nine digits");
}

static void test_integers(void)
{
    struct strbuf out = {0};
    struct json j = {.out = &out};
    json_array_begin(&j, NULL);
    json_int(&j, NULL, INT64_MIN);
    json_int(&j, NULL, -1);
    json_uint(&j, NULL, UINT64_MAX);
    json_uint(&j, NULL, 0);
    json_string(&j, NULL, "a\"b\\c\n\xff\xc3\xa4\x7f");
    json_array_end(&j);
    ok(!strcmp(out.text, "[-9223372036854775808,-1,18446744073709551615,0,"
                         "\"a\\\"b\\\\c\\u000a\\ufffd\xc3\xa4\\u007f\"]"),
       "integers and strings: %s", out.text);
    strbuf_free(&out);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void test_full(void)
{
    struct run *run = fixture_run("more");
    struct strbuf out = {0};
    struct view_options options = {0};
    view_json(run, &options, NULL, &out);
    ok(count_of(out.text, "\"peers\"") == 0, "100 ranks: no peers");
    ok(count_of(out.text, "\"spread\"") == run->graph.count, "yet every node has its spread");
    strbuf_clear(&out);
    options.full = true;
    view_json(run, &options, NULL, &out);
    ok(count_of(out.text, "\"direction\":\"sent\"") == 200 &&
           count_of(out.text, "\"direction\":\"received\"") == 50,
       "with full they are all there");
    strbuf_clear(&out);
    options.at_file = "halo.c";
    options.at_line = 41;
    ok(view_json(run, &options, NULL, &out) == 0 && count_of(out.text, "\"spread\"") == 3,
       "--at leaves the statement and what is above it");
    strbuf_clear(&out);
    options.at_line = 42;
    ok(view_json(run, &options, NULL, &out) < 0, "--at a line that has nothing fails");
    strbuf_free(&out);
    run_free(run);
}

static void value(struct run *run, uint32_t node, uint64_t count, double time)
{
    struct run_value *v = run_add_value(run, node, 0);
    v->count = count;
    v->time = v->max = time;
    v->min = 0.5;
}

/* What `loupe cc` adds: callers, members, estimates, iterations. */
static void test_source(void)
{
    struct run *run = fixture_new("source", 1, 10);
    struct graph *g = &run->graph;
    graph_add(g, &(struct graph_node){.parent = GRAPH_NONE, .name = "source"});
    graph_add(g, &(struct graph_node){.kind = GRAPH_PROCEDURE, .name = "odd+even", .group = 1});
    graph_add(g, &(struct graph_node){.parent = 1,
                                      .kind = GRAPH_PROCEDURE,
                                      .name = "odd",
                                      .file = "a.c",
                                      .line = 3,
                                      .end_line = 9,
                                      .linkage = "odd",
                                      .group = 1});
    graph_add(g, &(struct graph_node){.parent = 2,
                                      .kind = GRAPH_CALL,
                                      .name = "odd",
                                      .file = "a.c",
                                      .line = 4,
                                      .procedure = "odd",
                                      .callee = 1});
    graph_add(g, &(struct graph_node){.kind = GRAPH_CALL, .name = RUN_UNKNOWN_CALLER, .callee = 1});
    graph_add(g, &(struct graph_node){.parent = 2, .kind = GRAPH_LOOP, .name = "for", .line = 5});
    value(run, 1, 7, 4);
    value(run, 2, 70, 4);
    value(run, 3, 6, 3);
    run->values[2].estimated = 2;
    run->values[2].error = 0.25;
    value(run, 4, 1, 1);
    run->values[3].estimated = 1;
    run->values[3].error = NAN;
    value(run, 5, 2, 2);
    run->values[4].iterations = 40;
    run->values[4].self_error = 0.125;
    run_finish(run);
    struct strbuf out = {0};
    view_json(run, &(struct view_options){0}, NULL, &out);
    static const char *const wanted[] = {
        // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "\"callers\":[{\"id\":3,\"name\":\"odd\",\"file\":\"a.c\",\"line\":4,\"count\":6,"
        "\"time_s\":3,\"estimated\":true,\"error_s\":0.25},"
        "{\"id\":4,\"name\":\"unknown caller\",\"file\":null,\"line\":null,\"count\":1,"
        "\"time_s\":1,\"estimated\":true,\"error_s\":null}]",
        "\"members\":[{\"id\":2,\"name\":\"odd\",\"count\":70}]",
        "\"line\":3,\"end_line\":9,\"procedure\":null,\"linkage\":\"odd\",\"group\":1",
        "\"procedure\":\"odd\",\"callee\":1",
        "\"self_error_s\":0.125,\"iterations\":40",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ok(strstr(out.text, wanted[i]) != NULL, "the JSON has %s", wanted[i]);
    strbuf_free(&out);
    run_free(run);
}

/* What goes to a stream in pieces, and what is left of it, are the same text. */
static void test_pieces(void)
{
    struct run *run = fixture_run("more");
    struct view_options options = {.full = true};
    struct strbuf whole = {0}, rest = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    view_json(run, &options, NULL, &whole);
    view_json(run, &options, stream, &rest);
    fflush(stream);
    ok(len > 0 && rest.len < whole.len, "a long report is not kept: %zu bytes of %zu are", rest.len,
       whole.len);
    fwrite(rest.text, 1, rest.len, stream);
    fclose(stream);
    ok(len == whole.len && !memcmp(text, whole.text, len), "its pieces are the whole");
    strbuf_clear(&rest);
    options.at_file = "halo.c";
    options.at_line = 42;
    ok(view_json(run, &options, NULL, &rest) < 0 && !rest.len, "nothing is written if it fails");
    free(text);
    strbuf_free(&whole);
    strbuf_free(&rest);
    run_free(run);
}

int main(void)
{
    test_numbers();
    test_all_magnitudes();
    test_integers();
    test_full();
    test_source();
    test_pieces();
    return tap_done();
}
