/* SPDX-License-Identifier: MIT */
/*
 * The probes that `loupe cc` puts into a program, and what object files and the runtime agree on.
 * `loupe cc` includes this before a source; it is not for including by hand.
 *
 * A site is a place in the source that has a probe. Every thread has one cell, a 32-bit countdown,
 * for each site of a unit (a unit is what one compilation makes). All that stands in the program's
 * own code is: are there cells, and if so, count down and at a negative number call the slow path.
 * What happens there is the runtime's business (src/runtime/probe_hot.c), so nothing of it is
 * frozen into object files. Without the runtime there are no cells and nothing is ever called.
 *
 * The slow paths keep all registers, flags excepted: to the compiler a probe is a test, a
 * decrement and a branch that it need not save anything for. That takes a stack without a red
 * zone: units are compiled with -mno-red-zone. Behind each call to a slow path stands a `nopl`
 * whose displacement is four times the site's number: that is how the slow path knows the site. The
 * call itself names the unit: it goes through a pointer in it, relative to the call. What else a
 * slow path wants to know is in rdi: the frame that is left, or where the procedure returns to.
 *
 * A unit names itself before including this:
 *     LOUPE_UNIT_ID       64 bits, different for every unit of a program
 *     LOUPE_UNIT_SITES    number of sites, at least 1
 *     LOUPE_UNIT_TABLE    LOUPE_SITE(kind, key), ... one for each site
 */
#ifndef LOUPE_PROBE_H
#define LOUPE_PROBE_H

#pragma GCC system_header

#define LOUPE_PROBE_VERSION 1

/* A site for the runtime: what it is, and the key of the procedure that it is or calls: the low 56
 * bits of a hash (FNV-1a) of its linkage name; 0: not known. */
enum loupe_site_kind {
    LOUPE_SITE_PROCEDURE = 1, /* entry of a procedure */
    LOUPE_SITE_CALL,          /* direct call: counted here, timed in the procedure */
    LOUPE_SITE_STATEMENT,     /* the same; timed here if the procedure has no probes */
    LOUPE_SITE_POINTER,       /* call through a pointer, or virtual: counted here */
    LOUPE_SITE_LOOP,
    LOUPE_SITE_ITERATION, /* only counted */
    LOUPE_SITE_SOLE,      /* entry of a procedure that a single statement calls: timed here */
    LOUPE_SITE_RECURSIVE, /* entry of a procedure: one without a direct call is recursive */
    LOUPE_SITE_COUNTED,   /* the same, only counted: its other calls are statements, timed there */
    LOUPE_SITE_KINDS
};
#define LOUPE_SITE(kind, key) ((unsigned long long)(kind) << 56 | (key))

enum { LOUPE_UNIT_MODULE = 1 }; /* unit.flags: cells are found through the module's table */

struct loupe_unit {
    void *visit; /* slow paths; set by the runtime before there are cells */
    void *enter;
    void *leave;
    unsigned version; /* LOUPE_PROBE_VERSION */
    unsigned sites;
    unsigned long long id;
    const unsigned long long *table;
    /* The address of this thread's pointer to its cells of the unit; with LOUPE_UNIT_MODULE, of its
     * pointer to the module's table of such pointers, in which `index` is the unit's. */
    void *(*where)(void);
    unsigned long index; /* set by the runtime */
    unsigned flags;
    unsigned number; /* the runtime's name for it; set by the runtime */
};

#ifdef LOUPE_UNIT_ID

#define LOUPE_INLINE                                                                               \
    static __inline__ __attribute__((always_inline, unused, no_instrument_function))

#if defined(__PIC__) && !defined(__PIE__)
/* Code of a shared object may be loaded late, when little static thread-local storage is left: one
 * pointer for all units of the module. */
__attribute__((weak, visibility("hidden"),
               tls_model("initial-exec"))) __thread char **loupe_module_cells_;
static __attribute__((used, no_instrument_function)) void *loupe_where_(void)
{
    return &loupe_module_cells_;
}
#define LOUPE_UNIT_FLAGS LOUPE_UNIT_MODULE
#else
static __thread char *loupe_cells_;
static __attribute__((used, no_instrument_function)) void *loupe_where_(void)
{
    return &loupe_cells_;
}
#define LOUPE_UNIT_FLAGS 0
#endif

static const unsigned long long loupe_table_[LOUPE_UNIT_SITES] = {LOUPE_UNIT_TABLE};

