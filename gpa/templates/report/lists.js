// The list of findings and the table of traces: filtered as data, drawn a piece at a time.
const PIECE = 60;

/** Draw items into `holder` as they come into view. */
function drawn(holder, items, draw) {
  let done = 0;
  const more = el("div", { class: "more" });
  const next = () => {
    holder.append(...items.slice(done, done + PIECE).map(draw));
    done = Math.min(items.length, done + PIECE);
    more.replaceChildren(done < items.length ? el("button", { type: "button", onclick: next }, `Show more (${count(items.length - done)} left)`) : "");
  };
  const watch = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && done < items.length) next();
  }, { rootMargin: "900px" });
  watch.observe(more);
  next();
  return { more, stop: () => watch.disconnect(), all: () => { while (done < items.length) next(); } };
}

function severityTag(severity, text = severity) {
  return el("span", { class: `sev ${severity.toLowerCase()}` }, el("span", { "aria-hidden": "true" }, SIGNS[severity]), text === severity ? " " : el("span", { class: "unseen" }, severity, " "), text);
}

/** A finding as a card. In a transcript it says where its quote is (`page` knows), elsewhere which trace it is in. */
function findingCard(finding, inTrace, page = null) {
  const trace = traces[finding.trace];
  const span = finding.spans[0] || "";
  const places = finding.spans.map((id, at) => {
    const label = finding.labels[at] || id;
    return el("a", { href: address(finding.trace, id, finding.at), title: `span ${id}` }, label);
  });
  return el(
    "article",
    {
      class: `finding ${finding.severity.toLowerCase()} ${finding.source}${finding.suppressed ? " suppressed" : ""}`,
      "data-finding": finding.at,
      "data-trace": finding.trace,
      tabindex: "-1",
      "aria-label": `${finding.severity} finding, ${finding.category}`,
    },
    el(
      "p",
      { class: "head" },
      severityTag(finding.severity),
      el("span", { class: "codes" }, finding.dimensions.join(" ")),
      el("span", { class: "category" }, finding.category),
      el("span", { class: `by ${finding.source}` }, SOURCES[finding.source]),
      el("span", { class: "judge" }, finding.source === "confirmed" ? `${finding.model} (${finding.judge})` : finding.judge),
      finding.new ? el("span", { class: "tag" }, "new") : null,
      finding.ungrounded ? el("span", { class: "tag" }, "quote not in the trace") : null,
      finding.suppressed ? el("span", { class: "tag" }, "suppressed: counts for nothing") : null,
      finding.samples ? el("span", { class: "tag" }, `run ${finding.samples.map((sample) => sample + 1).join(", ")}`) : null,
    ),
    el("p", { class: "problem" }, finding.problem),
    finding.quote ? el("blockquote", {}, finding.quote) : null,
    el(
      "p",
      { class: "where" },
      inTrace ? null : el("a", { class: "go", href: address(finding.trace, span, finding.at) }, el("bdi", {}, trace.goal || trace.id)),
      el("span", {}, places.length ? [places.length > 1 ? "steps " : "step ", places.flatMap((place, at) => (at ? [", ", place] : [place]))] : "not localised"),
      page?.elsewhere?.[finding.at] ? el("span", {}, "quote in ", el("a", { href: stepAddress(page, finding, page.elsewhere[finding.at]) }, page.elsewhere[finding.at])) : null,
      finding.agent ? el("span", {}, "agent ", el("bdi", {}, finding.agent)) : null,
      outside(trace.id, span),
    ),
  );
}

const stepAddress = (page, finding, label) => address(finding.trace, page.steps[page.byLabel.get(label)].spans[0]);

let list = null; // what is drawn now, for print and for leaving

function showFindings(view) {
  const bar = filterBar(refresh);
  const holder = el("div");
  const heading = el("h1", { tabindex: "-1" }, "Findings");
  view.replaceChildren(el("section", { class: "list", "aria-label": "Findings" }, heading, bar, holder));
  function refresh() {
    const wanted = chosen.text.toLowerCase().trim();
    const shown = findings
      .filter((finding) => passes(finding) && (!wanted || speaksOf(finding, wanted)))
      .sort((a, b) => gravity(a) - gravity(b));
    const all = findings.filter((finding) => !finding.suppressed).length;
    const said = shown.length === all ? plural(all, "finding") : `${count(shown.length)} of ${plural(findings.length, "finding")}`;
    bar.tell(said);
    say(said);
    list?.stop();
    holder.replaceChildren();
    list = drawn(holder, shown, (finding) => findingCard(finding, false));
    holder.after(list.more);
    holder.parentElement.querySelectorAll(".more").forEach((more) => more !== list.more && more.remove());
    if (!shown.length) holder.append(el("p", { class: "empty" }, "No finding fits these filters."));
    remember("findings");
  }
  view.refresh = refresh;
  refresh();
  return heading;
}

