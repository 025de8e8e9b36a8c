"""Makes the package for VS Code on Linux on x86_64 from the plain one: the same extension, and the program in `bin`.

    platform_vsix.py PLAIN PROGRAM OUT

Never changes a file of the extension; only the description of the package gets the platform.
"""

import os
import sys
import zipfile

DESCRIPTION = "extension.vsixmanifest"
IDENTITY = '<Identity Language="en-US"'
LEVEL = int(os.environ.get("ADJUTANT_ZIP_LEVEL", "9"))


def add(package, name, content, mode):
    # The first day that the format knows, so that equal files make equal packages.
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = (0o100000 | mode) << 16
    package.writestr(entry, content, zipfile.ZIP_DEFLATED, LEVEL)


def main(plain, program, out):
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(out, "w") as package:
        for name in source.namelist():
            content = source.read(name)
            if name == DESCRIPTION:
                text = content.decode()
                if text.count(IDENTITY) != 1:
                    sys.exit(f"platform_vsix.py: {name} has no identity to add the platform to")
                content = text.replace(IDENTITY, IDENTITY + ' TargetPlatform="linux-x64"').encode()
            add(package, name, content, 0o644)
        with open(program, "rb") as file:
            add(package, "extension/bin/adjutant", file.read(), 0o755)


if __name__ == "__main__":
    main(*sys.argv[1:])
