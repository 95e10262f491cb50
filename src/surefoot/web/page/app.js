// The page: one state, which the address holds; everything that is shown follows from it.

import { addressOf, readAddress } from "./address.js";
import { drawLines, linesAsTable, peakOf } from "./charts.js";
import { byId, element, shown } from "./dom.js";
import { Episode } from "./episode.js";
import { listen } from "./keys.js";
import { Learning, MAX_OVERLAID } from "./learning.js";
import { makeScene } from "./scenes.js";
import { source } from "./source.js";
import { aleatoricOf, deviation, domainOf, makeStrips } from "./strips.js";

const EXPLORATIONS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16, 32];
const state = readAddress(location.hash);
const tables = { beliefs: false, uncertainty: false, returns: false };
const view = { domain: [-1, 1], isPlaying: false, cursors: [] };
let runs = [], model = null, scene = null, strips = null;

const episode = new Episode(onSteps, fail);
const learning = new Learning(onCheckpoints, onTrainingStep);

// --- what is shown ---------------------------------------------------------------------------------------

function show() {
  const step = episode.steps[state.step];
  if (!model || !step) return;
  const settled = !view.isPlaying;
  scene(episode.steps, state.step, settled);
  const actual = view.actual[state.step] ?? null;
  strips(step, { domain: view.domain, estimator: state.estimator, actual, settled, asTable: tables.beliefs, canBranch: source.isLive });
  showVerdicts(step);
  byId("timeline").value = String(state.step);
  byId("timeline").setAttribute("aria-valuetext", `step ${state.step} of ${episode.steps.length - 1}`);
  byId("own").disabled = !state.actions.length || !source.isLive;
  for (const move of view.cursors) move(state.step);
  if (settled) { showStatus(step); if (tables.uncertainty || tables.returns) showEpisodeCharts(); }
}

function showStatus(step) {
  const soFar = episode.steps.slice(0, state.step + 1).reduce((sum, each) => sum + each.reward, 0);
  const events = step.events.length ? ` (${step.events.join(", ").replaceAll("_", " ")})` : "";
  const end = episode.steps.length - 1, of = episode.isComplete ? ` of ${end}` : "";
  const head = `Step ${state.step}${of} · return so far ${shown(soFar)}`;
  let text = "";
  if (!step.beliefs) {
    text = `${step.terminated ? "The episode ended here" : "The episode was cut off here"}${events}.`;
  } else {
    const how = step.action !== step.chosen ? `what if: ${model.actions[step.action]} (it would choose ${model.actions[step.chosen]})`
      : `${model.actions[step.action]}, ${step.chosen === step.greedy ? "the best under its attitude" : "to explore"}`;
    text = `Next: ${how}.`;
  }
  byId("status").replaceChildren(element("b", {}, head), element("br"), text);
}

function showVerdicts(step) {
  const box = byId("verdicts");
  if (box.childElementCount !== model.measures.length) {
    box.replaceChildren(...model.measures.map((each) => element("span", {}, `${each.example} → `, element("b"))));
  }
  model.measures.forEach((_, i) => {
    const chosen = step.by_measure?.[i];
    box.children[i].lastChild.textContent = chosen === undefined ? "–" : model.actions[chosen];
    box.children[i].className = chosen !== undefined && chosen !== step.greedy ? "other" : "";
  });
}

function showEpisodeCharts() {
  const decided = episode.steps.filter((step) => step.beliefs);
  const sd = (variancesOf) => decided.filter((step) => variancesOf(step.beliefs))
    .map((step) => [step.time, deviation(variancesOf(step.beliefs), step.action)]);
  const uncertainty = [
    { name: "epistemic", color: "var(--epistemic)", points: sd((b) => b.epistemic_variance), peak: true },
    { name: "aleatoric", color: "var(--aleatoric)", points: sd((b) => aleatoricOf(b, state.estimator)), peak: true, dash: "7 3" },
  ].filter((line) => line.points.length);
  const peaks = uncertainty.map((line) => { const [x, y] = peakOf(line.points); return `${line.name} peaks at step ${x} with ${shown(y)}`; });
  const followed = view.actual.map((value, t) => [t, value]).filter(([, value]) => value !== null);
  const returns = [
    { name: "believed", color: "var(--aleatoric)", points: decided.map((step) => [step.time, step.beliefs.mean[step.action]]) },
    { name: "what followed", color: "var(--actual)", points: followed, dash: "7 3" },
  ];
  const first = followed[0];
  const returnText = first ? `At step 0 a return of ${shown(returns[0].points[0][1])} was believed, ${shown(first[1])} followed.` : "What followed is known when the episode has ended.";
  const common = { xName: "step of the episode", steps: true, onSeek: seek, title: "" };
  view.cursors = [];
  const draw = (id, lines, text, caption, more = {}) => {
    byId(id).classList.toggle("as-table", tables[id]);
    if (tables[id]) linesAsTable(byId(id), caption, "step", lines, state.step);
    else view.cursors.push(drawLines(byId(id), { ...common, ...more, lines, text }));
  };
  draw("uncertainty", uncertainty, `Uncertainty of the action taken, at each step: ${peaks.join("; ")}.`, "Uncertainty over the episode", { fromZero: true });
  draw("returns", returns, `Believed return of the action taken, and the discounted return that followed. ${returnText}`, "Believed return and what followed");
  for (const move of view.cursors) move(state.step);
}

