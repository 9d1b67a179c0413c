// Runs in the head, before anything is painted: the page has its colours from the first frame on.
// Later it tells figures and tables when the theme changes. The choice itself is kept by Mantine (local storage).
(function () {
    "use strict";
    if (window.podshift) {
        return; // Dash adds every asset at the end of the body as well
    }
    const root = document.documentElement;
    const KEY = "mantine-color-scheme-value";
    const prefix = document.querySelector('meta[name="podshift-prefix"]');

    function preferred() {
        let chosen = null;
        try {
            chosen = localStorage.getItem(KEY);
        } catch {
            // storage may be off; the system decides then
        }
        if (chosen === "light" || chosen === "dark") {
            return chosen;
        }
        return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    }

    function current() {
        const value = root.getAttribute("data-mantine-color-scheme");
        return value === "light" || value === "dark" ? value : preferred();
    }

    function apply(theme) {
        root.setAttribute("data-ag-theme-mode", theme);
        root.style.colorScheme = theme;
    }

    root.setAttribute("data-mantine-color-scheme", preferred());
    apply(preferred());

    new MutationObserver(function () {
        const theme = current();
        if (root.getAttribute("data-ag-theme-mode") === theme) {
            return;
        }
        apply(theme);
        if (window.dash_clientside && window.dash_clientside.set_props) {
            window.dash_clientside.set_props("theme", { data: theme });
        }
    }).observe(root, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });

    window.podshift = {
        prefix: prefix ? prefix.content : "/",
        theme: current,
        set: function (id, props) {
            window.dash_clientside.set_props(id, props);
        },
        // Go to an address within the dashboard without loading the page anew; Dash's own links do the same.
        go: function (href) {
            history.pushState({}, "", href);
            window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
            window.scrollTo(0, 0);
        },
        toast: function (text, kind) {
            window.podshift.set("toast", { children: text, hidden: false, className: "toast toast-" + (kind || "info") });
            clearTimeout(window.podshift.toastTimer);
            window.podshift.toastTimer = setTimeout(function () {
                window.podshift.set("toast", { hidden: true });
            }, 8000);
        },
    };
})();
