"""`podshift template`: the job templates that pods of experiments on a cluster are made from."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backend.cli import complaints
from backend.cli.home import home_option
from backend.cli.kubernetes import kubernetes_options

if TYPE_CHECKING:
    from backend.kube.templates import TemplateFolder


@click.group()
def template() -> None:
    """Job templates: what the pods of a job are made from when it runs on a cluster.

    A template is a Pod, or an object that holds a pod template, such as a Job or a Deployment. A model of a
    specification names it: `template: NAME`.
    """


@template.command("list")
@home_option
def list_(home: str) -> None:
    """List the templates."""
    from backend.kube.templates import TemplateError

    folder = _folder(home)
    with complaints.file_errors():
        for name in folder.names():
            try:
                spec = folder.pod(name)["spec"]
            except TemplateError as error:
                click.echo(f"{name}\tnot usable: {error}")
                continue
            images = ", ".join(container["image"] for container in spec["containers"])
            click.echo("\t".join((name, images, spec.get("nodeName") or "any node")))


@template.command()
@click.argument("name")
@home_option
def show(name: str, home: str) -> None:
    """Print a template as it was written."""
    with _errors():
        click.echo(_folder(home).text(name), nl=False)


@template.command()
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@home_option
def add(name: str, file: str, home: str) -> None:
    """Keep FILE (- for standard input) as template NAME, in place of one of that name."""
    with _errors():
        _folder(home).put(name, _read(file))
    click.echo(f"Template {name} is kept.")


@template.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--server", is_flag=True, help="Also ask the cluster whether it would take such a pod; none is made.")
@kubernetes_options
def check(file: str, server: bool) -> None:
    """Say whether FILE (- for standard input) can be a template."""
    from backend.kube.templates import parse, pod_of

    with _errors():
        pod = parse(_read(file))
    if server:
        _ask(pod_of(pod, "podshift-check", "check", {}))
    click.echo(f"A pod of {len(pod['spec']['containers'])} containers can be made from it.")


@template.command()
@click.argument("name")
@home_option
def remove(name: str, home: str) -> None:
    """Forget template NAME."""
    with _errors():
        _folder(home).remove(name)
    click.echo(f"Template {name} is removed.")


def _folder(home: str) -> "TemplateFolder":
    from backend.kube.templates import TemplateFolder, default_folder

    return TemplateFolder(default_folder(Path(home)))


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except UnicodeDecodeError:
        complaints.refuse(f"{file}: it is no text in UTF-8.")


def _ask(pod: dict[str, object]) -> None:
    """Has the API server validate a pod, by a dry run; ends the command if it would not take it."""
    from backend.experiments.live import Settings
    from backend.kube.client import ApiError, ConnectError

    try:
        api = Settings.from_environment().connect()
    except ConnectError as error:
        complaints.give_up(f"There is no telling which cluster to ask: {error}.")
    with closing(api):
        namespace = pod["metadata"]["namespace"]  # type: ignore[index]
        try:
            api.post(f"/api/v1/namespaces/{namespace}/pods", pod, {"dryRun": "All"})
        except ApiError as error:
            if error.status in (400, 403, 404, 409, 422):
                complaints.refuse(f"The cluster would not take the pod: {error}.")
            complaints.give_up(f"The cluster at {api.server} could not be asked: {error}.")


@contextmanager
def _errors() -> Iterator[None]:
    from backend.kube.templates import TemplateError

    with complaints.file_errors():
        try:
            yield
        except TemplateError as error:
            text = str(error)
            complaints.refuse(f"{text[:1].upper()}{text[1:]}.")