function onSteps() {
  if (!episode.steps.length) return;
  const last = episode.steps.length - 1;
  if (state.step > last && episode.isComplete) state.step = last;
  view.actual = episode.returns(model.discount);
  const [low, high] = domainOf(episode.steps, view.actual);
  // It only grows while an episode is known better, so that nothing jumps.
  view.domain = view.keepDomain ? [Math.min(low, view.domain[0]), Math.max(high, view.domain[1])] : [low, high];
  view.keepDomain = true;
  byId("timeline").max = String(last);
  showEpisodeCharts();
  show();
}

// --- what is asked ---------------------------------------------------------------------------------------

/** Another attitude from this step on: what was done until here stays done. */
function changeAttitude(change) {
  if (!model || !source.isLive) return;
  const wasOwn = state.actions.length === 0 && state.step === 0;
  state.actions = wasOwn ? [] : episode.actionsBefore(state.step);
  Object.assign(state, change);
  showAttitude();
  ask();
}

/** The episode goes on from this step with another action. */
function whatIf(action) {
  const step = episode.steps[state.step];
  if (!step?.beliefs || !source.isLive || action >= model.actions.length) return;
  state.actions = [...episode.actionsBefore(state.step), action];
  say(`What if: ${model.actions[action]} at step ${state.step}`);
  ask();
}

function ask() {
  remember();
  return episode.load(state);
}

function newEpisode(change) {
  pause();
  Object.assign(state, { actions: [], step: 0 }, change);
  byId("seed").value = String(state.seed);
  episode.steps = [];
  view.keepDomain = false;
  return ask();
}

let remembering = 0;
/** Writes the address; browsers allow that only so often. */
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    if (source.isLive) history.replaceState(null, "", location.pathname + addressOf(state));
  }, 200);
}

// --- playing ---------------------------------------------------------------------------------------------

function seek(step) {
  state.step = Math.max(0, Math.min(step, episode.steps.length - 1));
  show();
  remember();
}

function play() {
  if (state.step >= episode.steps.length - 1 && episode.isComplete) state.step = 0;
  view.isPlaying = true;
  byId("play").textContent = "Pause";
  let due = performance.now();
  const turn = (now) => {
    if (!view.isPlaying) return;
    const period = 1000 / Number(byId("speed").value);
    if (now >= due) {
      due = Math.max(due + period, now - period);
      if (state.step < episode.steps.length - 1) { state.step += 1; show(); } else if (episode.isComplete) { pause(); return; }
    }
    requestAnimationFrame(turn);
  };
  due += 1000 / Number(byId("speed").value);
  requestAnimationFrame(turn);
}

function pause() {
  if (!view.isPlaying) return;
  view.isPlaying = false;
  byId("play").textContent = "Play";
  show();
  remember();
}

const toggle = () => (view.isPlaying ? pause() : play());
const nudge = (by) => { pause(); seek(state.step + by); };

// --- attitude --------------------------------------------------------------------------------------------

const measureOf = (risk) => model.measures.find((each) => each.name === risk.split(":")[0]);
const hasSlider = (measure) => measure && measure.neutral !== null;