static __attribute__((used)) struct loupe_unit loupe_unit_ = {0,
                                                              0,
                                                              0,
                                                              LOUPE_PROBE_VERSION,
                                                              LOUPE_UNIT_SITES,
                                                              LOUPE_UNIT_ID,
                                                              loupe_table_,
                                                              loupe_where_,
                                                              0,
                                                              LOUPE_UNIT_FLAGS,
                                                              0};

#ifdef __cplusplus
extern "C" {
#endif
/* The runtime, if it is there. The weak reference is enough in position-independent code; other
 * programs get nothing for it from the linker and ask dlsym, which is weak as well: where it is not
 * in the C library and not linked, there is simply no monitoring. */
extern void loupe_attach(struct loupe_unit *) __attribute__((weak));
extern void *loupe_dlsym_(void *, const char *) __asm__("dlsym") __attribute__((weak));
#ifdef __cplusplus
}
#endif

static __attribute__((constructor(101), used, no_instrument_function)) void loupe_attach_(void)
{
    void (*attach)(struct loupe_unit *) = loupe_attach;
    if (!attach && loupe_dlsym_)
        *(void **)&attach = loupe_dlsym_((void *)0, "loupe_attach");
    if (attach)
        attach(&loupe_unit_);
}

/* Looked up anew by each probe: a slow path may have changed it, in a forked child it is another.
 */
LOUPE_INLINE char *loupe_here_(void)
{
#if defined(__PIC__) && !defined(__PIE__)
    char *volatile *cells = *(char *volatile *volatile *)&loupe_module_cells_;
    return cells ? cells[loupe_unit_.index] : (char *)0;
#else
    return *(char *volatile *)&loupe_cells_;
#endif
}

#ifdef __OPTIMIZE__
/* Counts down, or goes to `slow` if the slow path has to be called, which counts then: what follows
 * is what nearly always happens, so that it stands in a straight line. To the compiler it changes
 * no memory, so that what it keeps in registers stays there. It looks first: a branch that depends
 * on the decrement cost twice as much where the program keeps the processor busy. A handler in
 * between may count too, and the slow path be called one visit later; nothing is lost. */
#define LOUPE_COUNT_DOWN_(cells, site)                                                             \
    __asm__ goto("test %0,%0\n\t"                                                                  \
                 "jz 1f\n\t"                                                                       \
                 "cmpl $0,%c1(%0)\n\t"                                                             \
                 "jle %l[slow]\n\t"                                                                \
                 "decl %c1(%0)\n"                                                                  \
                 "1:"                                                                              \
                 :                                                                                 \
                 : "r"(cells), "i"(4 * (site))                                                     \
                 : "cc"                                                                            \
                 : slow)
#ifdef __clang__
#define LOUPE_COLD_
#else
#define LOUPE_COLD_ __attribute__((cold));
#endif

/* Functions and not macros: clang 14 takes the labels of one asm goto for targets of every other in
 * the same function. */
LOUPE_INLINE void loupe_visit_(int site)
{
    char *cells = loupe_here_();
    LOUPE_COUNT_DOWN_(cells, site);
    return;
slow:
    LOUPE_COLD_
    __asm__ volatile("decl %c1(%2)\n\tcall *%c0(%%rip)\n\tnopl %c1(%%rax)"
                     :
                     : "i"(&loupe_unit_.visit), "i"(4 * site), "r"(cells)
                     : "cc");
}

/* The entry of a procedure that nothing is kept for: in one piece, as the compiler then still saves
 * registers only behind a condition that the procedure begins with. */
LOUPE_INLINE int loupe_entry_(int site)
{
    __asm__ volatile("test %0,%0\n\t"
                     "jz 1f\n\t"
                     "decl %c1(%0)\n\t"
                     "jns 1f\n\t"
                     "call *%c2(%%rip)\n\t"
                     "nopl %c1(%%rax)\n"
                     "1:"
                     :
                     : "r"(loupe_here_()), "i"(4 * site), "i"(&loupe_unit_.visit)
                     : "cc");
    return 0;
}

/* NULL: not timed. */
LOUPE_INLINE void *loupe_enter_(int site)
{
    void *frame;
    char *cells = loupe_here_();
    LOUPE_COUNT_DOWN_(cells, site);
    return (void *)0;
slow:
    LOUPE_COLD_
    __asm__ volatile("decl %c2(%3)\n\tcall *%c1(%%rip)\n\tnopl %c2(%%rax)"
                     : "=a"(frame)
                     : "i"(&loupe_unit_.enter), "i"(4 * site), "r"(cells)
                     : "cc");
    return frame;
}

