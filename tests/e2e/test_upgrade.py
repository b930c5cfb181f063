"""Upgrades: a newer neoapictl migrates while the module serves, and the module goes on serving on a schema that is newer than it."""

import re
import subprocess

import pytest
from client import Api
from deployment import BUILD, IS_SANITIZED, LIMIT, ROOT
from load import Load
from makers import Maker

# As CONTRIBUTING describes a new field, and a constraint that every row is looked at for.
NEXT = """
alter table neoapi.broker add column website text check (length(website) <= 200);
{function}
create table neoapi.next_one (organization_id text not null, id text not null, primary key (organization_id, id));
grant select on neoapi.next_one to :runtime;
"""
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if IS_SANITIZED else []


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, **more)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    """A neoapictl of the next version: everything that this build is made of, with one migration more. Its path, and the number."""
    place = tmp_path_factory.mktemp("newer")
    migrations = sorted((ROOT / "sql").glob("[0-9]*.sql"))
    represent = re.search(r"create or replace function neoapi\.broker_represent.*?end \$\$;",
                          (ROOT / "sql/0018_representation.sql").read_text(), re.S)
    email = "'\"email\":' || to_json(new.email),"
    function = represent.group(0).replace(email, email + email.replace("email", "website"))
    number = int(migrations[-1].name[:4]) + 1
    extra = place / f"{number:04}_next.sql"
    extra.write_text(NEXT.format(function=function))
    (place / "migrations.c").write_text(run("sh", "sql/embed.sh", *migrations, extra))
    flags = run("pkg-config", "--cflags", "apr-1", "apr-util-1").split()
    run("gcc", "-Iinclude", *flags, "-c", "-o", place / "migrations.o", place / "migrations.c")
    # The linker takes this table, and not the library's.
    run("gcc", *SANITIZERS, "-o", place / "neoapictl", *sorted((BUILD / "obj/src/ctl").glob("*.o")), place / "migrations.o",
        BUILD / "libneoapi.a", *re.search(r"^LDLIBS *:= *(.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).split())
    return place / "neoapictl", number


def test_a_migration_runs_while_the_module_serves_which_then_serves_on_a_newer_schema(new_instance, newer, tell):
    program, number = newer
    instance = new_instance()
    make = Maker(instance)
    api = Api(instance, make.key())
    before = [api.broker()["id"] for _ in range(20)]
    with Load(api) as load:
        said = run(program, "--database", instance.admin_dsn, "migrate")
        assert f"applying {number:04}_next" in said
        load.wait_for(200)
    failed = [one for one in load.sent if one.status not in (200, 201)]
    assert not failed, failed[:5]
    assert instance.sql("select max(number) from neoapi.schema_migration") == [(number,)]
    tell(f"{len(load.sent)} requests while a migration ran, the longest {max(one.seconds for one in load.sent) * 1000:.0f} ms")

    # Started anew, the module meets the newer schema.
    for command in ("stop-httpd", "start-httpd"):
        instance.command(command)
    assert api.get(f"brokers/{before[0]}").status_code == 200
    assert api.patch(f"brokers/{before[0]}", json={"name": "Bia"}).status_code == 200
    api.broker()
    assert "migrate" not in instance.error_log, instance.error_log

    # The older neoapictl, too: it looks, adds, and has nothing to migrate.
    make.ctl("doctor")
    make.key()
    assert make.ctl("migrate")["applied"] == []
    assert instance.sql("select max(number) from neoapi.schema_migration") == [(number,)]
