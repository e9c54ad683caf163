/* SPDX-License-Identifier: MIT */
#include "tui/top.h"

#include "tui/state.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "view/outline.h"
#include "view/table.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 3, FOOTER = 1, ESCAPE = 27, CONTROL_L = 12, SECONDS_MOST = 60 };
static const double interval_least = 0.1;

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Out of memory ends the tool with exit(): the terminal must not stay as it is then. */
static void restore_terminal(void)
{
    if (!isendwin())
        endwin();
}

/* A terminal whose name this machine does not know most likely understands the usual escapes. */
static SCREEN *open_screen(void)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !*name || !strcmp(name, "dumb"))
        return NULL;
    SCREEN *screen = newterm(NULL, stdout, stdin);
    return screen ? screen : newterm("vt100", stdout, stdin);
}

static void still_running(struct top_state *s)
{
    size_t running = 0;
    for (size_t i = 0; i < s->run->rank_count; i++)
        running += s->run->ranks[i].state == RUN_RUNNING;
    s->ended = s->run->rank_count && !running;
}

/* Takes a new reading; the job's end leaves the last one on the screen. */
static int take_reading(struct top_state *s, const struct top_source *source)
{
    int error = 0;
    struct run *run = source->read(source->data, &error);
    s->error = run ? 0 : error ? error : -EIO;
    if (!run) {
        s->ended |= error == -ENOENT;
        return s->error;
    }
    run_free(s->before);
    s->before = s->run;
    s->before_at = s->read_at;
    s->run = run;
    s->read_at = now_s();
    still_running(s);
    return 0;
}

static void put_line(int y, const char *text, int attribute)
{
    static int utf8 = -1;
    if (utf8 < 0)
        utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    struct strbuf line = {0};
    table_text(&line, text, COLS);
    for (size_t i = 0; !utf8 && i < line.len; i++)
        if ((unsigned char)line.text[i] >= 0x80)
            line.text[i] = '?';
    attrset(attribute);
    move(y, 0);
    addstr(line.text ? line.text : "");
    if (attribute & A_REVERSE) /* a bar as wide as the screen */
        for (int x = getcurx(stdscr); x < COLS && getcury(stdscr) == y; x++)
            mvaddch(y, x, ' ');
    attrset(A_NORMAL);
    strbuf_free(&line);
}

static size_t body_rows(const struct top_lines *lines)
{
    int rows = LINES - HEADER - FOOTER - (int)lines->fixed;
    return rows > 1 ? (size_t)rows : 1;
}

/* Lines up to the last that can be selected. */
static size_t selectable(const struct top_lines *lines)
{
    size_t count = lines->count;
    while (count > lines->fixed && lines->nodes[count - 1] == GRAPH_NONE)
        count--;
    return count - lines->fixed;
}

/* The source opens where the node stands that it was asked for. */
static void seek(struct top_state *s, const struct top_lines *lines)
{
    uint32_t node = top_find(s->run, &s->detail, GRAPH_NONE);
    for (size_t i = lines->fixed; i < lines->count && node != GRAPH_NONE; i++)
        if (lines->nodes[i] == node) {
            s->selected[s->page] = i - lines->fixed;
            s->scroll = s->selected[s->page] > 5 ? s->selected[s->page] - 5 : 0;
        }
}

/* Keeps the selection on the page and the scrolling where the selection can be seen. */
static void settle(struct top_state *s, const struct top_lines *lines)
{
    size_t rows = body_rows(lines), count = lines->count - lines->fixed;
    size_t *selected = &s->selected[s->page], lead = selectable(lines);
    if (s->seek)
        seek(s, lines);
    s->seek = false;
    if (top_selectable(s->page) && lead) {
        *selected = *selected >= lead ? lead - 1 : *selected;
        if (*selected < s->scroll)
            s->scroll = *selected;
        if (*selected >= s->scroll + rows)
            s->scroll = *selected - rows + 1;
        /* below the last line there may be more to read */
        if (*selected + 1 == lead && count - *selected <= rows)
            s->scroll = count;
    }
    if (s->scroll + rows > count)
        s->scroll = count > rows ? count - rows : 0;
}

static const char *footer(const struct top_state *s)
{
    bool probed = outline_probed(s->run);
    if (s->ended)
        return probed ? "the job has ended; q quits   g tree  d procedures  f statements  r ranks"
                      : "the job has ended; q quits   f statements  r ranks  p peers  w waits";
    if (probed)
        return "g tree  d procedures  l loops  f statements  r ranks  w waits  Enter details  "
               "u source  h help  q quit";
    return "f statements  r ranks  p peers  w waits  Enter details  t c b m sort  space pause  "
           "h help  q quit";
}

