# mod_neoapi: `make` builds, `make demo` runs, `make check` tests. `make help` lists the rest.

# Settings of this file are arguments of make (make unit SAN=1). Variables of the environment with the same names are dropped, because other
# programs may use them. Exceptions are the compiler's (CC, CFLAGS, CPPFLAGS, LDFLAGS), as everywhere, and those of the demo, whose names are
# unlikely to be used by others: make demo DEMO_PORT=9443 and DEMO_PORT=9443 make demo are the same.
SETTINGS := BUILD SAN COV APXS CLANG CLANG_TIDY MPM MARKS PYTEST_ARGS PYTEST_PROCESSES PACKAGE_TESTS RELEASE ARCHITECTURE RELEASES RELEASE_CHECKS DRY_RUN KEY REPOSITORY PACKAGES TRACKER SBOM DEMO_PORT DEMO_CONF DEMO_RETRY_DELAYS \
            DEMO_RECEIVER_PORT CLUSTER_PORT CLUSTER_NODES NODE FUZZ_RUNS RESOURCE BENCH BENCH_SECONDS BENCH_PAIRS BENCH_ROUNDS BENCH_DELIVERIES TORTURE_MINUTES TORTURE_SEED SOAK SOAK_MINUTES PREFIX DESTDIR
$(foreach name,$(filter-out DEMO_%,$(SETTINGS)),$(if $(filter environment,$(origin $(name))),$(eval undefine $(name))))

# The checks are the same for everyone: they ignore the environment, and take no settings.
CHECKS := $(filter check check-all check-rest,$(MAKECMDGOALS))
GIVEN  := $(strip $(foreach name,$(SETTINGS),$(if $(filter command%,$(origin $(name))),$(name))))
$(if $(and $(CHECKS),$(GIVEN)),$(error make $(CHECKS) takes no settings, but $(GIVEN) is given. `make e2e` and `make unit` take them))

# A goal first installs the Debian packages that it needs and that are missing: groups of tests/deploy/packages.sh. Plain `make` installs
# nothing. What asks pkg-config, apxs or the compiler is computed at its first use, after that.
NEEDS.deps           := build run unit check check-all
NEEDS.unit           := build unit
NEEDS.e2e            := build run check
NEEDS.e2e-parallel   := $(NEEDS.e2e)
NEEDS.e2e-alone      := $(NEEDS.e2e)
NEEDS.check          := build run unit check
NEEDS.coverage       := build run unit check
NEEDS.check-all      := $(NEEDS.deps)
NEEDS.check-rest     := $(NEEDS.deps)
NEEDS.check-manuals  := $(NEEDS.deps)
NEEDS.openapi-check  := $(NEEDS.deps)
NEEDS.lint           := build check check-all
NEEDS.tidy           := $(NEEDS.deps)
NEEDS.analyze        := build
NEEDS.format         := check-all
NEEDS.fuzz           := build unit check-all
NEEDS.fuzz-check     := build unit
NEEDS.oss-fuzz-check := build unit check-all
NEEDS.manuals        := build
NEEDS.demo           := build run
NEEDS.cluster        := build run cluster
NEEDS.cluster-test   := build run cluster
NEEDS.cluster-bench  := build run cluster bench
NEEDS.demo-receiver  := run
NEEDS.demo-story     := run
NEEDS.demo-sync      := run check
NEEDS.sql            := build
NEEDS.golden         := build
NEEDS.golden-check   := build
NEEDS.package        := build package $(if $(ARCHITECTURE),foreign)
NEEDS.reproducible   := build package image
NEEDS.image          := build package image $(if $(ARCHITECTURE),foreign)
NEEDS.image-test     := build run check package image $(if $(ARCHITECTURE),foreign)
NEEDS.package-test   := build package repository
NEEDS.apt-repository := build package repository
NEEDS.release        := build package repository
NEEDS.bench          := build run bench
NEEDS.bench-webhooks := build run bench
NEEDS.bench-peers    := build run bench
NEEDS.torture        := build run check
NEEDS.soak           := build run check
GOALS := $(or $(MAKECMDGOALS),all)
# NEOAPI_INSTALL=no prevents it, while the Debian package is built.
needs := $(if $(filter no,$(NEOAPI_INSTALL)),,$(sort $(foreach goal,$(GOALS),$(NEEDS.$(goal)))))

# `packages` precedes everything that is built or run. It is phony and an order-only prerequisite, so that it causes no build.
.PHONY: packages
packages:
ifneq ($(needs),)
	@sh tests/deploy/packages.sh $(needs) >&2
else ifneq ($(filter all install,$(GOALS)),)
	@pkg-config --exists apr-1 apr-util-1 libpq jansson yaml-0.1 zlib libssl libcrypto libcurl || echo 'Packages are missing: run `make deps`.' >&2
endif
$(patsubst NEEDS.%,%,$(filter NEEDS.%,$(.VARIABLES))): | packages

