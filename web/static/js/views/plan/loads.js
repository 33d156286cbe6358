// What each instance carries before and after a plan of each resource, against what it may carry.

import { axis, boundLine, Chart, slider, tip } from '../../chart.js'
import { count, counted, exactly, levelText, percent, some, state, stateOnly, useStateUnit } from '../../format.js'
import { html, useMemo } from '../../html.js'
import { drawn, Instance, named } from '../../instances.js'
import { Card, dataOf } from '../../parts.js'
import { amountIn, worstFirst } from '../../resources.js'
import { setQuery } from '../../route.js'
import { capital } from '../../words.js'
import { choice } from './choice.js'

/**
 * A resource beside cost; null is cost.
 *
 * @typedef {API['PlanResource'] | null} Resource
 */

/**
 * An instance with what it carries of a resource, its fair load, its bound, its loads over its fair load, and what is
 * to be said of it; of are the instances that have it, for its name. Where there is a limit, the capacity is in place
 * of a fair load.
 *
 * @typedef {API['Load'] & { of: AnyPlan, fair: number, bound: number, before: number, after: number, marks: string[],
 *   above: boolean, resource: Resource }} Row
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
 * Each instance with its loads, its fair load and its bound. A removed one is compared with what a live one of its
 * capacity would carry, or where that is not known the mean of them, and may carry nothing.
 *
 * @param {AnyPlan} plan
 * @param {Resource} resource
 */
function boundsOf({ instances, parameters }, resource) {
  if (!resource) {
    const unit = fairPerCapacity(instances)
    return instances.map((i) => {
      const fair = i.fair_load ?? i.capacity * unit
      return { ...i, fair, bound: i.drained ? 0 : fair * (1 + parameters.theta_max) }
    })
  }
  const live = resource.instances.filter((_, at) => !instances[at].drained)
  const mean = live.reduce((sum, i) => sum + (i.fair_load ?? i.max_load), 0) / live.length
  return instances.map((i, at) => {
    const { fair_load: fair, max_load: bound, load } = resource.instances[at]
    const own = { fair: i.drained ? mean : (fair ?? bound), bound: i.drained ? 0 : bound }
    return { ...i, ...own, load_before: load.before, load_after: load.after }
  })
}

/**
 * Each instance with its loads over its fair load, and its marks.
 *
 * @param {AnyPlan} plan
 * @param {Resource} resource
 * @returns {Row[]}
 */
function loadsOf(plan, resource) {
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
  const rounding = resource ? 1e-9 : 1e-12 // parts of a bound
  return boundsOf(plan, resource).map((i) => {
    const over = (/** @type {number} */ load) => (i.fair > 0 ? load / i.fair : 0)
    return {
      ...i,
      of: plan,
      resource,
      before: over(i.load_before),
      after: over(i.load_after),
      marks: marks(i),
      above: i.load_after > i.bound * (1 + rounding),
    }
  })
}

/** @type {Record<string, (a: Row, b: Row) => number>} */
const orders = {
  id: (a, b) => a.id - b.id,
  load: (a, b) => b.before - a.before || a.id - b.id,
}

/**
 * The loads of a plan, a card for each resource, the worst first; query says how: loads=absolute, by=load.
 *
 * @param {{ plan: AnyPlan, query: Query }} props
 */
export function Loads({ plan, query }) {
  const cost = plan.resources?.[0]
  return html`${(cost ? worstFirst(plan) : [null]).map(
    (of, i) =>
      html`<${LoadsIn}
        key=${of?.name}
        plan=${plan}
        query=${query}
        resource=${of === cost ? null : of}
        title=${of ? `${of.name} on each instance` : 'Load of each instance'}
        first=${i === 0}
      />`,
  )}`
}

/**
 * The loads in a resource; the first ones have what says how all are shown.
 *
 * @param {{ plan: AnyPlan, query: Query, resource: Resource, title: string, first: boolean }} props
 */
function LoadsIn({ plan, query, resource, title, first }) {
  const unit = useStateUnit()
  const thetaMax = resource ? (resource.theta_max ?? 0) : plan.parameters.theta_max
  // The loads of a plan never change, though all else of it may.
  const known = useMemo(() => JSON.stringify([plan.instances, plan.reports, resource, thetaMax]), [plan, resource])
  const relative = query.loads !== 'absolute'
  const usual = plan.instances.length > 60 ? 'load' : 'id'
  const by = query.by !== undefined && Object.hasOwn(orders, query.by) ? query.by : usual
  const rows = useMemo(() => loadsOf(plan, resource).sort(orders[by]), [known, by])
  const ways = { relative: plan.resources ? 'Relative' : 'Over fair load', absolute: 'Absolute' }
  return html`<${Card}
    class="plan-loads"
    title=${title}
    aside=${
      first &&
      html`
      ${choice('Loads', relative ? 'relative' : 'absolute', ways, (v) =>
        setQuery({ loads: v === 'relative' ? null : v }),
      )}
      ${choice('Order of the instances', by, { id: 'By id', load: 'By load before' }, (v) => setQuery({ by: v }))}
    `
    }
  >
    <${Chart}
      height=${rows.length > labelled ? 290 : 250}
      label=${summary(plan, resource, thetaMax)}
      depends=${[rows, relative, resource?.from === 'state' && unit]}
      option=${(p, width) => chart(p, width, rows, relative, thetaMax)}
      data=${table(rows)}
    />
    <p class="plan-said">${verdict(rows, first)}</p>
    ${
      rows.length > mostRows &&
      html`<p class="hint">The table has the first ${count(mostRows)} instances; the API has all of them.</p>`
    }
  <//>`
}