function showAttitude() {
  const measure = measureOf(state.risk), number = Number(state.risk.split(":")[1] ?? 0);
  byId("measure").value = measure ? measure.name : state.risk;
  byId("measure-text").textContent = state.risk;
  const slider = byId("risk");
  slider.disabled = !hasSlider(measure) || !source.isLive;
  byId("risk-name").textContent = "Risk aversion";
  if (hasSlider(measure)) {
    slider.value = String(Math.round((100 * (number - measure.neutral)) / (measure.averse - measure.neutral)));
    slider.setAttribute("aria-valuetext", state.risk);
  }
  byId("risk-value").textContent = hasSlider(measure) ? String(number).replace("-", "−") : "–";
  const nearest = EXPLORATIONS.reduce((best, each, i) => (Math.abs(each - state.exploration) < Math.abs(EXPLORATIONS[best] - state.exploration) ? i : best), 0);
  byId("exploration").value = String(nearest);
  byId("exploration-value").textContent = state.exploration === 0 ? "none" : model.has.epistemic ? `beta ${state.exploration}` : `${Math.round(state.exploration * 100)} % random`;
  byId("estimator").value = state.estimator;
}

/** The sliders and lists that suit a model. */
function offerAttitudes() {
  const names = model.measures.map((each) => each.name);
  const options = model.measures.map((each) => element("option", { value: each.name }, each.name));
  if (!names.includes(model.risk.split(":")[0])) options.push(element("option", { value: model.risk }, model.risk));
  byId("measure").replaceChildren(...options);
  const slider = byId("exploration");
  Object.assign(slider, { min: 0, step: 1, max: model.has.epistemic ? EXPLORATIONS.length - 1 : EXPLORATIONS.indexOf(1) });
  slider.setAttribute("aria-valuetext", "none");
  byId("estimator").disabled = !model.has.estimators || !source.isLive;
  byId("measure").disabled = slider.disabled = !source.isLive;
  if (!state.risk) state.risk = model.risk === "mean" && names.includes("mean-sd") ? "mean-sd:0" : model.risk;
  showAttitude();
}

/** A risk measure with a number to begin with. */
function chooseMeasure(name) {
  const measure = model.measures.find((each) => each.name === name);
  changeAttitude({ risk: measure ? measure.example : name });
}

function moveRisk(value) {
  const { name, neutral, averse } = measureOf(state.risk);
  changeAttitude({ risk: `${name}:${Number((neutral + ((averse - neutral) * value) / 100).toPrecision(3))}` });
}

function nudgeSlider(id, by) {
  const slider = byId(id);
  if (slider.disabled) return;
  slider.value = String(Number(slider.value) + by * (id === "risk" ? 5 : 1));
  slider.dispatchEvent(new Event("input"));
}

// --- runs ------------------------------------------------------------------------------------------------

async function chooseRun(name, isFirst = false) {
  pause();
  const run = runs.find((each) => each.name === name);
  if (!run) { fail(new Error("There is no run here yet: surefoot train makes one.")); return; }
  if (!isFirst) Object.assign(state, { checkpoint: "", actions: [], step: 0, risk: "", exploration: 0, estimator: "own" });
  state.run = name;
  state.overlay = state.overlay.filter((each) => each !== name && runs.some((one) => one.name === each));
  byId("run").value = name;
  document.title = `${name} – Surefoot watch`;
  onTrainingStep(run.step);
  listOverlay();
  learning.follow([name, ...state.overlay]);
  await chooseCheckpoint(run.checkpoints.includes(state.checkpoint) ? state.checkpoint : run.checkpoints[0] ?? "");
}

async function chooseCheckpoint(name, tries = 3) {
  listCheckpoints(name);
  if (!name) { fail(new Error(`${state.run} has no checkpoint yet: its learning curve is shown meanwhile.`)); return; }
  try {
    say(`Loading ${state.run} at ${named(name)} …`, true);
    state.checkpoint = name;
    model = await source.model(state.run, name);
    view.actual = [];
    scene = makeScene(byId("scene"), model.stage);
    strips = makeStrips(byId("beliefs"), model.actions, whatIf);
    byId("verdicts").replaceChildren();
    state.actions = state.actions.filter((action) => action < model.actions.length);
    offerAttitudes();
    view.keepDomain = false;
    episode.steps = [];
    await ask();
    say("");
  } catch (error) {
    // A run that is trained deletes its older checkpoints, perhaps while this one was on its way.
    const known = (await source.runs().catch(() => ({ runs }))).runs.find((each) => each.name === state.run);
    if (tries && known?.checkpoints.length && !known.checkpoints.includes(name)) {
      onCheckpoints(state.run, known.checkpoints);
      await chooseCheckpoint(known.checkpoints[0], tries - 1);
      return;
    }
    fail(/** @type {Error} */ (error));
  }
}

