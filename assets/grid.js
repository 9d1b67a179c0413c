// Cells of the tables. Every value is set as text by React, so a hostile name stays a name.
(function () {
    "use strict";
    const parts = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
    const make = (...given) => window.React.createElement(...given);
    const MISSING = "–";

    function number(value, digits) {
        return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
    }

    parts.PodshiftNumber = function (props) {
        const value = props.value;
        return typeof value === "number" && isFinite(value) ? number(value, Number.isInteger(value) ? 0 : 1) : MISSING;
    };

    parts.PodshiftPrecise = function (props) {
        const value = props.value;
        if (typeof value !== "number" || !isFinite(value)) {
            return MISSING;
        }
        return number(value, Number.isInteger(value) ? 0 : Math.abs(value) < 1 ? 4 : 2);
    };

    // Seconds since the start, sorted and filtered as a number, shown as the row's "time".
    parts.PodshiftTime = function (props) {
        return props.data.time || MISSING;
    };

    // A node, as a link to the decision that chose it.
    parts.PodshiftPlaced = function (props) {
        const row = props.data;
        if (!row.decision) {
            return props.value || MISSING;
        }
        const label = props.value ? "Why " + row.job + " was placed on " + props.value : "Why " + row.job + " has no node";
        return make("a", { href: row.decision, "data-inside": "1", className: "row-link", "aria-label": label }, props.value || "none, why?");
    };

    parts.PodshiftChosen = function (props) {
        const mark = props.data.chosen ? make("span", { className: "mark" }, "chosen") : null;
        return make("span", { className: "row-name" }, props.value, mark);
    };

    parts.PodshiftSigned = function (props) {
        const value = props.value;
        if (typeof value !== "number" || !isFinite(value)) {
            return MISSING;
        }
        const shown = (value > 0.05 ? "+" : "") + number(value, 1);
        const tone = value < -0.05 ? "better" : value > 0.05 ? "worse" : "none";
        const arrow = tone === "better" ? "▼ " : tone === "worse" ? "▲ " : "";
        return make("span", { className: "tone-" + tone }, arrow + shown);
    };

    parts.PodshiftLink = function (props) {
        const row = props.data;
        const name = row.href ? make("a", { href: row.href, "data-inside": "1", className: "row-link" }, props.value) : props.value;
        const source = make("span", { className: "badge source-" + row.source.toLowerCase() }, row.source);
        const note = row.note ? make("span", { className: "row-note" }, row.note) : null;
        return make("span", { className: "row-name" }, name, source, note);
    };

    const TONES = { running: "live", queued: "quiet", finished: "good", imported: "quiet", failed: "bad", interrupted: "bad" };
    const ICONS = { running: "play", queued: "clock", finished: "check", imported: "import", failed: "alert", interrupted: "alert" };

    parts.PodshiftStatus = function (props) {
        const word = props.value || "unknown";
        const icon = make("span", { className: "icon icon-" + (ICONS[word] || "stop"), "aria-hidden": "true", style: { width: 12, height: 12 } });
        const badge = make("span", { className: "badge badge-" + (TONES[word] || "warn") }, icon, word);
        const share = props.data.share;
        if (typeof share !== "number") {
            return badge;
        }
        const bar = make(
            "span",
            { className: "mini-bar", role: "progressbar", "aria-valuenow": share, "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "Progress of " + props.data.name },
            make("span", { style: { width: share + "%" } }),
        );
        const line = make("span", { className: "row-share" }, bar, make("span", { className: "quiet" }, share + " %"));
        return make("span", { className: "row-status" }, badge, line);
    };

    parts.PodshiftPair = function (props) {
        const value = props.value || { text: MISSING };
        const arrow = { better: "▼ ", worse: "▲ " }[value.tone] || "";
        const change = value.change ? make("span", { className: "row-change tone-" + value.tone }, arrow + value.change) : null;
        return make("span", { className: "row-pair" }, make("span", null, value.text), change);
    };

    parts.PodshiftCompare = function (props) {
        if (!props.value) {
            return null;
        }
        const label = "Compare the arms of " + props.data.name;
        return make("a", { href: props.value, "data-inside": "1", className: "button button-small", "aria-label": label }, "Compare");
    };
})();
