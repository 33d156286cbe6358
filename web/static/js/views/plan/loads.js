// What each instance carries before and after a plan, against what it may carry.

import { axis, boundLine, Chart, slider, tip } from '../../chart.js'
import { amount, count, counted, exactly, percent, some, state, stateOnly } from '../../format.js'
import { html, useMemo } from '../../html.js'
import { drawn, Instance, named } from '../../instances.js'
import { Card, dataOf } from '../../parts.js'
import { setQuery } from '../../route.js'
import { capital } from '../../words.js'
import { choice } from './choice.js'

/**
 * An instance with its fair load, its bound, its loads over its fair load, and what is
 * to be said of it; of are the instances that have it, for its name.
 *
 * @typedef {API['Load'] & { of: AnyPlan, fair: number, bound: number, before: number, after: number, marks: string[],
 *   above: boolean }} Row
 */

/** @typedef {'before' | 'after'} When */

/**
 * What ECharts gives to what draws items by itself.
 *
 * @typedef {object} Drawn
 * @property {(dimension: number) => number} value
 * @property {(at: number[]) => number[]} coord
 * @property {(of: number[]) => number[]} size
 */

const labelled = 16 // instances whose bars carry figures
const lineHeight = 17 // pixels of a line below the axis
const barWidth = 15 // pixels that the bars of an instance need
const mostRows = 1_000 // of the table beside the chart

/**
 * The load that a capacity of 1 would carry were all live instances equally loaded.
 *
 * @param {API['Load'][]} instances
 */
function fairPerCapacity(instances) {
  // A first division of ranges places what nobody carried before.
  const total = instances.reduce((sum, i) => sum + i.load_after, 0)
  const capacity = instances.reduce((sum, i) => sum + (i.drained ? 0 : i.capacity), 0)
  return capacity > 0 ? total / capacity : 0
}

/**
 * Each instance with its fair load, its bound and its loads over its fair load. A
 * removed one is compared with what a live one of its capacity would carry, and may
 * carry nothing.
 *
 * @param {AnyPlan} plan
 * @returns {Row[]}
 */
function loadsOf(plan) {
  const unit = fairPerCapacity(plan.instances)
  const { received, carried = [], frozen = [] } = plan.reports ?? {}
  /** @param {API['Load']} i */
  const marks = (i) =>
    [
      i.drained && 'removed',
      i.cordoned && 'takes nothing new',
      frozen.includes(i.id) && 'frozen',
      carried.some((c) => c.instance === i.id) && 'earlier report',
      received &&
        !i.drained &&
        !received.includes(i.id) &&
        !frozen.includes(i.id) &&
        !carried.some((c) => c.instance === i.id) &&
        'not reported',
    ].filter(Boolean)
  return plan.instances.map((i) => {
    const fair = i.fair_load ?? i.capacity * unit
    const over = (/** @type {number} */ load) => (fair > 0 ? load / fair : 0)
    const bound = i.drained ? 0 : fair * (1 + plan.parameters.theta_max)
    return {
      ...i,
      of: plan,
      fair,
      bound,
      before: over(i.load_before),
      after: over(i.load_after),
      marks: marks(i),
      above: i.load_after > bound * (1 + 1e-12),
    }
  })
}

/** @type {Record<string, (a: Row, b: Row) => number>} */
const orders = {
  id: (a, b) => a.id - b.id,
  load: (a, b) => b.before - a.before || a.id - b.id,
}

/**
 * The loads of a plan; query says how: loads=absolute, by=load.
 *
 * @param {{ plan: AnyPlan, query: Query }} props
 */
export function Loads({ plan, query }) {
  // The loads of a plan never change, though all else of it may.
  const known = useMemo(() => JSON.stringify([plan.instances, plan.reports, plan.parameters.theta_max]), [plan])
  const relative = query.loads !== 'absolute'
  const usual = plan.instances.length > 60 ? 'load' : 'id'
  const by = query.by !== undefined && Object.hasOwn(orders, query.by) ? query.by : usual
  const rows = useMemo(() => loadsOf(plan).sort(orders[by]), [known, by])
  return html`<${Card}
    class="plan-loads"
    title="Load of each instance"
    aside=${html`
      ${choice('Loads', relative ? 'relative' : 'absolute', { relative: 'Over fair load', absolute: 'Absolute' }, (v) =>
        setQuery({ loads: v === 'relative' ? null : v }),
      )}
      ${choice('Order of the instances', by, { id: 'By id', load: 'By load before' }, (v) => setQuery({ by: v }))}
    `}
  >
    <${Chart}
      height=${rows.length > labelled ? 290 : 250}
      label=${summary(plan, rows)}
      depends=${[rows, relative]}
      option=${(p, width) => chart(p, width, rows, relative, plan.parameters.theta_max)}
      data=${table(rows)}
    />
    <p class="plan-said">${verdict(rows)}</p>
    ${
      rows.length > mostRows &&
      html`<p class="hint">The table has the first ${count(mostRows)} instances; the API has all of them.</p>`
    }
  <//>`
}

