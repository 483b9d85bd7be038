// The span tree of a trace as a timeline: a lane for each agent, then every step, errors and findings marked.
const LANE = 26;
const MAX_LANES = 60;
const AT_ONCE = 200; // rows of the tree

function timeline(page, at, go) {
  const holder = el("nav", { class: "timeline", "aria-labelledby": "timeline-title" });
  const whole = page.duration || 0;
  const place = whole
    ? (step) => [(100 * (step.start || 0)) / whole, Math.max(0.4, (100 * (step.duration || 0)) / whole)]
    : (step) => [(100 * page.byLabel.get(step.label)) / page.steps.length, Math.max(0.4, 100 / page.steps.length)];
  const rects = new Map();
  const charts = lanesOf(page).map((lane) => [lane, svg("svg", { width: "100%", height: LANE })]);
  const lanes = el("div", { class: "lanes", "aria-hidden": "true" }, charts.map(([lane, chart]) => el("div", { class: "lane" }, el("span", { title: lane.name }, lane.name), chart)));
  lanes.addEventListener("click", (event) => { const bar = event.target.closest("rect"); if (bar) go(Number(bar.dataset.step)); });
  lanes.append(el("div", { class: "axis" }, whole ? ["0", duration(whole / 2), duration(whole)].map((text) => el("span", {}, text)) : el("span", {}, "no times recorded")));
  lanes.append(el("div", { class: "keys" }, ["llm", "tool", "retrieval"].filter((kind) => page.steps.some((step) => step.kind === kind)).map((kind) => key(kind, kind === "llm" ? "model" : kind)), key("broken", "failed"), el("span", {}, "▲◆● finding")));
  const tree = el("ol", { class: "tree" });
  const rows = [];
  let current = -1;
  let turn = 0;
  function draw(number) {
    const row = treeRow(page.steps[number], page, at);
    if (rows[number]) rows[number].replaceWith(row);
    else tree.append(row);
    rows[number] = row;
    if (number === current) row.firstElementChild.setAttribute("aria-current", "step");
  }
  const upTo = (number) => { while (rows.length <= number && rows.length < page.steps.length) draw(rows.length); };
  function* all() { for (let number = 0; number < page.steps.length; number++) { draw(number); yield; } }
  holder.append(el("h2", { id: "timeline-title" }, "Timeline", el("small", {}, plural(page.steps.length, "step"))), lanes, tree);
  holder.point = (number) => {
    tree.querySelector("[aria-current]")?.removeAttribute("aria-current");
    lanes.querySelector(".here")?.classList.remove("here");
    current = number;
    if (number < 0 || number >= page.steps.length) return;
    upTo(number);
    const link = rows[number].firstElementChild;
    link.setAttribute("aria-current", "step");
    rects.get(number)?.classList.add("here");
    const { top, bottom } = link.getBoundingClientRect();
    const around = holder.getBoundingClientRect();
    if (top < around.top + 40 || bottom > around.bottom - 20) holder.scrollTop += top - around.top - around.height / 2;
  };
  /** Draw every row, the first ones at once: called at the start, and again when the filters change. */
  holder.refresh = () => {
    const mine = ++turn;
    const work = all();
    if (mine === 1) inSlices((function* bars() { for (const [lane, chart] of charts) yield* barsOf(lane, chart, page, at, place, rects); })(), () => mine === turn || holder.isConnected);
    for (let number = 0; number < AT_ONCE && number < page.steps.length; number++) work.next();
    inSlices(work, () => mine === turn && (holder.isConnected || mine === 1));
  };
  return holder;
}

const key = (kind, text) => el("span", {}, el("i", { class: kind }), text);

/** The agents that did something, in order, and the steps of each; what belongs to no agent comes last. */
function lanesOf(page) {
  const lanes = page.agents.map((agent, number) => ({ name: agent.name, agent: number, steps: [] }));
  const rest = { name: "outside agents", agent: -1, steps: [] };
  page.steps.forEach((step, number) => (step.agent >= 0 ? lanes[step.agent] : rest).steps.push(number));
  const used = [...lanes, rest].filter((lane) => lane.steps.some((number) => lane.agent >= 0 || page.steps[number].kind !== "other"));
  return used.slice(0, MAX_LANES);
}

/** Draw the bars of a lane, one at each step of the generator, then what marks them. */
function* barsOf(lane, chart, page, at, place, rects) {
  const over = [];
  for (const number of lane.steps) {
    const step = page.steps[number];
    const [start, width] = place(step);
    const isRun = step.kind === "agent";
    if (step.kind === "other" && !step.failed) continue;
    const broken = step.failed && !isRun;
    const rect = svg("rect", {
      x: `${start.toFixed(2)}%`, width: `${Math.min(width, 100 - start + 0.4).toFixed(2)}%`, y: isRun ? 9 : 12, height: isRun ? 15 : 9, rx: 1.5,
      class: broken ? "broken" : isRun ? "run" : step.kind, "data-step": number,
    }, svg("title", {}, `${step.label} ${step.name}, ${duration(step.duration || 0)}`));
    rects.set(number, rect);
    chart.append(rect);
    const grave = step.findings.map((n) => traces[at].findings[n]).filter(passes).sort((a, b) => RANK[a.severity] - RANK[b.severity])[0];
    const middle = `${Math.min(99, Math.max(1, start + width / 2)).toFixed(2)}%`;
    if (grave) over.push(svg("text", { x: middle, y: 9, class: grave.severity.toLowerCase() }, SIGNS[grave.severity]));
    else if (broken) over.push(svg("text", { x: middle, y: 9, class: "x" }, "✕"));
    yield;
  }
  chart.append(...over);
}

function treeRow(step, page, at) {
  const here = step.findings.map((n) => traces[at].findings[n]).filter(passes);
  const marks = Object.keys(SIGNS).map((name) => [name, here.filter((finding) => finding.severity === name).length]).filter(([, number]) => number);
  const kind = { llm: "model", other: "" }[step.kind] ?? step.kind;
  return el(
    "li",
    {},
    el(
      "a",
      { href: address(at, step.spans[0]), title: step.name },
      el("span", { class: "label" }, step.label),
      el("span", { class: `name d${Math.min(6, step.depth || 0)}` }, el("i", { class: step.kind, "aria-hidden": "true" }), kind ? el("span", { class: "kind" }, kind, " ") : null, step.name),
      el("span", {}, step.failed ? el("span", { class: "err" }, el("span", { "aria-hidden": "true" }, "✕ "), el("span", { class: "unseen" }, "failed ")) : null, marks.map(([name, number]) => severityTag(name, String(number)))),
      el("span", { class: "time" }, step.duration ? duration(step.duration) : ""),
    ),
  );
}
