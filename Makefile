# SPDX-License-Identifier: MIT
#
#   make                       build/libweft.a and build/libweft.so
#   make VARIANT=name          build/name/libweft.a: debug torture asan tsan fault sim
#   make install PREFIX=/usr/local DESTDIR=
#   make uninstall, make clean, make test, make check-fast, make fmt, make fmt-check
#
# Other knobs: CC, CFLAGS and LDFLAGS (added to ours), WERROR=1, B=folder (where to build).
# Sources are found by name, so there is no list to keep: src/*.c, src/*/*.c, src/arch/<cpu>.S.
# A changed compiler, flag or set of sources rebuilds what depends on it.

VARIANT ?= release
PREFIX ?= /usr/local
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=

# ThreadSanitizer: gcc's gives up at some eight thousand fibers, clang's does not.
ifeq ($(VARIANT),tsan)
ifneq ($(filter default undefined,$(origin CC)),)
CC := clang
endif
endif

ifeq ($(VARIANT),release)
B ?= build
else
B ?= build/$(VARIANT)
endif

# VFLAGS: library and tests. VTEST: tests alone.
VFLAGS_release :=
VFLAGS_debug   := -DWF_DEBUG -O1
VFLAGS_torture := -DWF_DEBUG -DWF_CHAOS -DWF_TINY -DWF_TORTURE -DWEFT_NO_INLINE
VFLAGS_asan    := -DWF_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=undefined
VFLAGS_tsan    := -DWF_TSAN
VFLAGS_fault   := -DWF_DEBUG -DWF_FAULT
VFLAGS_sim     := -DWF_SIM -DWF_DEBUG -DWF_TINY
# The library tells ThreadSanitizer about its switches itself and stays un-instrumented:
# instrumented code around a switch would hide the races of the program.
VTEST_tsan := -fsanitize=thread

ifeq ($(filter $(VARIANT),release debug torture asan tsan fault sim),)
$(error unknown VARIANT '$(VARIANT)': release debug torture asan tsan fault sim)
endif

# A cross compiler brings its own ar; the host's may not know the format.
ifeq ($(origin AR),default)
ifneq ($(filter %-gcc,$(CC)),)
AR := $(or $(shell command -v $(patsubst %gcc,%ar,$(CC)) 2>/dev/null),ar)
endif
endif

MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
ARCH := $(patsubst amd64,x86_64,$(patsubst arm64,aarch64,$(firstword $(subst -, ,$(MACHINE)))))
VERSION := $(shell sed -n 's/^.define WEFT_VERSION *"\(.*\)".*/\1/p' include/weft/core.h)
SOMAJOR := 0

SRCS := $(sort $(wildcard src/*.c src/*/*.c)) $(wildcard src/arch/$(ARCH).S)
ifeq ($(VARIANT),sim)
SRCS := $(filter-out src/base/os.c src/base/osmem.c src/base/osio.c src/base/ossock.c src/base/probe.c,$(SRCS))
endif
OBJS := $(patsubst src/%,$B/obj/%.o,$(SRCS))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(if $(filter 1,$(WERROR)),-Werror)
COMMON := -std=gnu11 -O2 -g -fno-omit-frame-pointer -pthread -Iinclude -Isrc
# The red zone is for the switch: src/arch/ctx.h.
LIB_FLAGS = $(COMMON) $(if $(filter x86_64,$(ARCH)),-mno-red-zone) -fPIC -fvisibility=hidden $(WARN) $(VFLAGS_$(VARIANT)) $(CFLAGS)

