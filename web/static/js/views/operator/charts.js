// How the intervals of an operator went: charts that share cursor and zoom.

import { axis, boundLine, boundMark, Chart, slider, tip } from '../../chart.js'
import {
  amount,
  count,
  counted,
  endless,
  levelText,
  percent,
  state,
  stateOnly,
  stateUnit,
  useStateUnit,
} from '../../format.js'
import { html, useMemo, useRef, useState } from '../../html.js'
import { fits, isWithin } from '../../judge.js'
import { Card, dataOf, Empty, Status } from '../../parts.js'
import { share } from '../../resources.js'
import { link } from '../../route.js'
import { certificate, statusWords, tableOf } from '../../words.js'
import { intervalWords } from './plans.js'

/** @import { Interval } from './plans.js' */

/** @typedef {{ start: number, end: number }} Zoom */

/** @typedef {{ intervals: Interval[], zoom: Zoom }} Shared */

/** @typedef {(number | null)[]} Values */

/**
 * A chart of intervals: what it is called, what it says, and its data as a table.
 *
 * @typedef {object} Drawn
 * @property {string} id
 * @property {string} title
 * @property {string | false | null} [note]
 * @property {boolean} [wide]
 * @property {string} [look] how wide it is; a third where nothing is said
 * @property {string | false} [empty] what stands in its place where it would show nothing
 * @property {string} label
 * @property {(Column<Interval> | false)[]} columns
 * @property {(p: Palette) => ChartOption} option
 */

/**
 * The charts of intervals, oldest first; chooser is the control that says how many.
 *
 * @param {{ operator: API['Operator'], intervals: Interval[], chooser: Children }} props
 */
export function Charts({ operator, intervals, chooser }) {
  const unit = useStateUnit()
  const zoom = useRef({ start: 0, end: 100 })
  const [sign] = useState(() => `operator-${Math.random()}`) // the charts that belong together
  // Renewed data that says the same must not draw anything anew.
  const now = JSON.stringify([
    operator.resources,
    ...intervals.map((of) => [of.any.id, of.any.status, of.ended.length]),
  ])
  const shared = useMemo(() => ({ intervals, zoom: zoom.current }), [now])
  const common = {
    group: sign,
    depends: [now, unit],
    onPick: (/** @type {number} */ index, /** @type {{ plan?: string }} */ item) =>
      open(item?.plan ?? shared.intervals[index]?.any.id),
    on: {
      datazoom: (/** @type {Partial<Zoom> & { batch?: Partial<Zoom>[] }} */ e) =>
        Object.assign(zoom.current, within(e.batch?.[0] ?? e)),
    },
  }
  const charts = [
    ...measuresOf(operator, shared.intervals).map((measure, i, all) => levels(shared, measure, i, all)),
    ...[migration, gap, table].map((make) => make(shared)),
  ]
  return html`<div class="grid operator-charts">
    ${charts.map(
      ({ id, title, note, wide, look = 'third', ...chart }) => html`
        <${Card} key=${id} title=${title} class=${look} aside=${wide && chooser}>
          ${
            chart.empty
              ? html`<${Empty} title=${chart.empty} />`
              : html`<${Chart}
                  ...${common}
                  ...${chart}
                  height=${wide ? 280 : 230}
                  data=${dataOf(shared.intervals.toReversed(), [...columns, ...chart.columns])}
                />`
          }
          ${note && html`<p class="muted operator-note">${note}</p>`}
        <//>
      `,
    )}
  </div>`
}

const few = 12 // intervals that nobody zooms into
const many = 60 // intervals whose points would hide each other

/** @param {{ start?: number, end?: number }} zoom */
const within = ({ start = 0, end = 100 }) => ({ start, end })

/** @param {string | undefined} id */
const open = (id) => {
  if (id) location.hash = link(['plans', id])
}

/**
 * The plan of the newest interval; there is one at least.
 *
 * @param {Interval[]} intervals
 */
const newestOf = (intervals) => intervals[intervals.length - 1].any

/** What the tables of all charts begin with. */
/** @type {Column<Interval>[]} */
const columns = [
  ['Interval', ({ any }) => html`<a href=${link(['plans', any.id])}>${intervalWords(any)}</a>`],
  ['Plan', ({ any }) => html`<${Status} status=${any.status} />`],
]

/** @param {PlanSummary} plan */
const sizeOf = (plan) => tableOf(plan).size_after

