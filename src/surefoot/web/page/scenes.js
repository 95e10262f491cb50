// The environment as it plays: the windy cliff's grid, MinAtar's cells, pictures, or bare numbers.

import { element, svg, shown } from "./dom.js";

/** Colours of MinAtar's channels on black: those of Okabe and Ito, which colour-blind people tell apart. */
const CHANNEL_COLORS = ["#f8f8f2", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#d55e00", "#cc79a7", "#0072b2", "#999999", "#b6f0c0"];
const BACKGROUND = "#14171c";

/** Builds the scene of a stage into a box; returns a function that draws one step. */
export function makeScene(box, stage) {
  box.replaceChildren();
  box.dataset.kind = stage.kind;
  return { cliff, cells, picture, numbers }[stage.kind](box, stage);
}

function cliff(box, stage) {
  const size = 100, width = stage.columns * size, height = stage.rows * size;
  const root = svg("svg", { viewBox: `-8 -8 ${width + 16} ${height + 84}`, role: "img", preserveAspectRatio: "xMidYMid meet" });
  const is = (cells, row, column) => cells.some(([r, c]) => r === row && c === column);
  for (let row = 0; row < stage.rows; row++) {
    for (let column = 0; column < stage.columns; column++) {
      const kind = is([stage.start], row, column) ? "start" : is([stage.goal], row, column) ? "goal" : is(stage.ledge, row, column) ? "ledge" : "ground";
      root.append(svg("rect", { x: column * size, y: row * size, width: size, height: size, fill: `var(--${kind})`, stroke: "var(--card)", "stroke-width": 3 }));
      if (kind === "start" || kind === "goal") root.append(svg("text", { x: column * size + 9, y: row * size + 21, class: "strong" }, kind));
    }
  }
  const [bottom] = stage.start;
  // There may be two cliffs, with another wind each: one before the start, one after it.
  for (const isFar of [false, true]) {
    const part = stage.ledge.map(([, column], i) => ({ column, wind: stage.winds[i] })).filter(({ column }) => column < stage.far_columns === isFar);
    if (!part.length) continue;
    const left = part[0].column * size, right = (part.at(-1).column + 1) * size;
    root.append(svg("path", { d: `M${left} ${(bottom + 1) * size}h${right - left}l-10 62h${20 - right + left}z`, fill: "var(--cliff)" }));
    const text = svg("text", { x: (left + right) / 2, y: height + 38, "text-anchor": "middle" }, `wind: ${Number((part[0].wind * 100).toPrecision(3))} % a step`);
    text.style.fill = "#ffffff";
    root.append(text);
  }
  for (const [, column] of stage.ledge) root.append(wind(column * size, bottom * size));
  root.append(path(stage.paths.short, size, "var(--epistemic)", 13, "11 8"), path(stage.paths.safe, size, "var(--actual)", 0, ""));
  root.append(svg("text", { x: width - 8, y: 20, "text-anchor": "end" }, "— safe path"), svg("text", { x: width - 100, y: 20, "text-anchor": "end" }, "- - short path"));
  const [safeText, shortText] = [...root.querySelectorAll("text")].slice(-2);
  safeText.style.fill = "var(--actual)";
  shortText.style.fill = "var(--epistemic)";
  const trail = svg("polyline", { fill: "none", stroke: "var(--ink)", "stroke-width": 3, opacity: 0.55, "stroke-linejoin": "round" });
  const cross = svg("text", { y: 6, "text-anchor": "middle", class: "cross" });
  const agent = svg("g", { class: "agent" }, svg("circle", { r: 24, fill: "var(--aleatoric)", stroke: "var(--card)", "stroke-width": 3 }), cross);
  root.append(trail, agent);
  box.append(root);
  return (steps, at, settled) => {
    const here = steps[at], fell = here.events.includes("fell");
    const middle = ([row, column]) => [(column + 0.5) * size, (row + 0.5) * size];
    const [x, y] = middle(here.scene.cell);
    agent.setAttribute("transform", `translate(${x} ${fell ? height + 34 : y})`);
    cross.textContent = fell ? "✕" : "";
    trail.setAttribute("points", steps.slice(0, at + 1).map((step) => middle(step.scene.cell).join(",")).join(" "));
    if (settled) {
      const where = fell ? "fell off the ledge" : `is in row ${here.scene.cell[0] + 1}, column ${here.scene.cell[1] + 1} of ${stage.rows} rows and ${stage.columns} columns`;
      root.setAttribute("aria-label", `Windy cliff: the agent ${where}. The short path runs along the ledge, the safe path above it.`);
    }
  };
}

function wind(x, y) {
  const strokes = [0, 11, 22].map((down) => `M${x + 26} ${y + 66 + down}q8 -7 16 0t16 0t16 0`).join("");
  return svg("path", { d: strokes, fill: "none", stroke: "var(--card)", "stroke-width": 3, "stroke-linecap": "round", opacity: 0.8 });
}

/** A path through cells, shifted a little so that two paths do not lie on each other. */
function path(cells, size, color, shift, dashes) {
  const points = cells.map(([row, column]) => [(column + 0.5) * size, (row + 0.5) * size + shift]);
  const [x, y] = points.at(-1), [before] = points.at(-2), isDown = before === x;
  const head = isDown ? `${x - 9},${y - 30} ${x + 9},${y - 30} ${x},${y - 14}` : `${x - 30},${y - 9} ${x - 30},${y + 9} ${x - 14},${y}`;
  points[points.length - 1] = isDown ? [x, y - 28] : [x - 28, y];
  const line = svg("polyline", { points: points.join(" "), fill: "none", stroke: color, "stroke-width": 5, "stroke-dasharray": dashes, "stroke-linejoin": "round" });
  return svg("g", { opacity: 0.85 }, line, svg("polygon", { points: head, fill: color }));
}

function cells(box, stage) {
  const pixels = 34, canvas = element("canvas", { width: stage.side * pixels, height: stage.side * pixels });
  canvas.setAttribute("role", "img");
  const swatches = element("ul", { className: "swatches" }, ...stage.channels.map((name, i) => {
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = CHANNEL_COLORS[i];
    return element("li", {}, swatch, name);
  }));
  box.append(canvas, swatches);
  const context = canvas.getContext("2d");
  return (steps, at, settled) => {
    context.fillStyle = BACKGROUND;
    context.fillRect(0, 0, canvas.width, canvas.height);
    steps[at].scene.cells.forEach((where, channel) => {
      context.fillStyle = CHANNEL_COLORS[channel];
      for (const cell of where) {
        context.fillRect((cell % stage.side) * pixels + 1, Math.floor(cell / stage.side) * pixels + 1, pixels - 2, pixels - 2);
      }
    });
    if (settled) canvas.setAttribute("aria-label", describeCells(stage, steps[at].scene.cells));
  };
}

function describeCells(stage, where) {
  const parts = stage.channels.map((name, i) => {
    const places = where[i].slice(0, 4).map((cell) => `row ${Math.floor(cell / stage.side) + 1} column ${(cell % stage.side) + 1}`);
    return where[i].length ? `${name} at ${places.join(", ")}${where[i].length > 4 ? ` and ${where[i].length - 4} more` : ""}` : "";
  });
  return parts.filter(Boolean).join("; ") || "nothing";
}

function picture(box) {
  const image = element("img", { alt: "The environment as it renders itself" });
  box.append(image);
  return (steps, at) => { image.src = `data:image/png;base64,${steps[at].scene.png}`; };
}

function numbers(box) {
  const place = element("div", { className: "numbers" });
  place.tabIndex = 0;
  box.append(place);
  return (steps, at) => {
    const rows = steps[at].scene.numbers.map((value, i) => [i, shown(value)]);
    place.replaceChildren(element("table", {}, element("caption", { className: "quiet" }, "observation"),
      element("tbody", {}, ...rows.map(([i, value]) => element("tr", {}, element("td", {}, String(i)), element("td", {}, value))))));
  };
}