# The only place of the version is debian/changelog.
VERSION := $(shell sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p' debian/changelog)
BUILD   ?= build
CC      ?= cc
APXS    ?= apxs
CLANG_TIDY ?= clang-tidy

# One line for each file that is built; V=1 shows whole commands. run NAME,FILE goes before a command.
run = @$(if $(filter 1,$(V)),set -x;,printf '%-5s %s\n' $(1) '$(2)';)

# APR declares the strings of apr_pstrmemdup a byte shorter than they are, which object-size reports with GCC 14.
SANITIZE := -fsanitize=address,undefined -fno-sanitize=object-size -fno-omit-frame-pointer

# SAN=1 builds everything with AddressSanitizer and UBSan, beside the ordinary build.
ifeq ($(SAN),1)
override BUILD := $(BUILD)/san
SANFLAGS := $(SANITIZE) -fno-sanitize-recover=undefined
endif

# COV=1 builds everything with gcov's counters, and with the optimizations that keep its branches.
ifeq ($(COV),1)
override BUILD := $(BUILD)/coverage
COVFLAGS := -Og --coverage -fprofile-update=atomic
endif

# Warnings of a newer compiler do not stop the Debian package: WERROR= there.
WERROR   ?= -Werror
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wno-sign-conversion -Wformat=2 \
            -Wundef -Wvla -Wpointer-arith -Wwrite-strings $(WERROR)
# What the headers of others bring along is not ours to warn about.
SYSTEM    = $(eval SYSTEM := \
            $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I apr-1 apr-util-1 libpq jansson yaml-0.1 libcrypto 2>/dev/null)) \
            -isystem $(shell pg_config --includedir 2>/dev/null) -isystem $(shell $(APXS) -q INCLUDEDIR 2>/dev/null))$(SYSTEM)
CPPFLAGS += -Iinclude -I$(BUILD)/gen $(SYSTEM) -D_GNU_SOURCE -DLINUX -D_REENTRANT -DNEO_VERSION='"$(VERSION)"'
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 -fPIC -fvisibility=hidden -fstack-protector-strong $(WARNINGS) $(SANFLAGS) $(COVFLAGS)

# The hardening of Debian's packages, on every release and as far as the compiler has it: not with the sanitizers, and _FORTIFY_SOURCE
# only with optimization. The value is computed at its first use.
FORTIFY    = $(if $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS)))),$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDENING  = $(eval HARDENING := $(if $(SANFLAGS),,$(FORTIFY) $(shell \
             for flag in -fstack-clash-protection -fcf-protection -mbranch-protection=standard; do \
                 $(CC) -Werror $$flag -S -o /dev/null -x c /dev/null 2>/dev/null && echo $$flag; done)))$(HARDENING)
LDFLAGS  += -Wl,-z,relro,-z,now -Wl,--as-needed $(SANFLAGS) $(COVFLAGS)
LDLIBS   := -lapr-1 -laprutil-1 -ljansson -lyaml -lz -lssl -lcrypto -lcurl -lpq -lpthread -lm

