// What the drawings of rings and of key spaces share.

import { axis, boundLine, boundMark, Chart, tip } from '../../chart.js'
import { amount, exactly, percent } from '../../format.js'
import { html } from '../../html.js'
import { dataOf } from '../../parts.js'

/** @typedef {{ at: number, words: string }} Line a line across a chart */

/** @typedef {{ size: number, owner: number | null }} Stretch */

/**
 * The loads of a member; bound is null where the member goes.
 *
 * @typedef {{ id: number, before: number, after: number, bound: number | null }} LoadRow
 */

/**
 * Makes stretches that are thinner than least part of one with those that follow, so
 * that any number of them stays drawable. What is merged has the owner of its greatest
 * part, and count says of how many stretches it is.
 *
 * @template {Stretch} S
 * @param {S[]} stretches
 * @param {number} least
 * @returns {(Stretch & Partial<S> & { count: number })[]}
 */
export function merged(stretches, least) {
  /** @type {(Stretch & Partial<S> & { count: number })[]} */
  const out = []
  /** @type {{ size: number, count: number, parts: Map<number | null, number> } | null} */
  let open = null
  for (const s of stretches) {
    if (open === null && s.size >= least) {
      out.push({ ...s, count: 1 })
      continue
    }
    open ??= { size: 0, count: 0, parts: new Map() }
    open.size += s.size
    open.count++
    open.parts.set(s.owner, (open.parts.get(s.owner) ?? 0) + s.size)
    if (open.size >= least) {
      out.push(/** @type {Stretch & Partial<S> & { count: number }} */ (closed(open)))
      open = null
    }
  }
  if (open !== null && open.size > 0) out.push(/** @type {Stretch & Partial<S> & { count: number }} */ (closed(open)))
  return out
}

/** @param {{ size: number, count: number, parts: Map<number | null, number> }} open */
function closed({ size, count, parts }) {
  const [[owner]] = [...parts].sort((a, b) => b[1] - a[1])
  return { size, count, owner }
}

/**
 * Colours by place in a list of ids: those of neighbours differ.
 *
 * @param {Palette} p
 * @param {number[]} ids
 * @returns {(id: number | null) => string}
 */
export function colours(p, ids) {
  const at = new Map(ids.map((id, i) => [id, i]))
  return (id) => (id === null ? p.line : p.series[(at.get(id) ?? 0) % p.series.length])
}

/**
 * Percent that keep their digits however small they are.
 *
 * @param {number | null | undefined} x
 */
export const fine = (x) =>
  x === null || x === undefined ? '–' : x !== 0 && Math.abs(x) < 1e-4 ? `${(100 * x).toExponential(1)} %` : percent(x)

/**
 * Bars of named values, one below the other, the best ones in the colour of what is new. unit is what is counted, full
 * the format of the table; a line goes across all bars.
 *
 * @param {{ name: string, value: number, best?: boolean }[]} rows
 * @param {string} member what the names are of
 * @param {string} words
 * @param {(x: number) => string} format
 * @param {{ unit?: string, full?: (x: number) => string, line?: Line }} [more]
 */
export function namedBars(rows, member, words, format, { unit = '', full = format, line } = {}) {
  const names = rows.map((r) => r.name)
  const told = rows.slice(0, 9).map((r) => `${r.name} ${format(r.value)}`)
  return html`<${Chart}
    height=${Math.min(900, 60 + 26 * rows.length)}
    label="${words}: ${told.join('; ')}.${line ? ` ${line.words} is ${format(line.at)}.` : ''}"
    depends=${[JSON.stringify(rows)]}
    data=${dataOf(rows, [
      [member, (r) => r.name],
      [unit || words, (r) => full(r.value), 'number'],
    ])}
    option=${(/** @type {Palette} */ p, /** @type {number} */ width) => {
      const room = Math.min(0.42 * width, 16 + 6.8 * Math.max(...names.map((n) => n.length)))
      return {
        grid: { left: room, right: 60, top: line ? 20 : 4, bottom: 24 },
        tooltip: tip((i) => `${names[i]}: ${full(rows[i].value)} ${unit}`),
        xAxis: axis(p, {
          type: 'value',
          min: 0,
          max: (/** @type {{ max: number }} */ v) => Math.max(v.max, line?.at ?? 0) || 1,
          axisLabel: { formatter: format, showMaxLabel: false },
        }),
        yAxis: axis(p, {
          type: 'category',
          inverse: true,
          data: names,
          axisLabel: { color: p.text, width: room - 12, overflow: 'truncate' },
        }),
        series: [
          {
            type: 'bar',
            barMaxWidth: 16,
            data: rows.map(({ value, best = true }) => ({ value, itemStyle: { color: best ? p.after : p.before } })),
            label: {
              show: rows.length <= 40,
              position: 'right',
              color: p.text,
              formatter: (/** @type {{ value: number }} */ { value }) => format(value),
            },
            markLine: line && boundMark(p, [{ xAxis: line.at, name: line.words }], 'start'),
          },
        ],
      }
    }}
  />`
}

