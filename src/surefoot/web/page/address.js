// The address holds what is shown: run, checkpoint, seed, what-ifs, step and sliders. It can be sent as a link.

/** Actions as text, runs of one action in short: 1x3.0 @param {number[]} actions */
export function packActions(actions) {
  const words = [];
  for (let i = 0; i < actions.length;) {
    let n = i;
    while (n < actions.length && actions[n] === actions[i]) n++;
    words.push(n - i > 1 ? `${actions[i]}x${n - i}` : String(actions[i]));
    i = n;
  }
  return words.join(".");
}

/** The actions of such a text. @param {string} text @returns {number[]} */
export function unpackActions(text) {
  return text.split(".").filter((word) => /^\d{1,5}(x\d{1,5})?$/.test(word)).flatMap((word) => {
    const [action, times] = word.split("x").map(Number);
    return Array(Math.min(times ?? 1, 3000)).fill(action);
  });
}

/** What an address asks for. @param {string} hash */
export function readAddress(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const whole = (name) => Math.max(0, Math.min(2 ** 31 - 1, Math.trunc(Number(found.get(name)) || 0)));
  return {
    run: found.get("run") ?? "",
    checkpoint: found.get("checkpoint") ?? "",
    seed: whole("seed"),
    actions: unpackActions(found.get("actions") ?? ""),
    step: whole("step"),
    risk: found.get("risk") ?? "",
    exploration: Math.max(0, Number(found.get("exploration")) || 0),
    estimator: found.get("estimator") === "biased" ? "biased" : "own",
    overlay: found.getAll("with"),
  };
}

/** The address of what is shown. */
export function addressOf(state) {
  const found = new URLSearchParams({ run: state.run, checkpoint: state.checkpoint, seed: state.seed, step: state.step });
  if (state.actions.length) found.set("actions", packActions(state.actions));
  if (state.risk) found.set("risk", state.risk);
  if (state.exploration) found.set("exploration", state.exploration);
  if (state.estimator !== "own") found.set("estimator", state.estimator);
  for (const name of state.overlay) found.append("with", name);
  return `#${found}`;
}
