// What is shown of the findings: one set of filters for the lists and for each trace, part of the address of a list.
const SIGNS = { HIGH: "▲", MEDIUM: "◆", LOW: "●" };
const SOURCES = { check: "check", llm: "LLM judge", confirmed: "check, confirmed by" };
const FIELDS = ["dimension", "severity", "category", "judge", "agent"];
const chosen = { dimension: "", severity: "", category: "", judge: "", agent: "", ungrounded: true, suppressed: false, new: false, text: "" };

const isFiltered = () => FIELDS.some((field) => chosen[field]) || !chosen.ungrounded || chosen.suppressed || chosen.new;

/** Whether a finding is to be shown; the text of the search is another matter. */
function passes(finding) {
  if (finding.suppressed && !chosen.suppressed) return false;
  if (finding.ungrounded && !chosen.ungrounded) return false;
  if (chosen.new && !finding.new) return false;
  if (chosen.dimension && !finding.dimensions.includes(chosen.dimension)) return false;
  if (chosen.severity && finding.severity !== chosen.severity) return false;
  if (chosen.category && finding.category !== chosen.category) return false;
  if (chosen.agent && finding.agent !== chosen.agent) return false;
  if (chosen.judge) {
    if (chosen.judge.startsWith("source:")) return finding.source === chosen.judge.slice(7);
    return finding.judge === chosen.judge || finding.model === chosen.judge;
  }
  return true;
}

/** Whether a finding holds the words searched for. */
function speaksOf(finding, wanted) {
  const trace = traces[finding.trace];
  return [finding.problem, finding.quote, finding.category, finding.judge, finding.agent, trace.goal, trace.id, ...finding.spans].some(
    (text) => text.toLowerCase().includes(wanted),
  );
}

/** Take the filters from the query of an address (`severity=HIGH&judge=...`). */
function chooseFrom(query) {
  const asked = new URLSearchParams(query);
  for (const field of FIELDS) chosen[field] = asked.get(field) || "";
  chosen.ungrounded = asked.get("ungrounded") !== "0";
  chosen.suppressed = asked.get("suppressed") === "1";
  chosen.new = asked.get("new") === "1";
}

function chosenQuery() {
  const asked = new URLSearchParams();
  for (const field of FIELDS) if (chosen[field]) asked.set(field, chosen[field]);
  if (!chosen.ungrounded) asked.set("ungrounded", "0");
  if (chosen.suppressed) asked.set("suppressed", "1");
  if (chosen.new) asked.set("new", "1");
  return asked.toString();
}

/** The row of filters; `changed` is called after each change. Its last element says how much is shown. */
function filterBar(changed) {
  const result = el("p", { class: "result" });
  const bar = el("div", { class: "filters scripted", role: "group", "aria-label": "Filter findings" });
  const clear = el("button", { type: "button", onclick: () => { chooseFrom(""); draw(); changed(); } }, "Clear filters");
  function draw() {
    bar.replaceChildren(
      choice("dimension", "Dimension", codes.map((code) => [code, config.dimensions[code] === code ? code : `${code} ${config.dimensions[code]}`])),
      choice("severity", "Severity", Object.keys(SIGNS).map((name) => [name, `${SIGNS[name]} ${name}`])),
      choice("category", "Category", values((finding) => finding.category).map((name) => [name, name])),
      choice("judge", "Judge", judges()),
      choice("agent", "Agent", values((finding) => finding.agent).map((name) => [name, name])),
      findings.some((finding) => finding.new) ? box("new", "New since the baseline") : "",
      findings.some((finding) => finding.ungrounded) ? box("ungrounded", "Quote not in the trace") : "",
      findings.some((finding) => finding.suppressed) ? box("suppressed", "Suppressed") : "",
      result,
    );
  }
  function choice(field, label, options) {
    if (!options.length) return "";
    const select = el("select", { class: chosen[field] ? "set" : null, id: `filter-${field}` }, el("option", { value: "" }, "all"), options.map(option));
    select.value = chosen[field];
    select.addEventListener("change", () => {
      chosen[field] = select.value;
      select.classList.toggle("set", Boolean(select.value));
      changed();
    });
    return el("label", {}, label, select);
  }
  function box(field, label) {
    const input = el("input", { type: "checkbox", id: `filter-${field}` });
    input.checked = chosen[field];
    input.addEventListener("change", () => { chosen[field] = input.checked; changed(); });
    return el("label", { class: "check" }, input, label);
  }
  draw();
  bar.tell = (text) => result.replaceChildren(text, isFiltered() ? clear : "");
  return bar;
}

function option(entry) {
  if (entry.group) return el("optgroup", { label: entry.group }, entry.options.map(option));
  return el("option", { value: entry[0] }, entry[1]);
}

/** The different values of the findings, the most frequent first. */
function values(of, among = findings) {
  const counts = new Map();
  for (const finding of among) {
    const value = of(finding);
    if (value) counts.set(value, (counts.get(value) || 0) + 1);
  }
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
}

function judges() {
  const groups = [];
  for (const [source, all, group] of [["check", "all checks", "Checks"], ["confirmed", "all confirmed checks", "Checks, confirmed by a model"], ["llm", "all LLM judges", "LLM judges"]]) {
    const among = findings.filter((finding) => finding.source === source);
    if (among.length) groups.push({ group, options: [[`source:${source}`, all], ...values((finding) => finding.judge, among).map((name) => [name, name])] });
  }
  return groups;
}
