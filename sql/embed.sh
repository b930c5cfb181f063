#!/bin/sh
# Writes the migrations given as files as a C table: embed.sh 0001_foundation.sql … (see store/migrate.h).
set -eu
echo '#include "store/migrate.h"'
echo 'const neo_migration neo_migrations[] = {'
for file; do
    name=$(basename "$file" .sql)
    number=$(expr "$name" : '0*\([1-9][0-9]*\)_')
    printf '{%s, "%s",\n' "$number" "$name"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' "$file"
    echo '},'
done
echo '};'
echo 'const int neo_migration_count = (int)(sizeof neo_migrations / sizeof *neo_migrations);'