/**
 * @param {AnyPlan} plan
 * @param {Row[]} rows
 */
function summary(plan, rows) {
  return (
    `Load of ${counted(rows.length, 'instance')} before and after the plan.` +
    ` The most loaded one is ${percent(plan.theta.before)} above its fair load before` +
    ` and ${percent(plan.theta.after)} after; θ_max is ${percent(plan.parameters.theta_max)}.`
  )
}

/** @param {Row} r */
const nameOf = (r) => named(r.of, r.id)

/** @param {Row[]} rows */
function verdict(rows) {
  const above = rows.filter((r) => r.above && !r.drained)
  const left = rows.filter((r) => r.drained && r.load_after > 0)
  const out = [
    above.length === 0
      ? 'After the plan no instance exceeds its bound.'
      : `Above ${above.length === 1 ? 'its bound' : 'their bounds'} after the plan:` +
        ` ${above.length === 1 ? 'instance' : 'instances'} ${some(above.map(nameOf))}.`,
  ]
  if (left.length > 0) out.push(`Removed, but not empty: ${some(left.map(nameOf))}.`)
  for (const mark of ['removed', 'frozen', 'earlier report', 'not reported']) {
    const marked = rows.filter((r) => r.marks.includes(mark))
    if (marked.length > 0) out.push(`${capital(mark)}: ${some(marked.map(nameOf))}.`)
  }
  return out.join(' ')
}

/**
 * @param {Palette} p
 * @param {number} width
 * @param {Row[]} rows
 * @param {boolean} relative
 * @param {number} thetaMax
 */
function chart(p, width, rows, relative, thetaMax) {
  /**
   * @param {Row} row
   * @param {When} when
   */
  const at = (row, when) => (relative ? row[when] : when === 'before' ? row.load_before : row.load_after)
  /** @param {Row} row */
  const bound = (row) => (relative ? (row.drained ? 0 : 1 + thetaMax) : row.bound)
  const greatest = rows.reduce((most, r) => Math.max(most, at(r, 'before'), at(r, 'after')), 0)
  const bounds = rows.reduce((most, r) => Math.max(most, bound(r)), 0)
  // A bound far above all loads would flatten them.
  const top = (bounds <= 3 * greatest ? Math.max(greatest, bounds) : greatest) * 1.06 || 1
  const fit = Math.max(8, Math.floor((width - 70) / barWidth))
  const zoomed = rows.length > fit
  const figures = rows.length <= labelled && width / rows.length > 50
  const room = figures ? Math.min(20, Math.max(5, Math.floor(width / rows.length / 8))) : 12 // characters of a name
  /** @param {Row} r */
  const below = (r) =>
    [
      `{id|${drawn(r.of, r.id, room)}}`,
      figures && !r.drained && (relative ? overFair(r, 'after', tenths) : amount(r.load_after)),
      ...r.marks.map((m) => (figures ? `{mark|${m}}` : '{mark|●}')),
    ].filter(Boolean)
  const lines = rows.reduce((most, r) => Math.max(most, below(r).length), 1)
  /**
   * @param {string} name
   * @param {When} when
   * @param {string} color
   */
  const bar = (name, when, color) => ({
    name,
    type: 'bar',
    color,
    barGap: '8%',
    barCategoryGap: '28%',
    barMaxWidth: 34,
    data: rows.map((r) => ({
      value: at(r, when),
      itemStyle: when === 'after' && r.above ? { color: p.bad } : undefined,
    })),
  })
  return {
    grid: { left: 54, right: 10, top: 34, bottom: lineHeight * lines + (zoomed ? 40 : 8) },
    legend: { top: 0, left: 0, data: ['Before', 'After', { name: 'Fair load up to bound', icon: 'rect' }] },
    tooltip: tip((i) => words(rows[i])),
    xAxis: axis(p, {
      type: 'category',
      data: rows.map((r) => r.id),
      axisLabel: {
        interval: figures ? 0 : 'auto',
        formatter: (/** @type {string} */ _, /** @type {number} */ i) => below(rows[i]).join('\n'),
        lineHeight,
        rich: { id: { color: p.text, fontWeight: 600, lineHeight }, mark: { color: p.warn, fontSize: 11, lineHeight } },
      },
    }),
    yAxis: axis(p, {
      type: 'value',
      min: 0,
      max: top,
      axisLabel: { showMaxLabel: false, formatter: relative ? times : amount },
    }),
    dataZoom: zoomed ? [slider(p, { height: 18, bottom: 8, startValue: 0, endValue: fit - 1 })] : undefined,
    series: [
      bar('Before', 'before', p.before),
      bar('After', 'after', p.after),
      tolerance(
        p,
        rows.map((r) => (relative ? 1 : r.fair)),
        rows.map(bound),
        rows,
        top,
      ),
    ],
  }
}

