# SPDX-License-Identifier: MIT
# Thin: Meson builds, the scripts in tools/ do the rest.
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

.PHONY: build help deps demo test test-full bench install check format clean

build: # builds loupe in build/
	@tools/install-deps.sh --check build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=false
	@ninja -C $(BUILD)

help: # this list
	@awk -F ':.*# ' '/^[a-z-]+:.*# / {printf "make %-10s %s\n", $$1, $$2}' Makefile

deps: # installs the Debian packages that building needs
	@tools/install-deps.sh build

demo: # builds, runs a small MPI program on 4 ranks under loupe, shows the report
	@tools/install-deps.sh build
	@$(MAKE) --no-print-directory build
	@tools/demo.sh $(BUILD)

test: # builds with gcc and clang, checks, tests; the last line is the count
	@tools/test.sh quick

test-full: # the same with sanitizers, long fuzzing and long tests
	@tools/test.sh full

check: # both builds and the static checks only
	@tools/test.sh check

bench: # measures what monitoring costs and how true its times are; not a test
	@tools/install-deps.sh bench
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD)
	@ninja -C $(BUILD) bench
	@ninja -C $(BUILD) bench-source
	@ninja -C $(BUILD) bench-estimates
	@ninja -C $(BUILD) bench-time
	@ninja -C $(BUILD) bench-path
	@ninja -C $(BUILD) bench-binary
	@ninja -C $(BUILD) bench-inject
	@ninja -C $(BUILD) bench-probe
	@ninja -C $(BUILD) bench-macro

install: # installs below PREFIX (/usr/local), DESTDIR before it
	@tools/install-deps.sh --check build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX) -Dtests=false
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir "$(DESTDIR)")

format: # formats the sources in place
	@find src tests include examples -name '*.[ch]' -exec clang-format -i {} +

clean: # removes what was built
	@rm -rf build build-*
