// One trace: verdicts, timeline, and the transcript with its findings, drawn in blocks as they are needed.
const BLOCK = 12; // steps
const READ_AHEAD = 1500; // steps that are drawn while nobody waits
const MAX_HITS = 2000;

let open = null; // the trace that is shown: {at, page, go, find, ...}

async function showTrace(view, at, span, number) {
  const trace = traces[at];
  if (!isHere(at)) {
    if (trace.page && !config.home) location.replace(address(at, span, number));
    else view.replaceChildren(el("p", { class: "empty" }, "The transcript of this trace is not in this report."));
    return null;
  }
  if (!open || open.at !== at || !open.body.isConnected) {
    view.replaceChildren(el("p", { class: "empty" }, "Unpacking the transcript ..."));
    const page = await transcriptOf(at);
    if (current.at !== at) return null; // someone went on meanwhile
    open = drawTrace(view, at, page);
  }
  open.reach(span, number);
  return open.heading;
}

function drawTrace(view, at, page) {
  const trace = traces[at];
  const own = trace.findings;
  const steps = el("div", { class: "transcript" });
  const blocks = [];
  let turn = 0;
  const state = { at, page, body: steps, hits: new Map(), order: [], now: -1 };
  const bar = filterBar(() => { refreshFindings(); });
  const heading = el("h1", { tabindex: "-1" }, page.goal || trace.goal || "(no goal recorded)");
  const go = (number) => { location.hash = address(at, page.steps[number].spans[0]); };
  const times = page.missing ? null : timeline(page, at, go);
  const loose = el("div");

  view.replaceChildren(
    el("section", { class: "trace", "aria-label": `Trace ${trace.id}` },
      el("div", { class: "trace-head" },
        el("div", { class: "what" }, heading, el("p", { class: "under" }, "trace ", el("code", {}, trace.id), page.missing ? "" : ` · ${plural(page.steps.length, "step")} · ${duration(page.duration || 0)} · ${plural(page.agents.length, "agent")}`)),
        el("p", { class: "ways" }, way(at - 1, "‹ Previous", "["), way(at + 1, "Next ›", "]"), outside(trace.id, ""))),
      el("div", { class: "verdicts" }, page.verdicts.map((verdict) => verdictNode(verdict, page.verdicts.some((other) => other.model !== verdict.model)))),
      bar,
      page.missing
        ? el("div", {}, el("p", { class: "notice" }, "The results hold no transcript of this trace; give its file with --traces to see it."), own.filter(passes).map((finding) => findingCard(finding, true)))
        : el("div", { class: "trace-body" }, times, steps)),
  );
  if (page.warnings) steps.append(el("div", { class: "warnings notice" }, page.warnings.map((text) => el("p", {}, text))));
  if (page.agents.length) steps.append(aboutAgents(page));
  steps.append(loose);
  for (let from = 0; from < page.steps.length; from += BLOCK) {
    const block = el("div", { class: "steps-block" });
    block.from = from;
    block.to = Math.min(page.steps.length, from + BLOCK);
    block.style.minHeight = `${140 * (block.to - from)}px`;
    blocks.push(block);
  }
  steps.append(...blocks);

  function fill(block, again = false) {
    if (block.filled && !again) return;
    block.filled = true;
    block.style.minHeight = "";
    block.replaceChildren(...page.steps.slice(block.from, block.to).map((step, n) => stepNode(step, state, block.from + n)));
  }
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && fill(entry.target)), { rootMargin: "1200px" });
  blocks.forEach((block) => watch.observe(block));
  const blockOf = (number) => blocks[Math.floor(number / BLOCK)];
  const alive = () => steps.isConnected;
  inSlices((function* ahead() { for (const block of blocks.slice(0, READ_AHEAD / BLOCK)) { fill(block); yield; } })(), alive);

  /** Draw again what is drawn: at once what can be seen, the rest in slices. */
  function refill() {
    const mine = ++turn;
    const seen = (block) => { const { top, bottom } = block.getBoundingClientRect(); return bottom > -innerHeight && top < 2 * innerHeight; };
    const filled = blocks.filter((block) => block.filled);
    const near = new Set(filled.filter(seen));
    near.forEach((block) => fill(block, true));
    inSlices((function* rest() { for (const block of filled) { if (!near.has(block)) fill(block, true); yield; } })(), () => alive() && mine === turn);
  }

  function refreshFindings() {
    const shown = own.filter(passes);
    bar.tell(shown.length === own.length ? plural(own.length, "finding") : `${count(shown.length)} of ${plural(own.length, "finding")}`);
    loose.replaceChildren(...shown.filter((finding) => !finding.labels.length && !page.missing).map((finding) => findingCard(finding, true)));
    refill();
    times?.refresh();
    if (state.number >= 0) times?.point(state.number);
  }

  /** Bring a step (by span) and one of its findings into view. */
  function reach(span, finding) {
    const number = span ? page.bySpan.get(span) ?? page.byLabel.get(span) ?? -1 : -1;
    steps.querySelectorAll(".here, .at").forEach((node) => node.classList.remove("here", "at"));
    state.number = number;
    times?.point(number);
    if (finding !== null && own[finding] && !passes(own[finding])) { chooseFrom(""); chosen.suppressed = true; bar.tell(""); refreshFindings(); }
    if (number < 0) {
      const card = finding === null ? null : loose.querySelector(`[data-finding="${finding}"]`);
      (card || document.documentElement).scrollIntoView({ block: card ? "center" : "start" });
      card?.classList.add("at");
      card?.focus({ preventScroll: true });
      return;
    }
    for (const near of [number, number - 6, number + 6]) if (blockOf(near)) fill(blockOf(near));
    const node = byId(`step-${number}`);
    node.classList.add("here");
    settle(() => {
      const card = finding === null ? null : node.querySelector(`.finding[data-finding="${finding}"]`);
      const quote = finding === null ? [] : node.querySelectorAll(`mark[data-findings~="${finding}"]`);
      card?.classList.add("at");
      const [first] = quote;
      quote.forEach((part) => part.classList.add("at"));
      node.scrollIntoView({ block: "start" });
      if (first && first.getBoundingClientRect().bottom > innerHeight) first.scrollIntoView({ block: "center" });
      return card || node;
    });
    (node.querySelector(finding === null ? "h3" : `.finding[data-finding="${finding}"]`) || node).focus({ preventScroll: true });
  }

  /** Scroll twice: what is drawn in between may have moved the target. */
  function settle(scroll) {
    scroll();
    requestAnimationFrame(() => requestAnimationFrame(() => alive() && scroll()));
  }

  /** Find words in the transcript; `step` is +1 or -1 to go on from hit to hit. */
  function find(text, step = 0) {
    const wanted = text.toLowerCase().trim();
    if (step && state.order.length) {
      state.now = (state.now + step + state.order.length) % state.order.length;
    } else {
      state.hits.clear();
      state.order = [];
      if (wanted) {
        page.steps.forEach((one, number) => one.texts.forEach((piece, n) => {
          const ranges = state.order.length < MAX_HITS ? occurrences(piece.text || "", wanted, MAX_HITS - state.order.length) : [];
          if (ranges.length) state.hits.set(`${number} ${n}`, ranges);
          ranges.forEach((range) => state.order.push([number, range]));
        }));
      }
      state.now = step || !state.order.length ? -1 : 0;
    }
    refill();
    const said = wanted ? (state.order.length ? `match ${state.now + 1} of ${count(state.order.length)}` : "no match") : "";
    bar.tell(said || plural(own.filter(passes).length, "finding"));
    say(said);
    if (state.now < 0) return;
    const [number] = state.order[state.now];
    fill(blockOf(number), true);
    times.point(number);
    settle(() => (byId(`step-${number}`).querySelector("mark.now") || byId(`step-${number}`)).scrollIntoView({ block: "center" }));
  }

  const all = () => blocks.forEach((block) => fill(block));
  Object.assign(state, { heading, reach, find, all, number: -1, refresh: refreshFindings });
  refreshFindings();
  return state;
}