# The layers of the library that the module and neoapictl use.
LIBRARY  := core pg schema resources sql whatsapp webhooks openapi admin api jobs status
# Sorted, because the order of wildcard depends on the locale, and that of the objects in the programs on it.
LIB_SRC  := $(sort $(wildcard $(LIBRARY:%=src/%/*.c)))
MOD_SRC  := mod_neoapi.c $(sort $(wildcard src/httpd/*.c))
CTL_SRC  := $(sort $(wildcard src/ctl/*.c))
CTL_GEN  := $(BUILD)/gen/site_script.c $(BUILD)/gen/site_template.c
GEN      := $(BUILD)/gen/migrations.c $(BUILD)/gen/docs.c $(BUILD)/gen/report_style.c $(BUILD)/gen/subject_style.c \
            $(BUILD)/gen/openapi_json_text.c $(BUILD)/gen/openapi_introduction.c
SQL_H    := $(patsubst src/%.sql,$(BUILD)/gen/%.sql.h,$(wildcard src/*/*.sql))
TEST_SRC := $(wildcard tests/unit/test_*.c)

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(GEN:$(BUILD)/%.c=$(BUILD)/obj/%.o)
MOD_OBJ  := $(MOD_SRC:%.c=$(BUILD)/obj/%.o)
CTL_OBJ  := $(CTL_SRC:%.c=$(BUILD)/obj/%.o) $(CTL_GEN:$(BUILD)/%.c=$(BUILD)/obj/%.o)
TESTS    := $(TEST_SRC:tests/unit/%.c=$(BUILD)/unit/%)

LIB    := $(BUILD)/libneoapi.a
MODULE := $(BUILD)/mod_neoapi.so
CTL    := $(BUILD)/neoapictl

.PHONY: all help clean unit install e2e check coverage check-all check-rest
.DEFAULT_GOAL := all

all: $(MODULE) $(CTL) $(BUILD)/gen/marks ## build the module and neoapictl (needs the packages that `make deps` installs)

# Every field has a mark that says whether it is personal data.
MARKED := $(shell grep -rl --include='*.c' 'neo_field [a-z_]*\[\] = ' src)
$(BUILD)/gen/marks: $(MARKED) src/schema/marks.awk $(wildcard include/resources/*.h src/resources/*.h) | packages $(SQL_H)
	@for file in $(MARKED); do $(CC) -E -P $(CPPFLAGS) "$$file" | awk -f src/schema/marks.awk || exit; done && touch $@

$(MODULE): $(MOD_OBJ) $(LIB)
	$(call run,LD,$@) $(CC) -shared $(LDFLAGS) -o $@ $(MOD_OBJ) $(LIB) $(LDLIBS)

$(CTL): $(CTL_OBJ) $(LIB)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $(CTL_OBJ) $(LIB) $(LDLIBS)

$(LIB): $(LIB_OBJ)
	@rm -f $@
	$(call run,AR,$@) ar rcs $@ $(LIB_OBJ)

# At the first build no .d file says yet which objects include a generated header, so all of those come first.
$(BUILD)/obj/%.o: %.c | packages $(SQL_H)
	@mkdir -p $(@D)
	$(call run,CC,$<) $(CC) $(CPPFLAGS) $(CFLAGS) $(HARDENING) -MMD -MP -c -o $@ $<

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c | packages
	@mkdir -p $(@D)
	$(call run,CC,$<) $(CC) $(CPPFLAGS) $(CFLAGS) $(HARDENING) -MMD -MP -c -o $@ $<

.SECONDEXPANSION:

# The migrations and the statements in src/*/*.sql are embedded as C constants.
$(BUILD)/gen/migrations.c: sql/embed.sh $(wildcard sql/*.sql)
	@mkdir -p $(@D)
	$(call run,GEN,$@) sh sql/embed.sh migrations sql/[0-9]*.sql >$@.new && mv $@.new $@

$(SQL_H): $(BUILD)/gen/%.sql.h: src/%.sql sql/embed.sh
	@mkdir -p $(@D)
	$(call run,GEN,$@) sh sql/embed.sh statements $< >$@.new && mv $@.new $@

# Other texts, too: the constant neo_NAME has the file EMBED.NAME.
EMBED.report_style         := src/status/status.css
EMBED.subject_style        := src/resources/subject_page.css
EMBED.openapi_json_text    := src/openapi/document.json
EMBED.openapi_introduction := src/openapi/introduction.md
EMBED.site_script          := src/ctl/site.sh
EMBED.site_template        := conf/neoapi.conf

$(filter-out %/migrations.c %/docs.c,$(GEN)) $(CTL_GEN): $(BUILD)/gen/%.c: $$(EMBED.$$*) sql/embed.sh
	@mkdir -p $(@D)
	$(call run,GEN,$@) sh sql/embed.sh text neo_$* $< >$@.new && mv $@.new $@

# The documentation is embedded, too.
$(BUILD)/gen/docs.c: $(wildcard src/docs/*) $(BUILD)/diagram | packages
	@mkdir -p $(@D)
	@sh src/docs/pack.sh '$(VERSION)' '$(BUILD)/diagram' '$@'

# Prints the tables of transitions, for the diagrams of the documentation.
$(BUILD)/diagram: $(BUILD)/obj/src/docs/diagram.o $(BUILD)/libtables.a
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libtables.a: $(filter $(BUILD)/obj/src/core/% $(BUILD)/obj/src/schema/% $(BUILD)/obj/src/resources/%,$(LIB_OBJ))
	@rm -f $@
	$(call run,AR,$@) ar rcs $@ $^

unit: $(TESTS) ## run the unit tests (SAN=1: built with the sanitizers)
	@sh tests/unit/run.sh $(TESTS)

# These tests set the clock themselves.
$(BUILD)/unit/test_service $(BUILD)/unit/test_rate_limit: LDFLAGS += -Wl,--wrap=neo_now_ms
$(BUILD)/unit/test_lease: LDFLAGS += -Wl,--wrap=neo_steady_ms

.SECONDARY: $(TEST_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(LIB)
	@mkdir -p $(@D)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS) -lcmocka

clean: ## remove what was built (servers that were started from it are stopped first)
	@sh tests/cluster/cluster.sh remove '$(BUILD)/cluster'
	@find -L '$(BUILD)' -name node_modules -prune -o -name .instance -print 2>/dev/null | \
		while read -r mark; do sh tests/deploy/instance.sh remove "$${mark%/.instance}" || exit; done
	rm -rf '$(BUILD)'

# Where an administrator's own programs go; Apache's modules stay where Apache looks for them.
PREFIX ?= /usr/local
install: all manuals ## install the module, neoapictl, neoapi-listen, manuals, completion (PREFIX=/usr/local, DESTDIR)
	install -D -m 644 $(MODULE) '$(DESTDIR)$(shell $(APXS) -q LIBEXECDIR)/mod_neoapi.so'
	install -D -m 755 $(CTL) '$(DESTDIR)$(PREFIX)/bin/neoapictl'
	install -D -m 755 src/docs/neoapi-listen.py '$(DESTDIR)$(PREFIX)/bin/neoapi-listen'
	install -D -m 644 $(BUILD)/man/neoapictl.1 '$(DESTDIR)$(PREFIX)/share/man/man1/neoapictl.1'
	install -D -m 644 $(BUILD)/man/neoapi-listen.1 '$(DESTDIR)$(PREFIX)/share/man/man1/neoapi-listen.1'
	install -D -m 644 $(BUILD)/man/mod_neoapi.7 '$(DESTDIR)$(PREFIX)/share/man/man7/mod_neoapi.7'
	install -D -m 644 $(BUILD)/man/neoapictl.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/neoapictl'

# ---------------------------------------------------------------- manuals

# Directives are explained in conf/neoapi.conf, commands in neoapictl's table: the manuals are made of both.
.PHONY: manuals
manuals: $(BUILD)/man/neoapictl.1 $(BUILD)/man/neoapi-listen.1 $(BUILD)/man/mod_neoapi.7 $(BUILD)/man/neoapictl.bash ## make the manual pages

$(BUILD)/man/neoapictl.1: $(CTL)
	@mkdir -p $(@D)
	$(call run,GEN,$@) $(CTL) manual >$@.new && mv $@.new $@

$(BUILD)/man/neoapi-listen.1: doc/neoapi-listen.1.in
	@mkdir -p $(@D)
	$(call run,GEN,$@) sed 's/@VERSION@/$(VERSION)/' $< >$@.new && mv $@.new $@

$(BUILD)/man/neoapictl.bash: $(CTL)
	@mkdir -p $(@D)
	$(call run,GEN,$@) $(CTL) completion bash >$@.new && mv $@.new $@

$(BUILD)/man/mod_neoapi.7: $(wildcard doc/*) conf/neoapi.conf include/core/messages.h
	@mkdir -p $(@D)
	$(call run,GEN,$@) sh doc/manual.sh '$(VERSION)' >$@.new && mv $@.new $@

.PHONY: check-manuals
check-manuals: all manuals
	@sh tests/deploy/check-manuals.sh '$(BUILD)'

# ---------------------------------------------------------------- the tests

# PYTEST_ARGS chooses some of them: '-k pagination -x', or a file such as tests/e2e/test_lists.py. They mostly wait, so several processes run
# them, each with servers of its own, file by file. Tests that measure times (marked "alone") follow, one after the other.
# 5: no test was chosen, which is no failure.
PYTEST_PROCESSES ?= 4
MPM    ?= event
MARKS  ?= not alone
PYTEST := NEOAPI_META_OPENAPI='$(abspath $(META_OPENAPI))' NEOAPI_TEST_BUILD='$(BUILD)' NEOAPI_TEST_MPM='$(MPM)' /usr/bin/python3 -m pytest -q
E2E    = $(if $(findstring tests/e2e/,$(PYTEST_ARGS)),,tests/e2e) $(PYTEST_ARGS)
.PHONY: e2e-parallel e2e-alone
e2e: e2e-parallel ## run the end-to-end tests against real servers (PYTEST_ARGS=..., PYTEST_PROCESSES=4, MPM=worker; SAN=1 with the sanitizers)
	@$(MAKE) --no-print-directory e2e-alone

e2e-parallel: all $(BUILD)/statements
	@$(PYTEST) -m '$(MARKS)' -n $(PYTEST_PROCESSES) --dist loadfile $(E2E) || [ $$? -eq 5 ]

e2e-alone: all
	@$(PYTEST) -m alone $(E2E) || [ $$? -eq 5 ]

check: ## before a commit: build, unit tests, end-to-end tests of the API (nine minutes)
	@sh tests/check.sh

coverage: ## measure the coverage of the sources by the tests of `make check`; it must not fall below tests/coverage.py's floor (six minutes)
	@/usr/bin/python3 -B tests/coverage.py '$(BUILD)'

check-all: ## check, then the rest: sanitizers, slow and timing tests, browsers, fuzz corpora, linters, coverage
	@sh tests/check.sh all

check-rest: ## check-all without check and coverage
	@sh tests/check.sh rest

# ---------------------------------------------------------------- packages, and the demo

.PHONY: deps demo demo-receiver demo-story demo-sync demo-stop demo-remove
deps: ## install the Debian packages that are missing
	@:

demo: all ## build it and run it with data (DEMO_PORT=8443, DEMO_RETRY_DELAYS="0 1 2 3 4", DEMO_CONF=file with httpd directives)
	@NEOAPI_DEMO_PORT='$(DEMO_PORT)' NEOAPI_DEMO_CONF='$(DEMO_CONF)' NEOAPI_DEMO_RETRY_DELAYS='$(DEMO_RETRY_DELAYS)' \
		sh tests/demo/demo.sh start '$(BUILD)'

demo-receiver: ## show the webhooks that the running demo sends, until Ctrl-C (DEMO_RECEIVER_PORT=8555)
	@NEOAPI_DEMO_RECEIVER_PORT='$(DEMO_RECEIVER_PORT)' /usr/bin/python3 -B tests/demo/receiver.py '$(BUILD)'

demo-story: ## show, in the running demo, how a portal's lead gets an answer over WhatsApp: webhooks, template, photograph, reply, opt-out
	@/usr/bin/python3 -B tests/demo/story.py '$(BUILD)'

demo-sync: ## keep a copy of the running demo's data in build/demo/copy.db and print what other credentials change, until Ctrl-C
	@echo 'The copy is $(BUILD)/demo/copy.db. Change something with the key that the demo printed.'
	@. '$(BUILD)/demo/env' && API=$$NEOAPI_URL KEY=$$NEOAPI_VIEWER_KEY REQUESTS_CA_BUNDLE=$$NEOAPI_CA \
		exec /usr/bin/python3 -B src/docs/sync.py '$(BUILD)/demo/copy.db'

demo-stop: ## stop the demo and keep its data
	@sh tests/demo/demo.sh stop '$(BUILD)'

demo-remove: ## stop the demo and delete its data
	@sh tests/demo/demo.sh remove '$(BUILD)'

# ---------------------------------------------------------------- several hosts on this machine

# etcd, Patroni, PgBouncer, HAProxy and two hosts, with the demo's data; doc/cluster.md
CLUSTER := sh tests/cluster/cluster.sh
.PHONY: cluster cluster-start cluster-kill cluster-status cluster-remove cluster-test cluster-bench
cluster: all ## run several hosts on this machine: Patroni, PgBouncer, two Apaches, HAProxy (CLUSTER_PORT=9443)
	@NEOAPI_CLUSTER_PORT='$(CLUSTER_PORT)' $(CLUSTER) up '$(BUILD)/cluster' '$(BUILD)'

cluster-start: ## start a node of the cluster again (NODE=db1)
	@$(CLUSTER) start '$(BUILD)/cluster' '$(NODE)'

cluster-kill: ## kill a node of the cluster (NODE=primary, db1, etcd1, host1, pgbouncer1, haproxy ...)
	@$(CLUSTER) kill '$(BUILD)/cluster' '$(NODE)'

cluster-status: ## show the cluster's nodes, and which server is the primary
	@$(CLUSTER) status '$(BUILD)/cluster'

cluster-remove: ## stop the cluster and delete its data
	@$(CLUSTER) remove '$(BUILD)/cluster'

cluster-test: all ## cause faults in a cluster of its own under load; check that no write is lost (CLUSTER_FAULTS="primary partition ...")
	@/usr/bin/python3 -B tests/cluster/test_cluster.py '$(BUILD)' $(CLUSTER_FAULTS)

cluster-bench: all ## measure lists, creates and exports with no, one and two replicas, in a cluster of its own (CLUSTER_ROUNDS=5)
	@/usr/bin/python3 -B tests/cluster/bench.py '$(BUILD)' $(CLUSTER_ROUNDS)

# ---------------------------------------------------------------- the Debian package

.PHONY: package package-test
# RELEASE names the Debian release to build and test for, ARCHITECTURE the architecture to build for; others than this machine's have a folder
# of their own.
TARGET  := $(RELEASE:%=/%)$(ARCHITECTURE:%=/%)
PACKAGE := $(BUILD)/package$(TARGET)

package: ## build the Debian package, into BUILD/package (RELEASE=trixie, ARCHITECTURE=arm64 for these, into BUILD/package/trixie/arm64)
	@NEOAPI_RELEASE='$(RELEASE)' NEOAPI_ARCHITECTURE='$(ARCHITECTURE)' sh tests/package/build.sh '$(PACKAGE)'

package-test: package ## try the package on throwaway Debian systems: lintian, piuparts, autopkgtest, upgrades (RELEASE=trixie, PACKAGE_TESTS='lintian walk ...')
	@NEOAPI_RELEASE='$(RELEASE)' bash tests/package/test.sh '$(PACKAGE)' $(PACKAGE_TESTS)

# ---------------------------------------------------------------- the container image

.PHONY: image image-test reproducible
IMAGE := $(BUILD)/image$(TARGET)

image: package ## build the container image from the package, into BUILD/image (RELEASE=trixie, ARCHITECTURE=arm64)
	@NEOAPI_RELEASE='$(RELEASE)' NEOAPI_ARCHITECTURE='$(ARCHITECTURE)' bash tests/image/build.sh '$(PACKAGE)' '$(IMAGE)'

image-test: image all ## run the image with crun: setup, requests, webhooks, kills, stops, an upgrade; check the lists of components (as root; ARCHITECTURE=arm64)
	@[ '$(ARCHITECTURE)' ] || NEOAPI_TEST_BUILD='$(BUILD)' /usr/bin/python3 -B tests/image/next.py '$(PACKAGE)'/libapache2-mod-neoapi_*.deb '$(IMAGE)/next'
	@[ '$(ARCHITECTURE)' ] || NEOAPI_RELEASE='$(RELEASE)' NEOAPI_DEBS='$(abspath $(IMAGE))/debs' bash tests/image/build.sh '$(IMAGE)/next' '$(IMAGE)/next'
	@NEOAPI_TEST_BUILD='$(BUILD)' NEOAPI_IMAGE='$(IMAGE)' NEOAPI_NEXT_IMAGE='$(IMAGE)$(if $(ARCHITECTURE),,/next)' NEOAPI_PACKAGE='$(PACKAGE)' \
		/usr/bin/python3 -B -m pytest -q -x -s -p no:cacheprovider tests/image $(if $(ARCHITECTURE),-k '$(EMULATED)')

# Without what takes too long in an emulator, the next version, and what compares with programs and packages of this machine.
EMULATED := not killed and not upgrade and not ldd and not page

reproducible: image ## build package and image twice, on different days, by different users, and compare the bytes (as root)
	@NEOAPI_DEBS='$(abspath $(IMAGE))/debs' bash tests/package/reproducible.sh '$(BUILD)/reproducible'

# KEY is a secret key of gpg's. PACKAGES is a folder of `make release` with packages; otherwise they are built.
RELEASES   ?= bookworm trixie
REPOSITORY ?= $(BUILD)/apt-repository
.PHONY: apt-repository release
apt-repository: ## add the packages for Debian 12 and 13 to a signed apt repository (KEY=FINGERPRINT[,NEXT], REPOSITORY=DIR, PACKAGES=DIR; doc/releasing.md)
	@[ '$(KEY)' ] || { echo 'apt-repository: KEY names the secret key that signs, by its fingerprint' >&2; exit 2; }
	@[ '$(PACKAGES)' ] || for release in $(RELEASES); do $(MAKE) --no-print-directory package RELEASE="$$release" || exit; done
	@sh tests/package/repository.sh '$(REPOSITORY)' '$(KEY)' $(foreach release,$(RELEASES),'$(release)=$(or $(PACKAGES),$(BUILD)/package)/$(release)')

release: ## make a release: changelog, version, tag, artefacts, checks (VERSION=0.1.0, KEY=FINGERPRINT, DRY_RUN=1; doc/releasing.md)
	@NEOAPI_RELEASES='$(RELEASES)' NEOAPI_RELEASE_KEY='$(KEY)' NEOAPI_RELEASE_CHECKS='$(RELEASE_CHECKS)' NEOAPI_DRY_RUN='$(DRY_RUN)' \
		NEOAPI_PACKAGE_TESTS='$(PACKAGE_TESTS)' sh tests/package/make-release.sh \
		'$(if $(filter command%,$(origin VERSION)),$(VERSION))' '$(BUILD)/release'

.PHONY: advisory-check
advisory-check: ## compare the package's dependencies with Debian's security tracker (TRACKER=copy of its JSON, RELEASE=bookworm, SBOM=FILE)
	@[ '$(TRACKER)' ] || { echo 'advisory-check: TRACKER names a copy of https://security-tracker.debian.org/tracker/data/json' >&2; exit 2; }
	@NEOAPI_RELEASE='$(RELEASE)'; . tests/package/release.sh; /usr/bin/python3 -B tests/package/advisories.py '$(TRACKER)' "$$release" \
		'$(or $(SBOM),$(firstword $(wildcard $(PACKAGE)/libapache2-mod-neoapi_*.deb) none))'

# ---------------------------------------------------------------- lint

.PHONY: lint format
format: ## format the C files
	clang-format -i mod_neoapi.c $$(find src include tests -name '*.[ch]')

lint: golden-check ## check circles, format, layers, sizes, texts, the tests of SECURITY.md and tests/golden; then that each check can fail
	@sh tests/lint/check.sh . circles format formats guarantees layers licences sizes texts
	@/usr/bin/python3 -B -m pytest -q -p no:cacheprovider tests/lint

.PHONY: tidy
tidy: $(GEN) ## check the C sources with clang-tidy (.clang-tidy says what for)
	@printf '%s\n' $(LIB_SRC) $(MOD_SRC) $(CTL_SRC) | \
		xargs -P "$$(nproc)" -I{} $(CLANG_TIDY) --quiet {} -- $(CPPFLAGS) -std=gnu11 2>$(BUILD)/tidy.log || { cat $(BUILD)/tidy.log; exit 1; }

# gcc's analyzer, as .clang-tidy for clang's. It sees one file at a time, so not that a function of another file never returns NULL.
ANALYZER := -fanalyzer -Wno-analyzer-null-argument -Wno-analyzer-null-dereference
ANALYZED := $(patsubst %.c,$(BUILD)/analyzer/%.o,$(LIB_SRC) $(MOD_SRC) $(CTL_SRC))

# Memory that pthread_setspecific and CURLOPT_PRIVATE keep, and that of an answer, which its request frees.
$(addprefix $(BUILD)/analyzer/src/,core/crypto.o webhooks/sender.o api/create_queue.o): ANALYZER += -Wno-analyzer-malloc-leak
# gcc 14 takes two parameters with the same argument for one.
$(BUILD)/analyzer/src/schema/transition.o: ANALYZER += -Wno-analyzer-deref-before-check
# main() keeps the descriptors of closed standard streams occupied.
$(BUILD)/analyzer/src/ctl/main.o: ANALYZER += -Wno-analyzer-fd-leak

.PHONY: analyze
analyze: $(ANALYZED) ## check the C sources with gcc's -fanalyzer

$(BUILD)/analyzer/%.o: %.c | packages $(SQL_H)
	@mkdir -p $(@D)
	$(call run,CHECK,$<) gcc $(CPPFLAGS) $(CFLAGS) $(ANALYZER) -MMD -MP -c -o $@ $<

# ---------------------------------------------------------------- SQL

# The program that prints the generated statements.
INTERCEPTED := neo_sql_make neo_statement_make neo_pg_run
$(BUILD)/statements: LDFLAGS += $(INTERCEPTED:%=-Wl,--wrap=%)
$(BUILD)/statements: $(BUILD)/obj/tests/golden/print.o $(LIB)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

.PHONY: sql golden golden-check
sql: $(BUILD)/statements ## print the SQL of a resource (RESOURCE=broker)
	@/usr/bin/python3 -B tests/golden/golden.py show '$(BUILD)/statements' '$(RESOURCE)'

golden: $(BUILD)/statements ## write the SQL of all resources into tests/golden, after a change of the tables or of the generator
	@/usr/bin/python3 -B tests/golden/golden.py write '$(BUILD)/statements'

golden-check: $(BUILD)/statements
	@/usr/bin/python3 -B tests/golden/golden.py check '$(BUILD)/statements'

# ---------------------------------------------------------------- openapi

# A base URL that the linters take for a real one.
OPENAPI_URL := https://api.imobiliaria.example/public/v1/

.PHONY: openapi-check
openapi-check: $(BUILD)/openapi/print ## lint the API's description and compile a client with its types
	@/usr/bin/python3 -B tests/openapi/roundtrip.py $<
	@$< description $(OPENAPI_URL) $(OPENAPI_URL)docs >$(BUILD)/openapi/openapi.yaml
	@$< errors >$(BUILD)/openapi/errors.html
	@sh tests/openapi/check.sh $(BUILD)/openapi/openapi.yaml

$(BUILD)/openapi/print: $(BUILD)/obj/tests/openapi/print.o $(LIB)
	@mkdir -p $(@D)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

# ---------------------------------------------------------------- fuzz

# The fuzzers and their objects, which clang builds with its sanitizers in a folder of their own.
FUZZERS   := request body cursor import csv url response callback reply portal
FUZZ      := $(BUILD)/fuzz
FUZZ_OBJ  := $(LIB_SRC:%.c=$(FUZZ)/obj/%.o) $(GEN:%.c=$(FUZZ)/obj/%.o) $(FUZZ)/obj/src/ctl/import_read.o
CLANG     ?= $(firstword $(foreach name,clang $(foreach n,21 20 19 18 17 16 15 14,clang-$(n)),$(shell command -v $(name))))
FUZZFLAGS := $(SANITIZE) -fno-sanitize-recover=all
# tests/fuzz/oss-fuzz/build.sh gives its own.
FUZZ_COMPILE = $(FUZZFLAGS) -fsanitize=fuzzer-no-link
FUZZ_LINK    = $(CLANG) -fsanitize=fuzzer $(FUZZFLAGS)

.PHONY: fuzz fuzz-check fuzz-keep fuzz-programs oss-fuzz-check
fuzz-programs: $(FUZZERS:%=$(FUZZ)/%)

oss-fuzz-check: ## build the fuzzers with the script and the flags of OSS-Fuzz, and run each
	@bash tests/fuzz/oss-fuzz/check.sh '$(CLANG)' '$(BUILD)/oss-fuzz'

fuzz: $(FUZZERS:%=$(FUZZ)/%) ## fuzz the parsers of untrusted input, with the sanitizers (FUZZ_RUNS=10000000)
	@NEOAPI_FUZZ_RUNS='$(FUZZ_RUNS)' sh tests/fuzz/fuzz.sh run '$(FUZZ)' $(FUZZERS)

# It uses the objects of the other tests with sanitizers, so that the library is not compiled for it alone.
ifeq ($(SAN),1)
fuzz-check: $(FUZZERS:%=$(BUILD)/replay/%)
	@sh tests/fuzz/fuzz.sh check '$(BUILD)/replay' $(FUZZERS)
else
fuzz-check: ## replay the stored fuzz corpora
	@$(MAKE) --no-print-directory SAN=1 $@
endif

$(BUILD)/replay/import: $(BUILD)/obj/src/ctl/import_read.o
$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(LIB)
	@mkdir -p $(@D)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS) -lcmocka

fuzz-keep: $(FUZZERS:%=$(FUZZ)/%) ## minimize and store the corpus that `make fuzz` found
	@sh tests/fuzz/fuzz.sh keep '$(FUZZ)' $(FUZZERS)

.SECONDARY: $(FUZZERS:%=$(FUZZ)/obj/tests/fuzz/%.o) $(FUZZERS:%=$(BUILD)/obj/tests/fuzz/%.o) $(BUILD)/obj/tests/fuzz/replay.o

# An archive, so that a fuzzer can have its own version of a file's functions.
$(FUZZ)/library.a: $(FUZZ_OBJ)
	@rm -f $@
	$(call run,AR,$@) ar rcs $@ $^

$(FUZZ)/%: $(FUZZ)/obj/tests/fuzz/%.o $(FUZZ)/library.a
	$(call run,LD,$@) $(FUZZ_LINK) -o $@ $^ $(LDLIBS) -lcmocka

$(FUZZ)/obj/%.o: %.c | packages $(SQL_H)
	@mkdir -p $(@D)
	$(call run,CC,$<) $(CLANG) $(CPPFLAGS) $(CFLAGS) $(FUZZ_COMPILE) -MMD -MP -c -o $@ $<

# ---------------------------------------------------------------- bench

.PHONY: bench bench-webhooks bench-peers bench-remove
bench: all $(BUILD)/bench/mod_bare.so $(BUILD)/bench/turns ## benchmark against a minimal handler (BENCH='get list create insert property find batch bulk batches walk deep memory events erasure connections', BENCH_SECONDS=4, BENCH_PAIRS=9)
	@NEOAPI_BENCH='$(BENCH)' NEOAPI_BENCH_SECONDS='$(BENCH_SECONDS)' NEOAPI_BENCH_PAIRS='$(BENCH_PAIRS)' \
		/usr/bin/python3 -B tests/bench/bench.py '$(BUILD)'

bench-webhooks: all ## benchmark webhook delivery against a job queue (BENCH='throughput latency fan_out errors idle backlog options throttling filters', BENCH_ROUNDS=5)
	@NEOAPI_BENCH='$(BENCH)' NEOAPI_BENCH_ROUNDS='$(BENCH_ROUNDS)' NEOAPI_BENCH_DELIVERIES='$(BENCH_DELIVERIES)' \
		/usr/bin/python3 -B tests/bench-webhooks/bench.py '$(BUILD)'

bench-peers: all $(BUILD)/bench/mod_bare.so ## benchmark the API against servers in Node.js or Go (BENCH='get list create keyed batch update mixed', BENCH_PEER=fastify|hono|go, BENCH_SECONDS=4, BENCH_PAIRS=9)
	@NEOAPI_BENCH='$(BENCH)' NEOAPI_BENCH_PEER='$(BENCH_PEER)' NEOAPI_BENCH_SECONDS='$(BENCH_SECONDS)' NEOAPI_BENCH_PAIRS='$(BENCH_PAIRS)' \
		/usr/bin/python3 -B tests/bench-peers/bench.py '$(BUILD)'

.PHONY: torture
torture: all ## write and deliver during faults on two hosts; check for lost, duplicate or undelivered data (TORTURE_MINUTES=5, TORTURE_SEED=1)
	@NEOAPI_TEST_BUILD='$(BUILD)' NEOAPI_TORTURE_SEED='$(TORTURE_SEED)' /usr/bin/python3 -B tests/torture/torture.py '$(or $(TORTURE_MINUTES),5)'

.PHONY: soak
soak: all ## check response times, memory and acknowledged writes under load with slow clients, hostile receivers, duplicates and kills (SOAK_MINUTES=30, SOAK='slow-clients receivers duplicates kills')
	@NEOAPI_TEST_BUILD='$(BUILD)' /usr/bin/python3 -B tests/soak/soak.py '$(or $(SOAK_MINUTES),30)' $(SOAK)

bench-remove: ## stop what the benches measure and delete their data
	@for bench in bench bench-webhooks bench-peers; do sh tests/deploy/instance.sh remove '$(BUILD)'/$$bench/instance || exit; done
	@rm -rf '$(BUILD)/bench' '$(BUILD)/bench-webhooks' '$(BUILD)/bench-peers'

$(BUILD)/bench/mod_bare.so: $(BUILD)/obj/tests/bench/mod_bare.o
	@mkdir -p $(@D)
	$(call run,LD,$@) $(CC) -shared $(LDFLAGS) -o $@ $< -lpq

$(BUILD)/bench/turns: $(BUILD)/obj/tests/bench/turns.o
	@mkdir -p $(@D)
	$(call run,LD,$@) $(CC) $(LDFLAGS) -o $@ $<

# ----------------------------------------------------------------

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | expand -t 18

-include $(shell find $(BUILD)/obj $(BUILD)/analyzer $(BUILD)/fuzz/obj -name '*.d' 2>/dev/null)
