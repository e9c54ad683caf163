/* SPDX-License-Identifier: MIT */
/* Boards of others are input: short, foreign or hostile ones give nothing, and no crash. */
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void path_of(char path[128], int rank)
{
    snprintf(path, 128, "%s/%.16s.board", test_dir, common->tokens[rank].name);
}

static void idle(void)
{
    reach(1);
    await(2);
}

/* ---- what is shared ---- */

static void write_areas(void)
{
    char *a = board_area(BOARD_MEET, 3, 5000), *again = board_area(BOARD_MEET, 3, 5000);
    char *b = board_area(BOARD_MEET, 4, 100);
    common->result[0] = a && a == again && b && b != a && !board_area(BOARD_MEET, 3, 9000);
    strcpy(a + 4990, "far");
    reach(1);
    await(2);
    strcpy(b, "near");
    reach(3);
}

static void read_areas(void)
{
    uint32_t seen = 0;
    await(1);
    const struct board *peer = board_of(1);
    const char *a = board_look(peer, BOARD_MEET, 3, 5000, NULL);
    const char *b = board_look(peer, BOARD_MEET, 4, 100, &seen);
    common->result[1] = a && !strcmp(a + 4990, "far");
    common->result[2] = !board_look(peer, BOARD_MEET, 3, 6000, NULL) &&
                        !board_look(peer, BOARD_RING, 3, 100, NULL) &&
                        !board_look(peer, BOARD_MEET, 5, 100, &seen) && !board_of(2) &&
                        !board_of(-1);
    reach(2);
    await(3);
    common->result[3] = b && !strcmp(b, "near");
    common->result[4] = board_nonce(0) && board_nonce(0) != board_nonce(1) && !board_nonce(2);
    int fd = open("/dev/null", O_RDONLY);
    common->result[5] = (uint64_t)fd;
}

/* ---- hostile ones ---- */

static struct board_head *damage(int rank)
{
    char path[128];
    path_of(path, rank);
    int fd = open(path, O_RDWR);
    struct board_head *head = mmap(NULL, BOARD_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return head;
}

static void see_lies(void)
{
    await(1);
    struct board_head *head = damage(1);
    const struct board *peer = board_of(1);
    head->areas = UINT32_MAX;
    for (int i = 0; i < BOARD_AREAS; i++) {
        head->area[i] =
            (struct board_area){.kind = BOARD_RING, .bytes = UINT32_MAX, .key = (uint64_t)i};
        head->area[i].page = i == 0 ? UINT32_MAX : i == 1 ? 0 : (uint32_t)i * 4;
    }
    common->result[0] = peer != NULL;
    for (uint64_t key = 0; key < BOARD_AREAS + 10; key++)
        common->result[1] += board_look(peer, BOARD_RING, key, 16384, NULL) != NULL;
    reach(2);
}

static void see_noise(void)
{
    struct header h;
    struct stream spare, *s = stream_from(COMM, 1, 1, &spare);
    await(1);
    char path[128];
    path_of(path, 1);
    int fd = open(path, O_RDWR);
    struct stat st;
    fstat(fd, &st);
    char *all = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t x = 1;
    stream_take(s, stream_post(s), 1, &h); /* the ring is known from here on */
    for (int i = 0; i < 200; i++) {
        for (int64_t at = BOARD_HEAD; at + 4 <= st.st_size; at += 4) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            uint32_t v = (uint32_t)(x >> 33);
            if (x >> 63)
                v = s->key;
            memcpy(all + at, &v, 4);
        }
        for (int k = 0; k < 100; k++)
            stream_take(s, stream_post(s), 1, &h);
    }
    common->result[0] = 1;
    reach(2);
}

static void write_ring(void)
{
    struct stream spare;
    stream_publish(stream_to(COMM, 0, 1, &spare), 1, 1, 1, 1);
    reach(1);
    await(2);
}

static void see_other_nonce(void)
{
    await(1);
    damage(1)->nonce++;
    common->result[0] = board_of(1) == NULL;
    struct stream spare;
    common->result[1] = !stream_from(COMM, 1, 1, &spare) && !stream_to(COMM, 1, 1, &spare);
    reach(2);
}

static void see_short(void)
{
    char path[128];
    await(1);
    path_of(path, 1);
    common->result[0] = !truncate(path, 100) && board_of(1) == NULL;
    reach(2);
}

static void see_link(void)
{
    char path[128], other[160];
    await(1);
    path_of(path, 1);
    snprintf(other, sizeof other, "%s.moved", path);
    common->result[0] = !rename(path, other) && !symlink(other, path) && board_of(1) == NULL;
    reach(2);
}

/* ---- no room ---- */

static void fill_up(void)
{
    struct rlimit few = {BOARD_HEAD + 40000, BOARD_HEAD + 40000};
    setrlimit(RLIMIT_FSIZE, &few);
    errno = 77;
    common->result[0] = board_area(BOARD_RING, 0, 16384) && board_area(BOARD_RING, 1, 16384);
    common->result[1] = !board_area(BOARD_RING, 2, 16384) && errno == 77;
    common->result[2] = board_area(BOARD_MEET, 0, 4096) != NULL;
    reach(2);
}

static void fill_to_cap(void)
{
    int got = 0;
    while (got < 2 * BOARD_AREAS && board_area(BOARD_RING, (uint64_t)got, 16384))
        got++;
    common->result[0] = got == BOARD_AREAS;
    reach(2);
}

static bool nowhere_to_go(void)
{
    struct board_token token;
    int error = board_open(&token, "/nonexistent/loupe", "/nonexistent/spill");
    return error < 0 && !token.nonce && !board_area(BOARD_RING, 1, 100);
}

static bool spills(void)
{
    struct board_token token;
    return !board_open(&token, "/nonexistent/loupe", test_dir) && token.spilled && token.nonce;
}

static bool in_child(bool (*test)(void))
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(!test());
    return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
    const uint64_t *r;
    common_open();
    r = common->result;
    ok(run_ranks(read_areas, write_areas), "areas are shared");
    ok(r[0], "an area is one per name, and not another's");
    ok(r[1] && r[3], "what is written there is read there");
    ok(r[2], "nothing is found that is not there or smaller");
    ok(r[4], "nonces differ");
    ok(r[5] < 10, "no descriptor is kept");

    ok(run_ranks(see_lies, idle), "a directory of lies");
    ok(r[0] && r[1] == 0, "areas outside the file are refused");
    ok(run_ranks(see_noise, write_ring) && r[0], "a ring of noise");
    ok(run_ranks(see_other_nonce, idle) && r[0] && r[1], "a board with another nonce is not used");
    ok(run_ranks(see_short, idle) && r[0], "a short one is not used");
    ok(run_ranks(see_link, idle) && r[0], "a link is not followed");

    ok(run_ranks(fill_up, idle), "a limit on the size of files");
    ok(r[0] && r[1] && r[2], "what fits is there, what does not is refused, errno as it was");
    ok(run_ranks(fill_to_cap, idle) && r[0], "the directory has an end");
    ok(in_child(nowhere_to_go), "no board where there is no directory");
    ok(in_child(spills), "the spill directory when the job's has no room");
    common_close();
    return tap_done();
}