TEST_SRCS := $(sort $(foreach d,unit integ stress fault fuzz,$(wildcard tests/$d/t_*.c)))
TEST_BINS := $(patsubst tests/%.c,$B/tests/%,$(TEST_SRCS))
TEST_OBJS := $(patsubst tests/lib/%.c,$B/tests/lib/%.o,$(sort $(wildcard tests/lib/*.c)))
# Tests include the library's own headers, so they are built with the same -D flags.
TEST_FLAGS = $(COMMON) -Itests/lib -Itests $(WARN) $(VFLAGS_$(VARIANT)) $(VTEST_$(VARIANT)) $(CFLAGS)
TEST_LDFLAGS ?= -rdynamic
TEST_LDLIBS ?= -pthread -ldl -lm

PUBLIC := weft.h $(patsubst include/%,%,$(sort $(wildcard include/weft/*.h)))
MANPAGES := $(notdir $(wildcard docs/man/*.3 docs/man/*.7))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

ifeq ($(VARIANT),release)
all: lib shared $B/libweft-lint.so
else ifeq ($(VARIANT),sim)
all: objects
else
all: lib
endif

lib: $B/libweft.a
shared: $B/libweft.so $B/libweft.so.$(SOMAJOR) $B/weft.pc
objects: $(OBJS)
tests: $(TEST_BINS)

# ---- stamps: a file whose text is what the outputs depend on, touched only when it changes
ifeq ($(filter clean uninstall fmt fmt-check test check-fast,$(MAKECMDGOALS)),)
ifeq ($(MACHINE),)
$(error the C compiler '$(CC)' does not run; set CC, or let ./weft install one)
endif
ifeq ($(SRCS),)
$(error no sources found in src/)
endif
quote = '$(subst ','\'',$1)'
define stamp
$(shell mkdir -p $(dir $1) && printf '%s\n' $(call quote,$2) >$1.$$$$ && \
	if cmp -s $1.$$$$ $1; then rm -f $1.$$$$; else mv -f $1.$$$$ $1; fi)
endef
COMPILER := $(CC) $(MACHINE) $(firstword $(shell $(CC) --version 2>/dev/null | cksum))
$(call stamp,$B/.flags,$(COMPILER) $(LIB_FLAGS))
$(call stamp,$B/.test-flags,$(COMPILER) $(TEST_FLAGS) $(TEST_LDFLAGS) $(TEST_LDLIBS))
$(call stamp,$B/.objects,$(OBJS))
$(call stamp,$B/.so-flags,$(LDFLAGS))
$(call stamp,$B/.pc-flags,$(PREFIX) $(LIBDIR) $(INCLUDEDIR) $(VERSION))
endif

# ---- the library
# Counts, indices and claims: a number that loses bits unnoticed is a lost goroutine.
$B/obj/core/%.o $B/obj/sched/%.o $B/obj/wait/%.o: CONVERSION := -Wconversion
$B/obj/%.c.o: src/%.c $B/.flags
	@mkdir -p $(@D)
	$(CC) $(CONVERSION) $(LIB_FLAGS) -MMD -MP -c $< -o $@

$B/obj/%.S.o: src/%.S $B/.flags
	@mkdir -p $(@D)
	$(CC) $(LIB_FLAGS) -MMD -MP -c $< -o $@

$B/libweft.a: $(OBJS) $B/.objects
	rm -f $@
	$(AR) rcs $@ $(OBJS)

$B/libweft.so: $(OBJS) $B/.objects $B/.so-flags weft.map
	$(CC) $(LIB_FLAGS) -shared -Wl,-soname,libweft.so.$(SOMAJOR) \
		-Wl,--version-script=weft.map -Wl,-z,nodelete -Wl,-z,defs $(LDFLAGS) \
		$(OBJS) -pthread -ldl -o $@

$B/libweft.so.$(SOMAJOR): $B/libweft.so
	ln -sf libweft.so $@

# Loaded by LD_PRELOAD: knows nothing of the variant.
$B/libweft-lint.so: preload/lint.c src/obs/lintlib.h $B/.flags
	$(CC) $(COMMON) -fPIC -fvisibility=hidden $(WARN) -shared -Wl,-z,defs $(LDFLAGS) $< -ldl -o $@

$B/weft.pc: weft.pc.in $B/.pc-flags
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@libdir@|$(LIBDIR)|' \
		-e 's|@includedir@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' $< >$@

# ---- tests: build/[variant/]tests/unit/t_name and so on; tests/run runs them
$B/tests/lib/%.o: tests/lib/%.c $B/.test-flags
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) -MMD -MP -c $< -o $@

$B/tests/%: tests/%.c $(TEST_OBJS) $B/libweft.a $B/.test-flags
	@mkdir -p $(@D)
	@rm -f $@
	$(CC) $(TEST_FLAGS) -MMD -MP -MF $@.d -MT $@ $(TEST_LDFLAGS) $< $(TEST_OBJS) \
		$B/libweft.a $(TEST_LDLIBS) -o $@

$B/tests/integ/t_lintlock: | $B/libweft-lint.so
# This one loads the shared library.
ifeq ($(VARIANT),release)
$B/tests/integ/t_dlopen: | $B/libweft.so
endif

-include $(OBJS:.o=.d) $(TEST_OBJS:.o=.d) $(addsuffix .d,$(TEST_BINS))

# ---- install
install: all
ifneq ($(VARIANT),release)
	$(error only VARIANT=release can be installed)
endif
	install -d "$(DESTDIR)$(INCLUDEDIR)/weft" "$(DESTDIR)$(LIBDIR)/pkgconfig"
	for h in $(PUBLIC); do \
		install -m 644 include/$$h "$(DESTDIR)$(INCLUDEDIR)/$$h" || exit 1; done
	install -m 644 $B/libweft.a "$(DESTDIR)$(LIBDIR)/libweft.a"
	install -m 755 $B/libweft.so "$(DESTDIR)$(LIBDIR)/libweft.so.$(VERSION)"
	install -m 755 $B/libweft-lint.so "$(DESTDIR)$(LIBDIR)/libweft-lint.so"
	ln -sf libweft.so.$(VERSION) "$(DESTDIR)$(LIBDIR)/libweft.so.$(SOMAJOR)"
	ln -sf libweft.so.$(SOMAJOR) "$(DESTDIR)$(LIBDIR)/libweft.so"
	install -m 644 $B/weft.pc "$(DESTDIR)$(LIBDIR)/pkgconfig/weft.pc"
	for p in $(MANPAGES); do s="$(DESTDIR)$(MANDIR)/man$${p##*.}"; \
		install -d "$$s" && install -m 644 docs/man/$$p "$$s/$$p" || exit 1; done

uninstall:
	for h in $(PUBLIC); do rm -f "$(DESTDIR)$(INCLUDEDIR)/$$h"; done
	-rmdir "$(DESTDIR)$(INCLUDEDIR)/weft" 2>/dev/null
	rm -f "$(DESTDIR)$(LIBDIR)/libweft.a" "$(DESTDIR)$(LIBDIR)/libweft.so" \
		"$(DESTDIR)$(LIBDIR)/libweft-lint.so" \
		"$(DESTDIR)$(LIBDIR)/libweft.so.$(SOMAJOR)" \
		"$(DESTDIR)$(LIBDIR)/libweft.so.$(VERSION)" \
		"$(DESTDIR)$(LIBDIR)/pkgconfig/weft.pc"
	for p in $(MANPAGES); do rm -f "$(DESTDIR)$(MANDIR)/man$${p##*.}/$$p"; done

# ---- the rest
clean:
	rm -rf build

test:
	./weft test

check-fast:
	./weft test fmt tools/ release-1/unit

fmt:
	./weft fmt

fmt-check:
	./weft fmt --check

.PHONY: all lib shared objects tests install uninstall clean test check-fast fmt fmt-check
