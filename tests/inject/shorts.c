/* SPDX-License-Identifier: MIT */
/*
 * Procedures whose points have no room for a jump of five bytes: shorts ROUNDS THREADS. It prints
 * its PID, waits for a line on standard input, works while signals come in, and prints how many
 * results were wrong. ROUNDS 0: until its standard input ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

long alone(long a, long b);
long behind_call(long a, long b);
long two_ways(long a, long b);
long nothing(void);
long turns(long n);
long falls(long a, long b);
long landed(long a);
long colds(long a, long b);
long jumbled(long a);
long waits(int fd);
int wait_here(int fd);

/* One behind the other, so that there is no padding. */
__asm__(".text\n.p2align 4\n"
        ".macro procedure name\n.globl \\name\n.type \\name, @function\n\\name: .cfi_startproc\n"
        ".endm\n"
        ".macro end name\n.cfi_endproc\n.size \\name, . - \\name\n.endm\n"
        ".macro keep\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n.endm\n"
        ".macro give\npop %rbx\n.cfi_def_cfa_offset 8\n.endm\n"
        "procedure alone\n" /* its return stands alone; a is 0: b, else a + 1 */
        "mov %rsi, %rax\ntest %rdi, %rdi\nje 1f\nlea 1(%rdi), %rax\n1: ret\nend alone\n"
        "procedure behind_call\n" /* two bytes behind a call: alone(a, b) */
        "keep\nmov %rdi, %rbx\ncall alone\ngive\nret\nend behind_call\n"
        "procedure two_ways\n" /* a is 0: 0, else 2 a + b + 3 */
        "keep\nmov %rsi, %rbx\ntest %rdi, %rdi\nje 2f\nlea 3(%rdi,%rsi), %rax\nadd %rdi, %rax\n"
        "give\nret\n2:\n.cfi_def_cfa_offset 16\nxor %eax, %eax\ngive\nret\nend two_ways\n"
        "procedure nothing\nxor %eax, %eax\nret\nend nothing\n"
        "procedure turns\n" /* 1 + ... + n */
        "xor %eax, %eax\n3: add %rdi, %rax\ndec %rdi\njne 3b\nret\nend turns\n"
        "procedure waits\nkeep\ncall wait_here\ngive\nret\nend waits\n"
        ".section .text.more, \"ax\", @progbits\n.p2align 6\nret\n.p2align 6\n"
        "procedure falls\n" /* into the next one: landed(a + b) */
        "add %rsi, %rdi\nlea 1(%rdi), %rdi\nend falls\n"
        "procedure landed\nlea 7(%rdi), %rax\nsub $1, %rax\nret\nend landed\n"
        "procedure colds\n" /* with a part that has no name; a is 0: b + 40, else a + b + 1 */
        "test %rdi, %rdi\nje 4f\nlea 1(%rdi), %rax\n5: add %rsi, %rax\nret\nend colds\n"
        ".cfi_startproc\n4: mov $40, %eax\njmp 5b\n.cfi_endproc\n"
        "procedure midway\nlea 2(%rdi), %rax\n6: add $1, %rax\nret\nend midway\n"
        "procedure jumbled\n" /* its exit is the other one's, too */
        "lea 3(%rdi), %rax\njmp 6b\nend jumbled\n.text\n");

static atomic_long wrong, all, signals;
static atomic_bool ending;
static long rounds;

__attribute__((noinline)) int wait_here(int fd)
{
    char c = 0;
    return (int)read(fd, &c, 1) + (c == 'x');
}

static void handler(int number)
{
    (void)number;
    signals += nothing() == 0;
}

static void *work(void *unused)
{
    long bad = 0, r = 0;
    for (; rounds ? r < rounds : !ending || r < 1000; r++) {
        long a = r % 3, b = r % 1000;
        bad += alone(a, b) != (a ? a + 1 : b);
        bad += behind_call(a, b) != (a ? a + 1 : b);
        bad += two_ways(a, b) != (a ? 2 * a + b + 3 : 0);
        bad += nothing() != 0;
        bad += falls(a, b) != a + b + 7;
        bad += colds(a, b) != (a ? a + b + 1 : b + 40);
        bad += jumbled(a) != a + 4;
        bad += turns(r % 5 + 1) != (r % 5 + 1) * (r % 5 + 2) / 2;
    }
    wrong += bad;
    all += r;
    return unused;
}

int main(int argc, char **argv)
{
    enum { MOST = 16 };
    pthread_t threads[MOST];
    int count = argc > 2 ? atoi(argv[2]) : 1;
    struct itimerval often = {{0, 700}, {0, 700}};
    if (argc < 2 || count > MOST)
        return 2;
    rounds = atol(argv[1]);
    signal(SIGPROF, handler);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    waits(0);
    setitimer(ITIMER_PROF, &often, NULL);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    while (!rounds && waits(0) > 0) {
    }
    ending = true;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%ld wrong, %s\n", (long)wrong, all > 0 && signals >= 0 ? "worked" : "idle");
    return 0;
}