const named = (checkpoint) => {
  const [kind, step] = checkpoint.split("_");
  return `${kind === "best" ? "best, step" : "step"} ${Number(step).toLocaleString("en")}`;
};

function listCheckpoints(chosen) {
  const run = runs.find((each) => each.name === state.run);
  const names = run.checkpoints.includes(chosen) || !chosen ? run.checkpoints : [chosen, ...run.checkpoints];
  byId("checkpoint").replaceChildren(...names.map((name) => element("option", { value: name }, named(name))));
  byId("checkpoint").value = chosen;
  byId("checkpoint").disabled = !names.length || !source.isLive;
  const newest = run.checkpoints.find((name) => name.startsWith("step"));
  byId("newer").hidden = !newest || !chosen.startsWith("step") || newest <= chosen;
  if (newest) byId("newer").textContent = `Use ${named(newest)}`;
}

function onCheckpoints(name, checkpoints) {
  const run = runs.find((each) => each.name === name);
  if (!run) return;
  const hadNone = !run.checkpoints.length;
  run.checkpoints = checkpoints;
  if (name !== state.run) return;
  if (hadNone && checkpoints.length && !model && !byId("message").textContent.startsWith("Loading")) chooseCheckpoint(checkpoints[0]);
  else listCheckpoints(state.checkpoint);
}

function onTrainingStep(step) {
  const run = runs.find((each) => each.name === state.run);
  const end = run.steps ? ` of ${run.steps.toLocaleString("en")}` : "";
  byId("progress").textContent = `step ${step.toLocaleString("en")}${end} · ${run.env} · ${run.agent} · seed ${run.seed}`;
}

function listOverlay() {
  const others = runs.filter((run) => run.name !== state.run);
  const line = (run, isWatched) => {
    const box = element("input", { type: "checkbox", checked: isWatched || state.overlay.includes(run.name), disabled: isWatched });
    const swatch = element("span", { className: "swatch" });
    const index = [state.run, ...state.overlay].indexOf(run.name);
    if (index >= 0 && index < MAX_OVERLAID) swatch.style.background = ["var(--aleatoric)", "var(--epistemic)", "var(--actual)", "var(--biased)", "var(--ink)", "var(--quiet)"][index];
    box.addEventListener("change", () => overlay(run.name, box.checked));
    return element("label", {}, box, swatch, run.name);
  };
  byId("overlay").replaceChildren(...[runs.find((run) => run.name === state.run)].map((run) => line(run, true)), ...others.map((run) => line(run, false)));
}

function overlay(name, isOn) {
  state.overlay = state.overlay.filter((each) => each !== name).concat(isOn ? [name] : []).slice(0, MAX_OVERLAID - 1);
  const focused = [...byId("overlay").querySelectorAll("input")].indexOf(document.activeElement);
  listOverlay();
  byId("overlay").querySelectorAll("input")[focused]?.focus();
  learning.follow([state.run, ...state.overlay]);
  remember();
}

// --- words, themes, tables -------------------------------------------------------------------------------

let saying = 0;
function say(text, stays = false) {
  const box = byId("message");
  clearTimeout(saying);
  box.textContent = text;
  box.hidden = !text;
  if (text && !stays) saying = setTimeout(() => { box.hidden = true; }, 2500);
}

/** @param {Error} error */
function fail(error) {
  pause();
  say(error.message, true);
}

const THEMES = ["", "light", "dark"];
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  byId("theme").textContent = `Theme: ${theme || "auto"}`;
  try { localStorage.setItem("theme", theme); } catch { /* A file has no storage in some browsers. */ }
}
function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % THEMES.length]);
}

function switchTable(button) {
  const name = button.dataset.for, isOn = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isOn));
  if (name === "curves") { learning.isTable = isOn; learning.draw(); return; }
  tables[name] = isOn;
  if (!episode.steps.length) return;
  if (name !== "beliefs") showEpisodeCharts();
  show();
}

// --- wiring ----------------------------------------------------------------------------------------------

const another = () => newEpisode({ seed: (state.seed + 1) % 2 ** 31 });
const own = () => { if (state.actions.length && source.isLive) newEpisode({ step: 0 }); };
const nextMeasure = () => {
  const names = model?.measures.map((each) => each.name) ?? [];
  if (names.length && source.isLive) chooseMeasure(names[(names.indexOf(state.risk.split(":")[0]) + 1) % names.length]);
};
const otherEstimator = () => { if (!byId("estimator").disabled) changeAttitude({ estimator: state.estimator === "own" ? "biased" : "own" }); };
const nudgeSpeed = (by) => { const list = byId("speed"); list.selectedIndex = Math.max(0, Math.min(list.options.length - 1, list.selectedIndex + by)); };
const openHelp = () => byId("keys").showModal();

