/* SPDX-License-Identifier: MIT */
/*
 * smallstack: its only thread works on a stack of its own making, a small one in the midst of other
 * memory, as coroutines do, until it is told to end. Prints its pid, then "same" if that memory is
 * as it was.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { BELOW = 64 << 10, STACK = 3 << 10, WORDS = BELOW / sizeof(unsigned long) };

unsigned long step(unsigned long x);

static unsigned long *memory;
static unsigned long result;
static ucontext_t outside, inside;

__attribute__((noinline)) unsigned long step(unsigned long x)
{
    return x * 6364136223846793005u + 1442695040888963407u;
}

/* In user code nearly all the time; the system is asked now and then whether a line has come. */
static void body(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        for (int i = 0; i < 100000; i++)
            result = step(result);
    } while (poll(&in, 1, 0) == 0);
}

int main(void)
{
    poll(NULL, 0, 0); /* the dynamic linker would need more stack than there is */
    memory = malloc(BELOW + STACK);
    if (!memory)
        return 1;
    for (unsigned long i = 0; i < WORDS; i++)
        memory[i] = step(i);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    getcontext(&inside);
    inside.uc_stack.ss_sp = (char *)memory + BELOW;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, body, 0);
    swapcontext(&outside, &inside);
    unsigned long wrong = 0;
    for (unsigned long i = 0; i < WORDS; i++)
        wrong += memory[i] != step(i);
    if (wrong)
        printf("%lu words changed\n", wrong);
    else
        puts("same");
    free(memory);
    return 0;
}
