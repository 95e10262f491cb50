// The learning curves of several runs, live while they are trained.

import { drawLines, linesAsTable } from "./charts.js";
import { byId, element } from "./dom.js";
import { source } from "./source.js";

const COLORS = ["var(--aleatoric)", "var(--epistemic)", "var(--actual)", "var(--biased)", "var(--ink)", "var(--quiet)"];
export const MAX_OVERLAID = COLORS.length;

/** Curves of the runs that are chosen; the first is the one that is watched. */
export class Learning {
  /** @param {(run: string, checkpoints: string[]) => void} onCheckpoints @param {(step: number) => void} onStep */
  constructor(onCheckpoints, onStep) {
    this.runs = [];
    this.series = new Map();
    this.isTable = false;
    this.stop = () => {};
    this.onCheckpoints = onCheckpoints;
    this.onStep = onStep;
  }

  /** Follows these runs. @param {string[]} runs */
  follow(runs) {
    this.stop();
    this.runs = runs.slice(0, MAX_OVERLAID);
    this.stop = source.news(this.runs, (kind, news) => this.take(kind, news));
  }

  take(kind, news) {
    if (kind === "checkpoints") { this.onCheckpoints(news.run, news.checkpoints); return; }
    const known = news.fresh ? {} : this.series.get(news.run) ?? {};
    for (const [name, points] of Object.entries(news.series)) known[name] = thinned((known[name] ?? []).concat(points));
    this.series.set(news.run, known);
    if (news.run === this.runs[0] && news.step !== null) {
      this.onStep(news.step);
      if (!news.fresh && source.isLive) this.blink();
    }
    this.draw();
  }

  blink() {
    const light = byId("live");
    light.textContent = "training";
    light.classList.add("on");
    clearTimeout(this.off);
    this.off = setTimeout(() => { light.classList.remove("on"); light.textContent = ""; }, 15_000);
  }

  colorOf(run) { return COLORS[this.runs.indexOf(run)]; }

  draw() {
    const box = byId("curves"), panels = this.panels();
    box.classList.toggle("as-table", this.isTable);
    if (this.isTable) {
      linesAsTable(box, "Learning curves", "step", panels.flatMap((panel) => panel.lines));
      return;
    }
    box.removeAttribute("tabindex");
    if (box.querySelectorAll(".panel").length !== panels.length) {
      box.replaceChildren(...panels.map(() => element("div", { className: "panel" })));
    }
    panels.forEach((panel, i) => drawLines(box.children[i], panel));
  }

  panels() {
    const lines = (names, style) => this.runs.flatMap((run) => Object.entries(this.series.get(run) ?? {})
      .filter(([name]) => names.test(name)).map(([name, points]) => ({ points, label: `${run} ${name}`, ...style(run, name) })));
    const several = this.runs.length > 1;
    const returns = lines(/^(rollout\/ep_rew_mean|eval\/mean_reward)$/, (run, name) => ({
      color: this.colorOf(run), dots: name.startsWith("eval"), name: several ? "" : name.startsWith("eval") ? "evaluated" : "training",
    }));
    const events = lines(/^info\//, (run, name) => ({ color: several ? this.colorOf(run) : undefined, name: several ? "" : name.slice(5).replaceAll("_", " ") }));
    events.forEach((line, i) => { line.color ??= COLORS[(i + 1) % COLORS.length]; line.dash = i ? "5 4" : ""; });
    const uncertainties = lines(/^uncertainty\/(epistemic|aleatoric)_mean$/, (run, name) => ({
      color: several ? this.colorOf(run) : name.includes("epistemic") ? "var(--epistemic)" : "var(--aleatoric)",
      dash: several && name.includes("aleatoric") ? "5 4" : "", name: several ? "" : name.includes("epistemic") ? "epistemic" : "aleatoric",
    }));
    const text = (what, found) => `${what} over training: ${found.map((line) => `${line.label} is ${Number(line.points.at(-1)[1].toPrecision(3))} at step ${line.points.at(-1)[0]}`).join("; ") || "nothing yet"}`;
    const xMax = Math.max(1, ...[returns, events, uncertainties].flat().map((line) => line.points.at(-1)[0]));
    const panel = (title, found, more = {}) => ({ title, lines: found, xName: "step of training", text: text(title, found), xMax, ...more });
    const parts = [panel("Return", returns)];
    if (events.length) parts.push(panel(several && events.some((line) => line.dash) ? "Events, each line another" : "Events", events, { fromZero: true }));
    if (uncertainties.length || !returns.length) parts.push(panel(several ? "Uncertainty, dashed: aleatoric" : "Uncertainty", uncertainties, { fromZero: true }));
    return parts;
  }
}

/** At most about a thousand points, so that a page that is left open stays small. */
function thinned(points) {
  return points.length > 1200 ? points.filter((_, i) => i % 2 === 0 || i === points.length - 1) : points;
}
