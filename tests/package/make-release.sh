#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a release in a clone of this repository: make-release.sh VERSION FOLDER
#
# The steps are those of steps= below; the first one that fails ends it. Only the last one changes this repository (it adds a commit to main, and
# the tag) and writes FOLDER/VERSION. Until then nothing has happened, and the same command begins again. doc/releasing.md describes it.
#   NEOAPI_RELEASES        the Debian releases to build packages for (bookworm trixie)
#   NEOAPI_RELEASE_KEY     a secret key of gpg's that signs the tag and the checksums
#   NEOAPI_RELEASE_CHECKS  targets of make (check-all)
#   NEOAPI_PACKAGE_TESTS   steps of test.sh (all)
#   NEOAPI_DRY_RUN         if set, the last step is left out and the artefacts stay in FOLDER/clone
set -eu
here=$(dirname "$(realpath "$0")")
cd "$here/../.."
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES # VERSION is an argument of the caller's make, and would be passed on
fail() {
    echo "release: $*" >&2
    exit 1
}
[ $# -eq 2 ] || fail 'usage: make-release.sh VERSION FOLDER'
version=$1
echo "$version" | grep -qxE '(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}' || fail "VERSION must be three numbers, such as 0.1.0; it is '$version'"
mkdir -p "$2"
folder=$(realpath "$2") releases=${NEOAPI_RELEASES:-bookworm trixie} key=${NEOAPI_RELEASE_KEY:-}
clone=$folder/clone
artefacts=$clone/build/artefacts
tag=v$version
steps='preconditions changelog version commit_and_tag artefacts checks publish_here'

# Prints the upstream version of the first entry of debian/changelog.
packaged_version() { sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p' debian/changelog; }

preconditions() {
    [ -z "$(git status --porcelain)" ] || fail 'there are uncommitted changes'
    [ "$(git symbolic-ref --short HEAD)" = main ] || fail 'releases are made from the branch main'
    if git rev-parse -q --verify "refs/tags/$tag" >/dev/null; then fail "the tag $tag exists: this version has been released"; fi
    awk '/^## /{ours = $0 == "## Unreleased"} ours && /^- /{found = 1} END {exit !found}' CHANGELOG.md ||
        fail 'CHANGELOG.md has no changes under "## Unreleased"'
    previous=$(git tag --list 'v[0-9]*' --sort=-version:refname --merged HEAD | head -n 1)
    [ -n "$previous" ] || return 0
    dpkg --compare-versions "$version" gt "${previous#v}" || fail "the version must be higher than ${previous#v}"
    # Hosts install these without an administrator.
    if [ "${version##*.}" != 0 ] && [ -n "$(git diff --name-only "$previous" HEAD -- sql)" ]; then
        fail "sql/ has changed since $previous, so $version needs a migration: increase the second number"
    fi
}

changelog() {
    rm -rf "$clone"
    git clone --quiet --no-tags "$(pwd)" "$clone"
    cd "$clone"
    sed -i "s/^## Unreleased\$/&\n\n## $version - $(date -u +%Y-%m-%d)/" CHANGELOG.md
}

# debian/changelog has the version; the Makefile reads it there. Other files name the image with it. The entry of a version that was prepared is
# only dated.
version() {
    now=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S +0000')
    if [ "$(packaged_version)" != "$version" ]; then
        {
            printf 'mod-neoapi (%s-1) unstable; urgency=medium\n\n  * New release; see CHANGELOG.md.\n\n' "$version"
            printf ' -- %s  %s\n\n' "$(sed -n 's/^Maintainer: //p' debian/control)" "$now"
            cat debian/changelog
        } >debian/changelog.new
        mv debian/changelog.new debian/changelog
    fi
    sed -i "0,/^ -- /s/^\( -- .*>\)  .*/\1  $now/" debian/changelog
    [ "$(packaged_version)" = "$version" ] || fail "debian/changelog has the version $(packaged_version)"
    git grep -lE 'mod-neoapi:[0-9][0-9.]*-[0-9]' -- conf doc src | xargs sed -i "s/mod-neoapi:[0-9][0-9.]*-[0-9]*/mod-neoapi:$version-1/g"
}

commit_and_tag() {
    for name in user.name user.email; do
        value=$(git -C "$here" config "$name") || fail "git has no $name"
        git config "$name" "$value"
    done
    git commit --quiet --all -m "Release $version" -m 'Set the version of the package and date the changelog.'
    git tag --annotate ${key:+-u "$key"} -m "mod_neoapi $version" "$tag"
}

artefacts() {
    mkdir -p "$artefacts"
    git archive --prefix="mod_neoapi-$version/" -o "$artefacts/mod_neoapi-$version.tar.gz" "$tag"
    for release in $releases; do
        make --no-print-directory package RELEASE="$release"
        mkdir "$artefacts/$release"
        find "build/package/$release" -maxdepth 1 -type f ! -name '*.log' -exec cp -t "$artefacts/$release" {} +
    done
    (cd "$artefacts" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >build/SHA256SUMS
    mv build/SHA256SUMS "$artefacts/"
    [ -z "$key" ] || gpg --local-user "$key" --armor --detach-sign "$artefacts/SHA256SUMS"
}

checks() {
    for release in $releases; do
        built=$(dpkg-deb -f "$artefacts/$release"/libapache2-mod-neoapi_*.deb Version)
        case $built in "$version"-*) ;; *) fail "the package for $release has the version $built" ;; esac
    done
    for target in ${NEOAPI_RELEASE_CHECKS:-check-all}; do make --no-print-directory "$target"; done
    # Tests the packages that were built, not new ones as `make package-test` would.
    # shellcheck disable=SC2086 # a list of words
    for release in $releases; do NEOAPI_RELEASE=$release bash tests/package/test.sh "build/package/$release" ${NEOAPI_PACKAGE_TESTS:-}; done
    [ -z "$(git status --porcelain)" ] || fail 'the checks have changed files of the release'
}

publish_here() {
    commit=$(git rev-parse HEAD)
    cd "$here/../.."
    if [ -n "${NEOAPI_DRY_RUN:-}" ]; then
        echo "release: a dry run: this repository has not changed; the artefacts are in $artefacts"
        return
    fi
    rm -rf "${folder:?}/$version"
    # Fails without changes if main has other commits since the clone was made.
    git fetch --quiet "$clone" "refs/tags/$tag"
    git merge --quiet --ff-only "$commit"
    result="main has the commit of the release, but not the tag: git fetch $clone $tag:$tag; the artefacts are in $artefacts"
    git fetch --quiet "$clone" "refs/tags/$tag:refs/tags/$tag"
    result="main and the tag $tag have the release; the artefacts are in $artefacts"
    mv "$artefacts" "$folder/$version"
    rm -rf "$clone"
    echo "release: main and the tag $tag have the release $version; its artefacts are in $folder/$version. Publish them as doc/releasing.md says"
}

result='nothing was released'
say_failed() { echo "release: $step failed; $result" >&2; }
trap say_failed EXIT
for step in $steps; do
    printf '== %s\n' "$step"
    $step
done
trap - EXIT
