// The data of the page: deflated JSON in base64, unpacked when it is needed.
const config = JSON.parse(byId("config").textContent);
const codes = Object.keys(config.dimensions);
const unpackable = "DecompressionStream" in window;
let traces = [];
let findings = [];
let numbers = []; // of the traces of this page among all traces
const numberOf = new Map(); // trace id -> position in `traces`
const kept = new Map(); // transcripts read last
const KEPT = 4;

async function unpacked(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

async function loadIndex() {
  const index = await unpacked(byId("index").textContent);
  traces = index.traces;
  numbers = index.numbers || traces.map((_, number) => number);
  const position = new Map(numbers.map((number, at) => [number, at]));
  findings = index.findings;
  traces.forEach((trace, at) => {
    numberOf.set(trace.id, at);
    trace.findings = [];
  });
  for (const finding of findings) {
    finding.trace = position.get(finding.trace);
    finding.at = traces[finding.trace].findings.push(finding) - 1; // its place in the trace's own list
    finding.spans ??= [];
    finding.labels ??= [];
    finding.agent ??= "";
  }
}

/** Whether the trace's transcript is in this file. */
const isHere = (at) => byId(`trace-data-${numbers[at]}`) !== null;

/** The transcript of a trace of this page. */
async function transcriptOf(at, keep = true) {
  if (kept.has(at)) return kept.get(at);
  const page = await unpacked(byId(`trace-data-${numbers[at]}`).textContent);
  page.steps ??= [];
  page.agents ??= [];
  page.byLabel = new Map(page.steps.map((step, number) => [step.label, number]));
  page.bySpan = new Map(page.steps.flatMap((step, number) => step.spans.map((span) => [span, number])));
  for (const step of page.steps) {
    step.texts ??= [];
    step.findings ??= [];
    step.agent ??= -1;
  }
  if (keep) {
    kept.set(at, page);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return page;
}

/** The address of a trace, span and finding in this report. */
function address(at, span = "", finding = null) {
  const parts = [traces[at].id, ...(span || finding !== null ? [span] : []), ...(finding !== null ? [String(finding + 1)] : [])];
  return `${isHere(at) ? "" : traces[at].page || ""}#${parts.map(encodeURIComponent).join("/")}`;
}

/** A link to the user's own tracing tool, or null. */
function outside(traceId, span, brief = false) {
  if (!config.links) return null;
  const ids = { trace_id: encodeURIComponent(traceId), span_id: encodeURIComponent(span || "") };
  const url = (span ? config.links.span : config.links.trace).replace(/\{(trace_id|span_id)\}/g, (_, name) => ids[name]);
  const name = `open in ${config.links.tool}`;
  const link = { class: "out", href: url, target: "_blank", rel: "noopener noreferrer", title: name, "aria-label": brief ? name : null };
  return el("a", link, brief ? "↗" : `${name} ↗`);
}
