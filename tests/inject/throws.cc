// SPDX-License-Identifier: MIT
// Exceptions, longjmp, signals and backtraces through instrumented procedures: throws ROUNDS. It
// prints its PID, waits for a line on standard input, works, and prints its results.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static jmp_buf back;
static volatile sig_atomic_t signals;

struct Guard {
    long &count;
    ~Guard() { count++; }
};

__attribute__((noinline)) long thrower(long i)
{
    __asm__ volatile("" : "+r"(i));
    if (i % 3 == 0)
        throw std::runtime_error(std::to_string(i));
    return i;
}

// Its exit has two bytes behind a call, and code that is another's follows at once.
extern "C" long passes(long i);
__asm__(".text\n.p2align 4\n.globl passes\n.type passes, @function\npasses: .cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
        "mov $3, %ebx\nmov %rdi, %rdx\nmov $7, %esi\n"
        "call _Z7throwerl@PLT\npop %rbx\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n.size passes, . - passes\n"
        ".globl passed\n.type passed, @function\npassed: .cfi_startproc\n"
        "lea 1(%rdi), %rax\nret\n.cfi_endproc\n.size passed, . - passed\n");
extern "C" long passed(long i);

__attribute__((noinline)) long middle(long i, long &guards)
{
    Guard guard{guards};
    return passed(passes(i));
}

__attribute__((noinline)) void jumper(long i)
{
    __asm__ volatile("" : "+r"(i));
    if (i % 5 == 0)
        longjmp(back, 1);
}

__attribute__((noinline)) void handler(int)
{
    signals = signals + 1;
}

__attribute__((noinline)) int frames(long i)
{
    void *at[32];
    __asm__ volatile("" : "+r"(i));
    int count = backtrace(at, 32);
    return count;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000, caught = 0, guards = 0, sum = 0, depth = 0;
    volatile long jumps = 0;
    char line[16];
    std::signal(SIGUSR1, handler);
    printf("%d\n", static_cast<int>(getpid()));
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 2;
    for (volatile long i = 0; i < rounds; i = i + 1) {
        try {
            sum += middle(i, guards);
        } catch (const std::runtime_error &error) {
            caught += std::stol(error.what()) == i;
        }
        if (setjmp(back) == 0)
            jumper(i);
        else
            jumps = jumps + 1;
        if (i % 16 == 0)
            raise(SIGUSR1);
        depth += frames(i);
    }
    printf("%ld %ld %ld %ld %d %ld\n", sum, caught, guards, static_cast<long>(jumps),
           static_cast<int>(signals), depth);
    return 0;
}