/**
 * What all four have in common: the intervals as x axis, where epochs begin, the cursor and the zoom.
 *
 * @param {Palette} p
 * @param {Shared} shared
 * @param {ChartOption | ChartOption[]} y
 * @param {(ChartOption | false)[]} series
 * @param {(of: Interval) => string[]} tooltip
 * @param {boolean} [zoomable]
 */
function frame(p, { intervals, zoom }, y, series, tooltip, zoomable = false) {
  const epochs = intervals.flatMap((of, i) =>
    i > 0 && of.epoch !== intervals[i - 1].epoch ? [{ xAxis: i, label: { formatter: `epoch ${of.epoch}` } }] : [],
  )
  const marks = {
    silent: true,
    symbol: 'none',
    animation: false,
    lineStyle: { color: p.muted, type: 'dotted', width: 1 },
    label: { color: p.muted, fontSize: 11 },
    data: epochs,
  }
  const drawn = series.filter(Boolean)
  const named = drawn.filter((s) => !s.unnamed).map((s) => ({ name: s.name, ...(s.icon && { icon: s.icon }) }))
  // A series that says nothing and has a point in every interval: the cursor that charts share looks for one.
  const bearer = {
    type: 'line',
    data: intervals.map(() => 0),
    symbol: 'none',
    lineStyle: { opacity: 0 },
    silent: true,
    ...(epochs.length > 0 && { markLine: marks }),
  }
  return {
    grid: {
      left: 4,
      right: 8,
      top: named.length > 3 && matchMedia('(max-width: 639px)').matches ? 58 : 40, // a long legend takes two lines
      bottom: zoomable && intervals.length > few ? 42 : 6,
      outerBoundsMode: 'same',
      outerBoundsContain: 'axisLabel',
    },
    legend: {
      top: 0,
      left: 0,
      itemGap: 14,
      data: named,
    },
    xAxis: axis(p, {
      type: 'category',
      data: intervals.map((of) => count(of.interval)),
      boundaryGap: true,
      splitLine: { show: false },
      axisLabel: { alignMinLabel: 'left', alignMaxLabel: 'right' },
    }),
    yAxis: y,
    dataZoom: zooms(p, zoom, zoomable && intervals.length > few),
    tooltip: tip((i) => [heading(intervals[i]), ...tooltip(intervals[i])].join('\n'), {
      type: 'line',
      lineStyle: { color: p.muted, type: 'solid', width: 1 },
    }),
    series: [bearer, ...drawn.map((s) => ({ ...s, unnamed: undefined, icon: undefined }))],
  }
}

/** @param {Interval} of */
const heading = ({ epoch, interval, any }) =>
  `Interval ${count(interval)}${epoch > 0 ? ` of epoch ${epoch}` : ''}: ${statusWords[any.status] ?? any.status}`

/**
 * All have both, so that what one says about them holds for the others; the slider is seen once. Scrolling the page
 * must not zoom.
 *
 * @param {Palette} p
 * @param {Zoom} zoom
 * @param {boolean} show
 */
const zooms = (p, zoom, show) => [
  {
    type: 'inside',
    ...zoom,
    zoomOnMouseWheel: 'ctrl',
    moveOnMouseWheel: false,
    moveOnMouseMove: false,
    preventDefaultMouseMove: false,
  },
  slider(p, {
    ...zoom,
    show,
    height: 22,
    bottom: 4,
    left: 12,
    right: 12,
    showDataShadow: false,
    fillerColor: p.line,
    backgroundColor: 'transparent',
    handleStyle: { color: p.surface, borderColor: p.muted },
    moveHandleSize: 0,
  }),
]

/**
 * @param {string} name
 * @param {string} color
 * @param {Values} data
 * @param {ChartOption} [more]
 */
const line = (name, color, data, more = {}) => ({
  name,
  type: 'line',
  color,
  data,
  symbol: 'circle',
  showSymbol: true,
  showAllSymbol: true,
  symbolSize: alone(data),
  lineStyle: { width: 2 },
  emphasis: { disabled: true },
  ...more,
})

/**
 * A point between gaps has no line to be seen by; where there are few points all are shown.
 *
 * @param {Values} data
 * @returns {(value: unknown, point: { dataIndex: number }) => number}
 */
const alone =
  (data) =>
  (_, { dataIndex: i }) =>
    data.length <= many || (at(data[i - 1]) === null && at(data[i + 1]) === null) ? 5 : 0
/** @param {number | null | undefined} x */
const at = (x) => x ?? null

/**
 * @param {string} name
 * @param {Palette} p
 * @param {Values} data
 */
