// Who sends how much to whom.

import { address } from '../../api.js'
import { axis, Chart, slider } from '../../chart.js'
import { amount, count, counted, state, stateOnly } from '../../format.js'
import { html, useMemo } from '../../html.js'
import { drawn, idOf, Instance, named, namesOf } from '../../instances.js'
import { Card, dataOf, Empty, Loading, Trouble } from '../../parts.js'
import { setQuery } from '../../route.js'
import { colour } from '../../theme.js'
import { choice } from './choice.js'

/** @typedef {API['Flow']} Flow */

/**
 * Flows as they come: a resource, or those of a result of a what-if.
 *
 * @typedef {object} FlowsKnown
 * @property {{ items: Flow[], more: boolean } | null} data
 * @property {Problem | null} problem
 * @property {() => void} [reload]
 */

/** @typedef {{ from: number[], to: number[], all: Set<number> }} Ends */

/**
 * What is drawn: size is the width or the colour of a flow, said its words.
 *
 * @typedef {object} Drawing
 * @property {Flow[]} items
 * @property {Ends} ends
 * @property {(f: Flow) => number} size
 * @property {(f: Pick<Flow, 'state' | 'keys'>) => string} said
 * @property {(x: number) => string} short
 * @property {Query} query
 * @property {AnyPlan} plan
 */

/**
 * What an event or a tooltip is about: a flow, or an instance at one side.
 *
 * @typedef {{ dataType: string, data: { flow: Flow, side: string, instance: number, said: string } }} Hit
 */

/**
 * A way to draw flows.
 *
 * @typedef {object} Kind
 * @property {(ends: Ends) => number} height
 * @property {(p: Palette, drawing: Drawing, width: number) => ChartOption} option
 * @property {(event: Hit) => void} picked
 */

const sankeyUpTo = 12 // instances; above that a matrix is easier to read
const steep = 1_000 // from this ratio of amounts on colours are by their logarithm
const mostRows = 1_000 // of the table beside the chart

/**
 * Sums migrations by who sends and who receives, the most state first.
 *
 * @param {{ compaction: API['Compaction'], plan?: { migrations: API['Migrations'] } }} result
 */
export function flowsOf({ compaction, plan }) {
  /** @type {Map<string, Flow>} */
  const sums = new Map()
  for (const m of plan?.migrations ?? []) {
    const one = Array.isArray(m) ? classOf(m, compaction) : { keys: 1, ...m }
    const { from, to, keys, cost, state: size } = one
    const pair = `${from} ${to}`
    const sum = sums.get(pair) ?? { from, to, keys: 0, cost: 0, state: 0 }
    sums.set(pair, { from, to, keys: sum.keys + keys, cost: sum.cost + cost, state: sum.state + size })
  }
  return [...sums.values()].sort((a, b) => b.state - a.state || b.keys - a.keys || a.from - b.from || a.to - b.to)
}

/**
 * A class moves as many keys as it counts, each of its discretised cost and state.
 *
 * @param {API['ClassMove']} move
 * @param {API['Compaction']} scales
 */
const classOf = ([to, from, , cost, size, keys], scales) => ({
  from,
  to,
  keys,
  cost: cost * keys * (scales?.cost_scale ?? 1),
  state: size * keys * (scales?.state_scale ?? 1),
})

/**
 * The flows of a plan: flows is a resource of {items, more}. query says how they are
 * drawn (flow=matrix) and which one the list of migrations is filtered by (from, to).
 *
 * @param {{ plan: AnyPlan, flows: FlowsKnown, query: Query }} props
 */
export function Flows({ plan, flows, query }) {
  if (flows.data === null)
    return html`<${Card} title="Who sends to whom">
      ${
        flows.problem
          ? html`<${Trouble} problem=${flows.problem} retry=${flows.reload} />`
          : html`<${Loading} rows=${5} />`
      }
    <//>`
  if (flows.data.items.length === 0)
    return html`<${Card} title="Who sends to whom"><${Empty} title="Nothing moves" /><//>`
  return html`<${Drawn} ...${flows.data} plan=${plan} query=${query} />`
}