const RANK = { HIGH: 0, MEDIUM: 1, LOW: 2 };
const gravity = (finding) => (finding.suppressed ? 3 : 0) + RANK[finding.severity];

function showTraces(view) {
  const bar = filterBar(refresh);
  const heading = el("h1", { tabindex: "-1" }, "Traces");
  const body = el("tbody");
  const head = el(
    "thead",
    {},
    el("tr", {}, el("th", { scope: "col" }, "Trace"),
      codes.map((code) => el("th", { scope: "col", class: "cell" }, el("abbr", { title: config.dimensions[code] }, code))),
      ["Findings", "Steps", "Time"].map((name) => el("th", { scope: "col", class: "n" }, name))),
  );
  const wide = el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of traces" }, el("table", { class: "traces" }, head, body));
  const deep = el("p", { class: "more" });
  view.replaceChildren(el("section", { class: "list", "aria-label": "Traces" }, heading, bar, deep, wide));
  let turn = 0;
  const inside = new Set(); // traces whose transcript holds the words searched for
  let searched = "";
  function refresh() {
    const wanted = chosen.text.toLowerCase().trim();
    if (wanted !== searched) { inside.clear(); searched = wanted; turn++; }
    const shown = traces
      .map((trace, at) => at)
      .filter((at) => !isFiltered() || traces[at].findings.some(passes))
      .filter((at) => !wanted || inside.has(at) || mentions(traces[at], wanted));
    const said = shown.length === traces.length ? plural(traces.length, "trace") : `${count(shown.length)} of ${plural(traces.length, "trace")}`;
    bar.tell(said);
    say(said);
    list?.stop();
    body.replaceChildren();
    list = drawn(body, shown, traceRow);
    wide.parentElement.querySelectorAll(".more").forEach((more) => more !== deep && more.remove());
    wide.after(list.more);
    const unread = traces.some((_, at) => isHere(at));
    deep.replaceChildren(wanted && unread ? el("button", { type: "button", onclick: () => searchInside(wanted) }, `Search “${chosen.text.trim()}” in all transcripts`) : "");
    remember("traces");
  }
  async function searchInside(wanted) {
    const mine = ++turn;
    for (let at = 0; at < traces.length; at++) {
      if (!isHere(at) || inside.has(at)) continue;
      const page = await transcriptOf(at, false);
      if (mine !== turn || !wide.isConnected) return;
      if (page.steps.some((step) => step.texts.some((text) => (text.text || "").toLowerCase().includes(wanted)))) inside.add(at);
      if (at % 10 === 9) {
        deep.textContent = `Searched ${count(at + 1)} of ${count(traces.length)} transcripts ...`;
        await new Promise((next) => setTimeout(next));
      }
    }
    refresh();
    deep.textContent = `“${chosen.text.trim()}” stands in ${plural(inside.size, "transcript")}.`;
    say(deep.textContent);
  }
  view.refresh = refresh;
  refresh();
  return heading;
}

const mentions = (trace, wanted) => [trace.goal, trace.id, ...trace.agents].some((text) => text.toLowerCase().includes(wanted));

function traceRow(at) {
  const trace = traces[at];
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("a", { class: "go", href: address(at) }, el("bdi", {}, trace.goal || "(no goal recorded)")), firstFinding(trace, at)),
    trace.cells.map((cell) => el("td", { class: `cell ${cellClass(cell)}` }, cellText(cell))),
    el("td", { class: "n counts" }, trace.severities.some(Boolean) ? Object.keys(SIGNS).flatMap((name, n) => (trace.severities[n] ? [severityTag(name, String(trace.severities[n])), " "] : [])) : "–"),
    el("td", { class: "n" }, trace.steps || "–", trace.failed_steps ? el("span", { class: "err", title: `${trace.failed_steps} failed` }, ` ✕${trace.failed_steps}`) : null),
    el("td", { class: "n" }, trace.duration ? duration(trace.duration) : "–"),
  );
}

/** Why a trace is where it is in the table: its gravest finding; the trace's id where there is none. */
function firstFinding(trace, at) {
  if (!trace.gravest) return el("code", {}, trace.id);
  const [severity, problem, span, number] = trace.gravest;
  return el("a", { class: "why-first", href: address(at, span, number) }, severityTag(severity, ""), " ", problem);
}

function cellClass(cell) {
  if (cell === null) return "none";
  return typeof cell === "string" ? (cell === "n/a" ? "na" : "failed") : `s${Math.round(cell)}`;
}

const cellText = (cell) => (cell === null ? "–" : String(cell));
