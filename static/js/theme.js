// This script is loaded in <head> before the stylesheet, so that a page is never drawn in the
// wrong theme. The choice is "system", "light" or "dark". data-theme is set for the last two.
(() => {
  const choices = ["system", "light", "dark"];
  const root = document.documentElement;
  const bars = [...document.querySelectorAll('meta[name="theme-color"]')].map((meta) => ({
    meta,
    scheme: meta.media.includes("dark") ? "dark" : "light",
    colour: meta.content,
  }));

  function read() {
    try {
      const stored = localStorage.getItem("theme");
      return choices.includes(stored) ? stored : "system";
    } catch {
      return "system"; // the browser forbids storage
    }
  }

  function show(choice) {
    root.dataset.choice = choice;
    if (choice === "system") delete root.dataset.theme;
    else root.dataset.theme = choice;
    for (const { meta, scheme } of bars) {
      meta.content = bars.find((bar) => bar.scheme === (choice === "system" ? scheme : choice)).colour;
    }
    for (const button of document.querySelectorAll(".theme-switch")) {
      button.title = `Theme: ${choice}`;
      button.setAttribute("aria-label", button.title);
    }
  }

  function choose(choice) {
    try {
      if (choice === "system") localStorage.removeItem("theme");
      else localStorage.setItem("theme", choice);
    } catch {
      // Without storage the choice lasts until the next page.
    }
    show(choice);
    const said = document.getElementById("announcement");
    if (said) said.textContent = `Theme: ${choice}`;
  }

  show(read());
  addEventListener("DOMContentLoaded", () => show(root.dataset.choice));
  addEventListener("storage", () => show(read()));
  document.addEventListener("click", (event) => {
    if (event.target.closest(".theme-switch")) {
      choose(choices[(choices.indexOf(root.dataset.choice) + 1) % choices.length]);
    }
  });
})();
