"""The server's certificate, from an authority of its own, and the kubeconfig that lets clients trust it.

Certificates are made with the `openssl` command.
"""

import base64
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

_DAYS = "825"
"""Longest life that clients still accept of a server's certificate."""
_NAMES = "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
_SECONDS = 30


class TlsUnavailableError(RuntimeError):
    """There is nothing here to make certificates with."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """The server's side of TLS, and the authority's certificate (PEM) that clients need."""

    context: ssl.SSLContext
    authority: bytes


def _openssl(folder: Path, *arguments: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise TlsUnavailableError("the command `openssl` is not installed: install it, or start the server without TLS")
    done = subprocess.run(  # noqa: S603 - a fixed program, and arguments of our own
        [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        raise TlsUnavailableError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


def generate(hosts: tuple[str, ...]) -> Certificates:
    """A new authority and a server certificate for these addresses.

    The keys exist as files only in a folder that nobody else may read, until the server has loaded its own.

    Raises:
        TlsUnavailableError: no `openssl`, or it refused.
    """
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    with TemporaryDirectory(prefix="podshift-tls-") as name:
        folder = Path(name)
        usage = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        _openssl(
            folder, "req", "-x509", *curve, "-days", _DAYS, "-subj", "/CN=podshift-embedded-ca", *usage,
            "-keyout", "ca.key", "-out", "ca.crt",
        )  # fmt: skip
        addresses = ",".join(f"IP:{host}" for host in hosts)
        (folder / "server.ext").write_text(
            f"subjectAltName={_NAMES},{addresses}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n"
            "keyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid\n"
        )
        _openssl(folder, "req", "-new", *curve, "-subj", "/CN=podshift-embedded", "-keyout", "server.key",
                 "-out", "server.csr")  # fmt: skip
        _openssl(
            folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", _DAYS, "-extfile", "server.ext", "-out", "server.crt",
        )  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Go's client speaks HTTP/2 only when the server offers it, and this one does not.
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        return Certificates(context, (folder / "ca.crt").read_bytes())


def write_kubeconfig(path: Path, url: str, token: str | None, authority: bytes | None, namespace: str) -> None:
    """Write a kubeconfig with one cluster and one user. Only its owner may read it, as it holds the token."""
    cluster: dict[str, str] = {"server": url}
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    user = {"token": token} if token else {}
    name = "podshift"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        "current-context": name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.touch(mode=0o600)
    temporary.write_text(yaml.safe_dump(document, sort_keys=False))
    # In one step, so that a client never reads half a file.
    temporary.replace(path)