const way = (at, text, shortcut) => (traces[at] ? el("a", { href: address(at), "aria-keyshortcuts": shortcut }, text) : null);

function verdictNode(verdict, several) {
  const score = verdict.score ?? null;
  const text = score !== null ? String(score) : verdict.failed ? "failed" : "n/a";
  const about = [verdict.model, verdict.sample ? `run ${verdict.sample + 1}` : null, verdict.unresolved ? `${plural(verdict.unresolved, "cited label")} of no step` : null];
  return el(
    "details",
    {},
    el("summary", {}, el("span", { class: `score ${score !== null ? `s${score}` : verdict.failed ? "failed" : "na"}` }, text), el("b", {}, verdict.dimension), el("span", { class: "unseen" }, config.dimensions[verdict.dimension]), several ? el("small", {}, verdict.model.split("/").pop()) : null, verdict.findings ? el("small", {}, plural(verdict.findings, "finding")) : null),
    el("p", {}, el("b", {}, config.dimensions[verdict.dimension] || verdict.dimension), " ", el("span", { class: "muted" }, `(${about.filter(Boolean).join(", ")}) `), verdict.said),
  );
}

function aboutAgents(page) {
  return el(
    "details",
    { class: "about" },
    el("summary", {}, "Agents: ", page.agents.map((agent, n) => [n ? ", " : "", el("bdi", {}, agent.name)])),
    el("dl", {}, page.agents.map((agent) => [
      el("dt", {}, el("bdi", {}, agent.name), agent.parent ? el("span", { class: "muted" }, " called by ", agent.parent) : null),
      el("dd", {}, agent.tools ? el("p", { class: "note" }, "tools: ", agent.tools.join(", ")) : null, agent.instructions ? longText(agent.instructions) : el("p", { class: "note" }, "no instructions recorded")),
    ])),
  );
}