const bound = (name, p, data) => ({
  name,
  type: 'line',
  color: p.bound,
  data,
  step: 'middle',
  silent: true,
  z: 1,
  symbol: 'none',
  lineStyle: boundLine,
  // A single point makes no line.
  ...(data.length === 1 && data[0] !== null && { markLine: boundMark(p, [{ yAxis: data[0] }]) }),
  emphasis: { disabled: true },
})

/**
 * Plans that came to nothing, where they would have led. The legend of the first chart tells of them for all.
 *
 * @param {Palette} p
 * @param {Interval[]} intervals
 * @param {(plan: PlanSummary) => number | null} of
 * @param {boolean} [unnamed]
 */
function nothing(p, intervals, of, unnamed = true) {
  const data = intervals.flatMap((i, index) =>
    i.ended.filter((plan) => of(plan) !== null).map((plan) => ({ value: [index, of(plan)], plan: plan.id })),
  )
  return (
    data.length > 0 && {
      name: 'Not carried out',
      type: 'scatter',
      symbol: 'diamond',
      icon: 'diamond',
      symbolSize: intervals.length > many ? 7 : 10,
      itemStyle: { color: p.surface, borderColor: p.bad, borderWidth: 1.5 },
      data,
      z: 5,
      unnamed,
    }
  )
}

/**
 * @param {Interval} of
 * @param {(plan: PlanSummary) => string} words
 */
const cameToNothing = ({ ended: plans }, words) => plans.map((plan) => `${statusWords[plan.status]}: ${words(plan)}`)

/**
 * What was planned, as points beside the line of what came true: filled if it was carried
 * out, hollow as long as it was not.
 *
 * @param {Palette} p
 * @param {Interval[]} intervals
 * @param {(plan: PlanSummary) => number | null} of
 */
function planned(p, intervals, of) {
  /** @param {boolean} committed */
  const points = (committed) =>
    intervals.flatMap(({ plan }, i) =>
      plan !== null && plan.status !== 'no_action' && (plan.status === 'committed') === committed
        ? [{ value: [i, of(plan)], plan: plan.id }]
        : [],
    )
  const common = {
    type: 'scatter',
    symbol: 'circle',
    icon: 'circle',
    symbolSize: intervals.length > many ? 5 : 8,
    z: 4,
  }
  const [done, waiting] = [points(true), points(false)]
  return [
    done.length > 0 && { ...common, name: 'Planned and committed', color: p.after, data: done },
    waiting.length > 0 && {
      ...common,
      name: 'Planned, not committed yet',
      color: p.after,
      itemStyle: { color: p.surface, borderColor: p.after, borderWidth: 2 },
      data: waiting,
    },
  ]
}

/** @param {Interval} of */
const isDone = ({ plan }) => plan?.status === 'committed'

/** @param {Interval} of */
const isPlanned = ({ plan }) => plan !== null && plan.status !== 'no_action'

/**
 * A bound far above everything else would press it flat: it is told instead.
 *
 * @param {Values} bounds
 * @param {Values} values
 */
const far = (bounds, values) => {
  const most = Math.max(0, ...values.filter((x) => x !== null))
  const least = Math.min(Infinity, ...bounds.filter((x) => x !== null))
  return least > 4 * most && most > 0
}

/**
 * What the plan of the interval before made of each interval; null where none took effect.
 *
 * @param {Interval[]} intervals
 * @param {Measure['leaves']} leaves
 * @returns {Values}
 */
const plannedBefore = (intervals, leaves) =>
  intervals.map((_, i) => {
    const plan = intervals[i - 1]?.plan
    return plan && ['committed', 'no_action'].includes(plan.status) ? leaves(plan) : null
  })

/**
 * How far apart both are, in a sentence.
 *
 * @param {string} name
 * @param {Interval[]} intervals
 * @param {Measure['came']} level
 * @param {Values} expected
 */
