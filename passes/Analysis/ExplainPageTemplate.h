//===- ExplainPageTemplate.h - The page of --explain=html -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything of the page but its data (JSON without `<`), which stand between
// the two parts, and its title. It needs nothing from elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_ANALYSIS_EXPLAINPAGETEMPLATE_H
#define PASSES_ANALYSIS_EXPLAINPAGETEMPLATE_H

namespace mlir::dist {

inline constexpr char kPageHead[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>@TITLE@</title>
<style>
:root { color-scheme: light dark; --bg: #fcfcfb; --fg: #23262b; --soft: #6b7079; --line: #e2e2de;
  --card: #ffffff; --compute: #5b84b1; --transfer: #e0a458; --exposed: #cf5c52; --idle: #c9c9c4;
  --m0: #4f6d8f; --m1: #86a3c3; --m2: #b9c7d6; --m3: #7fb39b; --m4: #e0a458; }
@media (prefers-color-scheme: dark) { :root { --bg: #17191c; --fg: #e4e5e7; --soft: #9aa0a8; --line: #33373c;
  --card: #1f2226; --compute: #7aa5d4; --transfer: #d99b4a; --exposed: #e0736a; --idle: #4a4e54;
  --m0: #6f93bd; --m1: #4f6f93; --m2: #3b4b5d; --m3: #5f9a80; --m4: #d99b4a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 80px; }
h1 { font-size: 24px; font-weight: 600; margin: 0; }
h2 { font-size: 17px; font-weight: 600; margin: 40px 0 4px; }
p { margin: 4px 0; }
.soft { color: var(--soft); }
.small { font-size: 13px; }
code, .mono { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
nav { display: flex; flex-wrap: wrap; gap: 6px; margin: 20px 0 0; }
button { font: inherit; font-size: 13px; color: inherit; background: none; border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; }
button[aria-pressed=true] { background: var(--fg); color: var(--bg); border-color: var(--fg); }
button:focus-visible, summary:focus-visible { outline: 2px solid var(--compute); outline-offset: 2px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 10px; margin-top: 16px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.card b { display: block; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 6px 0; font-size: 13px; color: var(--soft); }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; }
.legend i.mark { width: 0; border-left: 2px dashed var(--fg); border-radius: 0; margin: 0 8px 0 4px; vertical-align: -1px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin-top: 8px; }
th { text-align: left; font-weight: 500; color: var(--soft); }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: anywhere; }
td.w { white-space: nowrap; padding-right: 16px; }
td.why { min-width: 300px; width: 46%; }
td.mono { min-width: 130px; }
@media (max-width: 720px) {
  main { padding: 20px 14px 60px; }
  .cards { grid-template-columns: repeat(2, 1fr); }
  .card { padding: 8px 10px; }
  .card b { font-size: 17px; }
  /* A row of the table is a block, each of its cells a line with its title. */
  table.rows thead { display: none; }
  table.rows tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  table.rows td, table.rows td.n, table.rows td.w { display: flex; gap: 10px; width: auto; min-width: 0; padding: 2px 0; border: 0;
    text-align: left; white-space: normal; }
  table.rows td::before { content: attr(data-title); flex: 0 0 92px; color: var(--soft); font: 13px/1.5 system-ui, sans-serif; }
  table.rows td:empty { display: none; }
  table.rows td > * { flex: 1; min-width: 0; }
  ol.chain { padding-left: 18px; }
}
details > summary { cursor: pointer; }
ol.chain { margin: 6px 0 10px; padding-left: 22px; }
ol.chain li { margin: 2px 0; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 4px; padding: 0 5px; margin-left: 4px;
  font-size: 12px; color: var(--soft); }
.chip.move { border-color: var(--transfer); color: var(--transfer); }
.ops { border-left: 2px solid var(--line); margin: 4px 0 4px 6px; padding-left: 12px; }
.op { padding: 1px 0; font-size: 13px; }
.op .k { color: var(--soft); }
.fold { margin: 6px 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 12px; }
</style>
</head>
<body>
<main>
<h1>@TITLE@</h1>
<p class="soft" id="where"></p>
<nav id="entries" aria-label="Entries"></nav>
<div id="entry"></div>
<noscript><p>The figures of this page are drawn by its own script; they are in it as JSON, too.</p></noscript>
</main>
<script type="application/json" id="data">)html";

inline constexpr char kPageScript[] = R"html(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const NS = "http://www.w3.org/2000/svg";
function make(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const k in props || {}) k === "class" ? e.className = props[k] : e.setAttribute(k, props[k]);
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function draw(tag, props, text) {
  const e = document.createElementNS(NS, tag);
  for (const k in props) e.setAttribute(k, props[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}
function titled(e, text) { e.append(draw("title", {}, text)); return e; }
function bytes(b) {
  const u = ["B", "KiB", "MiB", "GiB", "TiB"]; let i = 0;
  while (b >= 1024 && i < 4) { b /= 1024; ++i; }
  return (i ? b.toFixed(1) : Math.round(b)) + " " + u[i];
}
function time(s) {
  return s >= 1 ? s.toFixed(2) + " s" : s >= 1e-3 ? (s * 1e3).toFixed(2) + " ms" : (s * 1e6).toFixed(1) + " µs";
}
function flops(f) { return f >= 1e9 ? (f / 1e9).toFixed(2) + " GFLOP" : (f / 1e6).toFixed(2) + " MFLOP"; }
function legend(items) {
  return make("div", {class: "legend"}, ...items.map(([color, name]) =>
    make("span", {}, make("i", {style: "background:var(--" + color + ")"}), name)));
}
// Rows of cells, each a class and what is in it; where it is narrow, each cell with its title.
function table(titles, rows) {
  return make("table", {class: "rows"}, make("thead", {}, make("tr", {}, ...titles.map((title, i) =>
    make("th", {class: rows.length && rows[0][i][0] === "n" ? "n" : ""}, title)))),
    make("tbody", {}, ...rows.map(cells => make("tr", {}, ...cells.map(([kind, ...content], i) =>
      make("td", {class: kind, "data-title": titles[i]},
        ...(content.some(c => c !== "") ? [make("div", {}, ...content)] : [])))))));
}
function card(title, value, note) {
  return make("div", {class: "card"}, make("span", {class: "soft small"}, title), make("b", {}, value),
    make("span", {class: "soft small"}, note || ""));
}
const kinds = {c: ["compute", "computes"], t: ["transfer", "transfer"], x: ["exposed", "waits for a transfer"],
  i: ["idle", "waits for others"]};
const of = e => e.label ? " of " + e.label : "";
// Drawn in the window's own pixels, so that text is as large as it says.
let W = 960;
const LEFT = 86;
function fit() { W = Math.max(280, Math.min(960, document.querySelector("main").clientWidth - (window.innerWidth <= 720 ? 28 : 40))); }
function axis(svg, y, length) {
  const parts = W < 600 ? 2 : 4;
  for (let i = 0; i <= parts; ++i) {
    const x = LEFT + (W - LEFT - 40) * i / parts;
    svg.append(draw("line", {x1: x, x2: x, y1: 0, y2: y, stroke: "var(--line)"}));
    svg.append(draw("text", {x: x, y: y + 14, "text-anchor": "middle"}, time(length * i / parts)));
  }
}
// Of the kinds that the rows have, and of the marks.
function laneLegend(rows, marks) {
  const used = new Set(rows.flatMap(row => row[1].map(span => span[0])));
  const list = legend(Object.keys(kinds).filter(k => used.has(k)).map(k => kinds[k]));
  if (marks.length) list.append(make("span", {}, make("i", {class: "mark"}), "a step begins"));
  return list;
}
function lanes(rows, length, what, marks) {
  const h = 22, svg = draw("svg", {viewBox: `0 0 ${W} ${rows.length * h + 20}`, role: "img", "aria-label": what});
  axis(svg, rows.length * h, length);
  rows.forEach(([name, spans], i) => {
    svg.append(draw("text", {x: 0, y: i * h + 15}, name));
    for (const [kind, start, end, label] of spans) {
      const x = LEFT + (W - LEFT - 40) * start / length, w = (W - LEFT - 40) * (end - start) / length;
      svg.append(titled(draw("rect", {x: x, y: i * h + 3, width: Math.max(w, 0.4), height: h - 6,
        fill: "var(--" + kinds[kind][0] + ")"}), `${label}: ${kinds[kind][1]}, ${time(end - start)}`));
    }
  });
  marks.forEach((at, i) => {
    const x = LEFT + (W - LEFT - 40) * at / length;
    svg.append(titled(draw("line", {class: "step", x1: x, x2: x, y1: 0, y2: rows.length * h, stroke: "var(--fg)",
      "stroke-width": 1.5, "stroke-dasharray": "4 3"}), `step ${i + 1} of the trace begins at ${time(at)}`));
  });
  return svg;
}
function timeline(group) {
  const length = Math.max(...group.map(e => e.seconds), 1e-12), rows = [];
  for (const e of group) {
    rows.push([e.label || "device", e.spans.filter(s => s[0] !== "t")]);
    const moved = e.spans.filter(s => s[0] === "t");
    if (moved.length) rows.push(["transfers", moved]);
  }
  return make("section", {}, make("h2", {}, "The step, predicted"),
    make("p", {class: "soft small"}, "By the machine's figures; transfers run beside computation where they were started early."),
    laneLegend(rows, []), lanes(rows, length, "predicted timeline", []));
}
function measured() {
  if (!data.measured) return null;
  const m = data.measured, rows = m.ranks.map(r => ["rank " + r.rank, r.spans]);
  const s = make("section", {}, make("h2", {}, "Measured"),
    make("p", {class: "soft small"}, `From the trace: ${count(m.events, "event")} of ${count(m.steps.length, "step")} over ${time(m.seconds)}.`),
    laneLegend(rows, m.steps), lanes(rows, Math.max(m.seconds, 1e-12), "measured timeline", m.steps));
  s.append(table(["rank", "computes", "transfers", "neither"], m.ranks.map(r => [["", r.rank], ["n", time(r.compute)],
    ["n", time(r.transfer)], ["n", time(Math.max(0, m.seconds - r.compute - r.transfer))]])));
  return s;
}
function memory(e) {
  const m = e.memory, base = [["m0", "parameters", m.parameters], ["m1", "optimizer slots", m.slots],
    ["m2", "other state and inputs", m.other + m.inputs]];
  const below = m.parameters + m.slots + m.other + m.inputs;
  const peak = Math.max(...e.live.map(p => below + p[1] + p[2]), below, 1), length = Math.max(e.seconds, 1e-12);
  const H = 190, svg = draw("svg", {viewBox: `0 0 ${W} ${H + 20}`, role: "img", "aria-label": "memory over the step"});
  axis(svg, H, length);
  const X = t => LEFT + (W - LEFT - 40) * t / length, Y = b => H - (H - 10) * b / peak;
  let from = 0;
  for (const [color, name, size] of base) {
    svg.append(titled(draw("rect", {x: X(0), width: X(length) - X(0), y: Y(from + size), height: Y(from) - Y(from + size),
      fill: "var(--" + color + ")"}), `${name}: ${bytes(size)}`));
    from += size;
  }
  const area = (color, low, high) => {
    let d = "", back = "";
    e.live.forEach((p, i) => {
      const end = i + 1 < e.live.length ? e.live[i + 1][0] : length;
      d += `${d ? "L" : "M"}${X(p[0]).toFixed(1)} ${Y(high(p)).toFixed(1)}L${X(end).toFixed(1)} ${Y(high(p)).toFixed(1)}`;
      back = `L${X(end).toFixed(1)} ${Y(low(p)).toFixed(1)}L${X(p[0]).toFixed(1)} ${Y(low(p)).toFixed(1)}` + back;
    });
    if (d) svg.append(draw("path", {d: d + back + "Z", fill: "var(--" + color + ")"}));
  };
  area("m3", () => below, p => below + p[1]);
  area("m4", p => below + p[1], p => below + p[1] + p[2]);
  for (const part of [0.5, 1]) {
    svg.append(draw("text", {x: 0, y: Y(peak * part) + 4}, bytes(peak * part)));
    svg.append(draw("line", {x1: LEFT, x2: W - 40, y1: Y(peak * part), y2: Y(peak * part), stroke: "var(--line)"}));
  }
  return make("section", {}, make("h2", {}, `Memory of ${(e.label.startsWith("stage") ? "a device of " : "") + (e.label || "a device")} over the step`),
    make("p", {class: "soft small"}, `Live bytes by what they are for, before fusion; at most ${bytes(peak)}.` +
      ` Planned, after fusion, with the weights as kernels read them: ${bytes(m.needed)}.`),
    legend([...base.map(b => [b[0], `${b[1]} ${bytes(b[2])}`]),
      ["m3", "activations, up to " + bytes(Math.max(0, ...e.live.map(p => p[1])))],
      ["m4", "gradients and buffers, up to " + bytes(Math.max(0, ...e.live.map(p => p[2])))]]), svg);
}
function step(s) {
  const times = s.times ? ` (× ${s.times})` : "", dim = `dim ${s.dim}`;
  if (s.dim === undefined) // where it is, not how it is split
    return make("li", {}, s.decision !== undefined
      ? make("span", {}, make("b", {}, s.decision), ": ", make("span", {class: "mono"}, s.value))
      : make("span", {}, "read by ", make("span", {class: "mono"}, s.op + (s.place ? " of " + s.place : ""))));
  return make("li", {}, s.decision !== undefined
    ? make("span", {}, make("b", {}, s.decision), ": ", make("span", {class: "mono"}, s.value), ` is split over ${s.axis} (${dim})`)
    : make("span", {}, make("span", {class: "mono"}, s.value), ` follows, ${dim}, along `,
      make("span", {class: "mono"}, s.op + (s.place ? " of " + s.place : "")), times));
}
function transfers(e) {
  const s = make("section", {}, make("h2", {}, "Transfers" + of(e)));
  if (!e.transfers.length) { s.append(make("p", {class: "soft"}, "None.")); return s; }
  s.append(make("p", {class: "soft small"}, "What is alike in all layers is one row. Each opens to the chain that caused it: the decision, the ops along which the split spread, the op that needed it."));
  const rows = [];
  for (const t of e.transfers) {
    const why = make("details", {}, make("summary", {}, t.reason));
    for (const chain of t.chains)
      why.append(make("ol", {class: "chain"}, ...chain.map(step),
        make("li", {}, "so ", make("b", {}, t.collective), " over " + t.group + ": " + t.reason)));
    if (!t.chains.length) why.append(make("p", {class: "soft small"}, "asked for by the program at " + t.place));
    rows.push([["w", t.collective, make("div", {class: "soft"}, t.group)], ["mono", t.tensor], ["n", bytes(t.bytes)],
      ["n", t.times > 1 ? "× " + t.times : ""], ["n", bytes(t.sent)], ["why", why]]);
  }
  s.append(table(["what", "tensor", "bytes", "times", "a rank sends", "why"], rows));
  return s;
}
function count(number, what) { return `${number} ${what}${number === 1 ? "" : "s"}`; }
function range(part) { return part.from === part.to ? part.from : `${part.from} … ${part.to}`; }
function op(o) {
  return make("div", {class: "op"}, make("span", {class: "mono"}, o.name), " ", make("span", {class: "k"}, o.kind + " " + o.type),
    o.sharding ? make("span", {class: "chip"}, o.sharding) : null,
    o.moves ? make("span", {class: "chip move"}, "moves data") : null);
}
function graph(e) {
  const s = make("section", {}, make("h2", {}, "The program" + of(e)),
    make("p", {class: "soft small"}, "Its ops in order with one rank's types; the tag says over which axes each dim is split. Repeated layers are folded."));
  for (const part of e.program) {
    const fill = make("div", {class: "ops"}), title = part.times > 1
      ? `${count(part.ops.length, "op")} × ${part.times}: ${range(part)}` : `${count(part.ops.length, "op")}: ${range(part)}`;
    const d = make("details", {class: "fold"}, make("summary", {}, title,
      part.moves ? make("span", {class: "chip move"}, count(part.moves * part.times, "transfer")) : null), fill);
    d.addEventListener("toggle", () => { if (d.open && !fill.firstChild) fill.append(...part.ops.map(op)); });
    s.append(d);
  }
  return s;
}
let shown = "";
function show(name) {
  shown = name;
  fit();
  const group = data.entries.filter(e => e.entry === name), root = document.getElementById("entry");
  for (const b of document.querySelectorAll("nav button")) b.setAttribute("aria-pressed", b.dataset.entry === name);
  const sum = get => group.reduce((a, e) => a + get(e), 0), most = get => Math.max(...group.map(get));
  root.replaceChildren(make("div", {class: "cards"},
    card("predicted", time(most(e => e.seconds)), `computes ${time(most(e => e.compute))}`),
    card("exposed communication", time(most(e => e.exposed)), `of ${time(most(e => e.transfer))} of transfers`),
    card("a rank sends", bytes(most(e => e.sent)), count(sum(e => e.count), "transfer")),
    card("peak memory", bytes(most(e => e.host ? 0 : e.memory.needed)), "of a device"),
    card("computes", flops(most(e => e.flops)), "a device")),
    ...group.flatMap(e => e.notes.map(note => make("p", {class: "soft small"}, note))));
  root.append(timeline(group));
  const m = measured();
  if (m) root.append(m);
  for (const e of group) root.append(memory(e));
  for (const e of group) root.append(transfers(e));
  for (const e of group) root.append(graph(e));
}
document.getElementById("where").textContent = data.devices === 1 ? "one device" : `${data.devices} devices${data.host ? " and a host" : ""}, mesh ${data.mesh}`;
const names = [...new Set(data.entries.map(e => e.entry))];
for (const name of names) {
  const b = make("button", {"data-entry": name}, "@" + name);
  b.addEventListener("click", () => show(name));
  document.getElementById("entries").append(b);
}
const first = ["train_step", "train_step_partial", "gradients", "predict"].find(n => names.includes(n)) || names[0];
if (first) show(first);
let width = window.innerWidth, waiting = 0;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(() => shown && show(shown), 150);
});
</script>
</body>
</html>
)html";

} // namespace mlir::dist

#endif // PASSES_ANALYSIS_EXPLAINPAGETEMPLATE_H