LOUPE_INLINE void *loupe_begin_(int site)
{
    void *frame;
    char *cells = loupe_here_();
    LOUPE_COUNT_DOWN_(cells, site);
    return (void *)0;
slow:
    LOUPE_COLD_
    __asm__ volatile("decl %c2(%3)\n\tcall *%c1(%%rip)\n\tnopl %c2(%%rax)"
                     : "=a"(frame)
                     : "i"(&loupe_unit_.enter), "i"(4 * site), "r"(cells),
                       "D"(__builtin_return_address(0))
                     : "cc");
    return frame;
}
#define LOUPE_VISIT_(site) loupe_visit_(site)
#define LOUPE_ENTRY_(site) loupe_entry_(site)
#define LOUPE_ENTER_(site) loupe_enter_(site)
#define LOUPE_BEGIN_(site) loupe_begin_(site)

#else
/* Without optimisation the arguments of a function are no constants to the assembler; and inlining
 * a function at every probe makes the compiler twice as slow. */
static __attribute__((unused, no_instrument_function)) int loupe_down_(int site)
{
    char *cells = loupe_here_();
    return cells && --((int *)(void *)cells)[site] < 0;
}
#define LOUPE_VISIT_(site)                                                                         \
    __extension__({                                                                                \
        if (loupe_down_(site))                                                                     \
            __asm__ volatile("call *%c0(%%rip)\n\tnopl %c1(%%rax)"                                 \
                             :                                                                     \
                             : "i"(&loupe_unit_.visit), "i"(4 * (site))                            \
                             : "cc");                                                              \
    })
#define LOUPE_ENTER_(site)                                                                         \
    __extension__({                                                                                \
        void *loupe_entered_ = (void *)0;                                                          \
        if (loupe_down_(site))                                                                     \
            __asm__ volatile("call *%c1(%%rip)\n\tnopl %c2(%%rax)"                                 \
                             : "=a"(loupe_entered_)                                                \
                             : "i"(&loupe_unit_.enter), "i"(4 * (site)),                           \
                               "D"(__builtin_return_address(0))                                    \
                             : "cc");                                                              \
        loupe_entered_;                                                                            \
    })
#define LOUPE_BEGIN_(site) LOUPE_ENTER_(site)
#define LOUPE_ENTRY_(site) (LOUPE_VISIT_(site), 0)
#endif

/* A visit's frame is kept in memory (volatile): in a register it would be there all the way, and
 * with one less the compiler orders the program's own instructions differently. That took 8 % of a
 * procedure of 30 ns, and nothing that is measured at run time knows of it. Without optimisation
 * all is in memory, and gcc would warn less of what falls through in a switch. */
#ifdef __OPTIMIZE__
#define LOUPE_KEPT_ void *volatile
LOUPE_INLINE void loupe_leave_(LOUPE_KEPT_ *frame)
#else
#define LOUPE_KEPT_ void *
static __attribute__((unused, no_instrument_function)) void loupe_leave_(LOUPE_KEPT_ *frame)
#endif
{
    if (__builtin_expect(*frame != 0, 0)) /* read again below: so this touches no register early */
        __asm__ volatile("call *%c1(%%rip)" : : "D"(*frame), "i"(&loupe_unit_.leave) : "cc");
}

/* What `loupe cc` writes. Those that end in a declaration close on every way out of the block they
 * stand in. */
#define LOUPE_TIMED_(site, entered)                                                                \
    __attribute__((cleanup(loupe_leave_), unused)) LOUPE_KEPT_ loupe_frame_##site##_ = entered;
#define LOUPE_PROCEDURE(site)                                                                      \
    LOUPE_TIMED_(site, LOUPE_BEGIN_(site))                      /* { LOUPE_PROCEDURE(7) ... } */
#define LOUPE_SOLE(site) LOUPE_TIMED_(site, LOUPE_ENTER_(site)) /* { LOUPE_SOLE(7) ... } */
/* { LOUPE_COUNTED(7) ... }; a declaration too, as others may follow */
#define LOUPE_COUNTED(site) __attribute__((unused)) int loupe_entry_##site##_ = LOUPE_ENTRY_(site);
#define LOUPE_LOOP(site)    LOUPE_TIMED_(site, LOUPE_ENTER_(site)) /* { LOUPE_LOOP(8) for ... } */
#define LOUPE_STATEMENT(site)                                                                      \
    LOUPE_TIMED_(site, LOUPE_ENTER_(site))        /* { LOUPE_STATEMENT(9) f(x); } */
#define LOUPE_CALL(site)      LOUPE_VISIT_(site)  /* (LOUPE_CALL(10), f(x)) */
#define LOUPE_ITERATION(site) LOUPE_VISIT_(site); /* { LOUPE_ITERATION(11) ... } */

#endif
#endif
