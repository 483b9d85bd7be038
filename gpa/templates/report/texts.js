// Recorded texts: highlighted passages, and long ones cut to what can be read, with the rest on request.
const WHOLE = 2400; // characters up to which a text is shown whole
const HEAD = 1200; // shown of the beginning of a longer one
const AROUND = 300; // shown around a highlighted passage
const MORE = 20000; // shown by each click: no line, however long, stops the browser
const PROSE = new Set(["user", "assistant", "system", "reasoning", "developer"]);

/** A text of a step. `hits` are the ranges of a search, `now` the one that is looked at. */
function textNode(text, page, at, hits = [], now = null) {
  const isCode = text.call || !PROSE.has(text.role);
  const body = el("div", { class: "body" });
  if (text.same) {
    const step = page.steps[page.byLabel.get(text.same)];
    body.append(el("span", { class: "muted" }, "as in ", el("a", { href: address(at, step.spans[0]) }, text.same)));
  } else {
    const pre = el("pre", { dir: "auto" });
    fillText(pre, text.text || "", text.marks || [], hits, now, page, at);
    body.append(pre);
  }
  const role = [text.flow === "out" ? "→ " : null, text.call ? "calls" : text.role];
  return el(
    "div",
    { class: `text ${text.flow}${isCode ? " code" : ""}` },
    el("p", { class: "role" }, role, text.tool ? el("code", {}, " ", text.tool) : null),
    body,
  );
}

/** The stretches of a text to show: [start, stop], in order, apart from each other. */
function stretches(size, spots) {
  if (size <= WHOLE) return [[0, size]];
  const wanted = [[0, HEAD], ...spots.map(([start, stop]) => [Math.max(0, start - AROUND), Math.min(size, stop + AROUND)])];
  wanted.sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [start, stop] of wanted) {
    const last = joined[joined.length - 1];
    if (last && start <= last[1] + 80) last[1] = Math.max(last[1], stop);
    else joined.push([start, stop]);
  }
  return joined;
}

function fillText(pre, text, marks, hits, now, page, at) {
  let done = 0;
  const add = (start, stop) => pre.append(...highlighted(text, start, stop, marks, hits, now, page, at));
  for (const [start, stop] of stretches(text.length, [...marks, ...hits.slice(0, 40)])) {
    if (start > done) pre.append(cut(text, done, start, marks, hits, page, at));
    add(start, stop);
    done = stop;
  }
  if (done < text.length) pre.append(cut(text, done, text.length, marks, hits, page, at));
}

/** A button in place of characters that are left out; each click shows some of them. */
function cut(text, start, stop, marks, hits, page, at) {
  const size = stop - start;
  const label = size > MORE ? `Show ${count(MORE)} of ${count(size)} more characters` : `Show ${plural(size, "more character")}`;
  const button = el("button", { type: "button", class: "cut" }, label);
  button.addEventListener("click", () => {
    const until = Math.min(stop, start + MORE);
    const shown = highlighted(text, start, until, marks, hits, null, page, at);
    const rest = until < stop ? [cut(text, until, stop, marks, hits, page, at)] : [];
    button.replaceWith(...shown, ...rest);
    if (rest.length) rest[0].focus();
  });
  return button;
}

/** Text nodes and marks of a stretch. Quotes of findings may hold hits of a search and be held by none. */
function highlighted(text, start, stop, marks, hits, now, page, at) {
  const nodes = [];
  let done = start;
  const plain = (from, to) => nodes.push(...withHits(text, from, to, hits, now));
  for (const [from, to, quoted] of marks) {
    if (to <= done || from >= stop) continue;
    if (from > done) plain(done, from);
    const label = quoted.map((number) => traces[at].findings[number]).map((one) => `${one.severity} ${one.category}: ${one.problem}`).join("\n");
    nodes.push(
      el("mark", { class: "quote", "data-findings": quoted.join(" "), title: label }, withHits(text, Math.max(from, done), Math.min(to, stop), hits, now)),
    );
    done = Math.min(to, stop);
  }
  if (done < stop) plain(done, stop);
  return nodes;
}

function withHits(text, start, stop, hits, now) {
  const nodes = [];
  let done = start;
  for (const hit of hits) {
    if (hit[1] <= done) continue;
    if (hit[0] >= stop) break;
    if (hit[0] > done) nodes.push(text.slice(done, hit[0]));
    nodes.push(el("mark", { class: hit === now ? "hit now" : "hit" }, text.slice(Math.max(hit[0], done), Math.min(hit[1], stop))));
    done = Math.min(hit[1], stop);
  }
  if (done < stop) nodes.push(text.slice(done, stop));
  return nodes;
}

/** Ranges of a text that hold the wanted (lower-case) words; at most `limit`. */
function occurrences(text, wanted, limit) {
  const found = [];
  const lower = text.toLowerCase();
  // Where lower case has another length (`İ`) only words in lower case are found, so that positions stay right.
  const searched = lower.length === text.length ? lower : text;
  for (let at = searched.indexOf(wanted); at >= 0 && found.length < limit; at = searched.indexOf(wanted, at + wanted.length)) {
    found.push([at, at + wanted.length]);
  }
  return found;
}