/**
 * Loads of all members before and after; lines go over the whole width.
 *
 * @param {object} props
 * @param {LoadRow[]} props.rows
 * @param {string} props.member
 * @param {string} [props.unit]
 * @param {(x: number | null) => string} [props.format]
 * @param {(x: number | null) => string} [props.full]
 * @param {string} props.bound
 * @param {Line[]} [props.lines]
 * @param {string} props.what whose loads these are
 * @param {API['Theta']} props.theta
 */
export function loadsChart({
  rows,
  member,
  unit = 'load',
  format = amount,
  full = exactly,
  bound,
  lines = [],
  what,
  theta,
}) {
  const equal = new Set(rows.map((r) => r.bound).filter((b) => b !== null && b !== undefined)).size <= 1
  const of = rows.find((r) => r.bound !== null && r.bound !== undefined)?.bound
  const marks = [...lines, ...(equal && typeof of === 'number' ? [{ at: of, words: bound }] : [])]
  const names = rows.map((r) => String(r.id))
  const said = (/** @type {LoadRow} */ r) =>
    [
      `${member} ${r.id}`,
      `before ${format(r.before)}`,
      `after ${format(r.after)}`,
      ...(r.bound === null ? [] : [`${bound} ${format(r.bound)}`]),
    ].join('\n')
  const goes = `the greatest overload goes from ${percent(theta.before)} to ${percent(theta.after)}.`
  return html`<${Chart}
    height=${260}
    label="${what} before and after: ${goes}"
    depends=${[rows, lines]}
    data=${dataOf(rows, [
      [member, (r) => r.id, 'number'],
      [`${unit} before`, (r) => full(r.before), 'number'],
      [`${unit} after`, (r) => full(r.after), 'number'],
      [bound, (r) => full(r.bound ?? null), 'number'],
    ])}
    option=${(p) => ({
      grid: { left: 8, right: 12, top: 36, bottom: 8, containLabel: true },
      legend: { top: 0, left: 0, data: ['before', 'after', ...(equal ? [] : [bound])] },
      tooltip: tip((i) => said(rows[i])),
      xAxis: axis(p, { type: 'category', data: names }),
      yAxis: axis(p, {
        type: 'value',
        min: 0,
        max: (/** @type {{ max: number }} */ v) => Math.max(v.max, ...marks.map((m) => m.at)) * 1.08 || 1,
        axisLabel: { formatter: format, showMaxLabel: false },
      }),
      series: [
        {
          name: 'before',
          type: 'bar',
          data: rows.map((r) => r.before),
          color: p.before,
          barGap: '10%',
          large: rows.length > 400,
        },
        {
          name: 'after',
          type: 'bar',
          data: rows.map((r) => r.after),
          color: p.after,
          large: rows.length > 400,
          markLine:
            marks.length === 0
              ? undefined
              : boundMark(
                  p,
                  marks.map(({ at, words }, i) => ({
                    yAxis: at,
                    name: words,
                    ...(i % 2 && {
                      label: { position: 'insideStartTop' },
                      lineStyle: { ...boundLine, type: 'dotted' },
                    }),
                  })),
                ),
        },
        ...(equal
          ? []
          : [
              {
                name: bound,
                type: 'scatter',
                data: rows.map((r) => r.bound ?? null),
                symbol: 'rect',
                symbolSize: [18, 2],
                color: p.bound,
              },
            ]),
      ],
    })}
  />`
}
