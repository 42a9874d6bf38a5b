"use strict";
// The page of rpnb serve: no framework, no build step, nothing from other hosts.
// Figures come as server-sent events; they are read with fetch, because an EventSource
// cannot send a token.

const $ = (id) => document.getElementById(id);
const percent = (x) => (x === null || x === undefined ? "–" : (100 * x).toFixed(2) + " %");
const whole = (n) => n.toLocaleString("en");
const charts = {};
let stream = null;
let rates = {};

function cell(kind, text, cls) {
  const element = document.createElement(kind);
  element.textContent = text;
  if (cls) element.className = cls;
  return element;
}

function row(...cells) {
  const element = document.createElement("tr");
  element.append(...cells);
  return element;
}

// On a narrow screen each figure of a table stands below its name.
function named(line, section) {
  const heads = section.querySelectorAll("thead th");
  [...line.children].forEach((each, i) => { each.dataset.name = heads[i].textContent; });
  return line;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Where we are: "#/" or "#/models/NAME".

function route() {
  const match = /^#\/models\/([A-Za-z0-9_-]+)$/.exec(location.hash);
  return match ? match[1] : null;
}

async function connect() {
  if (stream) stream.abort();
  const own = (stream = new AbortController());
  const name = route();
  $("overview").hidden = name !== null;
  $("model").hidden = name === null;
  const address = name === null ? "/v1/live" : `/v1/models/${name}/live`;
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  try {
    const answer = await fetch(address, { headers, signal: own.signal });
    if (answer.status === 401 || answer.status === 403) return askForToken(answer.status);
    if (answer.status === 404) return say("There is no model of this name.", true);
    if (!answer.ok) throw new Error(String(answer.status));
    $("sign-in").hidden = true;
    say("Live");
    await read(answer.body, (value) => {
      if (own.signal.aborted) return;
      if (name === null) showOverview(value);
      else showModel(value);
    });
    throw new Error("ended");
  } catch (error) {
    if (own.signal.aborted) return;
    say("No connection: trying again …", true);
    setTimeout(() => { if (!own.signal.aborted) connect(); }, 2000);
  }
}

async function read(body, show) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      show(JSON.parse(text.slice(6, end)));
      text = text.slice(end + 2);
    }
  }
}

function say(text, bad) {
  setText($("connection"), text);
  $("connection").className = bad ? "bad" : "";
}

function askForToken(status) {
  say(status === 401 ? "A token is needed." : "The token lacks the scope predict.", true);
  $("sign-in").hidden = false;
  $("token").focus();
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value);
  $("token").value = "";
  connect();
});

function showProblem(health) {
  const problems = [];
  if (health.writes !== "ok") problems.push(health.writes);
  problems.push(...Object.values(health.broken_models));
  problems.push(...Object.values(health.degraded_models), ...health.notes);
  const unique = [...new Set(problems)];
  $("problem").hidden = unique.length === 0;
  setText($("problem"), unique.join(" · "));
}

// All models

function rate(model, time) {
  const rows = model.learned + model.predicted;
  const before = rates[model.name];
  if (!before || time - before.time > 5) rates[model.name] = { time, rows, shown: before ? before.shown : 0 };
  else if (time - before.time >= 0.9) {
    const shown = (rows - before.rows) / (time - before.time);
    rates[model.name] = { time, rows, shown };
  }
  return rates[model.name].shown;
}

function showOverview(value) {
  showProblem(value.health);
  $("no-models").hidden = value.models.length > 0;
  const focused = document.activeElement && document.activeElement.hash;
  $("models").replaceChildren(...value.models.map((model) => {
    const name = document.createElement("th");
    name.scope = "row";
    const link = document.createElement("a");
    link.href = `#/models/${model.name}`;
    link.textContent = model.name;
    name.append(link);
    const state = model.degraded ? "(degraded)" : "(problem)";
    if (model.problem) name.append(" ", cell("span", state, "bad"));
    const line = row(
      name, cell("td", model.learner), cell("td", percent(model.error), "number"),
      cell("td", percent(model.window_error), "number"),
      cell("td", percent(model.references.majority), "number"),
      cell("td", whole(model.learned), "number"),
      cell("td", whole(Math.round(rate(model, value.time))), "number"),
      cell("td", whole(model.waiting), "number"), cell("td", whole(model.alarms), "number"),
    );
    return named(line, $("overview"));
  }));
  if (focused) {
    const link = $("models").querySelector(`a[href="${focused}"]`);
    if (link) link.focus();
  }
}

// One model

