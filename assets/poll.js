// One poller a tab, never more than one request in flight. It asks what the page watches, publishes changes into the
// store "live", and says how fresh the data are. dcc.Interval is not used: it starves slow callbacks and may stop for
// ever after a network fault (docs: ux.md, findings 1 and 2).
(function () {
    "use strict";
    const podshift = window.podshift;
    const ANSWER_MS = 4500; // then a request counts as failed
    const STALE_MS = 6000; // no answer for so long: stale
    const LOST_MS = 5000; // a failure this long after the last answer: lost
    const RETRY_MS = [1000, 2000, 3000]; // after the first, second, further failures
    const HOLD_MS = 15000; // longest wait for a page that is still drawing
    const ACTIVE = ["queued", "running", "stopping"];

    const state = {
        watch: null,
        every: 5000,
        seen: null, // mark of the newest data
        waiting: null, // data that came while the page was still drawing
        heard: null, // when the backend last answered
        failures: 0,
        why: "",
        next: 0, // when to ask again
        inFlight: null,
        publishedAt: 0,
        shown: "",
    };
    podshift.poll = state; // for tests and for a curious person

    function drawing() {
        return document.querySelector('#page [data-dash-is-loading="true"], #page[data-dash-is-loading="true"]') !== null;
    }

    function publish() {
        if (!state.waiting) {
            return;
        }
        if (drawing() && Date.now() - state.publishedAt < HOLD_MS) {
            return; // the next tick tries again, with newer data if there are any
        }
        const data = state.waiting;
        state.waiting = null;
        state.publishedAt = Date.now();
        podshift.set("live", { data: data });
    }

    function pace(data) {
        const runs = data && (data.runs || data.items);
        if (!runs) {
            return state.every;
        }
        const busy = runs.some(function (run) {
            return ACTIVE.includes(run.status) || (run.siblings || []).some((other) => ACTIVE.includes(other.status));
        });
        return busy ? 1000 : Math.max(state.every, 3000);
    }

    async function ask() {
        const watch = state.watch;
        const control = new AbortController();
        const timer = setTimeout(() => control.abort(), ANSWER_MS);
        state.inFlight = control;
        try {
            const url = watch + (state.seen ? (watch.includes("?") ? "&" : "?") + "seen=" + state.seen : "");
            const response = await fetch(url, { signal: control.signal, headers: { Accept: "application/json" }, cache: "no-store" });
            const answer = response.status === 204 ? null : await response.json();
            if (watch !== state.watch) {
                return; // the page has changed meanwhile
            }
            if (response.status === 502 || response.status >= 500) {
                throw new Error((answer && answer.error && answer.error.message) || "status " + response.status);
            }
            const back = state.failures > 0;
            state.failures = 0;
            state.heard = Date.now();
            state.next = Date.now() + state.pace;
            if (response.ok && answer) {
                state.pace = pace(answer.data);
                state.next = Date.now() + state.pace;
                state.seen = answer.mark;
                state.waiting = { watch: watch, mark: answer.mark, data: answer.data };
            } else if (back) {
                // Nothing new, but panels may have failed meanwhile: let them ask again.
                state.waiting = { watch: watch, mark: "back-" + Date.now(), data: null };
            }
        } catch (error) {
            if (watch !== state.watch) {
                return;
            }
            state.failures += 1;
            state.why = error.name === "AbortError" ? "no answer within " + ANSWER_MS / 1000 + " s" : error.message;
            state.next = Date.now() + RETRY_MS[Math.min(state.failures, RETRY_MS.length) - 1];
        } finally {
            clearTimeout(timer);
            state.inFlight = null;
        }
    }

    function age() {
        return state.heard === null ? null : Math.round((Date.now() - state.heard) / 1000);
    }

    function words(seconds) {
        return seconds < 60 ? seconds + " s" : Math.floor(seconds / 60) + " min " + (seconds % 60) + " s";
    }

    function tell() {
        const old = age();
        const wait = Math.max(0, Math.ceil((state.next - Date.now()) / 1000));
        let kind = "live";
        let text = old === null ? "Connecting" : "Live · " + (old < 1 ? "just now" : words(old) + " ago");
        let banner = "";
        if (state.failures >= 2 || (state.failures === 1 && (old === null || old * 1000 >= LOST_MS))) {
            kind = "lost";
            text = wait ? "Lost · retry in " + wait + " s" : "Lost · retrying";
            const since = old === null ? "No data have been received yet." : "What you see is " + words(old) + " old.";
            banner = "Connection to the backend lost (" + state.why + "). " + since + " It comes back by itself.";
        } else if (old === null) {
            kind = "wait";
        } else if (Date.now() - state.heard > Math.max(STALE_MS, 2.5 * state.pace)) {
            kind = "stale";
            text = "Stale · " + words(old);
        }
        document.documentElement.setAttribute("data-connection", kind);
        const shown = kind + text + banner;
        if (shown === state.shown) {
            return;
        }
        state.shown = shown;
        podshift.set("connection", { children: text, className: "chip chip-" + kind });
        podshift.set("banner", { children: banner, hidden: banner === "" });
    }

    function tick() {
        if (document.hidden || !state.watch || !window.dash_clientside || !window.dash_clientside.set_props) {
            return; // a hidden tab asks nothing; when it is shown again it asks once
        }
        publish();
        if (!state.inFlight && Date.now() >= state.next) {
            ask();
        }
        tell();
    }

    podshift.watch = function (watch, everySeconds, mark) {
        state.every = everySeconds * 1000;
        if (watch === state.watch) {
            return;
        }
        state.watch = watch;
        state.pace = state.every;
        state.seen = mark || null; // the page was made from these data already
        state.waiting = null;
        state.next = 0;
        if (state.inFlight) {
            state.inFlight.abort();
            state.inFlight = null;
        }
    };
    podshift.askNow = function () {
        state.next = 0;
    };

    document.addEventListener("visibilitychange", function () {
        if (!document.hidden) {
            state.next = 0;
            tick();
        }
    });
    setInterval(tick, 250);
})();
