// Where the page's data come from: the server, or the page itself if it was exported to a file.

import { packActions } from "./address.js";

/** Asks the server; a refusal becomes an error with the server's own words. */
async function fetchJson(path, query = {}) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`, { credentials: "same-origin" });
  const text = await answer.text();
  let found = null;
  try { found = JSON.parse(text); } catch { /* The guard answers in plain text. */ }
  if (!answer.ok) throw new Error(found?.error ?? text.trim() ?? `error ${answer.status}`);
  return found;
}

const online = {
  isLive: true,
  runs: () => fetchJson("/api/runs"),
  model: (run, checkpoint) => fetchJson("/api/model", { run, checkpoint }),
  steps: async (state, from, count) => {
    const { run, checkpoint, seed, risk, exploration, estimator } = state;
    const actions = packActions(state.actions);
    return (await fetchJson("/api/episode", { run, checkpoint, seed, actions, risk, exploration, estimator, from, count })).steps;
  },
  /** Calls back with each event; returns a function that ends it. */
  news: (runs, onEvent) => {
    const stream = new EventSource(`/api/news?${new URLSearchParams(runs.map((run) => ["run", run]))}`);
    for (const kind of ["entries", "checkpoints"]) {
      stream.addEventListener(kind, (event) => onEvent(kind, JSON.parse(event.data)));
    }
    return () => stream.close();
  },
};

/** A recorded episode: nothing can be asked beyond it. */
function recorded(data) {
  return {
    isLive: false,
    state: data.state,
    runs: async () => ({ runs: [data.run], selected: data.run.name }),
    model: async () => data.model,
    steps: async (_state, from, count) => data.steps.slice(from, from + count),
    news: (_runs, onEvent) => {
      onEvent("entries", { run: data.run.name, fresh: true, step: data.run.step, series: data.series });
      return () => {};
    },
  };
}

const embedded = document.getElementById("recorded");

/** The one source of this page. */
export const source = embedded ? recorded(JSON.parse(embedded.textContent)) : online;
