# SPDX-License-Identifier: Apache-2.0
"""Makes the layers of the image from Debian packages: layers.py DEBS MODULE.deb OUT EPOCH

Runs no maintainer scripts. Only the packages in PACKAGES, the module's, and those of the libraries that they link are extracted; so there
is no shell. OUT gets base.tar (Debian's packages), module.tar and root, which has both, for the list of components. Every file belongs to
root and has the time EPOCH, so the same packages make the same bytes. Needs no root."""
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

PACKAGES = ("base-files", "apache2-bin", "libaprutil1-dbd-pgsql", "ca-certificates", "libgcc-s1")  # libc loads libgcc_s by itself
MODULE = "libapache2-mod-neoapi"

# What nothing in the image reads. Copyright files stay.
LEFT_OUT = re.compile(r"usr/share/(?!doc/|ca-certificates/|common-licenses/|libapache2-mod-neoapi/)"
                      r"|usr/share/doc/(?!.*/copyright$)"
                      r"|usr/share/libapache2-mod-neoapi/(?!serve\.conf$)"
                      r"|(usr/)?(s?bin)/(?!apache2$|neoapictl$)"
                      r"|(usr/)?lib/[^/]*/(gconv|audit)/|usr/lib/(cgi-bin|systemd|init|locale)/"
                      r"|etc/(?!debian_version|os-release|host\.conf)|(var|home|root|boot|media|mnt|opt|srv)/")

FOLDERS = ("dev", "etc/neoapi", "etc/neoapi.d", "proc", "run", "sys", "tmp")
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nwww-data:x:33:33:www-data:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nwww-data:x:33:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


class Packages:
    """The files of the packages in a folder, by their names."""

    def __init__(self, folder, module):
        self.files = {output("dpkg-deb", "-f", deb, "Package").decode().strip(): deb
                      for deb in [*sorted(folder.glob("*.deb")), module]}
        self.owners = {}
        for package, deb in self.files.items():
            with self._archive(deb) as archive:
                self.owners.update((pathlib.PurePath(name).name, package) for name in archive.getnames() if ".so" in name)

    @staticmethod
    def _archive(deb):
        return tarfile.open(fileobj=io.BytesIO(output("dpkg-deb", "--fsys-tarfile", deb)))

    def extract(self, package, root, modules):
        """Returns the paths of the files."""
        paths = []
        with self._archive(self.files[package]) as archive:
            for member in archive:
                member.name = member.name.removeprefix("./")
                unused = member.name.startswith("usr/lib/apache2/modules/") and pathlib.Path(member.name).name not in modules
                if member.isdir() or unused or LEFT_OUT.match(member.name):
                    continue
                member.mode |= 0o200
                archive.extract(member, root, filter="fully_trusted") if hasattr(tarfile, "fully_trusted_filter") \
                    else archive.extract(member, root)
                paths.append(member.name)
        return paths + self.record(package, root, paths)

    def record(self, package, root, paths):
        """What scanners read: the package's control file and the checksums of its files that are in the image."""
        folder = root / "var/lib/dpkg/status.d"
        folder.mkdir(parents=True, exist_ok=True)
        sums = [f"{hashlib.md5((root / path).read_bytes()).hexdigest()}  {path}\n"
                for path in sorted(paths) if not (root / path).is_symlink()]
        (folder / package).write_bytes(output("dpkg-deb", "-f", self.files[package]))
        (folder / f"{package}.md5sums").write_text("".join(sums))
        return [f"var/lib/dpkg/status.d/{name}" for name in (package, f"{package}.md5sums")]


def linked(path):
    """The libraries that a file names; none if it is no program."""
    if path.is_symlink() or path.read_bytes()[:4] != b"\x7fELF":
        return []
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", path).decode())


def link_folders(root):
    """With a merged /usr programs name their interpreter /lib64/…, and packages have it in usr/lib64."""
    for name in ("lib", "lib64"):
        if not (root / name).exists() and (root / "usr" / name).exists():
            (root / name).symlink_to(f"usr/{name}")


def make_root(packages, root):
    """Returns the paths of each package."""
    def needed(paths):
        return {packages.owners[name] for path in paths for name in linked(root / path)}

    serve = output("dpkg-deb", "--fsys-tarfile", packages.files[MODULE])
    with tarfile.open(fileobj=io.BytesIO(serve)) as archive:
        conf = archive.extractfile("./usr/share/libapache2-mod-neoapi/serve.conf").read().decode()
    modules = set(re.findall(r"LoadModule \S+ modules/(\S+)", conf))
    paths, wanted = {}, {*PACKAGES, MODULE}
    while wanted:
        for package in sorted(wanted):
            paths[package] = packages.extract(package, root, modules)
        wanted = set().union(*(needed(paths[package]) for package in wanted)) - set(paths)
    return paths


def complete(root):
    """The files that maintainer scripts make, as far as they are needed."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, text in TEXTS.items():
        (root / path).write_text(text)
    authorities = sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True)
    bundle.write_text("".join(file.read_text().rstrip("\n") + "\n" for file in authorities))
    link_folders(root)


def write_layer(out, root, paths, epoch):
    """A folder is in the layer if something in it is."""
    everything = {str(parent) for path in paths for parent in pathlib.PurePath(path).parents} - {"."} | set(paths)
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(everything):
            info = archive.gettarinfo(root / path, path)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = epoch
            info.mode = 0o1777 if path == "tmp" else 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            if info.islnk():
                info.type, info.linkname = tarfile.REGTYPE, ""
                info.size = (root / path).stat().st_size
            if info.isreg():
                with open(root / path, "rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)


def main():
    debs, module, out = map(pathlib.Path, sys.argv[1:4])
    epoch, root = int(sys.argv[4]), out / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    paths = make_root(Packages(debs, module), root)
    complete(root)
    ours = set(paths[MODULE])
    rest = {str(path.relative_to(root)) for path in root.rglob("*")} - ours
    write_layer(out / "base.tar", root, {path for path in rest if not (root / path).is_dir() or (root / path).is_symlink()
                                         or path in FOLDERS}, epoch)
    write_layer(out / "module.tar", root, ours, epoch)


main()