/**
 * @param {AnyPlan} plan
 * @param {Resource} resource
 * @param {number} thetaMax
 */
function summary({ instances, theta }, resource, thetaMax) {
  const { before, after } = resource?.level ?? theta
  const what = resource
    ? `${resource.name} on ${counted(instances.length, 'instance')}`
    : `Load of ${counted(instances.length, 'instance')}`
  const course = resource?.limit
    ? `The fullest one holds ${levelText(before)} of what it has before and ${levelText(after)} after.`
    : `The most loaded one is ${percent(before)} above its fair load before` +
      ` and ${percent(after)} after; θ_max is ${percent(thetaMax)}.`
  return `${what} before and after the plan. ${course}`
}

/** @param {Row} r */
const nameOf = (r) => named(r.of, r.id)

/**
 * @param {Row[]} rows
 * @param {boolean} marked whether instances are named for their marks
 */
function verdict(rows, marked) {
  const above = rows.filter((r) => r.above && !r.drained)
  const left = rows.filter((r) => r.drained && r.load_after > 0)
  const out = [
    above.length === 0
      ? 'After the plan no instance exceeds its bound.'
      : `Above ${above.length === 1 ? 'its bound' : 'their bounds'} after the plan:` +
        ` ${above.length === 1 ? 'instance' : 'instances'} ${some(above.map(nameOf))}.`,
  ]
  if (left.length > 0) out.push(`Removed, but not empty: ${some(left.map(nameOf))}.`)
  for (const mark of marked ? ['removed', 'frozen', 'earlier report', 'not reported'] : []) {
    const of = rows.filter((r) => r.marks.includes(mark))
    if (of.length > 0) out.push(`${capital(mark)}: ${some(of.map(nameOf))}.`)
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
  const resource = rows[0]?.resource
  const text = amountIn(resource)
  const band = resource?.limit ? 'Capacity' : 'Fair load up to bound'
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
      figures && !r.drained && (relative ? overFair(r, 'after', tenths) : text(r.load_after)),
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
    legend: { top: 0, left: 0, data: ['Before', 'After', { name: band, icon: 'rect' }] },
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
      axisLabel: { showMaxLabel: false, formatter: relative ? (resource?.limit ? percent : times) : text },
    }),
    dataZoom: zoomed ? [slider(p, { height: 18, bottom: 8, startValue: 0, endValue: fit - 1 })] : undefined,
    series: [
      bar('Before', 'before', p.before),
      bar('After', 'after', p.after),
      tolerance(
        p,
        band,
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
 * What a row is above or below its fair load, or of a limit the part of its capacity; without any load nobody is.
 *
 * @param {Row} r
 * @param {When} when
 * @param {(x: number) => string} [format]
 */
const overFair = (r, when, format = percent) =>
  r.fair <= 0 ? '–' : r.resource?.limit ? format(r[when]) : signed(r[when], format)

/** @param {number} v */
const times = (v) => `${Number(v.toPrecision(3))} ×`

/** @param {number} x */
const tenths = (x) => (x < 1 ? `${(100 * x).toFixed(1)} %` : percent(x))

/**
 * The band from the fair load to the bound of each instance, which ends in a line: capacities differ, and so do
 * they.
 *
 * @param {Palette} p
 * @param {string} name
 * @param {number[]} fair
 * @param {number[]} bounds
 * @param {Row[]} rows
 * @param {number} top
 */
function tolerance(p, name, fair, bounds, rows, top) {
  return {
    name,
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
  const { resource } = r
  const text = amountIn(resource)
  const marks = r.marks.length > 0 ? ` (${r.marks.join(', ')})` : ''
  const of = resource?.limit ? 'what it has' : 'fair'
  return [
    `Instance ${drawn(r.of, r.id)}${marks}${resource ? '' : `, capacity ${exactly(r.capacity)}`}`,
    `Before: ${text(r.load_before)}, ${overFair(r, 'before')} of ${of}, ${counted(r.keys_before, 'key')}`,
    `After: ${text(r.load_after)}, ${overFair(r, 'after')} of ${of}, ${counted(r.keys_after, 'key')}`,
    r.drained
      ? 'It is to be emptied'
      : `${resource?.limit ? 'Capacity' : 'Fair'}: ${text(r.fair)}, at most ${text(r.bound)}`,
    `In: ${state(r.state_in)}, out: ${state(r.state_out)}`,
  ].join('\n')
}

/** @param {Row[]} rows */
function table(rows) {
  const resource = rows[0]?.resource
  const [text, over] = [amountIn(resource), resource?.limit ? 'Of its capacity' : 'Over fair']
  return dataOf(rows.slice(0, mostRows), [
    ['Instance', (r) => html`<${Instance} id=${r.id} />`],
    !resource && ['Capacity', (r) => exactly(r.capacity), 'number'],
    ['Load before', (r) => exactly(r.load_before), 'number'],
    ['Load after', (r) => exactly(r.load_after), 'number'],
    [`${over} before`, (r) => overFair(r, 'before'), 'number'],
    [`${over} after`, (r) => overFair(r, 'after'), 'number'],
    !resource?.limit && ['Fair load', (r) => text(r.drained ? 0 : r.fair), 'number'],
    ['Bound', (r) => text(r.bound), 'number'],
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
