/* SPDX-License-Identifier: MIT */
/* Static tables out of ELF files that the test makes: plain, compressed, damaged. */
#include "binary/tables.h"
#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/loupe-tables-XXXXXX";

/* An object file with one section of this name and content. */
static void make(const char *name, const char *text, size_t length, int compression)
{
    static char names[64];
    size_t at = 1 + strlen(name) + 1;
    memcpy(names + 1, name, strlen(name) + 1);
    memcpy(names + at, ".shstrtab", sizeof ".shstrtab");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    GElf_Ehdr head;
    gelf_newehdr(elf, ELFCLASS64);
    gelf_getehdr(elf, &head);
    head.e_type = ET_REL;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_shstrndx = 2;
    gelf_update_ehdr(elf, &head);
    const struct {
        uint32_t name, type;
        const void *data;
        size_t size;
    } sections[] = {{1, SHT_PROGBITS, text, length},
                    {(uint32_t)at, SHT_STRTAB, names, at + sizeof ".shstrtab"}};
    for (int i = 0; i < 2; i++) {
        Elf_Scn *section = elf_newscn(elf);
        Elf_Data *data = elf_newdata(section);
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        header.sh_name = sections[i].name;
        header.sh_type = sections[i].type;
        header.sh_addralign = 1;
        gelf_update_shdr(section, &header);
        data->d_buf = (void *)sections[i].data;
        data->d_size = sections[i].size;
        data->d_type = ELF_T_BYTE;
        data->d_align = 1;
        data->d_version = EV_CURRENT;
    }
    elf_update(elf, ELF_C_NULL);
    if (compression && elf_compress(elf_getscn(elf, 1), compression, ELF_CHF_FORCE) <= 0)
        printf("# not compressed: %s\n", elf_errmsg(-1));
    if (elf_update(elf, ELF_C_WRITE) < 0)
        printf("# not written: %s\n", elf_errmsg(-1));
    elf_end(elf);
    close(fd);
}

static size_t file_size(void)
{
    int fd = open(path, O_RDONLY);
    off_t end = lseek(fd, 0, SEEK_END);
    close(fd);
    return end > 0 ? (size_t)end : 0;
}

static int read_tables(size_t *count, size_t *nodes)
{
    struct tables tables;
    int error = tables_read(&tables, path, NULL, NULL);
    *count = tables.count;
    *nodes = tables.count ? tables.units[tables.count - 1].count : 0;
    tables_free(&tables);
    return error;
}

static void refused(const char *what, int wanted)
{
    size_t count, nodes;
    int error = read_tables(&count, &nodes);
    ok(error == wanted && !count, "%s: %s (%d)", what, strerror(-wanted), error);
}

static void add_unit(struct strbuf *text, uint64_t id, int procedures)
{
    struct unit unit = {.id = id, .sites = (uint32_t)procedures};
    unit.directory = strdup("/src");
    unit.source = strdup("a.c");
    unit_file(&unit, "a.c");
    for (int i = 0; i < procedures; i++)
        unit_add(&unit, &(struct unit_node){.kind = GRAPH_PROCEDURE,
                                            .parent = GRAPH_NONE,
                                            .site = (uint32_t)i,
                                            .iterations = GRAPH_NONE,
                                            .line = 1 + (uint32_t)i,
                                            .name = (char *)"procedure"});
    unit_encode(&unit, text);
    unit_free(&unit);
}

/* Any answer is right as long as there is one. */
static void damaged(void)
{
    size_t size = file_size(), count, nodes;
    unsigned char *good = calloc(1, size + 1), *bad = calloc(1, size + 1);
    int fd = open(path, O_RDWR), refusals = 0;
    ssize_t got = pread(fd, good, size, 0);
    for (size_t i = 0; i < size; i++) {
        memcpy(bad, good, size);
        bad[i] ^= (unsigned char)(1u << i % 8);
        got = pwrite(fd, bad, size, 0);
        refusals += read_tables(&count, &nodes) != 0;
    }
    for (size_t cut = size; cut-- > 0 && got > 0;) {
        got = ftruncate(fd, (off_t)cut) ? 0 : got;
        refusals += read_tables(&count, &nodes) != 0;
    }
    ok(refusals > 100 && got > 0, "damaged in any place: %d of %zu are refused", refusals,
       2 * size);
    close(fd);
    free(good);
    free(bad);
}

int main(void)
{
    size_t count, nodes;
    struct strbuf text = {0};
    elf_version(EV_CURRENT);
    close(mkstemp(path));
    add_unit(&text, 1, 3);
    for (int i = 0; i < 5; i++)
        strbuf_putc(&text, '\0');
    add_unit(&text, 2, 200);
    strbuf_putc(&text, '\0');
    make(UNIT_SECTION, text.text, text.len, 0);
    size_t plain = file_size();
    ok(read_tables(&count, &nodes) == 0 && count == 2 && nodes == 200,
       "two units, with a linker's padding");
    make(UNIT_SECTION, text.text, text.len, ELFCOMPRESS_ZLIB);
    ok(file_size() < plain / 2, "the section is compressed (%zu of %zu bytes)", file_size(), plain);
    ok(read_tables(&count, &nodes) == 0 && count == 2 && nodes == 200, "the same, compressed");
    damaged();
    make(UNIT_SECTION, text.text, text.len - 10, 0);
    refused("cut short", -EPROTO);
    make(UNIT_SECTION, "\0\0\0", 3, 0);
    refused("nothing but padding", -ENODATA);
    make(".other", text.text, text.len, 0);
    refused("no such section", -ENODATA);
    make(UNIT_SECTION, "loupe-unit 2 0 0 0\n", 19, 0);
    refused("another format", -ENOTSUP);
    struct tables tables;
    ok(tables_read(&tables, "/nonexistent/file", NULL, NULL) == -ENOENT, "no file: -ENOENT");
    ok(tables_read(&tables, "/dev/null", NULL, NULL) == -ENOEXEC, "no regular file: -ENOEXEC");
    ok(tables_read(&tables, "/tmp", NULL, NULL) == -EISDIR, "a directory: -EISDIR");
    ok(tables_read(&tables, "/proc/self/exe", "00ff", NULL) == -ENOENT ||
           tables_read(&tables, "/proc/self/exe", NULL, NULL) == -ENODATA,
       "another build-id: -ENOENT");
    strbuf_free(&text);
    unlink(path);
    return tap_done();
}
