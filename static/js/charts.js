// The line above a chart shows the values at the pointer, or at the time chosen with the arrow
// keys. Without this script it shows the newest values, and the table below has the others.
(() => {
  const plane = 1000; // width and height of the inner drawing, as in components.plane
  const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const two = (n) => String(n).padStart(2, "0");
  // The format of components.readingTime. Intl would be far slower.
  function moment(ms) {
    const at = new Date(ms);
    const day = `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
    return `${day}, ${two(at.getUTCHours())}:${two(at.getUTCMinutes())} UTC`;
  }
  const svg = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  function readLines(chart) {
    return [...chart.querySelectorAll("path.line")].reverse().map((path) => ({
      name: path.dataset.name,
      spots: [...path.getAttribute("d").matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => ({ x: +x, y: +y })),
    }));
  }

  function nearest(spots, x) {
    let best = 0;
    spots.forEach((spot, i) => {
      if (Math.abs(spot.x - x) < Math.abs(spots[best].x - x)) best = i;
    });
    return best;
  }

  function makeReadable(reading) {
    const chart = document.getElementById(reading.dataset.chart);
    if (!chart || reading.role === "slider") return;
    const lines = readLines(chart);
    const steps = lines.reduce((most, line) => (line.spots.length > most.length ? line.spots : most), []);
    if (steps.length < 2) return;
    const { from, to, low, high } = chart.dataset;
    const ground = chart.querySelector(".ground");
    const atRest = reading.textContent;
    const value = ({ y }) => `${((+low + (1 - y / plane) * (high - low)) * 100).toFixed(1)}\u00a0%`;
    const time = ({ x }) => moment((+from + (x / plane) * (to - from)) * 1000);
    let at = steps.length - 1;

    function say(words) {
      reading.textContent = words;
      reading.setAttribute("aria-valuenow", at);
      reading.setAttribute("aria-valuetext", words);
    }
    function clear() {
      ground.querySelectorAll(".cursor, .cursor-dot").forEach((mark) => mark.remove());
    }
    function readAt(step) {
      at = Math.min(steps.length - 1, Math.max(0, step));
      const here = steps[at];
      const spots = lines.map(({ name, spots }) => ({ name, ...spots[nearest(spots, here.x)] }));
      const across = `${here.x / 10}%`;
      clear();
      ground.append(svg("line", { class: "cursor", x1: across, x2: across, y1: 0, y2: "100%" }));
      for (const spot of spots) ground.append(svg("circle", { class: "cursor-dot", cx: `${spot.x / 10}%`, cy: `${spot.y / 10}%`, r: 3.5 }));
      say(`${time(here)}: ${spots.map((spot) => [spot.name, value(spot)].filter(Boolean).join(" ")).join(", ")}`);
    }
    function rest() {
      clear();
      at = steps.length - 1;
      say(atRest);
    }

    for (const [key, set] of Object.entries({ role: "slider", "aria-label": "Values by time", "aria-valuemin": 0, "aria-valuemax": at })) {
      reading.setAttribute(key, set);
    }
    reading.tabIndex = 0;
    say(atRest);
    const moves = { ArrowLeft: () => at - 1, ArrowDown: () => at - 1, ArrowRight: () => at + 1, ArrowUp: () => at + 1,
      PageDown: () => at - 10, PageUp: () => at + 10, Home: () => 0, End: () => steps.length - 1 };
    reading.addEventListener("keydown", (event) => {
      if (!moves[event.key]) return;
      event.preventDefault();
      readAt(moves[event.key]());
    });
    reading.addEventListener("blur", rest);
    const dotOf = (target) => target.closest?.("a[aria-label]");
    for (const pointed of ["pointermove", "pointerdown"]) {
      chart.addEventListener(pointed, ({ clientX, target }) => {
        if (dotOf(target)) return;
        const { left, width } = chart.getBoundingClientRect();
        readAt(nearest(steps, ((clientX - left) / width) * plane));
      });
    }
    for (const pointed of ["pointerover", "focusin"]) {
      chart.addEventListener(pointed, ({ target }) => {
        const dot = dotOf(target);
        if (!dot) return;
        clear();
        say(dot.getAttribute("aria-label"));
      });
    }
    chart.addEventListener("pointerleave", rest);
    chart.addEventListener("focusout", rest);
  }

  const enhance = () => document.querySelectorAll(".chart-reading").forEach(makeReadable);
  document.addEventListener("htmx:load", enhance);
  enhance();
})();