listen([
  [[" ", "p"], "play or pause", toggle],
  [["ArrowRight"], "one step on", () => nudge(1)],
  [["ArrowLeft"], "one step back", () => nudge(-1)],
  [["Home", "r"], "to the start", () => nudge(-Infinity)],
  [["End"], "to the end", () => nudge(Infinity)],
  [["1", "2", "3", "4", "5", "6", "7", "8", "9"], "what if: take this action at this step", (key) => { pause(); whatIf(Number(key) - 1); }],
  [["o"], "the agent's own episode, without what-ifs", own],
  [["n"], "another seed", another],
  [["+", "="], "more risk aversion", () => nudgeSlider("risk", 1)],
  [["-"], "less risk aversion", () => nudgeSlider("risk", -1)],
  [["x"], "more exploration", () => nudgeSlider("exploration", 1)],
  [["z"], "less exploration", () => nudgeSlider("exploration", -1)],
  [["m"], "the next risk measure", nextMeasure],
  [["e"], "the other aleatoric estimator", otherEstimator],
  [["]"], "faster", () => nudgeSpeed(1)],
  [["["], "slower", () => nudgeSpeed(-1)],
  [["d"], "charts as tables, or as drawings", () => document.querySelectorAll(".table-switch").forEach(switchTable)],
  [["t"], "theme: the system's, light or dark", nextTheme],
  [["?"], "this list", openHelp],
]);

byId("play").addEventListener("click", toggle);
byId("forward").addEventListener("click", () => nudge(1));
byId("back").addEventListener("click", () => nudge(-1));
byId("restart").addEventListener("click", () => nudge(-Infinity));
byId("end").addEventListener("click", () => nudge(Infinity));
byId("timeline").addEventListener("input", (event) => { pause(); seek(Number(event.target.value)); });
byId("seed").addEventListener("change", (event) => newEpisode({ seed: Math.max(0, Math.min(2 ** 31 - 1, Math.trunc(Number(event.target.value)) || 0)) }));
byId("reseed").addEventListener("click", another);
byId("own").addEventListener("click", own);
byId("measure").addEventListener("change", (event) => chooseMeasure(event.target.value));
byId("risk").addEventListener("input", (event) => moveRisk(Number(event.target.value)));
byId("exploration").addEventListener("input", (event) => changeAttitude({ exploration: EXPLORATIONS[Number(event.target.value)] }));
byId("estimator").addEventListener("change", (event) => changeAttitude({ estimator: event.target.value }));
byId("run").addEventListener("change", (event) => chooseRun(event.target.value));
byId("checkpoint").addEventListener("change", (event) => chooseCheckpoint(event.target.value));
byId("newer").addEventListener("click", () => chooseCheckpoint(runs.find((run) => run.name === state.run).checkpoints[0]));
byId("theme").addEventListener("click", nextTheme);
byId("help").addEventListener("click", openHelp);
byId("message").addEventListener("click", () => say(""));
document.querySelectorAll(".table-switch").forEach((button) => button.addEventListener("click", () => switchTable(button)));
window.addEventListener("hashchange", () => {
  Object.assign(state, readAddress(location.hash));
  chooseRun(state.run, true);
});
let resizing = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(() => { if (episode.steps.length) { showEpisodeCharts(); show(); } learning.draw(); });
});

async function begin() {
  let theme = "";
  try { theme = localStorage.getItem("theme") ?? ""; } catch { /* As above. */ }
  setTheme(THEMES.includes(theme) ? theme : "");
  // The cookie has the token from now on; the address that is shown and sent need not.
  if (source.isLive && location.search) history.replaceState(null, "", location.pathname + location.hash);
  if (!source.isLive) {
    Object.assign(state, source.state);
    for (const id of ["seed", "reseed", "run"]) byId(id).disabled = true;
  }
  learning.draw();
  try {
    const found = await source.runs();
    runs = found.runs;
    byId("run").replaceChildren(...runs.map((run) => element("option", { value: run.name }, run.name)));
    byId("run").disabled = runs.length < 2;
    byId("seed").value = String(state.seed);
    const wanted = runs.some((run) => run.name === state.run) ? state.run : found.selected || runs[0]?.name;
    await chooseRun(wanted, wanted === state.run || !state.run);
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}
begin();