static void draw(struct top_state *s, const struct top_lines *lines)
{
    char *header = top_header(s), *subheader = top_subheader(s);
    settle(s, lines);
    erase();
    clearok(stdscr, s->repaint);
    s->repaint = false;
    put_line(0, header, A_BOLD);
    put_line(1, subheader, A_NORMAL);
    for (size_t i = 0; i < lines->fixed; i++)
        put_line(HEADER + (int)i, lines->text[i], A_BOLD);
    size_t rows = body_rows(lines), first = lines->fixed + s->scroll;
    for (size_t i = 0; i < rows && first + i < lines->count; i++) {
        bool chosen = top_selectable(s->page) && s->scroll + i == s->selected[s->page];
        chosen &= s->page == TOP_SOURCE || lines->nodes[first + i] != GRAPH_NONE;
        put_line(HEADER + (int)(lines->fixed + i), lines->text[first + i],
                 chosen ? A_REVERSE : A_NORMAL);
    }
    put_line(LINES - 1, footer(s), A_DIM);
    refresh();
    free(header);
    free(subheader);
}

static void show_page(struct top_state *s, enum top_page page)
{
    if (s->page < TOP_SOURCE || s->page == TOP_AT)
        s->back = s->page;
    s->page = page;
    s->scroll = 0;
    s->repaint = true;
}

static void forget_detail(struct top_state *s)
{
    free(s->detail.name);
    free(s->detail.file);
    free(s->detail.procedure);
    free(s->detail.module);
    s->detail = (struct graph_node){0};
}

/* Remembers what is selected; false if nothing is. */
static bool remember(struct top_state *s, const struct top_lines *lines)
{
    size_t at = lines->fixed + s->selected[s->page];
    if (!top_selectable(s->page) || at >= lines->count || lines->nodes[at] == GRAPH_NONE)
        return false;
    const struct graph_node *n = &s->run->graph.nodes[lines->nodes[at]];
    forget_detail(s);
    s->detail = *n;
    s->detail.name = n->name ? xstrdup(n->name) : NULL;
    s->detail.file = n->file ? xstrdup(n->file) : NULL;
    s->detail.procedure = n->procedure ? xstrdup(n->procedure) : NULL;
    s->detail.module = n->module ? xstrdup(n->module) : NULL;
    s->detail.inlined = s->detail.build_id = s->detail.linkage = NULL;
    s->detail.probe = (struct graph_probe){0};
    return true;
}

static void show_source(struct top_state *s, const struct top_lines *lines)
{
    if ((!remember(s, lines) && s->page != TOP_DETAIL) || !s->detail.file)
        return;
    free(s->source);
    s->source = xstrdup(s->detail.file);
    show_page(s, TOP_SOURCE);
    s->selected[TOP_SOURCE] = 0;
    s->seek = true;
}

static void move_by(struct top_state *s, const struct top_lines *lines, long rows)
{
    size_t *place =
        top_selectable(s->page) && selectable(lines) ? &s->selected[s->page] : &s->scroll;
    if (rows < 0)
        *place = *place > (size_t)-rows ? *place - (size_t)-rows : 0;
    else
        *place += (size_t)rows; /* settle() takes back what is too much */
}

static void sort_by(struct top_state *s, enum query_sort sort)
{
    show_page(s, TOP_STATEMENTS);
    s->sort = sort;
    s->selected[TOP_STATEMENTS] = 0;
}

static bool on_move(struct top_state *s, int key, const struct top_lines *lines)
{
    long rows = (long)body_rows(lines);
    switch (key) {
    case KEY_UP:
    case 'k': move_by(s, lines, -1); return true;
    case KEY_DOWN:
    case 'j': move_by(s, lines, 1); return true;
    case KEY_PPAGE: move_by(s, lines, -rows); return true;
    case KEY_NPAGE: move_by(s, lines, rows); return true;
    case KEY_HOME: s->selected[s->page] = s->scroll = 0; return true;
    case KEY_END: move_by(s, lines, 1000000000); return true;
    default: return false;
    }
}

static void switch_path(struct top_state *s, const struct top_source *source)
{
    if (!source->switch_path || s->ended)
        return;
    s->error = source->switch_path(source->data, !s->run->path.on);
    if (!s->error)
        s->run->path.on = !s->run->path.on; /* until the next reading says more */
}