function showModel(value) {
  if (value.deleted) { location.hash = "#/"; return; }
  setText($("model-title"), value.name);
  $("problem").hidden = !value.problem;
  setText($("problem"), value.problem || "");
  const names = value.features ? value.features.slice(0, 8).join(", ") + (value.features.length > 8 ? " …" : "") : "";
  setText($("model-about"), `${value.learner}, ${whole(value.n_features)} features${names ? ": " + names : ""}`);
  const figures = [
    ["Error", percent(value.error)], ["In the window", percent(value.window_error)],
    ["Majority class", percent(value.references.majority)], ["Class before", percent(value.references.no_change)],
    ["Rows learned", whole(value.learned)], ["Without a prediction", whole(value.learned - value.scored)], ["Rows/s", whole(Math.round(rate(value, value.time)))],
    ["Waiting for labels", whole(value.waiting)], ["Dropped unlabelled", whole(value.expired)],
  ];
  $("figures").replaceChildren(...figures.map(([name, text]) => {
    const box = document.createElement("div");
    box.append(cell("dt", name), cell("dd", text));
    return box;
  }));
  showError(value);
  showWaiting(value.unlabelled);
  showContenders(value.contenders);
  showBalance(value);
  showCalibration(value.calibration);
  showConfusion(value.confusion);
  $("recent").replaceChildren(...value.recent.map((each) => named(row(
    cell("td", new Date(1000 * each.time).toLocaleTimeString("en-GB")),
    cell("td", each.label === null ? "no class known yet" : String(each.label)),
    cell("td", each.confidence === null ? "–" : each.confidence.toFixed(3), "number"),
    cell("td", whole(each.rows), "number"), cell("td", each.id || "–"), cell("td", reason(each), "reason")), $("recent").closest("table"))));
}

function reason(each) {
  const found = each.reason;
  if (each.label === null || !found) return "–";
  if (found.sentence) return found.sentence[0].toUpperCase() + found.sentence.slice(1) + ".";
  const sign = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toPrecision(3);
  const named = found.features.map(([name, x]) => `${name} ${sign(x)}`).join(", ");
  const others = found.others > 0 ? `, ${whole(found.others)} more` : "";
  const now = String(found.label) === String(each.label) ? "" : `now ${found.label}, `;
  return `${now}against ${found.against}: ${named}${others}`;
}

function chart(id, data) {
  if (charts[id]) { charts[id].update(data); return; }
  $(id).replaceChildren();
  charts[id] = rpnbCharts.make($(id), data);
}

function showError(value) {
  const points = value.curve;
  setText($("alarms"), value.alarm_rows.length
    ? `Drift alarms: ${value.alarm_rows.map(([n, time]) => `row ${whole(n)} (${new Date(1000 * time).toLocaleString("en-GB")})`).join(", ")}.`
    : "No drift alarm.");
  if (points.length === 0) return;
  const line = (name, role, shown, k) => ({
    name, role, shown, width: k === 1 ? 2.6 : shown ? 1.8 : 1.2, values: points.map((point) => point[k]),
  });
  chart("error-chart", {
    title: `Error rates after ${whole(value.scored)} predictions: model ${percent(value.error)}, in the window ` +
      `${percent(value.window_error)}, majority class ${percent(value.references.majority)}, class before ` +
      `${percent(value.references.no_change)}`,
    x: { label: "rows", low: 0 }, y: { label: "error", percent: true },
    rows: points.map((point) => point[0]),
    series: [
      line("model", "s0", true, 1), line("model, window", "s1", true, 4),
      line("majority class", "s2", false, 2), line("class before", "s3", false, 3),
    ],
    marks: value.alarm_rows.map(([row]) => ({ row, name: "model", role: "s0" })),
  });
}

// What is known before labels come.