/**
 * A load over the fair one as what it is above or below: 1.076 is "+7.6 %".
 *
 * @param {number} x
 * @param {(x: number) => string} [format]
 */
const signed = (x, format = percent) => {
  const size = format(Math.abs(x - 1))
  return Math.abs(x - 1) < 5e-5 || Number.parseFloat(size) === 0 ? '±0 %' : `${x > 1 ? '+' : '−'}${size}`
}

/**
 * What a row is above or below its fair load; without any load nobody is.
 *
 * @param {Row} r
 * @param {When} when
 * @param {(x: number) => string} [format]
 */
const overFair = (r, when, format) => (r.fair > 0 ? signed(r[when], format) : '–')

/** @param {number} v */
const times = (v) => `${Number(v.toPrecision(3))} ×`

/** @param {number} x */
const tenths = (x) => (x < 1 ? `${(100 * x).toFixed(1)} %` : percent(x))

/**
 * The band from the fair load to the bound of each instance, which ends in a line: capacities differ, and so do
 * they.
 *
 * @param {Palette} p
 * @param {number[]} fair
 * @param {number[]} bounds
 * @param {Row[]} rows
 * @param {number} top
 */
function tolerance(p, fair, bounds, rows, top) {
  return {
    name: 'Fair load up to bound',
    type: 'custom',
    silent: true,
    z: 3,
    clip: true,
    color: p.bound,
    encode: { x: 0, y: [1, 2] },
    data: rows.map((_, i) => [i, fair[i], Math.min(bounds[i], 2 * top)]),
    renderItem: (/** @type {unknown} */ _, /** @type {Drawn} */ api) => {
      if (rows[api.value(0)].drained) return undefined
      const [x, low] = api.coord([api.value(0), api.value(1)])
      const [, high] = api.coord([api.value(0), api.value(2)])
      const [size] = api.size([1, 0])
      /**
       * @param {number} y
       * @param {ChartOption} style
       */
      const line = (y, style) => ({ type: 'line', shape: { x1: x - size / 2, x2: x + size / 2, y1: y, y2: y }, style })
      return {
        type: 'group',
        children: [
          {
            type: 'rect',
            shape: { x: x - size / 2, y: high, width: size, height: Math.max(0, low - high) },
            style: { fill: p.bound, opacity: 0.12 },
          },
          line(low, { stroke: p.muted, lineWidth: 1 }),
          line(high, { stroke: p.bound, lineWidth: boundLine.width, lineDash: boundLine.type }),
        ],
      }
    },
  }
}

/** @param {Row} r */
function words(r) {
  const marks = r.marks.length > 0 ? ` (${r.marks.join(', ')})` : ''
  return [
    `Instance ${drawn(r.of, r.id)}${marks}, capacity ${exactly(r.capacity)}`,
    `Before: ${amount(r.load_before)}, ${overFair(r, 'before')} of fair, ${counted(r.keys_before, 'key')}`,
    `After: ${amount(r.load_after)}, ${overFair(r, 'after')} of fair, ${counted(r.keys_after, 'key')}`,
    r.drained ? 'It is to be emptied' : `Fair: ${amount(r.fair)}, at most ${amount(r.bound)}`,
    `In: ${state(r.state_in)}, out: ${state(r.state_out)}`,
  ].join('\n')
}

/** @param {Row[]} rows */
function table(rows) {
  return dataOf(rows.slice(0, mostRows), [
    ['Instance', (r) => html`<${Instance} id=${r.id} />`],
    ['Capacity', (r) => exactly(r.capacity), 'number'],
    ['Load before', (r) => exactly(r.load_before), 'number'],
    ['Load after', (r) => exactly(r.load_after), 'number'],
    ['Over fair before', (r) => overFair(r, 'before'), 'number'],
    ['Over fair after', (r) => overFair(r, 'after'), 'number'],
    ['Fair load', (r) => amount(r.drained ? 0 : r.fair), 'number'],
    ['Bound', (r) => amount(r.bound), 'number'],
    ['Keys before', (r) => count(r.keys_before), 'number'],
    ['Keys after', (r) => count(r.keys_after), 'number'],
    ['State in', (r) => stateOnly(r.state_in), 'number'],
    ['State out', (r) => stateOnly(r.state_out), 'number'],
    rows.some((r) => r.load_error) && [
      'Load error before, after',
      (r) => (r.load_error ? `${percent(r.load_error.before)}, ${percent(r.load_error.after)}` : '–'),
      'number',
    ],
    rows.some((r) => r.marks.length > 0) && ['Notes', (r) => r.marks.join(', ')],
  ])
}