function realised(name, intervals, level, expected) {
  const both = intervals.flatMap(({ any }, i) => {
    const pair = [level(any), at(expected[i])]
    return pair.includes(null) ? [] : [/** @type {number[]} */ (pair)]
  })
  if (both.length === 0) return null
  const [came, before] = [0, 1].map((i) => levelText(median(both.map((pair) => pair[i]))))
  return (
    `Over ${counted(both.length, 'interval')} the median of ${name} realised was ${came},` +
    ` of ${name} planned for them ${before}.`
  )
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const n = sorted.length
  return (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2
}

/**
 * What a chart of levels shows: what came of a plan's interval, what the plan leaves, and what is allowed.
 *
 * @typedef {{ id: string, title: string, name: string, most: string, came: (plan: PlanSummary) => number | null,
 *   leaves: (plan: PlanSummary) => number | null, bound: (plan: PlanSummary) => number }} Measure
 */

/** @type {Measure} */
const ofCost = {
  id: 'theta',
  title: 'Imbalance θ',
  name: 'θ',
  most: 'θ_max',
  came: (plan) => plan.forecast?.realised_theta ?? plan.theta.before,
  leaves: (plan) => plan.theta.after,
  bound: (plan) => plan.parameters.theta_max,
}

/**
 * The charts of levels of an operator: of cost, and of its other resources, those first that take the most of their
 * bound in the newest interval.
 *
 * @param {API['Operator']} operator
 * @param {Interval[]} intervals
 */
function measuresOf({ resources = [] }, intervals) {
  const newest = newestOf(intervals)
  /**
   * @param {string} name
   * @param {API['ResourceLevel'][] | undefined} among
   */
  const levelOf = (name, among) => among?.find((of) => of.name === name)?.level ?? null
  const all = resources.map((of, i) => {
    const { name, limit = false, theta_max: tolerance = 0 } = of
    if (i === 0) return { ...ofCost, title: `${name}: imbalance θ` }
    return {
      id: name,
      title: limit ? `${name}: fullest instance` : `${name}: imbalance θ`,
      name: limit ? 'Filling' : 'θ',
      most: limit ? 'Capacity' : 'θ_max',
      came: (/** @type {PlanSummary} */ plan) => levelOf(name, plan.forecast?.realised),
      leaves: (/** @type {PlanSummary} */ plan) => levelOf(name, plan.forecast?.planned),
      bound: () => (limit ? 1 : tolerance),
    }
  })
  const taken = (/** @type {Measure} */ m) =>
    share({ limit: m.most === 'Capacity', theta_max: m.bound(newest) }, m.came(newest) ?? 0)
  return all.length === 0 ? [ofCost] : all.toSorted((a, b) => taken(b) - taken(a))
}

/**
 * @param {Shared} shared
 * @param {Measure} measure
 * @param {number} i
 * @param {Measure[]} all
 * @returns {Drawn}
 */
function levels(shared, { id, title, name, most, came, leaves, bound: boundOf }, i, all) {
  const { intervals } = shared
  /** What has no room at all is endlessly full, and no line reaches it. */
  const drawn = (/** @type {number | null} */ x) => (x === null || x >= endless ? null : x)
  const bounds = intervals.map((of) => boundOf(of.any))
  const broken = intervals.filter(({ any }) => !isWithin(came(any) ?? 0, boundOf(any))).length
  const newest = newestOf(intervals)
  const expected = plannedBefore(intervals, leaves)
  const before = (/** @type {Interval} */ of) => levelText(expected[intervals.indexOf(of)])
  const values = intervals.map(({ any }) => drawn(came(any)))
  const away = most === 'Capacity' && far(bounds, values)
  return {
    id,
    title,
    wide: i === 0,
    look: i === 0 || (i === all.length - 1 && i % 2 === 1) ? '' : 'half',
    empty: values.every((x) => x === null) && 'Nothing is known of it yet',
    note: [realised(name, intervals, came, expected), away && 'Its capacity is far above.'].filter(Boolean).join(' '),
    label:
      `${title}, as it was realised over ${counted(intervals.length, 'interval')}, beside what was planned, against` +
      ` ${most}. In the newest ${levelText(came(newest))}, ${most} is ${levelText(boundOf(newest))};` +
      ` it was above ${most} in ${counted(broken, 'interval')}.`,
    columns: [
      [`${name} realised`, ({ any }) => levelText(came(any)), 'number'],
      [`${name} planned`, (of) => (isPlanned(of) ? levelText(leaves(of.any)) : '–'), 'number'],
      ['Carried out', (of) => (isDone(of) ? 'yes' : 'no')],
      [most, ({ any }) => levelText(boundOf(any)), 'number'],
      ['Planned the interval before', before, 'number'],
    ],
    option: (p) =>
      frame(
        p,
        shared,
        axis(p, { type: 'value', min: 0, axisLabel: { formatter: percent } }),
        [
          line(`${name} realised`, p.realised, values, { connectNulls: false }),
          expected.some((x) => x !== null) &&
            line('Planned the interval before', p.after, expected.map(drawn), {
              lineStyle: { width: 1.5, type: 'dashed' },
              connectNulls: false,
              z: 1,
            }),
          !away && bound(most, p, bounds),
          ...planned(p, intervals, (plan) => drawn(leaves(plan))),
          nothing(p, intervals, (plan) => drawn(leaves(plan)), false),
        ],
        (of) => [
          `${name} realised: ${levelText(came(of.any))}`,
          `planned for it the interval before: ${before(of)}`,
          ...(isPlanned(of) ? [`planned: ${levelText(leaves(of.any))}${isDone(of) ? '' : ', not committed yet'}`] : []),
          `${most}: ${levelText(boundOf(of.any))}`,
          ...cameToNothing(of, (plan) => `${name} ${levelText(leaves(plan))}`),
        ],
        i === 0,
      ),
  }
}

/** @type {(shared: Shared) => Drawn} */
function migration(shared) {
  const { intervals } = shared
  /** @param {boolean} carried */
  const moved = (carried) =>
    intervals.map(({ plan }) =>
      plan !== null && plan.migration.keys > 0 && (plan.status === 'committed') === carried
        ? plan.migration.state
        : null,
    )
  const idle = intervals.flatMap(({ plan }, i) => (plan !== null && plan.migration.keys === 0 ? [[i, 0]] : []))
  const committed = intervals.filter(({ plan }) => plan?.status === 'committed')
  const total = committed.reduce((sum, { plan }) => sum + (plan?.migration.state ?? 0), 0)
  /**
   * @param {string} name
   * @param {string} color
   * @param {Values} data
   * @param {number} opacity
   */
  const bar = (name, color, data, opacity) =>
    data.some((x) => x !== null) && {
      name,
      type: 'bar',
      color,
      data,
      barMaxWidth: 18,
      barGap: '-100%',
      itemStyle: { opacity, borderRadius: [2, 2, 0, 0] },
    }
  /** @param {API['MigrationFigures']} figures */
  const words = ({ keys, state: size, fraction }) =>
    keys === 0 ? 'nothing moves' : `${state(size)} (${percent(fraction)} of all), ${counted(keys, 'key')}`
  return {
    id: 'migration',
    title: 'Migrated state',
    label:
      `State that migrates, and its share of all state, over ${counted(intervals.length, 'interval')}:` +
      ` ${state(total)} in all by ${counted(committed.length, 'committed plan')};` +
      ` nothing moves in ${counted(idle.length, 'interval')}.`,
    columns: [
      [`State${stateUnit() === 'bytes' ? '' : ' moved'}`, ({ any }) => stateOnly(any.migration.state), 'number'],
      ['Of all state', ({ any }) => percent(any.migration.fraction), 'number'],
      ['Keys', ({ any }) => count(any.migration.keys), 'number'],
    ],
    option: (p) =>
      frame(
        p,
        shared,
        [
          axis(p, { type: 'value', min: 0, axisLabel: { formatter: stateOnly } }),
          axis(p, { type: 'value', min: 0, splitLine: { show: false }, axisLabel: { formatter: percent } }),
        ],
        [
          bar('Committed', p.after, moved(true), 1),
          bar('Planned', p.after, moved(false), 0.45),
          {
            name: 'Share of all state',
            type: 'scatter',
            color: p.series[2],
            symbolSize: intervals.length > many ? 3 : 6,
            data: intervals.map(({ plan }) =>
              plan === null || plan.migration.keys === 0 ? null : plan.migration.fraction,
            ),
            yAxisIndex: 1,
            icon: 'circle',
          },
          idle.length > 0 && {
            name: 'Nothing moves',
            type: 'scatter',
            symbol: 'rect',
            symbolSize: [6, 3],
            color: p.muted,
            data: idle,
            silent: true,
            unnamed: true,
          },
          nothing(p, intervals, (plan) => plan.migration.state),
        ],
        (of) => [...(of.plan ? [words(of.plan.migration)] : []), ...cameToNothing(of, (plan) => words(plan.migration))],
      ),
  }
}

/** @type {(shared: Shared) => Drawn} */
function gap(shared) {
  const { intervals } = shared
  /** @param {PlanSummary | null} plan */
  const value = (plan) => plan?.certificate?.gap ?? null
  const values = intervals.map(({ plan }) => value(plan))
  const proven = values.filter((x) => x !== null)
  const optimal = proven.filter((x) => x === 0).length
  return {
    id: 'gap',
    title: 'Certificate gap',
    empty: values.every((x) => x === null) && 'No plan has a gap',
    note: whyNone(intervals.filter(({ plan }) => value(plan) === null)),
    label:
      `How much more each plan moves than any could, at most, over ${counted(intervals.length, 'interval')}: ` +
      (proven.length === 0
        ? 'no plan has a gap.'
        : `${optimal} proven optimal, the greatest gap is ${percent(Math.max(...proven))}.`),
    columns: [
      ['Gap', ({ any }) => percent(value(any)), 'number'],
      ['Certificate', ({ any }) => certificate(any)[0]],
    ],
    option: (p) =>
      frame(
        p,
        shared,
        axis(p, {
          type: 'value',
          min: 0,
          max: proven.some((x) => x > 0) ? undefined : 1,
          axisLabel: { formatter: percent },
        }),
        [line('Gap', p.series[1], values, { connectNulls: false }), nothing(p, intervals, value)],
        (of) => [wrapped(certificate(of.any)[0])],
      ),
  }
}

/**
 * Why the line has gaps, most frequent reason first.
 *
 * @param {Interval[]} without
 */
function whyNone(without) {
  if (without.length === 0) return null
  const list = [...Map.groupBy(without, noGap)]
    .sort((a, b) => b[1].length - a[1].length)
    .map(([reason, of]) => `${reason} (${counted(of.length, 'interval')})`)
  return `There is no gap where ${disjunction.format(list)}.`
}

const disjunction = new Intl.ListFormat('en', { type: 'disjunction' })

/** @param {Interval} of */
function noGap({ plan, any }) {
  if (plan === null) return 'the plan was not carried out'
  if (plan.certificate === null) return any.pending ? 'nothing was planned' : 'there is no proof'
  if (plan.certificate.infeasible) return 'no plan satisfies all limits'
  return fits(plan) && (plan.table_within_limit ?? true) ? 'the lower bound is 0' : 'the plan breaks a limit'
}

/**
 * Drawn tooltips do not wrap by themselves.
 *
 * @param {string} text
 */
const wrapped = (text) => text.replace(/(.{24,40}?)\s/g, '$1\n')

/** @type {(shared: Shared) => Drawn} */
function table(shared) {
  const { intervals } = shared
  const newest = tableOf(newestOf(intervals))
  // As long as a plan is not committed the table stays what it was.
  const sizes = intervals.map((of) => (isDone(of) ? sizeOf(of.any) : tableOf(of.any).size_before))
  const limits = intervals.map(({ any }) => any.parameters.table_limit ?? null)
  const limit = limits.at(-1) ?? null
  const away = far(limits, sizes)
  return {
    id: 'table',
    title: newest.name,
    note: limit !== null && away && `The limit of ${counted(limit, 'entry', 'entries')} is far above.`,
    label:
      `${newest.name}: ${newest.unit} that were in force over ${counted(intervals.length, 'interval')};` +
      ` ${count(sizes.at(-1))} in the newest, ${count(Math.max(...sizes))} at most` +
      `${limit === null ? '' : `; the limit is ${count(limit)}`}.`,
    columns: [
      ['Before', ({ any }) => count(tableOf(any).size_before), 'number'],
      ['After', ({ any }) => count(sizeOf(any)), 'number'],
      limit !== null && ['Limit', ({ any }) => count(any.parameters.table_limit), 'number'],
    ],
    option: (p) =>
      frame(
        p,
        shared,
        axis(p, { type: 'value', min: 0, minInterval: 1, axisLabel: { formatter: amount } }),
        [
          line(newest.name === 'Routing table' ? 'Entries' : newest.name, p.series[4], sizes, {
            step: 'middle',
            areaStyle: { opacity: 0.12 },
          }),
          !away && limits.some((x) => x !== null) && bound('Limit', p, limits),
          ...planned(
            p,
            intervals.map((of) => (isDone(of) ? { ...of, plan: null } : of)),
            sizeOf,
          ).map((series) => series && { ...series, unnamed: true }),
          nothing(p, intervals, sizeOf),
        ],
        (of) => [
          `${count(tableOf(of.any).size_before)} → ${count(sizeOf(of.any))} ${newest.unit}` +
            (isPlanned(of) && !isDone(of) ? ' (not committed yet)' : of.plan === null ? ' (not carried out)' : ''),
          ...(of.any.parameters.table_limit === null || of.any.parameters.table_limit === undefined
            ? []
            : [`limit ${count(of.any.parameters.table_limit)}`]),
        ],
      ),
  }
}
