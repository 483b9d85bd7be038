// Addresses: `#`, `#findings?...`, `#traces?...`, `#TRACE`, `#TRACE/SPAN`, `#TRACE/SPAN/NUMBER OF THE FINDING`.
let current = { view: "overview", at: -1, finding: null };

/** Write the filters into the address without going anywhere. */
function remember(view) {
  const query = chosenQuery();
  history.replaceState(null, "", `#${view}${query ? `?${query}` : ""}`);
}

async function route() {
  const hash = location.hash.slice(1);
  const [path, query] = hash.split("?");
  const [id, span = "", number = ""] = path.split("/").map(decoded);
  const view = byId("view");
  const overview = byId("overview");
  const was = current;
  const isList = path === "findings" || path === "traces"; // also where a trace is called so
  const at = !isList && numberOf.has(id) ? numberOf.get(id) : -1;
  const name = at >= 0 ? "trace" : isList ? path : "overview";
  const finding = /^[1-9]\d*$/.test(number) ? Number(number) - 1 : null;
  current = { view: name, at, finding };
  if (name !== was.view) setSearch("");
  if (name !== "trace") open = null;
  document.querySelectorAll("nav a[data-view]").forEach((link) => {
    if (link.dataset.view === (name === "trace" ? "traces" : name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  byId("search").placeholder = { overview: "Search findings", findings: "Search findings", traces: "Search traces", trace: "Search this transcript" }[name];
  overview?.toggleAttribute("hidden", name !== "overview");
  view.toggleAttribute("hidden", name === "overview" && overview !== null);
  let heading = null;
  if (name === "overview") {
    list?.stop();
    view.replaceChildren();
    if (!overview) view.append(el("div", { class: "list" }, el("h1", { tabindex: "-1" }, "Transcripts on this page"), el("ul", {}, traces.map((trace, n) => el("li", {}, el("a", { class: "go", href: address(n) }, trace.goal || trace.id))))));
    heading = id && id !== "overview" && id !== "main" ? unknown(view, id) : byId("overview-title");
    document.title = `${config.title} · Agent GPA report`;
  } else if (name === "trace") {
    document.title = `${traces[at].goal.slice(0, 60) || id} · ${config.title}`;
    heading = await showTrace(view, at, span, finding);
    if (was.at === at) heading = null;
  } else {
    chooseFrom(query || "");
    heading = name === "findings" ? showFindings(view) : showTraces(view);
    document.title = `${name === "findings" ? "Findings" : "Traces"} · ${config.title}`;
  }
  if (heading && was.view !== "start" && !span) {
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }
}

/** Say that an address leads nowhere. */
function unknown(view, id) {
  view.hidden = false;
  view.replaceChildren(el("p", { class: "notice" }, "This report has no trace ", el("code", {}, id), "."));
  return byId("overview-title");
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function setSearch(text) {
  byId("search").value = text;
  chosen.text = text;
}

function onSearch() {
  chosen.text = byId("search").value;
  if (current.view === "trace") return open?.find(chosen.text);
  if (current.view === "overview") {
    if (!chosen.text.trim()) return;
    const text = chosen.text;
    // Heard after `route`, which shows the list and empties the search of the view before.
    addEventListener("hashchange", () => { setSearch(text); byId("view").refresh(); byId("search").focus(); }, { once: true });
    location.hash = "#findings";
    return;
  }
  byId("view").refresh();
}

function start() {
  document.documentElement.classList.add("js");
  document.body.append(helpDialog);
  useTheme(stored("gpa-theme"));
  byId("theme").addEventListener("click", nextTheme);
  byId("help").addEventListener("click", () => helpDialog.showModal());
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
  document.addEventListener("keydown", onKey);
  addEventListener("beforeprint", () => { open?.all(); list?.all(); });
  if (!unpackable) {
    byId("view").hidden = false;
    byId("view").append(el("p", { class: "notice" }, "This browser cannot unpack the transcripts (it has no DecompressionStream): the overview is all it can show."));
    return;
  }
  loadIndex().then(() => {
    current = { view: "start", at: -1, finding: null };
    addEventListener("hashchange", route);
    listen();
    return route();
  }).then(() => document.documentElement.setAttribute("data-ready", ""));
}

/** Search while words are typed, and go from match to match. */
function listen() {
  let waiting = 0;
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(onSearch, 120); });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(waiting);
    if (current.view === "trace" && open?.order.length && chosen.text === byId("search").value) open.find(chosen.text, event.shiftKey ? -1 : 1);
    else onSearch();
  });
}

start();
