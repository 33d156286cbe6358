// What the drawings of the analyses share.

import { axis, boundMark, Chart, tip } from '../../chart.js'
import { percent } from '../../format.js'
import { html } from '../../html.js'
import { dataOf } from '../../parts.js'

/** @typedef {{ at: number, words: string }} Line a line across a chart */

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
