"""Words, signs and keys."""

from typing import Any

from dash import html

from dashboard import shell
from dashboard.pages.frame import heading, page
from dashboard.urlstate import Links

WORDS = (
    ("job", "A unit of work with an identity that survives migration."),
    ("pod", "One incarnation of a job: train-3, then train-3-migrated. All pods of a job share its row and colour."),
    ("experiment", "A specification with arms and seeds."),
    ("run", "One execution of one arm with one seed."),
    ("arm", "One side of a comparison, such as default and migrated."),
    ("seed", "The number all chance comes from. Arms of one seed see the same arrivals and learning curves."),
    (
        "migration",
        "A job moves from a source node to a target node. It costs time: stop, checkpoint, image, start, load.",
    ),
    ("category", "What the migration policy thinks of a job: progressing, watching, converged."),
    ("completion time", "From submission of a job to its last finish. Waiting and migrating count."),
    ("makespan", "From the first submission to the last finish of a run."),
    ("wasted work", "CPU time spent on work that was lost because the last checkpoint did not hold it."),
    ("fairness (Jain)", "1 if all jobs went equally fast for their size; 1/n if one job had everything."),
)


def layout(links: Links) -> list[Any]:
    """The page."""
    return page(
        [
            heading("Help", below="What the words mean, how to read the pictures, and which keys there are."),
            html.Section(
                [
                    html.H2("Words"),
                    html.Dl(
                        [part for word, text in WORDS for part in (html.Dt(word), html.Dd(text))], className="words"
                    ),
                ],
                className="panel padded",
            ),
            html.Section(
                [
                    html.H2("Reading a comparison"),
                    html.P(
                        "A is what B is measured against. Every difference is B − A: for times, negative means that B "
                        "is faster. With several seeds a 95 % interval is given; with one seed there is none, and it "
                        "says so. A comparison is fair job by job only if workload, schedule, initial placement and "
                        "seed are the same on both sides; the marks at its top say which are."
                    ),
                ],
                className="panel padded",
            ),
            html.Section(
                [
                    html.H2("Keys"),
                    html.Table(
                        html.Tbody(
                            [
                                html.Tr([html.Th(html.Kbd(key), scope="row"), html.Td(words)])
                                for key, words in shell.KEYS
                            ]
                        ),
                        className="keys",
                    ),
                    html.P(["The API is documented at ", html.Code(links.api("openapi.json")), " of the backend."]),
                ],
                className="panel padded",
            ),
        ],
        title="Help",
        watch=links.feed("health"),
    )
