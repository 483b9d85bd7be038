// The keyboard: single keys for everything a pointer can do, listed by `?` and switched off there.
const KEYS = [
  ["?", "this help"],
  ["/", "search; Enter and Shift+Enter go from match to match in a transcript"],
  ["o f t", "overview, findings, traces"],
  ["j k", "next, previous item of a list, or step of a transcript"],
  ["Enter", "open the item"],
  ["n p", "next, previous finding of the transcript"],
  ["[ ]", "previous, next trace"],
  ["d", "light, dark, or as the system"],
  ["Esc", "leave the search, close this"],
];
const THEMES = ["auto", "light", "dark"];
let keysOn = stored("gpa-keys") !== "off";

function stored(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null; // a browser may keep nothing for a file
  }
}

function useTheme(name) {
  const theme = THEMES.includes(name) ? name : "auto";
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  byId("theme").value = theme;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(byId("theme").value) + 1) % THEMES.length];
  stored("gpa-theme", theme);
  useTheme(theme);
  say(`Theme: ${theme}`);
}

const helpDialog = (() => {
  const box = el("input", { type: "checkbox", id: "keys-on" });
  box.checked = keysOn;
  box.addEventListener("change", () => { keysOn = box.checked; stored("gpa-keys", keysOn ? "on" : "off"); });
  const close = el("button", { type: "button", onclick: () => helpDialog.close() }, "Close");
  return el(
    "dialog",
    { "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keyboard"),
    el("dl", {}, KEYS.map(([keys, about]) => [el("dt", {}, keys.split(" ").flatMap((one, n) => [n ? " " : "", el("kbd", {}, one)])), el("dd", {}, about)])),
    el("p", { class: "row" }, el("label", { class: "check" }, box, " single keys are on"), close),
  );
})();

/** Move along items: the one that has the focus, or the first. */
function along(items, step) {
  if (!items.length) return;
  const at = items.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
  const next = items[Math.max(0, Math.min(items.length - 1, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || helpDialog.open) return;
  const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing || !keysOn) return;
  const act = KEYED[event.key];
  if (act && act() !== false) event.preventDefault();
}

const inTrace = () => (current.view === "trace" && open ? open : null);

function nextStep(step) {
  const trace = inTrace();
  if (!trace) {
    const items = [...document.querySelectorAll(current.view === "overview" ? "#overview .traces th a" : "#view a.go")];
    return along(items, step);
  }
  const number = Math.max(0, Math.min(trace.page.steps.length - 1, trace.number + step));
  if (trace.page.steps[number]) location.hash = address(trace.at, trace.page.steps[number].spans[0]);
}

function nextFinding(step) {
  const trace = inTrace();
  if (!trace) return false;
  const place = (finding) => trace.page.byLabel.get(finding.labels[0]) ?? -1;
  const shown = traces[trace.at].findings.filter(passes).sort((a, b) => place(a) - place(b) || a.at - b.at);
  if (!shown.length) return false;
  const here = shown.findIndex((finding) => finding.at === current.finding);
  const after = shown.findIndex((finding) => place(finding) > trace.number);
  const next = here >= 0 ? here + step : step > 0 ? Math.max(0, after) : (after < 0 ? shown.length : after) - 1;
  const finding = shown[(next + shown.length) % shown.length];
  location.hash = address(trace.at, finding.spans[0] || "", finding.at);
  return true;
}

function otherTrace(step) {
  const trace = inTrace();
  if (!trace || !traces[trace.at + step]) return false;
  location.href = address(trace.at + step);
  return true;
}

const KEYED = {
  "?": () => helpDialog.showModal(),
  "/": () => { byId("search").focus(); byId("search").select(); },
  o: () => { location.href = `${config.home}#`; },
  f: () => { location.href = `${config.home}#findings`; },
  t: () => { location.href = `${config.home}#traces`; },
  d: nextTheme,
  j: () => nextStep(1),
  k: () => nextStep(-1),
  n: () => nextFinding(1),
  p: () => nextFinding(-1),
  "[": () => otherTrace(-1),
  "]": () => otherTrace(1),
};
