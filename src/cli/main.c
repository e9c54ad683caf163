/* SPDX-License-Identifier: MIT */
/* loupe: finds the command, parses its options, runs it. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/save.h"
#include "cli/settings.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &cmd_run,   &cmd_exec,  &cmd_cc, &cmd_cxx,     &cmd_report, &cmd_top,    &cmd_attach,
    &cmd_probe, &cmd_graph, &cmd_ps, &cmd_collect, &cmd_ctl,    &cmd_doctor,
};

enum { COMMANDS = sizeof commands / sizeof commands[0], OPTIONS_MAX = 32 };

/* What every command takes, besides its own options. */
static bool help_wanted, verbose;

static const struct option_entry common_table[] = {
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = &help_wanted,
     .help = "show this help"},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_FLAG,
     .at = &verbose,
     .help = "say what is being done"},
    OPTIONS_END,
};

int command_misused(const struct command *command, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_error("%s: %s (usage: loupe %s %s)", command->name, text, command->name, command->usage);
    return EXIT_LOUPE;
}

static void print_overview(FILE *to)
{
    fputs("loupe " LOUPE_VERSION ": watches a parallel program and shows what each\n"
          "communication statement costs\n\n"
          "usage: loupe COMMAND [options] ...\n\n",
          to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  help     what a command does: loupe help COMMAND\n\n"
          "Begin with: loupe run -- mpirun -n 4 ./app\n",
          to);
}

/* Lines that fit are as they were written; from one that does not, the paragraph flows. */
static void put_details(struct strbuf *text, const char *details)
{
    while (*details) {
        size_t len = strcspn(details, "\n");
        if (len <= 80) {
            strbuf_add(text, details, len);
            strbuf_putc(text, '\n');
        } else {
            while (details[len] && details[len + 1] && !strchr(" \n", details[len + 1]))
                len += 1 + strcspn(details + len + 1, "\n");
            char *paragraph = xasprintf("%.*s", (int)len, details);
            strbuf_words(text, paragraph, 0);
            free(paragraph);
        }
        details += len + !!details[len];
    }
    strbuf_putc(text, '\n');
}

static void print_help(const struct command *command)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "loupe %s: %s\n\nusage: loupe %s ", command->name, command->summary,
                  command->name);
    strbuf_words(&text, command->usage, 7);
    strbuf_putc(&text, '\n');
    if (command->details)
        put_details(&text, command->details);
    strbuf_puts(&text, "options:\n");
    options_help(command->options, &text);
    options_help(common_table, &text);
    fputs(text.text, stdout);
    strbuf_free(&text);
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    struct strbuf text = {0};
    const char *joint = "; did you mean ";
    for (int i = 0; i < COMMANDS; i++) {
        int most = strlen(name) < 4 ? 1 : 2;
        if (options_distance(name, commands[i]->name) <= most) {
            strbuf_printf(&text, "%sloupe %s", joint, commands[i]->name);
            joint = " or ";
        }
    }
    if (text.len) {
        strbuf_putc(&text, '?');
    } else {
        strbuf_puts(&text, "; possible:");
        for (int i = 0; i < COMMANDS; i++)
            strbuf_printf(&text, " %s", commands[i]->name);
        strbuf_puts(&text, " help");
    }
    log_error("unknown command %s%s", name, text.text);
    strbuf_free(&text);
    return EXIT_LOUPE;
}

/* The command's table with the common rows behind it, for one pass over the words. */
static int parse(const struct command *command, int argc, char **argv)
{
    struct option_entry table[OPTIONS_MAX];
    size_t count = 0;
    for (const struct option_entry *o = command->options; o && o->name; o++)
        table[count++] = *o;
    for (const struct option_entry *o = common_table; o->name; o++)
        table[count++] = *o;
    table[count] = (struct option_entry)OPTIONS_END;
    struct strbuf error = {0};
    int operands =
        options_parse(table, command->values, argc, argv, command->flags & COMMAND_STOP, &error);
    if (operands < 0)
        log_error("%s: %s (see loupe help %s)", command->name, error.text, command->name);
    else
        argv[operands] = NULL;
    strbuf_free(&error);
    return operands;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct strbuf error = {0};
    if (settings_from_environment(&error) < 0) {
        log_error("LOUPE: %s", error.text);
        strbuf_free(&error);
        return EXIT_LOUPE;
    }
    int operands = parse(command, argc, argv);
    if (operands < 0)
        return EXIT_LOUPE;
    if (help_wanted) {
        print_help(command);
        return 0;
    }
    settings.verbose |= verbose;
    log_set_verbose(settings.verbose);
    if (!(command->flags & COMMAND_NO_COLLECT) && !getenv("LOUPE_NO_COLLECT"))
        save_abandoned(false);
    return command->run(operands, argv);
}

static int help(const char *name)
{
    const struct command *command = name ? find(name) : NULL;
    if (name && !command)
        return unknown_command(name);
    if (command)
        print_help(command);
    else
        print_overview(stdout);
    return 0;
}

/* A file that we open must not become standard error, which then writes into it. Whoever is
 * started by us finds them closed as before, and reading or writing fails as before. */
static void occupy_closed(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
            return; /* no /dev/null: nothing can be done */
}

static void nothing(int signal)
{
    (void)signal;
}

/* A file that grows past `ulimit -f` is an error code for us. With a handler and not ignored: a
 * program that we start finds the default. */
static void survive_file_limit(void)
{
    struct sigaction before, action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    occupy_closed();
    survive_file_limit();
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_LOUPE;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argv[2]);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("loupe " LOUPE_VERSION);
        return 0;
    }
    const struct command *command = find(name);
    return command ? run_command(command, argc - 2, argv + 2) : unknown_command(name);
}
