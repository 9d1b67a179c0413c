// What Dash runs in the browser: addresses, launching, stopping, importing. State changes go to the API, never through
// a Dash callback on the server.
(function () {
    "use strict";
    const podshift = window.podshift;
    const clientside = (window.dash_clientside = window.dash_clientside || {});
    const quiet = () => window.dash_clientside.no_update;
    const SOURCES = {
        simulator: ["SIM · Simulator", "chip chip-sim"],
        import: ["REC · Imported record", "chip chip-rec"],
        embedded: ["EMB · Embedded cluster", "chip chip-emb"],
        live: ["LIVE · Cluster", "chip chip-livesource"],
    };

    // Parameters that say which page it is; all others are views within the page.
    const IDENTITY = { "experiments/new": ["from"], compare: ["a", "b"] };

    function identity(pathname, search) {
        const path = pathname.replace(podshift.prefix, "").replace(/\/+$/, "");
        const query = new URLSearchParams(search || "");
        const parts = (IDENTITY[path] || []).map((name) => name + "=" + (query.get(name) || ""));
        return [pathname, ...parts].join("|");
    }

    function message(answer, status) {
        const error = (answer && answer.error) || {};
        const faults = (error.errors || []).map((fault) => fault.field + ": " + fault.message);
        return [error.message || "The backend answered with status " + status, ...faults].join(" · ");
    }

    async function send(method, path, body, headers) {
        let response;
        try {
            response = await fetch(podshift.prefix + "api/v1/" + path, { method: method, body: body, headers: headers || {} });
        } catch {
            throw new Error("The dashboard cannot be reached.");
        }
        const answer = await response.json().catch(() => null);
        if (!response.ok) {
            throw new Error(message(answer, response.status));
        }
        return answer;
    }

    function json(method, path, value) {
        return send(method, path, JSON.stringify(value), { "Content-Type": "application/json" });
    }

    function key() {
        return crypto.randomUUID ? crypto.randomUUID() : String(Date.now()) + Math.random();
    }

    // A short mark of a text: the same launch again has the same key, a changed one another.
    function digest(text) {
        let value = 5381;
        for (const letter of text) {
            value = (value * 33 + letter.codePointAt(0)) >>> 0;
        }
        return value.toString(36);
    }

    let launching = false; // a double click, or Enter twice, is one launch

    async function launch(body) {
        const made = await json("POST", "experiments", body);
        podshift.go(podshift.prefix + "runs/" + encodeURIComponent(made.runs[0]));
    }

    clientside.podshift = Object.assign(clientside.podshift || {}, {
        identity: function (pathname, search, before) {
            const now = identity(pathname, search);
            return now === before ? quiet() : now;
        },

        theme: function (_, before) {
            const now = podshift.theme();
            return now === before ? quiet() : now;
        },

        pageInfo: function (info) {
            document.title = info.title;
            podshift.info = info;
            podshift.watch(info.watch, info.every, info.mark);
            podshift.markNavigation();
            return SOURCES[info.source] || SOURCES.simulator;
        },

        revision: function (live, before) {
            const runs = live && live.data && live.data.runs;
            // No runs in it: another kind of page, or the connection came back and everything is asked again.
            const now = runs ? runs.map((run) => run.id + "#" + run.rev).join("|") : (live && live.mark) || "";
            return now === before ? quiet() : now;
        },

        watchList: function (search, pathname) {
            const info = podshift.info;
            if (info && info.watch.startsWith(podshift.prefix + "feed/experiments") && identity(pathname, "") === pathname) {
                podshift.watch(podshift.prefix + "feed/experiments" + (search || ""), info.every);
            }
        },

        filter: function (text, status, search) {
            const query = new URLSearchParams(search || "");
            const before = query.toString();
            for (const [name, value] of [
                ["q", text],
                ["status", status],
            ]) {
                if ((query.get(name) || "") !== (value || "")) {
                    query.delete("page"); // another list starts at its first page
                }
                if (value) {
                    query.set(name, value);
                } else {
                    query.delete(name);
                }
            }
            const after = query.toString();
            return after === before ? quiet() : after ? "?" + after : "";
        },

        launchExample: async function (clicks, identities) {
            const context = window.dash_clientside.callback_context;
            const triggered = context.triggered_id;
            const index = identities.findIndex((one) => triggered && one.example === triggered.example);
            const idle = clicks.map(() => false);
            if (launching || index < 0 || !clicks[index]) {
                return idle;
            }
            launching = true;
            try {
                const examples = (await send("GET", "examples")).items;
                const example = examples.find((one) => one.name === identities[index].example);
                await launch({ yaml: example.yaml, idempotency_key: key() });
            } catch (error) {
                podshift.toast("The experiment was not launched. " + error.message, "bad");
            } finally {
                launching = false;
            }
            return idle;
        },

        // Inputs without a meaning for the chosen side are out of sight.
        sides: function (side) {
            return [side === "off", side !== "both"];
        },

        launchForm: async function (clicks, asked, idempotencyKey) {
            if (!clicks || launching || !asked) {
                return [quiet(), false];
            }
            launching = true;
            podshift.set("form-launch", { loading: true });
            try {
                const body = asked.yaml ? { yaml: asked.yaml } : { specification: asked.specification };
                await launch({ ...body, idempotency_key: idempotencyKey + "-" + digest(JSON.stringify(body)) });
                return [quiet(), quiet()];
            } catch (error) {
                // The form stays as it is, so that nothing has to be written twice.
                return ["Not launched: " + error.message, false];
            } finally {
                launching = false;
            }
        },

        nameDecision: function (selected) {
            const rows = [].concat(...selected.map((of) => (of && of.ids ? of.ids.map((id) => ({ id: id })) : of || [])));
            const address = new URL(window.location.href);
            if (rows.length) {
                address.searchParams.set("decision", rows[0].id);
            } else {
                address.searchParams.delete("decision");
            }
            // The address changes without dcc.Location being told: the page is what it was.
            window.history.replaceState(window.history.state, "", address);
            return rows.length ? rows[0].id : "";
        },

        openStop: async function (ask, cancel, confirm, run) {
            const triggered = window.dash_clientside.callback_context.triggered_id;
            if (triggered === "stop-button") {
                return ask ? true : quiet();
            }
            if (triggered === "stop-confirm" && confirm) {
                try {
                    await json("POST", "runs/" + encodeURIComponent(run) + "/stop", {});
                } catch (error) {
                    podshift.toast("The run was not stopped. " + error.message, "bad");
                }
                podshift.askNow();
            }
            return false;
        },

        importFile: function () {
            const triggered = window.dash_clientside.callback_context.triggered_id;
            if (!triggered || !window.dash_clientside.callback_context.triggered[0].value) {
                return;
            }
            const input = document.createElement("input");
            input.type = "file";
            input.addEventListener("change", async function () {
                const file = input.files[0];
                if (!file) {
                    return;
                }
                podshift.toast("Importing " + file.name + " …");
                const query = new URLSearchParams({ kind: triggered.kind, name: file.name });
                try {
                    const made = await send("POST", "import?" + query, file, { "Content-Type": "application/octet-stream" });
                    podshift.toast("Imported " + file.name + ".", "good");
                    podshift.go(podshift.prefix + "runs/" + encodeURIComponent(made.runs[0]));
                } catch (error) {
                    podshift.toast(file.name + " was not imported. " + error.message, "bad");
                }
            });
            input.click();
        },

        selected: function (rows) {
            return (rows || []).length !== 2;
        },

        compareSelected: function (clicks, rows) {
            if (!clicks || (rows || []).length !== 2) {
                return;
            }
            const side = (row) => row.side.join(",");
            const query = new URLSearchParams({ a: side(rows[0]), b: side(rows[1]) });
            podshift.go(podshift.prefix + "compare?" + query.toString().replaceAll("%2C", ","));
        },
    });

    podshift.markNavigation = function () {
        const path = location.pathname.replace(podshift.prefix, "").replace(/\/+$/, "");
        const page = path === "" || path === "experiments" || path.startsWith("runs/") ? "experiments" : path.replace("experiments/", "");
        document.querySelectorAll(".navlink").forEach(function (link) {
            if (link.id === "nav-" + page) {
                link.setAttribute("aria-current", "page");
            } else {
                link.removeAttribute("aria-current");
            }
        });
        document.querySelectorAll(".topnav a").forEach(function (link) {
            link.toggleAttribute("data-current", new URL(link.href).pathname === location.pathname);
        });
    };

    // Links that tables draw themselves: same page, no reload. Dash's own links look after themselves.
    document.addEventListener("click", function (event) {
        const link = event.target.closest && event.target.closest("a[data-inside]");
        if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
            event.preventDefault();
            podshift.go(link.getAttribute("href"));
        }
    });
})();
