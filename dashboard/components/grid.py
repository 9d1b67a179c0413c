"""AG Grid tables in one style. Rows have an id, so that selection and scroll survive live updates."""

from collections.abc import Mapping, Sequence
from typing import Any

import dash_ag_grid as dag


def grid(
    identity: Any,
    columns: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    *,
    page_size: int = 20,
    options: Mapping[str, Any] | None = None,
    height: int | None = None,
    selected: Sequence[Mapping[str, Any]] | None = None,
) -> dag.AgGrid:
    """A table of `rows`, each with a key "id". Pages of `page_size`; all on one page if there are fewer.

    `selected` are rows that are chosen from the start.
    """
    paged = len(rows) > page_size
    return dag.AgGrid(
        id=identity,
        columnDefs=list(columns),
        rowData=list(rows),
        getRowId="params.data.id",
        **({"selectedRows": {"ids": [str(row["id"]) for row in selected]}} if selected else {}),
        defaultColDef={
            "sortable": True,
            "resizable": True,
            "suppressMovable": True,
            "minWidth": 80,
            "flex": 1,
            "wrapHeaderText": True,
            "autoHeaderHeight": True,
        },
        dashGridOptions={
            "theme": "themeQuartz",
            **({} if height else {"domLayout": "autoHeight"}),
            "pagination": paged,
            "paginationPageSize": page_size,
            "paginationPageSizeSelector": False,
            "animateRows": False,
            "suppressCellFocus": False,
            "enableCellTextSelection": True,
            "ensureDomOrder": True,
            "rowHeight": 40,
            "headerHeight": 42,
            **(options or {}),
        },
        className="grid tall" if (options or {}).get("rowHeight", 0) > 50 else "grid",
        style={"height": height, "width": "100%"} if height else {"width": "100%"},
    )


def text_column(name: str, heading: str, **more: Any) -> dict[str, Any]:
    """A column of text."""
    return {"field": name, "headerName": heading, "filter": "agTextColumnFilter", "tooltipField": name, **more}


def long_text_column(name: str, heading: str, **more: Any) -> dict[str, Any]:
    """A column of sentences, which wrap."""
    return {**text_column(name, heading), "wrapText": True, "autoHeight": True, "cellClass": "sentences", **more}


def number_column(name: str, heading: str, **more: Any) -> dict[str, Any]:
    """A column of numbers, shown by the formatter `podshiftNumber` of assets/grid.js; empty ones as a dash."""
    return {
        "field": name,
        "headerName": heading,
        "type": "rightAligned",
        "cellClass": "numeric",
        "cellRenderer": "PodshiftNumber",
        **more,
    }
