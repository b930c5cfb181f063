# SPDX-License-Identifier: Apache-2.0
"""Builds a newer version: the objects of this build, linked with additional migrations and an additional field of brokers."""

import re
import subprocess

from deployment import BUILD, IS_SANITIZED, TIMEOUT_S, ROOT

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if IS_SANITIZED else []
COUNTERS = ["--coverage"] if BUILD.name == "coverage" else []  # which the objects of that build need

# A new field as described in CONTRIBUTING: a row in src/resources/broker.c and a column. Also what else a migration may do while hosts
# of this version run: an index, a constraint that is checked on every row, a column with a default, a new table, another body of a
# function.
BROKER = "src/resources/broker.c"
ROW = """    {.name = "website",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT,
     .max = 200,
     .doc = "The broker's own site.",
     .example = "\\"https://ana.example.com\\""},
"""
BEFORE = '    {.name = "phone",\n'
WEBSITE = (BROKER, BEFORE, ROW + BEFORE)
NEXT = """
alter table neoapi.broker add column website text check (length(website) <= 200);
create index broker_website_idx on neoapi.broker (organization_id, website, id);
alter table neoapi.credential add column next_limit int not null default 10;
create or replace function neoapi.folded(name text) returns text language plpgsql immutable strict parallel safe as $$
begin
    return lower(public.unaccent('public.unaccent'::regdictionary, name || ''));
end $$;
create table neoapi.next_one (organization_id text not null, id text not null, primary key (organization_id, id));
grant select on neoapi.next_one to :runtime;
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=ROOT, **more)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


class NextVersion:
    """`ctl` and `module` are its programs, `names` its additional migrations, `number` is the last one's. `migrations` are pairs of
    a name without number and SQL; `edits` are triples of a source, a text that it has once and what replaces it."""

    def __init__(self, place, *migrations, edits=()):
        released = sorted((ROOT / "sql").glob("[0-9]*.sql"))
        self.number = int(released[-1].name[:4]) + len(migrations)
        added = []
        for number, (name, sql) in enumerate(migrations, self.number - len(migrations) + 1):
            added.append(place / f"{number:04}_{name}.sql")
            added[-1].write_text(sql)
        self.names = [file.stem for file in added]
        (place / "migrations.c").write_text(run("sh", "sql/embed.sh", "migrations", *released, *added))
        self.changed = [self.compile(place / "migrations.c")]
        for source, before, after in edits:
            text = (ROOT / source).read_text()
            assert text.count(before) == 1, (source, before)
            copy = place / (ROOT / source).name
            copy.write_text(text.replace(before, after))
            self.changed.append(self.compile(copy, f"-I{(ROOT / source).parent}"))
        self.ctl, self.module = place / "neoapictl", place / "mod_neoapi.so"
        self.link(self.ctl, *self.objects("src/ctl/*.c"), *sorted((BUILD / "obj/gen").glob("site_*.o")))
        self.link(self.module, "-shared", *self.objects("mod_neoapi.c"), *self.objects("src/httpd/*.c"))

    @staticmethod
    def compile(source, *includes):
        flags = run("pkg-config", "--cflags", "apr-1", "apr-util-1").split()
        run("gcc", *SANITIZERS, "-fPIC", "-Iinclude", *includes, *flags, "-c", "-o", source.with_suffix(".o"), source)
        return source.with_suffix(".o")

    @staticmethod
    def objects(sources):
        """The objects of existing sources; a build directory may have others."""
        return [(BUILD / "obj" / source.relative_to(ROOT)).with_suffix(".o") for source in ROOT.glob(sources)]

    def link(self, program, *what):
        """The changed objects precede the library, so that the linker uses their tables."""
        libraries = re.search(r"^LDLIBS *:= *(.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
        run("gcc", *SANITIZERS, *COUNTERS, "-o", program, *what, *self.changed, BUILD / "libneoapi.a", *libraries)