/** @param {{ plan: AnyPlan, items: Flow[], more: boolean, query: Query }} props */
function Drawn({ plan, items, more, query }) {
  const ends = useMemo(() => endsOf(items), [items])
  const byState = items.some((f) => f.state > 0)
  /** @type {Drawing['size']} */
  const size = byState ? (f) => f.state : (f) => f.keys
  /** @type {Drawing['said']} */
  const said = byState ? (f) => `${state(f.state)}, ${counted(f.keys, 'key')}` : (f) => counted(f.keys, 'key')
  const short = byState ? stateOnly : amount
  const usual = ends.all.size <= sankeyUpTo ? 'sankey' : 'matrix'
  const kind = query.flow === 'sankey' || query.flow === 'matrix' ? query.flow : usual
  const draw = kind === 'sankey' ? sankey : matrix
  const label =
    `${counted(items.length, 'flow')} from ${counted(ends.from.length, 'instance')}` +
    ` to ${counted(ends.to.length, 'instance')}.` +
    ` The greatest goes from ${named(plan, items[0].from)} to ${named(plan, items[0].to)}: ${said(items[0])}.`
  return html`<${Card}
    title="Who sends to whom"
    aside=${choice('Drawing', kind, { sankey: 'Sankey', matrix: 'Matrix' }, (v) => setQuery({ flow: v }))}
  >
    ${more && html`<p class="stale">Only the ${count(items.length)} greatest flows are shown.</p>`}
    <${Chart}
      key=${kind}
      height=${draw.height(ends)}
      label=${label}
      depends=${[items, byState, query.from, query.to, stateOnly(1)]}
      option=${(p, width) => draw.option(p, { plan, items, ends, size, said, short, query }, width)}
      on=${{ click: (/** @type {Hit} */ event) => draw.picked(event) }}
      data=${table(items, query)}
    />
    <${Picked} plan=${plan} query=${query} kind=${kind} />
  <//>`
}

/**
 * @param {Flow[]} items
 * @returns {Ends}
 */
function endsOf(items) {
  /** @param {(flow: Flow) => number} end */
  const sorted = (end) => [...new Set(items.map(end))].sort((a, b) => a - b)
  const from = sorted((f) => f.from)
  const to = sorted((f) => f.to)
  return { from, to, all: new Set([...from, ...to]) }
}

/**
 * What the query says of a flow whose migrations are shown; of their lists it is that of the migrations.
 *
 * @param {number | null} from
 * @param {number | null} to
 */
const ofFlow = (from, to) => ({ from, to, list: null })

/**
 * Shows the migrations of one flow, or all from or to an instance.
 *
 * @param {number | null} from
 * @param {number | null} to
 */
function pick(from, to) {
  setQuery(ofFlow(from, to))
  const list = document.getElementById('plan-migrations')
  list?.scrollIntoView({ block: 'start' })
  list?.focus({ preventScroll: true })
}

/**
 * @param {Query} query
 * @param {number | null} from
 * @param {number | null} to
 */
const flowHref = (query, from, to) => address(location.hash.split('?')[0], { ...query, ...ofFlow(from, to) })

/**
 * @param {AnyPlan} plan
 * @param {string} text
 */
const nameOf = (plan, text) => {
  const id = idOf(plan, text)
  return id === undefined ? text : named(plan, id)
}

/**
 * @param {AnyPlan} plan
 * @param {Flow} f
 */
const pairOf = (plan, f) => `${drawn(plan, f.from)} → ${drawn(plan, f.to)}`

/** @param {{ plan: AnyPlan, query: Query, kind: string }} props */
function Picked({ plan, query, kind }) {
  const some = query.from !== undefined || query.to !== undefined
  if (!some)
    return html`<p class="plan-said muted">
      ${kind === 'matrix' && 'Rows send, columns receive. '}Choose a flow to see its migrations.
    </p>`
  return html`<p class="plan-said">
    The migrations below are
    those ${query.from !== undefined && `from instance ${nameOf(plan, query.from)}`} ${
      query.to !== undefined && `to instance ${nameOf(plan, query.to)}`
    }
    . <a href=${flowHref(query, null, null)}>Show all</a>
  </p>`
}

/**
 * @param {Drawing} drawing
 * @param {Flow} f
 */
const chosen = ({ plan, query }, f) =>
  (query.from === undefined || idOf(plan, query.from) === f.from) &&
  (query.to === undefined || idOf(plan, query.to) === f.to)

/** @type {Kind} */
const sankey = {
  height: ({ from, to }) => Math.min(520, Math.max(200, 34 * Math.max(from.length, to.length))),
  // An instance may send and receive: it stands on both sides, or there would be cycles.
  option: (p, drawing, width) => {
    const side = namesOf(drawing.plan).size > 0 ? Math.min(160, width / 4) : 74 // pixels for the labels
    const { items, ends, size, said, plan } = drawing
    return {
      tooltip: {
        trigger: 'item',
        formatter: (/** @type {Hit} */ { dataType, data }) =>
          dataType === 'edge' ? `${pairOf(plan, data.flow)}\n${said(data.flow)}` : data.said,
      },
      series: [
        {
          type: 'sankey',
          left: side,
          right: side,
          top: 12,
          bottom: 12,
          nodeWidth: 12,
          nodeGap: 14,
          draggable: false,
          layoutIterations: 16,
          emphasis: { focus: 'adjacency' },
          label: { color: p.text, fontSize: 12, width: side - 6, overflow: 'truncate' },
          lineStyle: { color: 'source', opacity: 0.35, curveness: 0.5 },
          data: [
            ...ends.from.map((id, i) => node('from', id, p.series[i % p.series.length], drawing)),
            ...ends.to.map((id) => node('to', id, p.muted, drawing)),
          ],
          links: items.map((f) => ({
            source: `from ${f.from}`,
            target: `to ${f.to}`,
            value: size(f),
            flow: f,
            lineStyle: { opacity: chosen(drawing, f) ? 0.4 : 0.1 },
          })),
        },
      ],
    }
  },
  picked: ({ dataType, data }) =>
    dataType === 'edge'
      ? pick(data.flow.from, data.flow.to)
      : data.side === 'from'
        ? pick(data.instance, null)
        : pick(null, data.instance),
}

