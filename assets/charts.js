// Buttons and ticks of the graphs: reset, save as picture, round times again after a zoom.
(function () {
    "use strict";
    const podshift = window.podshift;
    // The same steps as dashboard/figures/timeaxis.py.
    const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

    function clock(seconds) {
        const tenths = Math.round(Math.abs(seconds) * 10);
        const whole = Math.floor(tenths / 10);
        const second = String(whole % 60).padStart(2, "0");
        const minute = Math.floor(whole / 60) % 60;
        const hour = Math.floor(whole / 3600);
        const fraction = tenths % 10 ? "." + (tenths % 10) : "";
        const minutes = hour ? hour + ":" + String(minute).padStart(2, "0") : String(minute);
        return (seconds < 0 ? "−" : "") + minutes + ":" + second + fraction;
    }

    function ticks(range, most) {
        const span = Math.max(range[1] - range[0], 0.1);
        const step = STEPS.find((one) => span / one <= most) || Math.ceil(span / most / 86400) * 86400;
        const values = [];
        for (let i = Math.ceil(range[0] / step - 1e-9); i <= Math.floor(range[1] / step + 1e-9); i += 1) {
            values.push(Math.round(i * step * 1000) / 1000);
        }
        return values;
    }

    // Give the time axes the ticks that fit what is in sight: after a zoom, and after new data came while zoomed.
    function settle(graph) {
        const meta = graph.layout.meta || {};
        const update = {};
        for (const name of meta.times || []) {
            const axis = graph.layout[name];
            const values = ticks(axis.range, meta.ticks || 9);
            if (JSON.stringify(values) !== JSON.stringify(axis.tickvals)) {
                update[name + ".tickvals"] = values;
                update[name + ".ticktext"] = values.map(clock);
            }
        }
        if (Object.keys(update).length) {
            window.Plotly.relayout(graph, update);
        }
    }

    function graphOfView(view) {
        return [...document.querySelectorAll(".dash-graph")]
            .filter((one) => one.id.startsWith("{") && JSON.parse(one.id).view === view)
            .map((one) => one.querySelector(".js-plotly-plot"))[0];
    }

    // A new figure in place of the one on screen. What the person did to the old one is carried over: the range in
    // sight and the hidden legend items. (dcc.Graph draws once more after each zoom and thereby forgets what
    // plotly's own uirevision had noted.)
    function carryOver(graph, figure) {
        const before = graph.layout;
        if (before.uirevision !== figure.layout.uirevision) {
            return figure;
        }
        const ranges = (before.meta || {}).ranges || {};
        for (const [name, whole] of Object.entries(ranges)) {
            const now = before[name].range;
            if (figure.layout[name] && JSON.stringify(now) !== JSON.stringify(whole)) {
                figure.layout[name].range = now.slice();
                if (figure.layout.meta.times.includes(name)) {
                    const values = ticks(now, figure.layout.meta.ticks || 9);
                    figure.layout[name].tickvals = values;
                    figure.layout[name].ticktext = values.map(clock);
                }
            }
        }
        const hidden = graph.data.filter((trace) => trace.visible === "legendonly").map((trace) => trace.uid || trace.name);
        for (const trace of figure.data) {
            if (hidden.includes(trace.uid || trace.name)) {
                trace.visible = "legendonly";
            }
        }
        return figure;
    }

    window.dash_clientside = window.dash_clientside || {};
    window.dash_clientside.podshift = Object.assign(window.dash_clientside.podshift || {}, {
        redraw: function (figure) {
            const view = window.dash_clientside.callback_context.outputs_list[0].id.view;
            const graph = graphOfView(view);
            const fresh = structuredClone(figure); // the store keeps its own: plotly writes into what it draws
            return [graph && graph.layout ? carryOver(graph, fresh) : fresh, { height: fresh.layout.height }];
        },
    });

    function zoomed(graph, change) {
        if ((graph.layout.meta || {}).windowed && Object.keys(change).some((key) => /^xaxis\.(range|autorange)/.test(key))) {
            podshift.set("window", { data: graph.layout.xaxis.range.slice() });
        }
    }

    function follow(graph) {
        if (graph.podshiftFollowed || !graph.on) {
            return;
        }
        graph.podshiftFollowed = true;
        graph.on("plotly_relayout", (change) => zoomed(graph, change));
        graph.on("plotly_afterplot", () => settle(graph));
    }

    // Graphs come and go with the pages; a pointer over one is early enough to follow it.
    document.addEventListener(
        "pointerover",
        function (event) {
            const graph = event.target.closest && event.target.closest(".js-plotly-plot");
            if (graph) {
                follow(graph);
            }
        },
        true,
    );

    function graphOf(button) {
        const panel = button.closest(".panel");
        return panel && panel.querySelector(".js-plotly-plot");
    }

    function reset(graph) {
        follow(graph);
        const update = {};
        for (const [name, range] of Object.entries((graph.layout.meta || {}).ranges || {})) {
            update[name + ".range"] = range.slice();
        }
        if ((graph.layout.meta || {}).windowed) {
            podshift.set("window", { data: null });
        }
        window.Plotly.relayout(graph, update);
    }

    function save(graph, panel) {
        const title = panel.querySelector(".panel-title").textContent;
        const run = decodeURIComponent(location.pathname.split("/").pop() || "") || "podshift";
        const time = new Date().toISOString().replace(/[-:]/g, "").slice(0, 15) + "Z";
        const background = getComputedStyle(panel).backgroundColor;
        const name = [run, title, time].join("-").replace(/[^\w.-]+/g, "-");
        const before = graph.layout.paper_bgcolor;
        window.Plotly.relayout(graph, { paper_bgcolor: background })
            .then(() => window.Plotly.downloadImage(graph, { format: "png", scale: 2, filename: name }))
            .finally(() => window.Plotly.relayout(graph, { paper_bgcolor: before }));
    }

    document.addEventListener("click", function (event) {
        const button = event.target.closest && event.target.closest("button[id]");
        if (!button || !button.id.startsWith("{")) {
            return;
        }
        let identity;
        try {
            identity = JSON.parse(button.id);
        } catch {
            return;
        }
        const graph = ["reset", "picture"].includes(identity.part) ? graphOf(button) : null;
        if (graph && identity.part === "reset") {
            reset(graph);
        } else if (graph) {
            save(graph, button.closest(".panel"));
        }
    });
})();
