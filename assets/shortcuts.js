// Keys, listed by "?". They are off while a person writes.
(function () {
    "use strict";
    const podshift = window.podshift;

    function writing(target) {
        return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
    }

    // Menus are plain disclosures (dashboard/components/menu.py); they close like menus do.
    function closeMenus(except) {
        document.querySelectorAll("details.menu[open]").forEach(function (menu) {
            if (menu !== except) {
                menu.open = false;
            }
        });
    }

    document.addEventListener("click", function (event) {
        const menu = event.target.closest && event.target.closest("details.menu");
        closeMenus(event.target.closest && event.target.closest(".menu-entry") ? null : menu);
    });

    document.addEventListener("keydown", function (event) {
        const open = event.key === "Escape" && document.querySelector("details.menu[open]");
        if (open) {
            open.open = false;
            open.querySelector("summary").focus();
            return;
        }
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
