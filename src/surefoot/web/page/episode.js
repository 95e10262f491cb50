// The episode that is shown: its steps as far as they are known, and the question for the rest.

import { source } from "./source.js";

const CHUNK = 48;

/** Steps of the present episode; `onSteps` is called whenever more of them are known. */
export class Episode {
  /** @param {() => void} onSteps @param {(error: Error) => void} onError */
  constructor(onSteps, onError) {
    this.steps = [];
    this.isComplete = false;
    this.asked = 0;
    this.onSteps = onSteps;
    this.onError = onError;
  }

  /** Asks for the episode of a state: the present step first, so that a slider changes it at once. */
  async load(state) {
    const asked = ++this.asked, isStale = () => asked !== this.asked;
    const wanted = { ...state, actions: [...state.actions] };
    this.isComplete = false;
    try {
      if (state.step > 0 || this.steps.length) {
        const [now] = await source.steps(wanted, state.step, 1);
        if (isStale()) return;
        if (now && this.steps.length >= state.step && now.time === state.step) {
          this.steps.length = state.step;
          this.steps.push(now);
          this.onSteps();
        }
      }
      const steps = [];
      for (;;) {
        const more = await source.steps(wanted, steps.length, steps.length ? CHUNK : Math.max(8, Math.min(CHUNK, state.step + 8)));
        if (isStale()) return;
        steps.push(...more);
        const last = steps.at(-1);
        this.isComplete = !more.length || last.terminated || last.truncated;
        if (steps.length > state.step || this.isComplete) {
          this.steps = steps.slice();
          this.onSteps();
        }
        if (this.isComplete) return;
      }
    } catch (error) {
      if (!isStale()) this.onError(/** @type {Error} */ (error));
    }
  }

  /** The actions before a step. @param {number} step */
  actionsBefore(step) {
    return this.steps.slice(0, step).map((each) => each.action);
  }

  /** The discounted return that followed each step; null while the end is not known. @returns {(number|null)[]} */
  returns(discount) {
    const found = Array(this.steps.length).fill(null);
    const last = this.steps.at(-1);
    if (!last || !last.terminated) return found;
    for (let i = this.steps.length - 1, total = 0; i > 0; i--) {
      total = this.steps[i].reward + discount * total;
      found[i - 1] = total;
    }
    return found;
  }
}
