"""The inner loops as machine code: `python -m backend.compiled` compiles the modules below with mypyc, in place.

They run interpreted just as well, about half as fast, and give the same logs byte for byte (tests/unit/test_compiled.py
sees to it).
`make install` compiles where there is a C compiler. A compiled module goes before its source, so a change of the source
needs another `make install`; the tests refuse to run with one that is older than its source.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GROUP = "backend._native"
"""Name of the library that all compiled modules share, beside this file."""
MODULES = (
    "backend/control/controller.py",
    "backend/control/loop.py",
    "backend/model/node_table.py",
    "backend/model/state.py",
    "backend/scheduling/framework.py",
    "backend/scheduling/kept.py",
    "backend/scheduling/queue.py",
    "backend/scheduling/rows.py",
    "backend/scheduling/selection.py",
    "backend/simulation/cluster.py",
    "backend/simulation/engine.py",
    "backend/simulation/pods.py",
    "backend/simulation/sharing.py",
)
"""What each event of a run passes through. Modules with protocols that others inherit from cannot be compiled."""


def libraries(root: Path = ROOT) -> list[Path]:
    """The compiled files that are there."""
    found = [path for module in MODULES for path in (root / module).parent.glob(f"{Path(module).stem}.*.so")]
    return [*found, *(root / "backend").glob("_native__mypyc.*.so")]


def stale(root: Path = ROOT) -> list[str]:
    """Modules whose source is newer than what was compiled of it."""
    old = []
    for module in MODULES:
        source = root / module
        compiled = list(source.parent.glob(f"{source.stem}.*.so"))
        if compiled and max(path.stat().st_mtime for path in compiled) < source.stat().st_mtime:
            old.append(module)
    return old


def remove(root: Path = ROOT) -> None:
    """Go back to the sources."""
    for path in libraries(root):
        path.unlink()


def build() -> None:
    """Compile. Raises whatever mypyc, setuptools or the compiler raise."""
    from mypyc.build import mypycify
    from setuptools import setup

    remove()
    with tempfile.TemporaryDirectory() as folder:
        setup(
            name="podshift-compiled",
            packages=[],
            py_modules=[],
            ext_modules=mypycify(list(MODULES), opt_level="2", group_name=GROUP, target_dir=folder, verbose=False),
            script_args=["--quiet", "build_ext", "--inplace", "--build-temp", folder, "--build-lib", folder],
        )


def main() -> None:
    """Compile, or say why the modules stay interpreted."""
    os.chdir(ROOT)
    if not shutil.which(os.environ.get("CC", "cc")):
        remove()
        sys.exit("no C compiler: the modules of backend/compiled.py stay interpreted, which is about half as fast")
    try:
        build()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - without machine code everything works as well
        remove()
        sys.exit(f"the modules of backend/compiled.py stay interpreted, which is about half as fast: {error}")


if __name__ == "__main__":
    main()
