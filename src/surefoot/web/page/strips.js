// What is believed about each action: one strip an action, all on one axis of return.

import { element, shown, svg, table, tickText, ticks } from "./dom.js";

const POINTS = 72;

/** The domain of return that holds all that is drawn in these steps. @returns {[number, number]} */
export function domainOf(steps, actual) {
  let low = Infinity, high = -Infinity;
  const take = (value) => { if (value < low) low = value; if (value > high) high = value; };
  for (const { beliefs } of steps) {
    if (!beliefs) continue;
    beliefs.mean.forEach((mean, a) => {
      const spread = Math.max(deviation(beliefs.epistemic_variance, a), deviation(beliefs.aleatoric_variance, a));
      take(mean - spread); take(mean + spread);
      if (beliefs.quantiles) { take(beliefs.quantiles[a][0]); take(beliefs.quantiles[a].at(-1)); }
    });
  }
  for (const value of actual) if (value !== null) take(value);
  if (low > high) return [-1, 1];
  const room = Math.max((high - low) * 0.04, 0.1);
  return [low - room, high + room];
}

/** A standard deviation from raw variances, which may be negative or missing. */
export const deviation = (variances, action) => Math.sqrt(Math.max(0, variances?.[action] ?? 0));

/** The aleatoric variances that the chosen estimator gives. */
export const aleatoricOf = (beliefs, estimator) =>
  estimator === "biased" && beliefs.biased_variance ? beliefs.biased_variance : beliefs.aleatoric_variance;

/** Builds one strip an action into a box; returns a function that draws a step. */
export function makeStrips(box, actions, onChoose) {
  const rows = actions.map((name, a) => row(name, a, actions.length, onChoose));
  const axis = svg("svg", { "aria-hidden": "true" });
  const foot = element("div", { className: "strip-axis" }, element("span", {}, "return"), element("div", {}, axis), element("span", { className: "number" }, "value"), element("span"));
  const list = element("ul", { className: "actions" }, ...rows.map((each) => each.item));
  list.style.setProperty("--row", `${actions.length > 4 ? 52 : 66}px`);
  const chart = element("div", {}, list, foot);
  box.replaceChildren(chart);
  return (step, view) => {
    const ended = !step.beliefs;
    if (view.asTable) {
      if (chart.offsetHeight) box.style.minHeight = `${chart.offsetHeight}px`;
      box.replaceChildren(asTable(step, actions, view));
      return;
    }
    if (chart.parentNode !== box) box.replaceChildren(chart);
    rows.forEach((each, a) => drawRow(each, ended ? null : step, a, view));
    drawAxis(axis, view.domain);
  };
}

function row(name, a, count, onChoose) {
  const parts = {
    shape: svg("path", { fill: "var(--shape)", stroke: "var(--aleatoric)", "stroke-width": 1 }),
    rug: svg("path", { stroke: "var(--aleatoric)", "stroke-width": 1, opacity: 0.85 }),
    zero: svg("path", { class: "gridline" }),
    aleatoric: svg("path", { stroke: "var(--aleatoric)", "stroke-width": 6, "stroke-linecap": "butt" }),
    epistemic: svg("path", { stroke: "var(--epistemic)", "stroke-width": 2, fill: "none" }),
    mean: svg("path", { stroke: "var(--ink)", "stroke-width": 2 }),
    value: svg("path", { fill: "var(--biased)", stroke: "var(--card)", "stroke-width": 1 }),
    actual: svg("path", { stroke: "var(--actual)", "stroke-width": 2.5, fill: "none" }),
  };
  const strip = svg("svg", { role: "img" }, ...Object.values(parts));
  const key = a < 9 ? String(a + 1) : "";
  const button = element("button", { title: `What if: ${name}` }, ...(key ? [element("kbd", {}, key)] : []), name);
  const number = element("span", { className: "number" });
  const chosen = element("span", { className: "badge chosen" }, "chosen");
  const greedy = element("span", { className: "badge" }, "greedy");
  const item = element("li", {}, button, element("div", { className: "strip" }, strip), number, element("span", { className: "badges" }, chosen, greedy));
  item.addEventListener("click", () => onChoose(a));
  return { item, strip, button, number, chosen, greedy, name, ...parts };
}

