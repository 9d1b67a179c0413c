"""Icons as CSS masks (assets/icons.css): no font, no markup in names, coloured like the text beside them."""

from dash import html


def icon(name: str, size: int = 16) -> html.Span:
    """A decorative icon; what it means is always said in words beside it or in an aria-label."""
    return html.Span(className=f"icon icon-{name}", style={"width": size, "height": size}, **{"aria-hidden": "true"})