/* False: quit. */
static bool on_key(struct top_state *s, const struct top_source *source, int key,
                   const struct top_lines *lines)
{
    if (on_move(s, key, lines))
        return true;
    switch (key) {
    case 'q':
    case 'Q': return false;
    case 'f': show_page(s, TOP_STATEMENTS); break;
    case 'r': show_page(s, TOP_RANKS); break;
    case 'p': show_page(s, TOP_PEERS); break;
    case 'w': show_page(s, TOP_WAITS); break;
    case 'g': show_page(s, TOP_TREE); break;
    case 'd': show_page(s, TOP_PROCEDURES); break;
    case 'l': show_page(s, TOP_LOOPS); break;
    case 'a': show_page(s, TOP_CALLS); break;
    case 'x': show_page(s, TOP_PATH); break;
    case 'u': show_source(s, lines); break;
    case 'h':
    case '?': show_page(s, s->page == TOP_HELP ? s->back : TOP_HELP); break;
    case 't':
    case 's': sort_by(s, QUERY_TIME); break;
    case 'c':
        if (s->page == TOP_PATH && s->switches)
            switch_path(s, source);
        else
            sort_by(s, QUERY_COUNT);
        break;
    case 'b': sort_by(s, QUERY_BYTES); break;
    case 'm': sort_by(s, QUERY_MAX); break;
    case CONTROL_L: s->repaint = true; break;
    case ' ': s->paused = !s->paused; break;
    case '+': s->interval = fmax(s->interval / 2, interval_least); break;
    case '-': s->interval = fmin(s->interval * 2, SECONDS_MOST); break;
    case ESCAPE:
        if (s->page == TOP_DETAIL || s->page == TOP_HELP || s->page == TOP_SOURCE)
            show_page(s, s->back);
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
        if (remember(s, lines))
            show_page(s, TOP_DETAIL);
        else if (s->page == TOP_DETAIL || s->page == TOP_HELP)
            show_page(s, s->back);
        break;
    default: break; /* KEY_RESIZE: the next drawing has the new size */
    }
    return true;
}

/* Milliseconds to wait for a key: until the next reading, yet a signal is heard within 0.2 s even
 * where it does not interrupt the waiting. */
static int wait_ms(const struct top_state *s, double next)
{
    double left = s->paused || s->ended ? 1 : next - now_s();
    return left <= 0 ? 0 : (int)(fmin(left, 0.2) * 1000) + 1;
}

static void loop(struct top_state *s, const struct top_source *source)
{
    double last = now_s();
    bool changed = true, more = true;
    struct top_lines lines = {0};
    while (more && !stop_signal) {
        if (!s->paused && !s->ended && now_s() >= last + s->interval) {
            take_reading(s, source);
            last = now_s();
            changed = true;
        }
        if (changed) {
            top_lines_free(&lines);
            top_page_lines(s, COLS, &lines);
            draw(s, &lines);
        }
        timeout(wait_ms(s, last + s->interval));
        int key = getch();
        changed = key != ERR;
        if (changed)
            more = on_key(s, source, key, &lines);
    }
    top_lines_free(&lines);
}

/* Sets our handler for the signals that end the view, or puts back what was there. */
static void handle_signals(bool ours)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static struct sigaction old[sizeof signals / sizeof *signals];
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], ours ? &action : &old[i], ours ? &old[i] : NULL);
}

static void first_page(struct top_state *s, const struct top_source *source)
{
    switch (source->by) {
    case VIEW_PROCEDURE: s->page = TOP_PROCEDURES; break;
    case VIEW_LOOP: s->page = TOP_LOOPS; break;
    case VIEW_CALL: s->page = TOP_CALLS; break;
    case VIEW_RANK: s->page = TOP_RANKS; break;
    case VIEW_PEER: s->page = source->waits ? TOP_WAITS : TOP_PEERS; break;
    case VIEW_COMMUNICATION: s->page = TOP_STATEMENTS; break;
    case VIEW_PATH: s->page = TOP_PATH; break;
    case VIEW_PROGRAM:
    case VIEW_TOP_DOWN: s->page = TOP_TREE; break;
    default: s->page = outline_probed(s->run) ? TOP_TREE : TOP_STATEMENTS; break;
    }
    s->back = s->page;
    s->at_file = source->at_file;
    s->at_line = source->at_line;
    s->source = source->source ? xstrdup(source->source) : NULL;
    if (source->at_file)
        s->page = TOP_AT;
    else if (source->source)
        s->page = TOP_SOURCE;
}

int top_run(const struct top_source *source)
{
    struct top_state s = {.interval = source->interval_s > 0 ? source->interval_s : 1};
    int error = take_reading(&s, source);
    if (error)
        return error;
    s.switches = source->switch_path != NULL;
    first_page(&s, source);
    setlocale(LC_CTYPE, "");
    stop_signal = 0;
    handle_signals(true); /* before ncurses, which leaves handlers alone that it finds */
    SCREEN *screen = open_screen();
    if (!screen) {
        handle_signals(false);
        free(s.source);
        run_free(s.run);
        return -ENOTTY;
    }
    atexit(restore_terminal);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    loop(&s, source);
    endwin();
    delscreen(screen);
    handle_signals(false);
    forget_detail(&s);
    free(s.source);
    run_free(s.before);
    run_free(s.run);
    if (stop_signal == SIGTERM || stop_signal == SIGHUP)
        raise(stop_signal); /* whoever sent it sees that it was obeyed */
    return 0;
}
