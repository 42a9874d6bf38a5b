"use strict";
// Charts of reports and of the service's page, drawn by uPlot. No framework, no build
// step, nothing from other hosts. `rpnbCharts.make(place, data)` draws `data`:
//   title   for screen readers
//   x, y    {label, low, high, percent}: the axes; y fits the data if it has no high
//   rows    ascending numbers, shared by all series
//   series  [{name, role, shown, width, values, spread, low, high, area, points}]: `shown`
//           is drawn in the colour of its role, all others grey until asked for; `spread`
//           is a band to both sides, `low` and `high` are the ends of one; `area` fills
//           below the line, on its own scale up to it
//   marks   [{row, name, role}]: vertical lines
//   link    charts with the same link share the pointer and the range of rows
//   small   a panel without names
//   plain   a chart without buttons for its series
// It returns {update, destroy}: `update(data)` shows other numbers.

const rpnbCharts = (() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
  const ROLES = ["ground", "ink", "muted", "grid", "other", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
  const MANY = 24; // with more marks than this, none gets a line across the chart
  const all = new Set();
  const nothing = (v) => v === null || v === undefined;
  const whole = (v) => Math.round(v).toLocaleString("en");
  const minus = (text) => text.replace("-", "−");

  function number(v, data) {
    if (nothing(v)) return "–";
    return minus(data.y.percent ? (100 * v).toFixed(2) + " %" : Math.abs(v) >= 100 ? whole(v) : String(+v.toPrecision(3)));
  }

  // The ends of a band around a line; nothing where there is none.
  function band(each, i) {
    if (nothing(each.values[i])) return [null, null];
    if (each.low) return [each.low[i], each.high[i]];
    return [each.values[i] - each.spread[i], each.values[i] + each.spread[i]];
  }

  function download(name, kind, text) {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  function element(kind, cls, text) {
    const made = document.createElement(kind);
    if (cls) made.className = cls;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function colours(place) {
    const probe = element("i");
    const box = element("span", "chart");
    box.hidden = true;
    box.append(probe);
    place.append(box);
    const found = {};
    for (const role of ROLES) {
      probe.className = role;
      found[role] = getComputedStyle(probe).color;
    }
    box.remove();
    return found;
  }

  const faint = (colour, share) => colour.replace("rgb(", "rgba(").replace(")", `, ${share})`);

  // Positions moved apart to `gap`, kept between two edges, so that names never overlap.
  function apart(places, gap, low, high) {
    const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
    const moved = [...places];
    let edge = low;
    for (const i of order) { moved[i] = Math.max(moved[i], edge); edge = moved[i] + gap; }
    edge = high;
    for (const i of order.reverse()) { moved[i] = Math.min(moved[i], edge); edge = moved[i] - gap; }
    return moved;
  }

  function make(place, data) {
    const box = element("div", "live");
    const canvas = element("div", "drawing");
    canvas.setAttribute("role", "img");
    const names = element("div", "names");
    const tip = element("div", "tip");
    const told = element("p", "told");
    tip.hidden = true;
    told.setAttribute("aria-live", "polite");
    box.append(canvas, ...(data.small ? [] : [names, told]));
    place.append(box);
    const chosen = new Set(data.series.filter((each) => each.shown).map((each) => each.name));
    let others = true;
    let plot = null;
    let look = "";
    let drawn = [];
    const unit = element("span", "muted");
    const figures = {};
    let zoom = null; // the first and last row shown, if the reader chose them
    const last = (each) => each.values.findLast((v) => !nothing(v));

    const visible = (each) => chosen.has(each.name) || others;

    // The names at the ends of lines: where each line ends, and where there is room.
    function labels(u) {
      if (data.small || u.data[0].length === 0) return [];
      const { bbox } = u;
      const dpr = devicePixelRatio;
      const told = [];
      drawn.forEach((each, i) => {
        if (!chosen.has(each.name) || each.area) return;
        const values = u.data[i + 1];
        const rows = u.data[0];
        let k = rows.length - 1;
        while (k > 0 && (nothing(values[k]) || rows[k] > u.scales.x.max)) k -= 1;
        if (nothing(values[k])) return;
        told.push({ each, y: u.valToPos(values[k], "y", true) });
      });
      const low = bbox.top + 6 * dpr;
      const high = bbox.top + bbox.height - 4 * dpr;
      const ends = told.map((one) => Math.min(Math.max(one.y, low), high));
      const places = apart(ends, 15 * dpr, low, high);
      return told.map((one, i) => ({
        text: cut(one.each.name) + (one.y < bbox.top - 1 ? " ↑" : ""),
        colour: look.colour[one.each.role], from: ends[i] / dpr, to: places[i] / dpr,
      }));
    }

    function writeLabels(u) {
      const { ctx, bbox } = u;
      const dpr = devicePixelRatio;
      ctx.save();
      ctx.font = `600 ${12 * dpr}px ${FONT}`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      const x = bbox.left + bbox.width;
      for (const each of labels(u)) {
        ctx.strokeStyle = ctx.fillStyle = each.colour;
        ctx.lineWidth = dpr;
        ctx.beginPath();
        ctx.moveTo(x + 2 * dpr, each.from * dpr);
        ctx.lineTo(x + 9 * dpr, each.to * dpr);
        ctx.stroke();
        ctx.fillText(each.text, x + 12 * dpr, each.to * dpr);
      }
      ctx.restore();
    }

    const cut = (name) => {
      const most = look.width < 500 ? 16 : look.width < 800 ? 20 : 28;
      return name.length > most ? name.slice(0, most - 1) + "…" : name;
    };

    // A mark has the colour of its line while that is shown, or its own if there is none.
    function markColour(each) {
      const line = data.series.some((one) => one.name === each.name);
      return !line || chosen.has(each.name) ? look.colour[each.role] : look.colour.other;
    }

    // In the order of the lines, the thickest on top: several may have a mark at a row.
    function sortedMarks() {
      const place = (each) => drawn.findIndex((one) => one.name === each.name);
      return [...data.marks].sort((a, b) => place(a) - place(b));
    }

    function marks(u) {
      const { ctx, bbox } = u;
      const dpr = devicePixelRatio;
      const quiet = data.marks.length > MANY;
      ctx.save();
      for (const each of sortedMarks()) {
        const x = Math.round(u.valToPos(each.row, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        const bottom = bbox.top + bbox.height;
        ctx.strokeStyle = ctx.fillStyle = markColour(each);
        ctx.lineWidth = dpr;
        ctx.setLineDash([2 * dpr, 3 * dpr]);
        ctx.beginPath();
        if (!quiet) { ctx.moveTo(x, bbox.top); ctx.lineTo(x, bottom); ctx.stroke(); }
        ctx.beginPath();
        ctx.moveTo(x, bottom - 9 * dpr);
        ctx.lineTo(x + 4.5 * dpr, bottom);
        ctx.lineTo(x - 4.5 * dpr, bottom);
        ctx.fill();
      }
      ctx.restore();
    }

    // The tooltip: all values of the row at the pointer, the highest first.
    function point(u) {
      const k = u.cursor.idx;
      const away = nothing(k) || u.cursor.left < 0;
      if (data.small) {
        const value = place.querySelector(".value");
        if (!value) return;
        if (!value.dataset.last) value.dataset.last = value.textContent;
        value.textContent = away ? value.dataset.last : drawn.filter((each) => each.name !== "pool")
          .map((each) => `${each.name} ${number(each.values[k], data)}`).reverse().join(" · ");
        return;
      }
      const rows = u.data[0];
      const head = away ? data.y.label : `${data.x.head || "row"} ${data.x.share ? number(rows[k], { y: {} }) : whole(rows[k])}`;
      // On a narrow chart values stand beside the names below it: a box would cover it.
      const narrow = look.width < 500 && !data.plain;
      if (narrow) {
        unit.textContent = head;
        drawn.forEach((each, i) => { if (figures[each.name]) figures[each.name].textContent = number(away ? last(each) : near(u.data[i + 1], k), data); });
      }
      tip.hidden = away || narrow;
      if (tip.hidden) return;
      const lines = drawn.map((each, i) => ({ each, v: near(u.data[i + 1], k) }))
        .filter((line) => visible(line.each) && !nothing(line.v)).sort((a, b) => b.v - a.v);
      tip.replaceChildren(element("b", "", head), ...lines.slice(0, 16).map(({ each, v }) => {
        const line = element("span", chosen.has(each.name) ? "told" : "");
        const swatch = element("i");
        swatch.style.background = chosen.has(each.name) ? look.colour[each.role] : look.colour.other;
        line.append(swatch, element("span", "", each.name), element("em", "", withBand(each, k, v)));
        return line;
      }));
      const alarms = {};
      for (const each of data.marks) {
        if (Math.abs(u.valToPos(each.row, "x") - u.cursor.left) < 5) (alarms[each.row] ||= []).push(each.name);
      }
      for (const [row, names] of Object.entries(alarms)) {
        const more = names.length > 3 ? `, ${names.length - 3} more` : "";
        tip.append(element("span", "alarm", `Alarm at row ${whole(row)}: ${names.slice(0, 3).join(", ")}${more}`));
      }
      const left = u.cursor.left;
      const wide = u.over.clientWidth;
      const own = tip.offsetWidth;
      const at = left > wide / 2 ? left - own - 14 : left + 14;
      tip.style.left = `${Math.max(Math.min(at, wide - own), 0)}px`;
    }

    function withBand(each, k, v) {
      if (!each.low || !chosen.has(each.name)) return number(v, data);
      const [low, high] = band(each, k);
      return nothing(low) ? number(v, data) : `${number(v, data)} (${number(low, data)} to ${number(high, data)})`;
    }

    // The value at a row, or the last one before it where a series has no such row.
    function near(values, k) {
      let j = k;
      while (j > 0 && nothing(values[j])) j -= 1;
      return values[j];
    }

    const banded = () => drawn.filter((each) => (each.spread || each.low) && chosen.has(each.name));

    // Rows, a line for each series, and for each band its two edges.
    function table() {
      const edge = (each, side) => each.values.map((_, i) => band(each, i)[side]);
      return [data.rows, ...drawn.map((each) => each.values), ...banded().flatMap((each) => [edge(each, 1), edge(each, 0)])];
    }

    // The smallest and largest value of some series, between two indices.
    function extremes(series, from, to) {
      const values = series.flatMap((each) => [
        ...each.values.slice(from, to),
        ...(each.low && chosen.has(each.name) ? [...each.low.slice(from, to), ...each.high.slice(from, to)] : []),
      ]).filter((v) => !nothing(v));
      return values.length ? [Math.min(...values), Math.max(...values)] : null;
    }

    // The ends of the vertical axis: as given, wider where lines that were asked for need
    // it; fitted to the rows that are shown if the reader chose them.
    function ends() {
      const lines = drawn.filter((each) => !each.area);
      const coloured = lines.filter((each) => chosen.has(each.name));
      const first = data.rows.length >= 20 ? Math.floor(data.rows.length / 5) : 0;
      if (zoom) {
        const from = data.rows.findIndex((row) => row >= zoom[0]);
        const to = data.rows.findLastIndex((row) => row <= zoom[1]) + 1;
        const found = from < 0 || to <= from ? null : extremes(coloured.length ? coloured : lines, from, to);
        if (found) {
          const room = 0.06 * (found[1] - found[0] || Math.abs(found[1]) || 1);
          return [found[0] - room, found[1] + room];
        }
      }
      if (data.y.high !== undefined) {
        const asked = extremes(coloured.filter((each) => !each.shown), first);
        if (!asked) return [data.y.low, data.y.high];
        return [Math.min(data.y.low, asked[0]), Math.max(data.y.high, asked[1] * 1.03)];
      }
      // Without the first fifth, where errors are high; from 0 unless that wastes half.
      const [low, high] = extremes(lines, first) || [0, 0];
      const from = low < high / 2 ? 0 : low - 0.15 * (high - low || high || 1);
      return [from, high > from ? high + 0.06 * (high - from) : from + 0.05];
    }

    // The rows that are shown.
    function range() {
      if (zoom) return zoom;
      const low = data.x.low === undefined ? data.rows[0] : data.x.low;
      const high = data.x.high === undefined ? data.rows.at(-1) : data.x.high;
      return low < high ? [low, high] : [high - 1, high];
    }

    function zoomTo(next) {
      zoom = next;
      if (plot) { plot.setData(table()); list(); }
    }

    function zoomAll(next) {
      for (const each of all) if (each === chart || (data.link && each.link() === data.link)) each.zoomTo(next);
    }

    function draw() {
      const width = Math.floor(box.clientWidth);
      if (width < 40) return;
      look = { colour: colours(box), width };
      if (plot) plot.destroy();
      // Grey lines first, then those in colour, the thickest on top.
      drawn = data.series.filter(visible).sort((a, b) => chosen.has(a.name) - chosen.has(b.name) || a.width - b.width);
      const { colour } = look;
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = `600 12px ${FONT}`;
      const told = drawn.filter((each) => chosen.has(each.name) && !each.area);
      const right = data.small ? 16 : Math.max(12, ...told.map((each) => pen.measureText(cut(each.name) + " ↑").width + 16));
      const grid = { stroke: colour.grid, width: 1 };
      const small = data.small;
      const axis = { stroke: colour.muted, font: `${small ? 11 : 12}px ${FONT}`, ticks: { show: false }, gap: 6 };
      const lines = drawn.map((each) => {
        const on = chosen.has(each.name);
        const stroke = on ? colour[each.role] : colour.other;
        return {
          label: each.name, stroke, width: on ? Math.max(each.width, 1.8) : 1.2, spanGaps: !each.gaps,
          points: each.points && on ? { show: true, size: 7, fill: stroke } : { show: false },
          ...(each.area ? { scale: "area", fill: faint(stroke, 0.22), stroke: faint(stroke, 0), width: 0 } : {}),
        };
      });
      const bands = [];
      banded().forEach((each, i) => {
        const hidden = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: !each.gaps, label: "" };
        const at = 1 + drawn.length + 2 * i;
        bands.push({ series: [at, at + 1], fill: faint(colour[each.role], 0.14) });
        lines.push(hidden, { ...hidden });
      });
      const area = drawn.find((each) => each.area);
      plot = new uPlot({
        width, height: small ? 116 : width < 500 ? 230 : data.height || 300, padding: [8, right, 0, small ? 4 : 0],
        legend: { show: false },
        cursor: {
          drag: { x: !small, y: false, setScale: false }, y: false, points: { size: 7 },
          bind: { dblclick: () => () => zoomAll(null) },
          ...(data.link ? { sync: { key: data.link, scales: ["x", null], setSeries: false, filters: { pub: (kind) => kind === "mousemove" || kind === "mouseleave" } } } : {}),
        },
        scales: {
          x: { time: false, range }, y: { range: ends }, ...(area ? { area: { range: [0, area.area] } } : {}),
        },
        axes: [
          { ...axis, grid: { show: false }, size: small ? 20 : 28, values: (_, at) => at.map((v) => (nothing(v) ? null : data.x.share ? number(v, { y: {} }) : whole(v))), space: small ? 52 : 60 },
          { ...axis, grid, size: small ? 38 : 50, space: small ? 34 : 40, values: (_, at) => at.map((v) => (nothing(v) ? null : data.y.percent ? minus(+(100 * v).toFixed(2) + " %") : number(v, data))) },
        ],
        series: [{ label: "row" }, ...lines], bands,
        hooks: { draw: [marks, writeLabels], setCursor: [point], setSelect: [select] },
      }, table(), canvas);
      plot.over.append(tip);
      canvas.setAttribute("aria-label", data.title);
    }

    // A selected range of rows fills the chart, and all charts linked to it.
    function select(u) {
      const { left, width } = u.select;
      if (width < 4) return;
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      zoomAll([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
    }

    // The arrow keys move along the rows, + and − zoom, Escape shows all rows again.
    function press(event) {
      if (!plot || event.altKey || event.ctrlKey || event.metaKey) return;
      const [low, high] = range();
      const rows = data.rows;
      const first = rows.findIndex((row) => row >= low);
      const end = rows.findLastIndex((row) => row <= high);
      const step = Math.max(1, Math.round((end - first) / 100));
      const at = nothing(plot.cursor.idx) || plot.cursor.left < 0 ? end + 1 : plot.cursor.idx;
      const to = {
        ArrowLeft: at - step, ArrowRight: at + step, PageUp: at - 10 * step, PageDown: at + 10 * step, Home: first, End: end,
      }[event.key];
      if (to !== undefined) {
        const k = Math.min(Math.max(to, first), end);
        plot.setCursor({ left: plot.valToPos(rows[k], "x"), top: 10 });
        told.textContent = `${heading(k)}: ${spoken(k)}`;
      } else if (event.key === "+" || event.key === "-") {
        const k = Math.min(at, end);
        const span = (high - low) * (event.key === "+" ? 0.5 : 2);
        const from = Math.min(Math.max(rows[k] - span / 2, rows[0]), rows.at(-1) - span);
        zoomAll(span >= rows.at(-1) - rows[0] ? null : [from, from + span]);
        plot.setCursor({ left: plot.valToPos(rows[k], "x"), top: 10 });
      } else if (event.key === "Escape") {
        zoomAll(null);
        plot.setCursor({ left: -10, top: -10 });
      } else return;
      event.preventDefault();
    }

    const heading = (k) => `${data.x.head || "row"} ${data.x.share ? number(data.rows[k], { y: {} }) : whole(data.rows[k])}`;
    const spoken = (k) => drawn.filter((each) => chosen.has(each.name))
      .map((each) => `${each.name} ${withBand(each, k, near(each.values, k))}`).join(", ");

    if (!data.small) {
      canvas.tabIndex = 0;
      canvas.addEventListener("keydown", press);
    }

    // The values of all series, as a table.
    function csv() {
      const cell = (v) => (nothing(v) ? "" : /[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
      const parts = data.series.flatMap((each) => [
        [each.name, ...each.values],
        ...(each.spread || each.low ? [0, 1].map((side) => [`${each.name}, ${side ? "high" : "low"}`, ...each.values.map((_, i) => band(each, i)[side])]) : []),
      ]);
      const columns = [[data.x.label, ...data.rows], ...parts];
      return columns[0].map((_, i) => columns.map((each) => cell(each[i])).join(",")).join("\n") + "\n";
    }

    // The chart as it is seen, as a picture of vectors.
    function svg() {
      const { width, height, bbox } = plot;
      const dpr = devicePixelRatio;
      const [left, top, wide, high] = [bbox.left, bbox.top, bbox.width, bbox.height].map((v) => v / dpr);
      const { colour } = look;
      const at = (v, scale) => +(plot.valToPos(v, scale) + (scale === "x" ? left : top)).toFixed(1);
      const line = (x1, y1, x2, y2, stroke, more = "") => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${stroke}"${more}/>`;
      const text = (x, y, words, fill, more) => `<text x="${x}" y="${y}" fill="${fill}" ${more}>${escaped(words)}</text>`;
      const path = ({ values, gaps }) => {
        let d = "";
        let pen = "M";
        values.forEach((v, i) => {
          if (nothing(v)) { if (gaps) pen = "M"; return; }
          d += `${pen}${at(data.rows[i], "x")} ${at(v, "y")}`;
          pen = "L";
        });
        return d;
      };
      const [across, up] = plot.axes;
      const parts = [`<rect width="${width}" height="${height + 22}" fill="${colour.ground}"/>`];
      parts.push(text(left, 14, data.y.label, colour.muted, ""));
      parts.push('<g transform="translate(0 22)">');
      up._splits.forEach((v, i) => {
        if (nothing(up._values[i])) return;
        parts.push(line(left, at(v, "y"), left + wide, at(v, "y"), colour.grid));
        parts.push(text(left - 6, at(v, "y") + 4, String(up._values[i]), colour.muted, 'text-anchor="end"'));
      });
      across._splits.forEach((v, i) => {
        if (!nothing(across._values[i])) parts.push(text(at(v, "x"), top + high + 16, String(across._values[i]), colour.muted, 'text-anchor="middle"'));
      });
      parts.push(`<clipPath id="plot"><rect x="${left}" y="${top}" width="${wide}" height="${high}"/></clipPath><g clip-path="url(#plot)" fill="none" stroke-linejoin="round">`);
      for (const each of banded()) {
        const runs = [[]]; // where there are values; one run without gaps
        each.values.forEach((_, i) => {
          if (!nothing(band(each, i)[0])) runs.at(-1).push(i);
          else if (each.gaps) runs.push([]);
        });
        for (const run of runs.filter((one) => one.length > 1)) {
          const side = (k) => run.map((i) => `${at(data.rows[i], "x")},${at(band(each, i)[k], "y")}`);
          parts.push(`<polygon points="${[...side(1), ...side(0).reverse()].join(" ")}" fill="${colour[each.role]}" fill-opacity="0.14"/>`);
        }
      }
      for (const each of drawn) {
        const on = chosen.has(each.name);
        const stroke = on ? colour[each.role] : colour.other;
        parts.push(`<path d="${path(each)}" stroke="${stroke}" stroke-width="${on ? Math.max(each.width, 1.8) : 1.2}"/>`);
        if (each.points && on) each.values.forEach((v, i) => { if (!nothing(v)) parts.push(`<circle cx="${at(data.rows[i], "x")}" cy="${at(v, "y")}" r="3.5" fill="${stroke}"/>`); });
      }
      for (const each of sortedMarks()) {
        const x = at(each.row, "x");
        if (data.marks.length <= MANY) parts.push(line(x, top, x, top + high, markColour(each), ' stroke-dasharray="2 3"'));
        parts.push(`<path d="M${x} ${top + high - 9}l4.5 9h-9z" fill="${markColour(each)}"/>`);
      }
      parts.push("</g>");
      for (const each of labels(plot)) {
        parts.push(line(left + wide + 2, each.from, left + wide + 9, each.to, each.colour));
        parts.push(text(left + wide + 12, each.to + 4, each.text, each.colour, 'font-weight="600"'));
      }
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 22}" viewBox="0 0 ${width} ${height + 22}" font-family="${escaped(FONT)}" font-size="12"><title>${escaped(data.title)}</title>${parts.join("")}</g></svg>`;
    }

    function save(kind) {
      const name = `${document.title} ${data.y.label}`.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
      if (kind === "csv") download(`${name}.csv`, "text/csv", csv());
      else download(`${name}.svg`, "image/svg+xml", svg());
    }

    // One button for each series, in its colour or grey, and those of the chart itself.
    function list() {
      if (data.small) return;
      const before = document.activeElement && names.contains(document.activeElement) ? document.activeElement.dataset.name : null;
      const button = (name, cls, text, title, act) => {
        const made = element("button", cls, text);
        made.type = "button";
        made.dataset.name = name;
        if (title) made.title = title;
        made.onclick = act;
        return made;
      };
      const buttons = data.plain ? [] : data.series.map((each) => {
        const on = chosen.has(each.name);
        const made = button(each.name, "", undefined, "", () => {
          if (on) chosen.delete(each.name); else chosen.add(each.name);
          refresh();
        });
        made.setAttribute("aria-pressed", String(on));
        const swatch = element("i");
        swatch.style.background = on ? look.colour[each.role] : look.colour.other;
        figures[each.name] = element("em", "", number(last(each), data));
        made.append(swatch, element("span", "", each.name), figures[each.name]);
        return made;
      });
      if (!data.plain && data.series.some((each) => !chosen.has(each.name))) {
        buttons.push(button(" rest", "rest", others ? "hide grey lines" : "show grey lines", "", () => { others = !others; refresh(); }));
      }
      if (zoom) buttons.push(button(" zoom", "rest", "show all rows", "or press Escape, or click twice", () => zoomAll(null)));
      const tools = element("span", "tools");
      tools.append(
        button(" csv", "rest", "CSV", `Save the values: ${data.y.label}`, () => save("csv")),
        button(" svg", "rest", "SVG", `Save the picture: ${data.y.label}`, () => save("svg")),
      );
      unit.textContent = data.y.label;
      names.replaceChildren(unit, ...buttons, tools);
      if (before !== null) for (const each of names.querySelectorAll("button")) if (each.dataset.name === before) each.focus();
    }

    function refresh() { draw(); if (look) list(); }

    const chart = {
      refresh, zoomTo,
      link: () => data.link,
      update(next) {
        const same = JSON.stringify(next.series.map((each) => each.name)) === JSON.stringify(data.series.map((each) => each.name));
        data = next;
        if (!same) {
          chosen.clear();
          for (const each of data.series) if (each.shown) chosen.add(each.name);
        }
        if (!plot || !same) { refresh(); return; }
        drawn = drawn.map((old) => data.series.find((each) => each.name === old.name));
        canvas.setAttribute("aria-label", data.title);
        plot.setData(table());
        list();
      },
      destroy() { all.delete(chart); watch.disconnect(); if (plot) plot.destroy(); box.remove(); },
    };
    let width = Math.floor(box.clientWidth);
    const watch = new ResizeObserver(() => {
      if (Math.floor(box.clientWidth) !== width) { width = Math.floor(box.clientWidth); refresh(); }
    });
    watch.observe(box);
    all.add(chart);
    refresh();
    return chart;
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all.forEach((each) => each.refresh()));
  return { make };
})();
