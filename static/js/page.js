// This script adds what htmx leaves out: keyboard focus, announcements for screen readers,
// the refresh of live regions, and the handling of failed requests. Without this script and
// htmx, all links and forms still work.
(() => {
  const content = () => document.getElementById("content");
  const parse = (html) => new DOMParser().parseFromString(html, "text/html");

  let leaving = false;
  addEventListener("pagehide", () => (leaving = true));
  addEventListener("pageshow", () => (leaving = false));

  // The browser itself loads pages of other paths, answers that aren't our pages, and
  // requests that failed.
  function navigate(path) {
    if (!leaving) location.assign(path);
  }

  const isLive = (element) => element.matches('[data-hx-trigger="live"]');

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const { elt } = detail.requestConfig; // detail.elt is the target
    if (isLive(elt)) {
      liveAnswered(detail.xhr.status === 200);
      detail.shouldSwap = detail.xhr.status === 200;
      return;
    }
    const answer = parse(detail.serverResponse);
    const landed = new URL(detail.xhr.responseURL || location.href);
    if (landed.pathname !== location.pathname || !answer.getElementById("content")) {
      detail.shouldSwap = false;
      navigate(detail.pathInfo.finalRequestPath);
      return;
    }
    adoptHead(answer);
    clicked = placeOf(elt);
  });

  // Update the parts of the head that describe the page. htmx updates the title.
  function adoptHead(answer) {
    const named = 'link[rel="canonical"], link[rel="alternate"], meta[name="robots"], meta[name="description"], meta[property^="og:"]';
    document.head.querySelectorAll(named).forEach((old) => old.remove());
    document.head.append(...answer.head.querySelectorAll(named));
  }

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, ({ detail }) => {
      if (isLive(detail.requestConfig.elt)) liveAnswered(false);
      else navigate(detail.pathInfo.finalRequestPath);
    });
  }

  // Shift opens a link in a new window. htmx handles only the other such keys.
  document.addEventListener(
    "click",
    (event) => {
      if (event.shiftKey && event.target.closest("[data-hx-boost] a")) event.stopImmediatePropagation();
    },
    true,
  );

  // Focus and announcement

  let clicked = null;

  // Describe a chip, so that sameChip can find it on the next page.
  function placeOf(element) {
    if (!element.matches(".chip")) return null;
    return { label: element.closest("nav").getAttribute("aria-label"), href: element.getAttribute("href") };
  }

  function sameChip(place) {
    return [...content().querySelectorAll("a.chip")].find(
      (chip) => chip.getAttribute("href") === place.href && chip.closest("nav").getAttribute("aria-label") === place.label,
    );
  }

  // On a phone the filters share one scrolling row. Scroll the chip into view.
  function showInRow(chip) {
    const row = chip.closest(".filters");
    if (!row) return;
    const [outer, inner] = [row.getBoundingClientRect(), chip.getBoundingClientRect()];
    row.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
  }

  document.addEventListener("htmx:afterSwap", ({ target }) => {
    if (target !== content()) return;
    if (document.activeElement === document.body) {
      const chip = clicked && sameChip(clicked);
      (chip || target).focus({ preventScroll: true });
      if (chip) showInRow(chip);
    }
    announce(target);
    if (scrollBack !== undefined) scrollTo(0, scrollBack);
    scrollBack = undefined;
    tellTimes();
  });

  function announce(main) {
    const rows = main.querySelectorAll("tbody > tr, .rows > li, .stack > *").length;
    const found = main.querySelector(".empty-title, .error-page h1 + p")?.textContent ?? `${rows} shown`;
    document.getElementById("announcement").textContent = `${main.querySelector("h1").textContent}: ${found}`;
  }

  // Back and forward load the page again and swap it like any other.

  let scrollBack;

  document.addEventListener("htmx:beforeHistoryUpdate", () => {
    history.replaceState({ htmx: true, top: scrollY }, "");
  });
  addEventListener("popstate", ({ state }) => (scrollBack = state?.top));
  document.addEventListener("htmx:historyCacheMiss", (event) => {
    event.preventDefault();
    htmx.ajax("GET", event.detail.path, { source: document.body, target: "#content", select: "#content", swap: "outerHTML" });
  });

  // Live regions

  const life = 60_000;
  const longestPause = 15 * life;
  const look = 15_000;
  let failures = 0;
  let asked = Date.now();

  function liveAnswered(well) {
    failures = well ? 0 : failures + 1;
  }

  function refresh() {
    const live = document.querySelector('[data-hx-trigger="live"]');
    const pause = Math.min(life * 2 ** failures, longestPause);
    if (!live || document.hidden || Date.now() - asked < pause) return;
    asked = Date.now();
    htmx.trigger(live, "live");
  }

  // Keep a region while the reader uses it. Also keep a visible region if the new one has
  // another height, so that text doesn't move while it is read.
  function mayReplace(region, fresh) {
    if (region.contains(document.activeElement) || region.querySelector("details[open]")) return false;
    const selection = getSelection();
    if (!selection.isCollapsed && selection.containsNode(region, true)) return false;
    const { top, bottom, height } = region.getBoundingClientRect();
    if (bottom < 0 || top > innerHeight) return true;
    const trial = fresh.cloneNode(true);
    region.replaceWith(trial);
    const grown = Math.abs(trial.getBoundingClientRect().height - height) > 1;
    trial.replaceWith(region);
    return !grown;
  }

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const fresh = fragment.firstElementChild;
    if (target.isEqualNode(fresh)) event.detail.shouldSwap = false;
    else if (target.id.startsWith("live-")) event.detail.shouldSwap = mayReplace(target, fresh);
  });

  // Relative times, in the words of components.When.

  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;

  function distance(ms) {
    const words = (n, unit) => `${n} ${unit}${n === 1 ? "" : "s"}`;
    if (ms < 45_000) return "";
    if (ms < hour) return words(Math.max(1, Math.round(ms / minute)), "minute");
    if (ms < 36 * hour) return words(Math.round(ms / hour), "hour");
    return words(Math.floor((ms + 12 * hour) / day), "day");
  }

  function relative(ms) {
    const words = distance(Math.abs(ms));
    if (words === "") return ms < -5_000 ? "in a moment" : "just now";
    return ms < 0 ? `in ${words}` : `${words} ago`;
  }

  function tellTimes() {
    // A date without a time of day stays a date.
    for (const time of document.querySelectorAll('time[datetime*="T"]')) {
      const ms = Date.now() - Date.parse(time.dateTime);
      if (Math.abs(ms) > 60 * day) continue; // an absolute date, which needs no update
      const words = relative(ms);
      if (time.textContent !== words) time.textContent = words;
    }
  }

  function wake() {
    if (document.hidden) return;
    tellTimes();
    refresh();
  }
  setInterval(wake, look);
  document.addEventListener("visibilitychange", wake);

  // Copy buttons. They are shown only if the page can write to the clipboard.

  function offerCopies() {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
  }

  document.addEventListener("htmx:load", offerCopies);
  offerCopies();

  async function copy(button) {
    const face = button.firstChild;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      face.data = "Copied";
    } catch {
      face.data = "Not copied";
    }
    document.getElementById("announcement").textContent = face.data;
    setTimeout(() => (face.data = "Copy"), 2000);
  }

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("button[data-copy]");
    if (button) copy(button);
  });

  // Close the menu of narrow pages on Escape and on clicks outside it.

  function closeMenu(focus) {
    const menu = document.querySelector(".nav-menu[open]");
    if (!menu) return;
    menu.open = false;
    if (focus) menu.firstElementChild.focus();
  }

  addEventListener("keydown", ({ key }) => key === "Escape" && closeMenu(true));
  document.addEventListener("click", ({ target }) => target.closest(".nav-menu") || closeMenu(false));

  // Offline

  const unreached = document.getElementById("unreached");
  if (unreached && location.pathname !== "/offline") {
    unreached.textContent = location.pathname + location.search;
    unreached.parentElement.hidden = false;
    addEventListener("online", () => location.reload());
  }
  addEventListener("load", () => {
    navigator.serviceWorker?.register("/sw.js").catch(() => {}); // the site works without it
  });
})();