function showWaiting(value) {
  const band = `between ${percent(value.low)} and ${percent(value.high)}`;
  let text = value.waiting === 0 ? "No row waits for its label."
    : value.known ? `Of ${whole(value.waiting)} rows that wait, ${percent(value.expected)} are expected to be wrong, ${band}.`
    : `The error of ${whole(value.waiting)} rows that wait cannot be known: ${value.reason}.`;
  if (value.outside > 0.1) text += ` ${percent(value.outside)} of the latest rows lie where labels were rare (${value.outside_column}).`;
  if (value.skipped) text += ` Inputs are not watched: ${value.skipped}.`;
  setText($("waiting-text"), text);
  const points = value.curve;
  if (points.some((point) => point[1] !== null)) {
    const line = (name, role, shown, width, k) => ({ name, role, shown, width, gaps: true, values: points.map((point) => point[k]) });
    chart("waiting-chart", {
      title: text, x: { label: "rows kept", low: 0 }, y: { label: "expected error", percent: true },
      rows: points.map((point) => point[0]),
      series: [
        line("expected", "s0", true, 2.6, 1), line("low end of the band", "s1", true, 1.2, 2),
        line("high end of the band", "s1", true, 1.2, 3),
      ],
      marks: [],
    });
  }
  if (value.moved.rows.length > 1 && value.moved.columns.length > 0) {
    const most = Math.max(...value.moved.columns.flatMap(([, far]) => far));
    chart("moved-chart", {
      title: "Share of each column's distribution that moved: " +
        value.moved.columns.slice(0, 3).map(([name, far]) => `${name} ${percent(far[far.length - 1])}`).join(", "),
      x: { label: "rows kept", low: 0 },
      y: { label: "share that moved", percent: true, low: 0, high: Math.max(0.05, 1.05 * most) },
      rows: value.moved.rows,
      series: value.moved.columns.map(([name, values], k) => ({
        name, role: "s" + k, shown: k < 3, width: k < 3 ? 1.8 : 1.2, values,
      })),
      marks: [],
    });
  }
  showChanges(value.latest_alarms);
}

const ALARMS = { inputs: "Inputs", predictions: "Predicted classes", errors: "Errors" };

function showChanges(alarms) {
  $("no-changes").hidden = alarms.length > 0;
  $("changes-table").hidden = alarms.length === 0;
  const lines = [];
  for (const alarm of [...alarms].reverse()) {
    const changes = alarm.changes.length > 0 ? alarm.changes.slice(0, 3) : [null];
    for (const change of changes) {
      const name = !change ? "no column stands out" : change.kind === "error" ? `error by ${change.name}` : change.name;
      const cells = change ? change.cells.slice(0, 3).map(([cell, before, after]) =>
        `${cell}: ${percent(before)} → ${percent(after)}`).join(", ") : "–";
      lines.push(named(row(
        cell("td", whole(alarm.row), "number"), cell("td", ALARMS[alarm.what]), cell("td", name),
        cell("td", change ? percent(change.distance) : "–", "number"), cell("td", cells, "reason")), $("changes-table")));
    }
  }
  $("changes").replaceChildren(...lines);
}

// The learner that answers, and its challengers.

const signed = (x) => (x < 0 ? "−" : "+") + (100 * Math.abs(x)).toFixed(2) + " %";

function verdict(each) {
  if (each.problem) return each.problem;
  if (!each.caught_up) return "catching up";
  const found = each.difference;
  if (!found || found.mean === null) return "nothing to compare yet";
  return { challenger: "better", champion: "worse" }[found.better] || "not told apart";
}

function showContenders(value) {
  const { champion, challengers, promotions, versions } = value;
  $("contenders").hidden = challengers.length + promotions.length + versions.length === 0;
  if ($("contenders").hidden) return;
  const line = (each, difference, state) => {
    const name = cell("th", each.name);
    name.scope = "row";
    return named(row(
      name, cell("td", each.learner), cell("td", percent(each.error), "number"),
      cell("td", percent(each.window_error), "number"),
      cell("td", each.kappa === null ? "–" : each.kappa.toFixed(3), "number"),
      cell("td", whole(each.scored), "number"), cell("td", difference, "number difference"),
      cell("td", state, each.problem ? "bad" : ""),
    ), $("contenders"));
  };
  const since = promotions.length ? `answers since event ${whole(champion.since)}` : "answers";
  $("contender-rows").replaceChildren(line(champion, "–", since), ...challengers.map((each) => {
    const found = each.difference;
    const told = !found || found.mean === null ? "–"
      : `${signed(found.mean)} (${signed(found.low)} to ${signed(found.high)})`;
    return line(each, told, verdict(each));
  }));
  const when = (time) => new Date(1000 * time).toLocaleString("en-GB");
  const changes = promotions.slice(-5).map((each) =>
    `${each.name} ${each.rollback ? "took over again from" : "was promoted over"} ${each.before} (${when(each.time)})`);
  const named_ = versions.map((each) => `${each.name} at event ${whole(each.event)}`);
  setText($("promotions"), [
    changes.length ? `Promotions: ${changes.join(", ")}.` : "No promotion yet.",
    named_.length ? `Versions: ${named_.join(", ")}.` : "",
  ].join(" ").trim());
  showDifferences(challengers);
}

