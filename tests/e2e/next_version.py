# SPDX-License-Identifier: Apache-2.0
"""The programs of a next version: this build's objects, linked with migrations of the tests' own after those in sql/."""

import re
import subprocess

from deployment import BUILD, IS_SANITIZED, TIMEOUT_S, ROOT

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if IS_SANITIZED else []

# A new field as CONTRIBUTING describes it, a constraint that every row is checked for, and a new table.
NEXT = """
alter table neoapi.broker add column website text check (length(website) <= 200);
do $do$ begin
    execute replace(pg_get_functiondef('neoapi.broker_set_representation()'::regprocedure), $$to_json(new.email),$$,
                    $$to_json(new.email), '"website":' || to_json(new.website),$$);
end $do$;
create table neoapi.next_one (organization_id text not null, id text not null, primary key (organization_id, id));
grant select on neoapi.next_one to :runtime;
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=ROOT, **more)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


class NextVersion:
    """`ctl` and `module` are its programs, `names` its additional migrations, `number` is the last one's. `migrations` are pairs of
    a name without number and SQL."""

    def __init__(self, place, *migrations):
        released = sorted((ROOT / "sql").glob("[0-9]*.sql"))
        self.number = int(released[-1].name[:4]) + len(migrations)
        added = []
        for number, (name, sql) in enumerate(migrations, self.number - len(migrations) + 1):
            added.append(place / f"{number:04}_{name}.sql")
            added[-1].write_text(sql)
        self.names = [file.stem for file in added]
        (place / "migrations.c").write_text(run("sh", "sql/embed.sh", "migrations", *released, *added))
        flags = run("pkg-config", "--cflags", "apr-1", "apr-util-1").split()
        run("gcc", "-fPIC", "-Iinclude", *flags, "-c", "-o", place / "migrations.o", place / "migrations.c")
        self.ctl, self.module = place / "neoapictl", place / "mod_neoapi.so"
        self.link(self.ctl, *self.objects("src/ctl/*.c"), *sorted((BUILD / "obj/gen").glob("site_*.o")))
        self.link(self.module, "-shared", *self.objects("mod_neoapi.c"), *self.objects("src/httpd/*.c"))

    @staticmethod
    def objects(sources):
        """Of the sources that exist: a build may have objects of others."""
        return [(BUILD / "obj" / source.relative_to(ROOT)).with_suffix(".o") for source in ROOT.glob(sources)]

    def link(self, program, *what):
        """The linker takes the table of migrations.o, not the library's, because it comes first."""
        libraries = re.search(r"^LDLIBS *:= *(.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split()
        run("gcc", *SANITIZERS, "-o", program, *what, program.parent / "migrations.o", BUILD / "libneoapi.a", *libraries)
