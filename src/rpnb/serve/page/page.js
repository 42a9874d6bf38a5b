"use strict";
// The page of rpnb serve: no framework, no build step, nothing from other hosts.
// Figures arrive as server-sent events, read with fetch because an EventSource cannot
// send a token.

const $ = (id) => document.getElementById(id);
const percent = (x) => (x === null || x === undefined ? "–" : (100 * x).toFixed(2) + "\u00a0%");
const whole = (n) => n.toLocaleString("en");
const when = (time) => new Date(1000 * time).toLocaleString("sv-SE");
const charts = {};
let shown = {};
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

// On a narrow screen each figure of a table is shown below its name.
function named(line, section) {
  const heads = section.querySelectorAll("thead th");
  [...line.children].forEach((each, i) => { each.dataset.name = heads[i].textContent; });
  return line;
}

// Whether a table has other figures than before: the same ones stay, so that text in it
// can be selected.
function changed(id, value) {
  const text = JSON.stringify(value);
  if (shown[id] === text) return false;
  shown[id] = text;
  return true;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The current view: "#/" or "#/models/NAME".

function route() {
  const match = /^#\/models\/([A-Za-z0-9_-]+)$/.exec(location.hash);
  return match ? match[1] : null;
}

async function connect() {
  if (stream) stream.abort();
  const own = (stream = new AbortController());
  const name = route();
  document.title = name === null ? "rpnb serve" : `${name} – rpnb serve`;
  $("overview").hidden = name !== null;
  $("model").hidden = name === null;
  const address = name === null ? "/v1/live" : `/v1/models/${name}/live`;
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  try {
    const answer = await fetch(address, { headers, signal: own.signal });
    if (answer.status === 401 || answer.status === 403) return askForToken(answer.status);
    if (answer.status === 404) return say("There is no model with this name.", true);
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
    say("Connection lost, retrying …", true);
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
  setText($("model-about"), about(value));
  const figures = [
    ["Error", percent(value.error)], ["Last 1,000", percent(value.window_error)],
    ["Majority class", percent(value.references.majority)], ["Previous class", percent(value.references.no_change)],
    ["Rows learned", whole(value.learned)], ["Rows/s", whole(Math.round(rate(value, value.time)))], ["Waiting for labels", whole(value.waiting)],
  ];
  if (value.learned > value.scored) figures.push(["Without a prediction", whole(value.learned - value.scored)]);
  if (value.expired) figures.push(["Dropped unlabelled", whole(value.expired)]);
  if (imbalanced(value)) figures.splice(2, 0, ["Balanced accuracy", percent(value.balanced_accuracy)]);
  if (value.class_mix) figures.push(["Class mix corrected", value.class_mix.share ? percent(value.class_mix.share) : "no"]);
  $("figures").replaceChildren(...figures.map(([name, text]) => {
    const box = document.createElement("div");
    box.append(cell("dt", name), cell("dd", text));
    return box;
  }));
  showAdvice(value);
  showError(value);
  if (value.unlabelled) showWaiting(value.unlabelled);
  if (value.unlabelled) showAsked(value.unlabelled.asked);
  showContenders(value.contenders);
  showBalance(value);
  showCalibration(value.calibration);
  showConfusion(value);
  showRecent(value.recent);
}

function about(value) {
  const most = 8;
  let names = value.features ? value.features.slice(0, most) : [];
  while (names.length > 1 && names.join(", ").length > 120) names = names.slice(0, -1);
  const more = value.features && names.length < value.features.length ? ", …" : "";
  return `${value.learner}, ${whole(value.n_features)} features${names.length ? ": " + names.join(", ") + more : ""}`;
}

// Where one class has at least four fifths of the labels, the error says little.

function imbalanced(value) {
  return value.scored >= 100 && value.balance.length > 1 && value.balance[0][1] >= 0.8 * value.learned;
}

function showAdvice(value) {
  $("advice").hidden = !imbalanced(value);
  if ($("advice").hidden) return;
  const [label, n] = value.balance[0];
  setText($("advice"), `${percent(n / value.learned)} of the labels are “${label}”: the error hardly reflects the other classes. ` +
    `Balanced accuracy is ${percent(value.balanced_accuracy)} (always the same class: ${percent(1 / value.confusion.scored.filter((each) => each > 0).length)}). ` +
    'A challenger with class_weight="balanced" gives all classes the same weight; on a file, ' +
    "rpnb run --metrics balanced_accuracy auc average_precision also measures how rows are ranked.");
}

function showRecent(recent) {
  if (!changed("recent", recent)) return;
  $("no-recent").hidden = recent.length > 0;
  $("recent-table").hidden = recent.length === 0;
  $("recent").replaceChildren(...recent.map((each) => named(row(
    cell("td", when(each.time).slice(11)),
    cell("td", each.label === null ? "no class yet" : String(each.label)),
    cell("td", each.confidence === null ? "–" : each.confidence.toFixed(3), "number"),
    cell("td", whole(each.rows), "number"), cell("td", each.id || "–", "id"), cell("td", reason(each), "reason")), $("recent-table"))));
}

function reason(each) {
  const found = each.reason;
  if (each.label === null || !found) return "–";
  if (found.sentence) return found.sentence[0].toUpperCase() + found.sentence.slice(1) + ".";
  const listed = (pairs) => pairs.map(([name, x]) => `${name} ${sign(x)}${Math.abs(x).toPrecision(3)}`).join(", ");
  const members = found.members.length ? `; by ${listed(found.members)}` : "";
  const others = found.others > 0 ? `, ${whole(found.others)} more` : "";
  const now = String(found.label) === String(each.label) ? "" : `now ${found.label}, `;
  return `${now}against ${found.against}: ${listed(found.features)}${others}${members}`;
}

function chart(id, data) {
  if (charts[id]) { charts[id].update(data); return; }
  $(id).replaceChildren();
  charts[id] = rpnbCharts.make($(id), data);
}

function showError(value) {
  const points = value.curve;
  setText($("alarms"), value.alarm_rows.length
    ? `Drift alarms: ${value.alarm_rows.map(([n, time]) => `row ${whole(n)} (${when(time)})`).join(", ")}.`
    : "No drift alarms.");
  if (points.length === 0) return;
  const line = (name, role, shown, k) => ({
    name, role, shown, width: k === 1 ? 2.6 : shown ? 1.8 : 1.2, values: points.map((point) => point[k]),
  });
  // As in reports: the first fifth and references far above the model are cut off.
  const late = points.slice(points.length < 20 ? 0 : Math.floor(points.length / 5));
  const own = Math.max(0, ...late.flatMap((point) => [point[1], point[4]]));
  const others = [2, 3].map((k) => Math.max(0, ...late.map((point) => point[k])));
  const high = Math.max(own, ...others.filter((each) => each <= 2 * own));
  const least = Math.min(...late.flatMap((point) => [point[1], point[4]]));
  const room = 0.06 * (high - least || high || 0.05);
  chart("error-chart", {
    title: `Error rates after ${whole(value.scored)} predictions: model ${percent(value.error)}, in the window ` +
      `${percent(value.window_error)}, majority class ${percent(value.references.majority)}, previous class ` +
      `${percent(value.references.no_change)}`,
    x: { label: "rows", low: 0 }, y: { label: "error", percent: true, low: least < high / 2 ? 0 : least - room, high: high + room },
    rows: points.map((point) => point[0]),
    series: [
      line("model", "s0", true, 1), line("model, window", "s1", true, 4),
      line("majority class", "s2", false, 2), line("previous class", "s3", false, 3),
    ],
    marks: value.alarm_rows.map(([row]) => ({ row, name: "model", role: "s0" })),
  });
}

// Rows that were chosen for their labels, and the error estimated from them.

function showAsked(value) {
  $("asked").hidden = !value;
  if ($("asked").hidden) return;
  let text = `Labels were requested for ${whole(value.drawn)} of ${whole(value.offered)} rows (${percent(value.drawn / value.offered)}); ${whole(value.open)} have not arrived.`;
  if (value.error !== null) text += ` The error on all rows is estimated at ${percent(value.error)}` +
    (value.standard_error === null ? "" : ` ± ${percent(value.standard_error)} (standard error)`) + ` from ${whole(value.labels)} of them; the other errors here are those of labelled rows.`;
  setText($("asked"), text);
}

// Expected error and drift before labels arrive.

function showWaiting(value) {
  // Models whose rows never wait have nothing to show here.
  $("waiting").hidden = value.rows === 0 && value.waiting === 0;
  if ($("waiting").hidden) return;
  const band = `between ${percent(value.low)} and ${percent(value.high)}`;
  let text = value.waiting === 0 ? "No predictions wait for labels."
    : value.known ? `Of ${whole(value.waiting)} predictions that wait for labels, ${percent(value.expected)} are expected to be wrong (${band}).`
    : `The error of ${whole(value.waiting)} predictions that wait for labels is unknown: ${value.reason}.`;
  if (value.outside > 0.1) text += ` ${percent(value.outside)} of the latest rows have inputs for which labels were rare (${value.outside_column}).`;
  if (value.clocks.length) text += ` Not compared, since they only move with time: ${value.clocks.join(", ")}.`;
  if (value.skipped) text += ` Inputs are not monitored: ${value.skipped}.`;
  setText($("waiting-text"), text);
  const marks = value.latest_alarms.map((alarm) => ({ row: alarm.row, name: ALARMS[alarm.what], role: "s3" }));
  const points = value.curve;
  $("expected").hidden = points.filter((point) => point[1] !== null).length < 2;
  if (!$("expected").hidden) {
    const column = (k) => points.map((point) => point[k]);
    chart("waiting-chart", {
      title: text, link: "kept", height: 260,
      x: { label: "rows kept", low: 0 }, y: { label: "expected error", percent: true },
      rows: column(0), marks,
      series: [{ name: "expected", role: "s0", shown: true, width: 2.6, gaps: true, values: column(1), low: column(2), high: column(3) }],
    });
  }
  const { rows, columns } = value.moved;
  if (rows.length > 1 && columns.length > 0) {
    const most = Math.max(...columns.flatMap(([, far]) => far));
    chart("moved-chart", {
      title: "Share of each column's distribution that moved: " +
        columns.slice(0, 3).map(([name, far]) => `${name} ${percent(far[far.length - 1])}`).join(", "),
      link: "kept", height: 260,
      x: { label: "rows kept", low: 0 },
      y: { label: "share that moved", percent: true, low: 0, high: Math.max(0.12, 1.05 * most) },
      rows, marks,
      series: [
        ...columns.map(([name, values], k) => ({ name, role: "s" + k, shown: k < 3, width: k < 3 ? 1.8 : 1.2, values })),
        { name: "alarm threshold", role: "s5", shown: false, width: 1.2, values: rows.map(() => 0.1) },
      ],
    });
  }
  showChanges(value.latest_alarms);
}

const ALARMS = { inputs: "Inputs", predictions: "Predicted classes", errors: "Errors" };

function showChanges(alarms) {
  if (!changed("changes", alarms)) return;
  $("no-changes").hidden = alarms.length > 0;
  $("changes-table").hidden = alarms.length === 0;
  const lines = [];
  for (const alarm of [...alarms].reverse()) {
    // Row and kind stand beside the first change only.
    let begun = false;
    const head = () => {
      const again = begun ? " again" : "";
      begun = true;
      return [cell("th", whole(alarm.row), "number" + again), cell("td", ALARMS[alarm.what], "kind" + again)];
    };
    const changes = alarm.changes.length > 0 ? alarm.changes.slice(0, 3) : [null];
    for (const change of changes) {
      const name = !change ? "no column stands out" : change.kind === "error" ? `error by ${change.name}` : change.name;
      const cells = change ? change.cells.slice(0, 3).map(([cell, before, after]) =>
        `${cell}: ${percent(before)} → ${percent(after)}`).join(", ") || "no value stands out" : "–";
      lines.push(named(row(
        ...head(), cell("td", name),
        cell("td", change ? percent(change.distance) : "–", "number"), cell("td", cells, "reason")), $("changes-table")));
    }
    const others = alarm.changes.length + alarm.more - changes.length;
    if (others > 0) {
      lines.push(named(row(
        ...head(), cell("td", `${whole(others)} more`),
        cell("td", "–", "number"), cell("td", "–", "reason")), $("changes-table")));
    }
  }
  $("changes").replaceChildren(...lines);
}

// The champion and its challengers.

const sign = (x) => (x < 0 ? "−" : "+");
const signed = (x) => sign(x) + (100 * Math.abs(x)).toFixed(2) + " %";
const signedNumber = (x) => sign(x) + Math.abs(x).toFixed(4);
const interval = (found, show) => (!found || found.mean === null ? "–"
  : `${show(found.mean)} ` + `(${show(found.low)} to ${show(found.high)})`.replaceAll(" ", "\u00a0"));

function verdict(each) {
  if (each.problem) return each.problem;
  if (!each.caught_up) return "catching up";
  const found = each.difference;
  if (!found || found.mean === null) return "nothing to compare yet";
  return { challenger: "better", champion: "worse" }[found.better] || "undecided";
}

function difference(found, show) {
  const text = interval(found, show);
  return cell("td", text, text === "–" ? "number difference none" : "number difference");
}

function showContenders(value) {
  const { champion, challengers, promotions, versions } = value;
  $("contenders").hidden = challengers.length + promotions.length + versions.length === 0;
  if ($("contenders").hidden) return;
  const line = (each, state) => {
    const name = cell("th", each.name);
    name.scope = "row";
    return named(row(
      name, cell("td", each.learner), cell("td", percent(each.error), "number"),
      cell("td", percent(each.window_error), "number"),
      cell("td", each.kappa === null ? "–" : each.kappa.toFixed(3), "number"),
      cell("td", whole(each.scored), "number"),
      difference(each.difference, signed), difference(each.log_loss_difference, signedNumber),
      cell("td", state, each.problem ? "state bad" : state === "better" ? "state good" : "state"),
    ), $("contenders"));
  };
  const since = promotions.length ? `serving since event ${whole(champion.since)}` : "serving";
  $("contender-rows").replaceChildren(line(champion, since), ...challengers.map((each) => line(each, verdict(each))));
  const changes = promotions.slice(-5).map((each) =>
    `${each.name} ${each.rollback ? "took over again from" : "was promoted over"} ${each.before} (${when(each.time)})`);
  const named_ = versions.map((each) => `${each.name} at event ${whole(each.event)}`);
  setText($("promotions"), [
    changes.length ? `Promotions: ${changes.join(", ")}.` : "No promotions yet.",
    named_.length ? `Versions: ${named_.join(", ")}.` : "",
  ].join(" ").trim());
  showDifferences("difference-chart", challengers, "difference", "Error", { label: "difference of errors", percent: true }, signed);
  showDifferences("log-loss-chart", challengers, "log_loss_difference", "Log-loss", { label: "difference of log-losses" }, signedNumber);
}

function showDifferences(id, challengers, field, loss, y, show) {
  const compared = challengers.filter((each) => each[field] && each[field].rows > 0)
    .map((each) => ({ name: each.name, difference: each[field] }));
  if (compared.length === 0) return;
  // The three with the lowest loss are in colour.
  const best = [...compared].sort((a, b) => a.difference.mean - b.difference.mean).slice(0, 3);
  // The first intervals are so wide that they would flatten the rest.
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
  const told = compared.map((each) => `${each.name} ${interval(each.difference, show)}`);
  const ends = settled.flat().flatMap((point) => [point[2], point[3], 0]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = 0.05 * (high - low);
  chart(id, {
    title: `${loss} minus that of the champion: ${told.join("; ")}`, link: "scored", height: 260,
    x: { label: "rows", low: rows[0] },
    y: { ...y, low: low - room, high: high + room },
    rows,
    series: [
      ...compared.map((each, i) => ({
        name: each.name, role: `s${i % 5}`, shown: best.includes(each), width: each === best[0] ? 2.6 : 1.8,
        values: along(settled[i], (point) => point[1]),
        low: along(settled[i], (point) => point[2]), high: along(settled[i], (point) => point[3]),
      })),
      { name: "no difference", role: "s5", shown: false, width: 1.2, values: rows.map(() => 0) },
    ],
    marks: [],
  });
}

function showCalibration(bins) {
  const used = bins.filter((bin) => bin[0] > 0);
  $("calibration-section").hidden = used.length === 0;
  if (used.length === 0) return;
  const told = used.map((bin) =>
    `of ${whole(bin[0])} predictions with a mean probability of ${bin[1].toFixed(2)}, ${percent(bin[2])} were correct`);
  const xs = [0, ...used.map((bin) => bin[1]), 1];
  chart("calibration-chart", {
    title: "Calibration: " + told.join("; "), plain: true, height: 250,
    x: { label: "probability", head: "probability", share: true, low: 0, high: 1 },
    y: { label: "share correct", low: 0, high: 1 },
    rows: xs,
    series: [
      { name: "correct", role: "s0", shown: true, width: 2.2, points: true, values: [null, ...used.map((bin) => bin[2]), null] },
      { name: "diagonal", role: "s5", shown: false, width: 1.2, values: xs },
    ],
    marks: [],
  });
}

function showBalance(value) {
  if (!changed("balance", value.balance)) return;
  $("balance-section").hidden = value.balance.length === 0;
  const total = Math.max(value.learned, 1);
  const most = Math.max(1, ...value.balance.map(([, n]) => n));
  $("balance").replaceChildren(...value.balance.map(([label, n]) => {
    const name = cell("th", String(label));
    name.scope = "row";
    name.title = String(label);
    const share = cell("td", "", "share");
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = (60 * n) / most + "%";
    share.append(bar, cell("span", percent(n / total)));
    return row(name, cell("td", whole(n), "number"), share);
  }));
}

// The middle of a long name is left out: names of classes often begin alike.
const short = (name) => (name.length > 14 ? name.slice(0, 7) + "…" + name.slice(-6) : name);

function showConfusion(value) {
  if (!changed("confusion", value.confusion)) return;
  const { classes, counts, scored, left_out: leftOut } = value.confusion;
  $("confusion-section").hidden = value.scored === 0;
  $("confusion-section").className = classes.length > 7 ? "all" : "";
  $("confusion").className = classes.length > 12 ? "matrix dense" : "matrix";
  const title = (label) => {
    const name = cell("th", short(String(label)), "class");
    name.title = String(label);
    return name;
  };
  const head = document.createElement("thead");
  const heads = [cell("th", "True \\ predicted"), ...classes.map(title), cell("th", "Recall")];
  for (const each of heads) each.scope = "col";
  head.append(row(...heads));
  const body = document.createElement("tbody");
  counts.forEach((line, i) => {
    const name = title(classes[i]);
    name.scope = "row";
    const cells = line.map((n, j) => {
      const each = cell("td", n === 0 ? "·" : whole(n), i === j ? "right" : n === 0 ? "nothing" : "");
      const share = n / Math.max(scored[i], 1);
      // Mistakes are rarer: they are drawn darker, so that they stand out.
      const ink = Math.round(50 * (i === j ? share : Math.sqrt(share)));
      each.style.background = `color-mix(in srgb, var(${i === j ? "--bar" : "--wrong"}) ${ink}%, transparent)`;
      each.title = `${classes[i]}, predicted ${classes[j]}: ${whole(n)} of ${whole(scored[i])}, ${percent(share)}`;
      return each;
    });
    body.append(row(name, ...cells, cell("td", scored[i] ? percent(line[i] / scored[i]) : "–", "recall")));
  });
  $("confusion").replaceChildren(head, body);
  setText($("left-out"), leftOut > 0 ? `${whole(leftOut)} rarer ${leftOut === 1 ? "class is" : "classes are"} left out.` : "");
}

// On a narrow screen details are closed at first.
if (matchMedia("(max-width: 40rem)").matches) {
  for (const each of document.querySelectorAll("details.fold")) each.open = false;
}

addEventListener("hashchange", () => {
  for (const id of Object.keys(charts)) { charts[id].destroy(); delete charts[id]; }
  [rates, shown] = [{}, {}];
  connect().catch(() => {});
  const target = route() === null ? $("main") : $("model-title");
  target.focus();
});
connect();