function showDifferences(challengers) {
  const compared = challengers.filter((each) => each.difference && each.difference.rows > 0);
  if (compared.length === 0) return;
  // The first rows have intervals so wide that the rest would be a line.
  const settled = compared.map(({ difference: { curve } }) => {
    const width = curve[curve.length - 1][3] - curve[curve.length - 1][2];
    return curve.filter((point) => point[3] - point[2] <= 4 * width);
  });
  const rows = [...new Set(settled.flat().map((point) => point[0]))].sort((a, b) => a - b);
  const along = (curve, read) => {
    let at = -1;
    return rows.map((n) => {
      while (at + 1 < curve.length && curve[at + 1][0] <= n) at += 1;
      return at < 0 ? null : read(curve[at]);
    });
  };
  // A chart keeps its series: with other challengers it is made again.
  const names = compared.map((each) => each.name).join(" ");
  if (charts["difference-chart"] && $("difference-chart").dataset.names !== names) {
    charts["difference-chart"].destroy();
    delete charts["difference-chart"];
  }
  $("difference-chart").dataset.names = names;
  const told = compared.map((each) => `${each.name} ${signed(each.difference.mean)} ` +
    `(${signed(each.difference.low)} to ${signed(each.difference.high)})`);
  const ends = settled.flat().flatMap((point) => [point[2], point[3], 0]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.05 * (high - low);
  chart("difference-chart", {
    title: `Error less that of the answers: ${told.join("; ")}`,
    x: { label: "rows", low: rows[0] },
    y: { label: "difference of errors", percent: true, low: low - room, high: high + room },
    rows,
    series: [
      ...compared.map((each, i) => ({
        name: each.name, role: `s${i % 5}`, shown: true, width: 2.2,
        values: along(settled[i], (point) => point[1]),
        spread: along(settled[i], (point) => Math.max(point[3] - point[1], point[1] - point[2])),
      })),
      { name: "no difference", role: "s5", shown: false, width: 1.2, values: rows.map(() => 0) },
    ],
    marks: [],
  });
}

function showCalibration(bins) {
  const used = bins.filter((bin) => bin[0] > 0);
  if (used.length === 0) return;
  const told = used.map((bin) =>
    `of ${whole(bin[0])} predictions with a mean probability of ${bin[1].toFixed(2)}, ${percent(bin[2])} were right`);
  const xs = [0, ...used.map((bin) => bin[1]), 1];
  chart("calibration-chart", {
    title: "Calibration: " + told.join("; "), plain: true,
    x: { label: "probability", head: "probability", share: true, low: 0, high: 1 },
    y: { label: "share that was right", low: 0, high: 1 },
    rows: xs,
    series: [
      { name: "right", role: "s0", shown: true, width: 2.2, points: true, values: [null, ...used.map((bin) => bin[2]), null] },
      { name: "diagonal", role: "s5", shown: false, width: 1.2, values: xs },
    ],
    marks: [],
  });
}

function showBalance(value) {
  const total = Math.max(value.learned, 1);
  $("balance").replaceChildren(...value.balance.map(([label, n]) => {
    const name = cell("th", String(label));
    name.scope = "row";
    const share = cell("td", "", "share");
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = (100 * n) / total + "%";
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", percent(n / total));
    share.append(bar);
    return row(name, cell("td", whole(n), "number"), share);
  }));
}

function showConfusion(value) {
  const head = document.createElement("thead");
  const corner = cell("th", "True \\ predicted");
  corner.scope = "col";
  head.append(row(corner, ...value.classes.map((label) => {
    const name = cell("th", String(label), "number");
    name.scope = "col";
    return name;
  })));
  const body = document.createElement("tbody");
  value.counts.forEach((counts, i) => {
    const name = cell("th", String(value.classes[i]));
    name.scope = "row";
    const total = Math.max(counts.reduce((a, b) => a + b, 0), 1);
    body.append(row(name, ...counts.map((n, j) => {
      const each = cell("td", whole(n), i === j ? "right" : "");
      const share = Math.round((45 * n) / total);
      each.style.background = `color-mix(in srgb, var(${i === j ? "--bar" : "--bad"}) ${share}%, transparent)`;
      return each;
    })));
  });
  $("confusion").replaceChildren(head, body);
  setText($("left-out"), value.left_out > 0 ? `${whole(value.left_out)} rarer classes are left out.` : "");
}

addEventListener("hashchange", () => {
  for (const id of Object.keys(charts)) { charts[id].destroy(); delete charts[id]; }
  rates = {};
  connect().catch(() => {});
  const target = route() === null ? $("main") : $("model-title");
  target.focus();
});
connect();
