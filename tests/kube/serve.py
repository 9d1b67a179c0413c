"""An embedded API server as a process of its own: prints where it wrote its kubeconfig, ends with its input."""

import sys

from backend.embedded.apiserver import ApiServer

with ApiServer() as server:
    server.start()
    server.inside.kubelet_takes_over()
    print(server.kubeconfig(sys.argv[1]), flush=True)
    sys.stdin.read()
