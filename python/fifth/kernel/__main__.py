"""`python -m fifth.kernel install [--prefix FOLDER]` makes the kernel known to Jupyter; Jupyter runs it with `-f FILE`."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

SPEC = {
    "argv": [sys.executable, "-m", "fifth.kernel", "-f", "{connection_file}"],
    "display_name": "KL1 (Fifth)",
    "language": "kl1",
    "interrupt_mode": "signal",
}


def install(prefix: str | None) -> str:
    """Writes the kernel's description where Jupyter looks for it: that folder's name."""
    from jupyter_client.kernelspec import KernelSpecManager

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(SPEC, indent=1), encoding="utf-8")
        return KernelSpecManager().install_kernel_spec(folder, "kl1", user=prefix is None, prefix=prefix)


def main() -> None:
    try:
        import ipykernel.kernelapp
    except ImportError:
        sys.exit("error: the kernel needs ipykernel: pip install ipykernel")
    if sys.argv[1:2] != ["install"]:
        from . import Kernel

        ipykernel.kernelapp.IPKernelApp.launch_instance(kernel_class=Kernel)
        return
    parser = argparse.ArgumentParser(prog="python -m fifth.kernel install")
    parser.add_argument("--prefix", help="an environment: without it the kernel is this user's")
    print("installed", install(parser.parse_args(sys.argv[2:]).prefix))


if __name__ == "__main__":
    main()
