"""An embedded Kubernetes API server: enough of the real one for the official client and for kubectl.

`server.ApiServer` starts and stops it, `inside.Inside` is the door for a kubelet in the same process.
"""

from backend.embedded.apiserver.inside import Inside
from backend.embedded.apiserver.server import ApiServer

__all__ = ["ApiServer", "Inside"]