function longText(text) {
  const pre = el("pre", { dir: "auto" });
  fillText(pre, text, [], [], null, null, 0);
  return pre;
}

function stepNode(step, state, number) {
  const { page, at, hits } = state;
  const now = state.now >= 0 ? state.order[state.now][1] : null;
  const shown = step.findings.map((n) => traces[at].findings[n]).filter(passes);
  const kind = { llm: "model", other: "" }[step.kind] ?? step.kind;
  const agent = step.agent >= 0 ? page.agents[step.agent].name : "";
  const tokens = step.tokens ? `${count(step.tokens[0])} → ${count(step.tokens[1])} tokens` : null;
  const facts = [agent && step.kind !== "agent" ? `by ${agent}` : null, step.parent ? `in ${step.parent}` : null, step.duration ? duration(step.duration) : null, step.model && step.model !== step.name ? step.model : null, tokens];
  const notes = [step.earlier ? `after ${plural(step.earlier, "earlier message")}` : null, step.left_out ? `${plural(step.left_out, "earlier message")} no longer in this input` : null].filter(Boolean);
  const bare = !step.texts.length && !shown.length && !step.failed;
  return el(
    "article",
    { class: `step ${step.kind}${step.failed ? " failed" : ""}${bare ? " bare" : ""}${state.number === number ? " here" : ""}`, id: `step-${number}`, "aria-labelledby": `head-${number}` },
    el("h3", { id: `head-${number}`, tabindex: "-1" },
      el("a", { href: address(at, step.spans[0]), title: `span ${step.spans[0]}`, "aria-label": `Link to step ${step.label}` }, step.label),
      el("span", {}, kind ? el("span", { class: "muted" }, kind, " ") : null, el("bdi", {}, step.name)),
      el("span", { class: "muted" }, facts.filter(Boolean).join(" · ")),
      step.failed ? el("span", { class: "err" }, "✕ failed") : null,
      outside(traces[at].id, step.spans[0], true)),
    notes.length ? el("p", { class: "note" }, notes.join("; ")) : null,
    shown.map((finding) => findingCard(finding, true, page)),
    step.texts.map((text, n) => textNode(text, page, at, hits.get(`${number} ${n}`), now)),
  );
}
