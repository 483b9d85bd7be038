// Elements from data. Text becomes text nodes, never markup: nothing a trace holds can be more than text.
const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes by name, `on*` as listeners, children as nodes or text; null and false are left out. */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const byId = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** `420 ms`, `5.9 s`, `3m 20s`, `2h 5m`: as the Python side writes it. */
function duration(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${Math.floor(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
}

/** Say something to those who cannot see it change. */
function say(text) {
  byId("said").textContent = text;
}

/** Run the steps of a generator in slices that leave the browser time to answer; stop when `alive()` is false. */
function inSlices(work, alive) {
  return new Promise((done) => {
    const slice = () => {
      const until = performance.now() + 12;
      while (performance.now() < until) {
        if (!alive()) return done(false);
        if (work.next().done) return done(true);
      }
      setTimeout(slice);
    };
    slice();
  });
}
