// Keys, listed by "?". They are off while a person writes.
(function () {
    "use strict";
    const podshift = window.podshift;

    function writing(target) {
        return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
    }

    document.addEventListener("keydown", function (event) {
        if (event.ctrlKey || event.metaKey || event.altKey || writing(event.target) || document.querySelector('[role="dialog"]')) {
            return;
        }
        if (event.key === "?") {
            podshift.set("keys", { opened: true });
        } else if (event.key === "e") {
            podshift.go(podshift.prefix);
        } else if (event.key === "n") {
            podshift.go(podshift.prefix + "experiments/new");
        } else if (event.key === "t") {
            document.getElementById("theme-toggle").click();
        } else if (event.key === "/") {
            const search = document.querySelector("[data-search]");
            if (search) {
                search.focus();
            }
        } else {
            return;
        }
        event.preventDefault();
    });
})();
