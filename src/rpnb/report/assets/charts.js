"use strict";
// Charts of reports and of the service's page, drawn by uPlot. No framework, no build
// step, nothing from other hosts. `rpnbCharts.make(place, data)` draws `data`:
//   title   for screen readers
//   x, y    {label, low, high, percent}: the axes; y fits the data if it has no high
//   rows    ascending numbers, shared by all series
//   series  [{name, role, shown, width, values, spread, area, points}]: `shown` is drawn in
//           the colour of its role, all others grey until asked for; `spread` is a band
//           to both sides; `area` fills below the line, on a scale of its own up to it
//   marks   [{row, name, role}]: vertical lines
//   small   a panel without names, whose pointer all small panels share
//   plain   a chart without buttons for its series
// It returns {update, destroy}: `update(data)` shows other numbers of the same series.

const rpnbCharts = (() => {
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
  const ROLES = ["ground", "ink", "muted", "grid", "other", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
  const all = new Set();
  const nothing = (v) => v === null || v === undefined;
  const whole = (v) => Math.round(v).toLocaleString("en").replaceAll(",", "\u202f");

  function number(v, data) {
    if (nothing(v)) return "–";
    if (data.y.percent) return (100 * v).toFixed(2) + " %";
    return Math.abs(v) >= 100 ? whole(v) : String(+v.toPrecision(3));
  }

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

  // Places moved apart to `gap`, kept between two edges: names never overlap.
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
    tip.hidden = true;
    box.append(canvas, ...(data.small || data.plain ? [] : [names]));
    place.append(box);
    const chosen = new Set(data.series.filter((each) => each.shown).map((each) => each.name));
    let others = true;
    let plot = null;
    let look = "";
    let drawn = [];
    const unit = element("span", "muted");
    const figures = {};
    const last = (each) => each.values.findLast((v) => !nothing(v));

    const visible = (each) => chosen.has(each.name) || others;

    function labels(u) {
      if (data.small || u.data[0].length === 0) return;
      const { ctx, bbox } = u;
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
      ctx.save();
      ctx.font = `600 ${12 * dpr}px ${FONT}`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      const x = bbox.left + bbox.width;
      told.forEach((one, i) => {
        ctx.strokeStyle = ctx.fillStyle = look.colour[one.each.role];
        ctx.lineWidth = dpr;
        ctx.beginPath();
        ctx.moveTo(x + 2 * dpr, ends[i]);
        ctx.lineTo(x + 9 * dpr, places[i]);
        ctx.stroke();
        const beyond = one.y < bbox.top - 1 ? " ↑" : "";
        ctx.fillText(cut(one.each.name) + beyond, x + 12 * dpr, places[i]);
      });
      ctx.restore();
    }

    const cut = (name) => (name.length > 16 ? name.slice(0, 15) + "…" : name);

    function marks(u) {
      const { ctx, bbox } = u;
      const dpr = devicePixelRatio;
      const quiet = data.marks.length > 24;
      ctx.save();
      for (const each of data.marks) {
        const x = Math.round(u.valToPos(each.row, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        const bottom = bbox.top + bbox.height;
        ctx.strokeStyle = ctx.fillStyle = chosen.has(each.name) ? look.colour[each.role] : look.colour.other;
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

    // What the pointer is on: all values of a row, the highest first as in the chart.
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
        line.append(swatch, element("span", "", each.name), element("em", "", number(v, data)));
        return line;
      }));
      for (const each of data.marks) {
        if (Math.abs(u.valToPos(each.row, "x") - u.cursor.left) < 5) tip.append(element("span", "alarm", `${each.name}: drift alarm at row ${whole(each.row)}`));
      }
      const left = u.cursor.left;
      const wide = u.over.clientWidth;
      const own = tip.offsetWidth;
      const at = left > wide / 2 ? left - own - 14 : left + 14;
      tip.style.left = `${Math.max(Math.min(at, wide - own), 0)}px`;
    }

    // The value at a row, or the last one before it where series have rows of their own.
    function near(values, k) {
      let j = k;
      while (j > 0 && nothing(values[j])) j -= 1;
      return values[j];
    }

    const banded = () => drawn.filter((each) => each.spread && chosen.has(each.name));

    // Rows, a line for each series, and for each band its two edges.
    function table() {
      const edge = (each, sign) => each.values.map((v, i) => (nothing(v) ? null : v + sign * each.spread[i]));
      return [data.rows, ...drawn.map((each) => each.values), ...banded().flatMap((each) => [edge(each, 1), edge(each, -1)])];
    }

    function draw() {
      const width = Math.floor(box.clientWidth);
      if (width < 40) return;
      look = { colour: colours(box), width };
      if (plot) plot.destroy();
      // Grey ones first, then those in colour, the thickest on top of all.
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
        const hidden = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true, label: "" };
        const at = 1 + drawn.length + 2 * i;
        bands.push({ series: [at, at + 1], fill: faint(colour[each.role], 0.14) });
        lines.push(hidden, { ...hidden });
      });
      const ends = () => {
        if (data.y.high !== undefined) return [data.y.low, data.y.high];
        // The beginning, where all is unsettled, is cut off; half of the height is used.
        const first = data.rows.length >= 20 ? Math.floor(data.rows.length / 5) : 0;
        const values = drawn.flatMap((each) => each.values.slice(first)).filter((v) => !nothing(v));
        const [low, high] = [Math.min(...values), Math.max(...values)];
        const from = low < high / 2 ? 0 : low - 0.15 * (high - low || high || 1);
        return [from, high > from ? high + 0.06 * (high - from) : from + 0.05];
      };
      const area = drawn.find((each) => each.area);
      plot = new uPlot({
        width, height: small ? 116 : data.height || (width < 500 ? 250 : 300), padding: [8, right, 0, small ? 4 : 0],
        legend: { show: false },
        cursor: {
          drag: { x: !small, y: false }, y: false, points: { size: 7 },
          ...(small ? { sync: { key: "small", setSeries: false } } : {}),
        },
        scales: {
          x: { time: false, range: (u, low, high) => [low <= data.rows[0] && data.x.low !== undefined ? data.x.low : low, data.x.high !== undefined && high >= data.rows.at(-1) ? data.x.high : high] },
          y: { range: ends }, ...(area ? { area: { range: [0, area.area] } } : {}),
        },
        axes: [
          { ...axis, grid: { show: false }, size: small ? 20 : 28, values: (_, at) => at.map((v) => (nothing(v) ? null : data.x.share ? number(v, { y: {} }) : whole(v))), space: small ? 70 : 60 },
          { ...axis, grid, size: small ? 38 : 50, space: small ? 34 : 40, values: (_, at) => at.map((v) => (nothing(v) ? null : data.y.percent ? +(100 * v).toFixed(2) + " %" : number(v, data))) },
        ],
        series: [{ label: "row" }, ...lines], bands,
        hooks: { draw: [marks, labels], setCursor: [point] },
      }, table(), canvas);
      plot.over.append(tip);
      canvas.setAttribute("aria-label", data.title);
    }

    // One button for each series: in its colour, or grey.
    function list() {
      if (data.small || data.plain) return;
      const before = document.activeElement && names.contains(document.activeElement) ? document.activeElement.dataset.name : null;
      const buttons = data.series.map((each) => {
        const on = chosen.has(each.name);
        const button = element("button");
        button.type = "button";
        button.dataset.name = each.name;
        button.setAttribute("aria-pressed", String(on));
        const swatch = element("i");
        swatch.style.background = on ? look.colour[each.role] : look.colour.other;
        figures[each.name] = element("em", "", number(last(each), data));
        button.append(swatch, element("span", "", each.name), figures[each.name]);
        button.onclick = () => {
          if (on) chosen.delete(each.name); else chosen.add(each.name);
          refresh();
        };
        return button;
      });
      if (data.series.some((each) => !chosen.has(each.name))) {
        const button = element("button", "rest", others ? "hide grey lines" : "show grey lines");
        button.type = "button";
        button.dataset.name = "";
        button.onclick = () => { others = !others; refresh(); };
        buttons.push(button);
      }
      unit.textContent = data.y.label;
      names.replaceChildren(unit, ...buttons);
      if (before !== null) for (const each of buttons) if (each.dataset.name === before) each.focus();
    }

    function refresh() { draw(); if (look) list(); }

    const chart = {
      refresh,
      update(next) {
        data = next;
        if (!plot) { refresh(); return; }
        drawn = drawn.map((old) => data.series.find((each) => each.name === old.name));
        canvas.setAttribute("aria-label", data.title);
        plot.setData(table());
        list();
      },
      destroy() { all.delete(chart); watch.disconnect(); if (plot) plot.destroy(); box.remove(); },
    };
    let width = 0;
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
