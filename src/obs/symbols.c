/* SPDX-License-Identifier: MIT */
/*
 * symbols.c: the dynamic linker knows exported names only; those of static functions are in the
 * symbol table of the file, if it was not stripped. The file is mapped as it is on disk, and every
 * offset in it is checked: it may have been replaced since it was loaded.
 *
 * One thread at a time may look into files; another that comes meanwhile does without: on the way
 * down nobody waits.
 */
#define _GNU_SOURCE 1
#include "obs/symbols.h"
#include "base/os.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

static wf_a32 busy;

/* The file looked at last: frames of one program are mostly of one file. By who has set busy. */
static struct {
	const char *path; /* the linker's own string */
	const char *map;
	size_t bytes;
} file;

static const void *
part(uint64_t offset, uint64_t bytes)
{
	return offset <= file.bytes && bytes <= file.bytes - offset ? file.map + offset : NULL;
}

static void
map_file(const char *path)
{
	if (file.path == path)
		return;
	if (file.map)
		os_release((void *)(uintptr_t)file.map, file.bytes);
	file.path = path;
	file.map = os_map_file(path, &file.bytes);
	if (!file.map && !strstr(path, ".so")) /* the program itself, by a relative path */
		file.map = os_map_file("/proc/self/exe", &file.bytes);
	if (!file.map)
		file.bytes = 0;
}

static void
copy_name(char to[WF_SYMBOL_BYTES], const char *from)
{
	size_t n = strnlen(from, WF_SYMBOL_BYTES - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static bool
search(const Elf64_Shdr *symtab, const Elf64_Shdr *strtab, uint64_t at, char *name,
       uintptr_t *offset)
{
	const Elf64_Sym *sym = part(symtab->sh_offset, symtab->sh_size);
	const char *strings = part(strtab->sh_offset, strtab->sh_size);

	if (!sym || !strings)
		return false;
	for (uint64_t i = 0; i < symtab->sh_size / sizeof(*sym); i++)
		if (ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC && at >= sym[i].st_value &&
		    at - sym[i].st_value < sym[i].st_size && sym[i].st_name < strtab->sh_size &&
		    memchr(strings + sym[i].st_name, 0, strtab->sh_size - sym[i].st_name)) {
			copy_name(name, strings + sym[i].st_name);
			*offset = at - sym[i].st_value;
			return true;
		}
	return false;
}

/* In the file on disk. */
static bool
search_file(uintptr_t pc, const Dl_info *i, char *name, uintptr_t *offset)
{
	const Elf64_Ehdr *elf;
	const Elf64_Shdr *sections;

	map_file(i->dli_fname);
	elf = part(0, sizeof(*elf));
	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(*sections))
		return false;
	sections = part(elf->e_shoff, (uint64_t)elf->e_shnum * sizeof(*sections));
	for (int s = 0; sections && s < elf->e_shnum; s++)
		if (sections[s].sh_type == SHT_SYMTAB && sections[s].sh_link < elf->e_shnum &&
		    search(&sections[s], &sections[sections[s].sh_link],
			   elf->e_type == ET_EXEC ? pc : pc - (uintptr_t)i->dli_fbase, name,
			   offset))
			return true;
	return false;
}

bool
wf_symbol_of(uintptr_t pc, char name[WF_SYMBOL_BYTES], uintptr_t *offset)
{
	bool found = false;
	Dl_info i;

	if (!pc || !dladdr((void *)pc, &i))
		return false;
	if (at_xchg_acqrel(&busy, 1) == 0) { /* acqrel: the file as the last one left it */
		found = search_file(pc, &i, name, offset);
		at_store_rel(&busy, 0); /* rel: for the next one */
	}
	if (!found && i.dli_sname) {
		copy_name(name, i.dli_sname);
		*offset = pc - (uintptr_t)i.dli_saddr;
		found = true;
	}
	return found;
}
