// Lines over time: a chart is drawn from data, says in words what it shows, and can be read as a table.

import { element, svg, table, tickText, ticks } from "./dom.js";

const LEFT = 46, BOTTOM = 34, TOP = 32, RIGHT = 18;

/**
 * Draws lines into a box. A line is {name, color, points: [[x, y]], dash, dots, peak}.
 * @param {HTMLElement} box
 * @param {{lines: any[], xName: string, title: string, text: string, cursor?: number, fromZero?: boolean,
 *   steps?: boolean, onSeek?: (x: number) => void, xMax?: number}} chart
 */
export function drawLines(box, chart) {
  const width = box.clientWidth || 400, height = box.clientHeight || 200;
  const points = chart.lines.flatMap((line) => line.points);
  box.removeAttribute("tabindex");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.text });
  const [x0, x1] = extent(points.map(([x]) => x).concat(chart.xMax ?? []), 0, 1);
  let [y0, y1] = extent(points.map(([, y]) => y), 0, 1);
  if (chart.fromZero) y0 = Math.min(0, y0);
  const room = (y1 - y0) * 0.08 || 0.5;
  y1 += room;
  if (!chart.fromZero) y0 -= room;
  const x = (value) => LEFT + ((value - x0) / (x1 - x0)) * (width - LEFT - RIGHT);
  const y = (value) => height - BOTTOM - ((value - y0) / (y1 - y0)) * (height - BOTTOM - TOP);
  for (const value of ticks(y0, y1, 4)) {
    root.append(svg("path", { class: "gridline", d: `M${LEFT} ${y(value)}H${width - RIGHT}` }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, tickText(value)));
  }
  for (const value of ticks(x0, x1, Math.max(2, (width - LEFT) / 90))) {
    if (chart.steps && value % 1) continue;
    root.append(svg("text", { x: x(value), y: height - BOTTOM + 15, "text-anchor": "middle" }, tickText(value)));
  }
  root.append(svg("path", { class: "axis", d: `M${LEFT} ${height - BOTTOM}H${width - RIGHT}` }),
    svg("text", { x: width - RIGHT, y: height - 3, "text-anchor": "end" }, chart.xName));
  root.append(legend(chart, width));
  const labels = [];
  for (const line of chart.lines) root.append(...lineMarks(line, x, y, width, labels));
  if (!points.length) root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing yet"));
  const cursor = svg("path", { class: "cursor" });
  root.append(cursor);
  box.replaceChildren(root);
  if (chart.onSeek) {
    root.style.cursor = "pointer";
    root.addEventListener("click", (event) => {
      const at = event.clientX - root.getBoundingClientRect().left;
      chart.onSeek(Math.round(x0 + ((at - LEFT) / (width - LEFT - RIGHT)) * (x1 - x0)));
    });
  }
  return (at) => cursor.setAttribute("d", at === null ? "" : `M${x(at)} ${TOP}V${height - BOTTOM}`);
}

function lineMarks(line, x, y, width, labels) {
  const marks = [];
  const at = line.points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
  if (at.length && !line.dots) {
    const style = { fill: "none", stroke: line.color, "stroke-width": 2, "stroke-dasharray": line.dash ?? "", "stroke-linejoin": "round" };
    marks.push(svg("path", { d: `M${at.join("L")}`, ...style }));
  }
  if (line.dots || at.length === 1) {
    for (const [a, b] of line.points) marks.push(svg("circle", { cx: x(a), cy: y(b), r: 3, fill: line.color }));
  }
  if (line.peak && line.points.length > 1) {
    const [a, b] = peakOf(line.points);
    const anchor = x(a) > width - 90 ? "end" : x(a) < 110 ? "start" : "middle";
    const isFree = labels.every(([u, v]) => Math.abs(u - x(a)) > 90 || Math.abs(v - y(b)) > 15);
    labels.push([x(a), y(b)]);
    marks.push(svg("circle", { cx: x(a), cy: y(b), r: 4.5, fill: line.color, stroke: "var(--card)", "stroke-width": 1.5 }),
      svg("text", { x: x(a), y: y(b) + (isFree ? -8 : 18), "text-anchor": anchor, class: "strong" }, `peak, step ${a}`));
  }
  return marks;
}

/** The highest point. @param {number[][]} points */
export const peakOf = (points) => points.reduce((best, each) => (each[1] > best[1] ? each : best));

function legend(chart, width) {
  const group = svg("g");
  let at = chart.title ? LEFT - 40 : LEFT;
  if (chart.title) {
    group.append(svg("text", { x: at, y: 12, class: "strong" }, chart.title));
    at += chart.title.length * 7 + 18;
  }
  for (const line of chart.lines.filter((each) => each.name)) {
    if (at + 26 + line.name.length * 6.6 > width) break;
    group.append(line.dots
      ? svg("circle", { cx: at + 9, cy: 8, r: 3, fill: line.color })
      : svg("path", { d: `M${at} 8h18`, stroke: line.color, "stroke-width": 2.5, "stroke-dasharray": line.dash ?? "" }));
    group.append(svg("text", { x: at + 23, y: 12 }, line.name));
    at += 34 + line.name.length * 6.6;
  }
  return group;
}

function extent(values, low, high) {
  if (!values.length) return [low, high];
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) { if (value < least) least = value; if (value > most) most = value; }
  return least === most ? [least, least + 1] : [least, most];
}

/** The lines as a table with one row for each x. */
export function linesAsTable(box, caption, xName, lines, now = -1) {
  const rows = new Map();
  lines.forEach((line, i) => {
    for (const [x, y] of line.points) {
      if (!rows.has(x)) rows.set(x, Array(lines.length).fill("–"));
      rows.get(x)[i] = Number(y.toPrecision(5));
    }
  });
  const sorted = [...rows.entries()].sort(([a], [b]) => a - b).slice(-300);
  const made = table(caption, [xName, ...lines.map((line) => line.label ?? line.name)], sorted.map(([x, values]) => [x, ...values]), now);
  box.tabIndex = 0;
  box.replaceChildren(made);
}