function drawRow(each, step, a, view) {
  const taken = step !== null && step.action === a;
  each.item.classList.toggle("taken", taken);
  each.chosen.classList.toggle("on", step !== null && (taken || step.chosen === a));
  each.chosen.textContent = taken && step.chosen !== a ? "what if" : "chosen";
  each.greedy.classList.toggle("on", step?.greedy === a);
  each.button.disabled = step === null || !view.canBranch;
  each.button.setAttribute("aria-pressed", String(taken));
  each.number.textContent = step ? shown(step.values[a]) : "";
  const width = each.strip.clientWidth || 300, height = each.strip.clientHeight || 60;
  each.strip.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const [low, high] = view.domain, x = (value) => ((value - low) / (high - low)) * width;
  const floor = Math.round(height * 0.62), lane = floor + (height - floor) * 0.5;
  each.zero.setAttribute("d", `M0 ${floor}H${width}`);
  for (const part of ["shape", "rug", "aleatoric", "epistemic", "mean", "value", "actual"]) each[part].removeAttribute("d");
  if (!step) { each.strip.setAttribute("aria-label", `${each.name}: the episode has ended`); return; }
  const { mean, quantiles, epistemic_variance: epistemicVariance } = step.beliefs;
  const aleatoric = aleatoricOf(step.beliefs, view.estimator);
  if (quantiles) {
    each.shape.setAttribute("d", density(quantiles[a], low, high, width, floor, floor - 5));
    each.rug.setAttribute("d", quantiles[a].map((q) => `M${x(q).toFixed(1)} ${floor}v-6`).join(""));
  }
  const band = deviation(aleatoric, a), whisker = deviation(epistemicVariance, a), m = mean[a];
  if (aleatoric) each.aleatoric.setAttribute("d", `M${x(m - band)} ${lane - 3}H${x(m + band)}`);
  if (epistemicVariance) {
    const left = x(m - whisker), right = x(m + whisker), y = lane + 5;
    each.epistemic.setAttribute("d", `M${left} ${y}H${right}M${left} ${y - 4}v8M${right} ${y - 4}v8`);
  }
  each.mean.setAttribute("d", `M${x(m)} 4V${height - 3}`);
  const v = x(Math.max(low, Math.min(high, step.values[a])));
  each.value.setAttribute("d", `M${v} ${floor - 6}l5 6l-5 6l-5 -6z`);
  if (taken && view.actual !== null) {
    const g = x(view.actual);
    each.actual.setAttribute("d", `M${g - 5} 6l10 10m0 -10l-10 10`);
  }
  if (view.settled) {
    const words = [`${each.name}: mean return ${shown(m)}`];
    if (aleatoric) words.push(`aleatoric ${shown(band)}`);
    if (epistemicVariance) words.push(`epistemic ${shown(whisker)}`);
    if (taken) words.push(step.chosen === a ? "chosen" : "what if");
    each.strip.setAttribute("aria-label", words.join(", "));
  }
}

/** The outline of a kernel density of quantiles. */
function density(quantiles, low, high, width, floor, top) {
  const n = quantiles.length, mean = quantiles.reduce((sum, q) => sum + q, 0) / n;
  const sd = Math.sqrt(quantiles.reduce((sum, q) => sum + (q - mean) ** 2, 0) / n);
  const bandwidth = Math.max((high - low) / 130, 0.35 * sd * n ** -0.2);
  const first = Math.max(low, quantiles[0] - 3 * bandwidth), last = Math.min(high, quantiles[n - 1] + 3 * bandwidth);
  const heights = Array.from({ length: POINTS }, (_, i) => {
    const at = first + ((last - first) * i) / (POINTS - 1);
    return quantiles.reduce((sum, q) => sum + Math.exp(-0.5 * ((at - q) / bandwidth) ** 2), 0);
  });
  const most = Math.max(...heights);
  const points = heights.map((value, i) => {
    const at = first + ((last - first) * i) / (POINTS - 1);
    return `${(((at - low) / (high - low)) * width).toFixed(1)} ${(floor - (value / most) * top).toFixed(1)}`;
  });
  return `M${points[0].split(" ")[0]} ${floor}L${points.join("L")}L${points.at(-1).split(" ")[0]} ${floor}Z`;
}

function drawAxis(axis, [low, high]) {
  const width = axis.clientWidth || 300;
  axis.setAttribute("viewBox", `0 0 ${width} 30`);
  const marks = ticks(low, high, Math.max(3, width / 90)).flatMap((value) => {
    const at = ((value - low) / (high - low)) * width;
    return [svg("path", { class: "axis", d: `M${at} 0v5` }), svg("text", { x: at, y: 18, "text-anchor": "middle" }, tickText(value))];
  });
  axis.replaceChildren(svg("path", { class: "axis", d: `M0 0.5H${width}` }), ...marks);
}

function asTable(step, actions, view) {
  if (!step.beliefs) return element("p", { className: "quiet" }, "The episode has ended: nothing is left to choose.");
  const aleatoric = aleatoricOf(step.beliefs, view.estimator), { beliefs } = step;
  const rows = actions.map((name, a) => [
    name, shown(beliefs.mean[a]), aleatoric ? shown(deviation(aleatoric, a)) : "–",
    beliefs.epistemic_variance ? shown(deviation(beliefs.epistemic_variance, a)) : "–", shown(step.values[a]),
    [step.chosen === a && "chosen", step.greedy === a && "greedy", step.action === a && "taken"].filter(Boolean).join(", "),
  ]);
  return table("Beliefs about each action", ["action", "mean return", "aleatoric", "epistemic", "value", ""], rows, step.action);
}
