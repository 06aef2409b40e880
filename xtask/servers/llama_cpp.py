"""Starts llama.cpp's server, as the package `xllamacpp` has it, and ends when its standard input does.

Prints the address when it is ready. The options are those of `OPTIONS`; each of its own threads spins while it waits for
the others, so more than one of them on a busy machine is slower than one.
"""

import argparse
import os
import sys


def main() -> None:
    import xllamacpp

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("model", nargs="?", help="the file of the model (GGUF)")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--context", type=int, default=8192, help="tokens of all slots")
    options.add_argument("--slots", type=int, default=1)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--alias", default="", help="the name of the model")
    options.add_argument("--template", default="", help="a chat template in place of the model's")
    options.add_argument("--version", action="version", version=xllamacpp.__version__)
    given = options.parse_args()
    if given.model is None:
        options.error("the file of a model is missing")

    # What llama.cpp prints goes to standard error, so the address is all that a caller reads.
    answer = os.dup(1)
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = given.model
    if given.alias:
        params.model_alias = {given.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = given.port
    params.n_ctx = given.context
    params.n_parallel = given.slots
    params.use_jinja = True
    # Prompts that no slot has any more: 8 GB by default.
    params.cache_ram_mib = 0
    if given.template:
        params.chat_template = given.template
    params.endpoint_slots = True
    params.endpoint_props = True
    params.endpoint_metrics = True
    params.cpuparams.n_threads = given.threads
    params.cpuparams_batch.n_threads = given.threads
    server = xllamacpp.Server(params)
    os.write(answer, (server.listening_address + "\n").encode())
    os.close(answer)
    while sys.stdin.buffer.read(4096):
        pass
    # A reply that it is still writing would keep an orderly end waiting.
    os._exit(0)


if __name__ == "__main__":
    main()