/**
 * @param {'from' | 'to'} side
 * @param {number} id
 * @param {string} color
 * @param {Drawing} drawing
 */
function node(side, id, color, { plan, items, said }) {
  const own = items.filter((f) => f[side] === id)
  const sum = { state: own.reduce((s, f) => s + f.state, 0), keys: own.reduce((s, f) => s + f.keys, 0) }
  return {
    name: `${side} ${id}`,
    instance: id,
    side,
    depth: side === 'from' ? 0 : 1,
    itemStyle: { color, borderWidth: 0 },
    label: { position: side === 'from' ? 'left' : 'right', formatter: () => `${side} ${drawn(plan, id, 16)}` },
    said: `Instance ${drawn(plan, id)} ${side === 'from' ? 'sends' : 'receives'}\n${said(sum)}`,
  }
}

/** @type {Kind} */
const matrix = {
  height: ({ from }) => Math.min(620, Math.max(260, 24 * from.length + 110)),
  option: (p, drawing, width) => {
    const { items, ends, size, said, short, plan } = drawing
    const name = (/** @type {number} */ id) => drawn(plan, id, 12)
    const sizes = items.map(size).filter((v) => v > 0)
    const [least, greatest] = [Math.min(...sizes, Infinity), Math.max(...sizes, 1)]
    const steeply = greatest / least > steep
    const scaled = (/** @type {number} */ v) => (steeply ? Math.log10(Math.max(v, least)) : v)
    const place = { from: new Map(ends.from.map((id, i) => [id, i])), to: new Map(ends.to.map((id, i) => [id, i])) }
    const zoom = (/** @type {string} */ axisIndex, /** @type {number} */ n, /** @type {ChartOption} */ more) =>
      n > 60 ? [slider(p, { [axisIndex]: 0, startValue: 0, endValue: 59, ...more })] : []
    return {
      grid: {
        left: 22,
        right: ends.from.length > 60 ? 40 : 12,
        top: 30,
        bottom: (greatest > least ? 48 : 4) + (ends.to.length > 60 ? 28 : 0),
        containLabel: true,
      },
      tooltip: {
        trigger: 'item',
        formatter: (/** @type {Hit} */ { data }) => `${pairOf(plan, data.flow)}\n${said(data.flow)}`,
      },
      xAxis: axis(p, { type: 'category', position: 'top', data: ends.to.map(name), splitArea: { show: false } }),
      yAxis: axis(p, { type: 'category', inverse: true, data: ends.from.map(name) }),
      dataZoom: [
        ...zoom('xAxisIndex', ends.to.length, { height: 16, bottom: 44 }),
        ...zoom('yAxisIndex', ends.from.length, { width: 16, right: 4 }),
      ],
      visualMap: {
        show: greatest > least,
        min: greatest > least ? scaled(least) : 0,
        max: scaled(greatest),
        orient: 'horizontal',
        left: 'center',
        bottom: 0,
        itemHeight: Math.min(160, width / 3),
        itemWidth: 12,
        text: [short(greatest), short(least)],
        textStyle: { color: p.muted },
        inRange: { color: [colour('accent-soft'), p.after] },
        hoverLink: false,
      },
      series: [
        {
          type: 'heatmap',
          itemStyle: { borderColor: p.surface, borderWidth: ends.all.size > 60 ? 0 : 1 },
          emphasis: { itemStyle: { borderColor: p.text, borderWidth: 1 } },
          data: items.map((f) => ({
            value: [place.to.get(f.to), place.from.get(f.from), scaled(size(f))],
            flow: f,
            itemStyle: { opacity: chosen(drawing, f) ? 1 : 0.25 },
          })),
        },
      ],
    }
  },
  picked: ({ data }) => pick(data.flow.from, data.flow.to),
}

/**
 * @param {Flow[]} items
 * @param {Query} query
 */
function table(items, query) {
  /** @type {(f: Flow) => (event: Event) => void} */
  const show = (f) => (event) => {
    event.preventDefault()
    pick(f.from, f.to)
  }
  return dataOf(items.slice(0, mostRows), [
    [
      'Flow',
      (f) =>
        html`<a href=${flowHref(query, f.from, f.to)} onClick=${show(f)}>
          <${Instance} id=${f.from} /> → <${Instance} id=${f.to} />
        </a>`,
    ],
    ['Keys', (f) => count(f.keys), 'number'],
    ['Cost', (f) => amount(f.cost), 'number'],
    ['State', (f) => stateOnly(f.state), 'number'],
  ])
}
