// The trade-off: results as points, by two figures and the colour of a third.

import { axis, Chart, descending } from '../../chart.js'
import { counted } from '../../format.js'
import { html } from '../../html.js'
import { choose } from '../../parts.js'
import { setQuery } from '../../route.js'
import { colour } from '../../theme.js'
import { lower, strategies, strategyTitle } from '../../strategies.js'
import {
  differences,
  keeps,
  measures,
  measuresOf,
  settings,
  settingText,
  strategiesIn,
  titleOf,
  verdict,
} from './figures.js'

/**
 * @import { Result } from './ask.js'
 * @import { Measure } from './figures.js'
 */

/** @typedef {{ x: string, y: string, colour: string }} Axes */

/** @typedef {{ current: import('echarts').ECharts | null }} Handle */

/**
 * What an event of the chart is about.
 *
 * @typedef {{ data?: { index?: number } }} Hit
 */

/**
 * The corners of a regular polygon, from one at an angle; every other one nearer the middle by a factor.
 *
 * @param {number} n
 * @param {number} angle
 * @param {number} [near]
 * @returns {[x: number, y: number][]}
 */
const corners = (n, angle, near = 1) =>
  Array.from({ length: n }, (_, i) => [angle + (2 * Math.PI * i) / n, i % 2 ? near : 1]).map(([a, r]) => [
    r * Math.cos(a),
    r * Math.sin(a),
  ])

const up = -Math.PI / 2
/** The shapes of the strategies, in the order in which these are listed. */
const shapes = [
  corners(32, 0),
  corners(4, up),
  corners(6, 0),
  corners(3, up),
  corners(4, Math.PI / 4),
  corners(3, -up),
  corners(10, up, 0.45),
  corners(8, up, 0.35),
]

/** @param {string} strategy */
const shapeOf = (strategy) =>
  shapes[
    Math.max(
      0,
      strategies().findIndex((s) => s.name === strategy),
    ) % shapes.length
  ]

/** @param {number[][]} points */
const path = (points) => `M${points.map((xy) => xy.map((v) => v.toFixed(3)).join()).join('L')}Z`
/** @param {string} strategy */
const filled = (strategy) => `path://${path(shapeOf(strategy))}`

/**
 * The same with a hole: what is behind it is seen, in whatever colours the page has.
 *
 * @param {string} strategy
 */
const hollow = (strategy) =>
  filled(strategy) +
  path(
    shapeOf(strategy)
      .map(([x, y]) => [0.55 * x, 0.55 * y])
      .reverse(),
  )

/**
 * The axes that a link says.
 *
 * @param {Query} query
 * @returns {Axes}
 */
const axesOf = (query) => {
  /**
   * @param {string} name
   * @param {string} otherwise
   */
  const said = (name, otherwise) => {
    const wanted = query[name] ?? ''
    return Object.hasOwn(measures, wanted) ? wanted : otherwise
  }
  return { x: said('x', 'theta'), y: said('y', 'migration'), colour: said('colour', 'table') }
}

/**
 * The points of the results on the front that no other beats on the two axes shown, along the one across.
 *
 * @param {Result[]} results
 * @param {Axes} axes
 */
const front = (results, axes) =>
  descending(results.filter((r) => r.pareto).map((r) => [measures[axes.x].of(r), measures[axes.y].of(r)]))

/** @param {Result} r */
function tooltip(r) {
  const { differ, same } = differences([r])
  const lines = [...differ, ...same]
    .filter(
      (name) =>
        !['objective', 'certificate', 'deadline', 'migration_limit'].includes(name) || settingText(name, r) !== 'none',
    )
    .map((name) => `${settings()[name].head}: ${settingText(name, r)}`)
  return [
    `${strategyTitle(r.strategy)}${r.pareto ? ', on the Pareto front' : ''}`,
    verdict(r),
    ...Object.values(measuresOf([r])).map((m) => `${m.head}: ${m.text(m.of(r))}`),
    '',
    ...lines,
  ].join('\n')
}

/**
 * @param {Result} r
 * @param {number} i
 * @param {Axes} axes
 */
const point = (r, i, axes) => ({
  value: [measures[axes.x].of(r), measures[axes.y].of(r), measures[axes.colour].of(r) ?? 0],
  index: i,
  symbol: (keeps(r) ? filled : hollow)(r.strategy),
  symbolSize: r.pareto ? 15 : 10,
})

/**
 * The series of each strategy, in the order of the strategies.
 *
 * @param {Result[]} results
 * @param {Axes} axes
 * @param {Palette} p
 */
function scatter(results, axes, p) {
  return strategiesIn(results).map((s) => ({
    type: 'scatter',
    name: strategyTitle(s),
    symbol: filled(s),
    cursor: 'pointer',
    data: results
      .map((r, i) => ({ r, i }))
      .filter(({ r }) => r.strategy === s)
      .map(({ r, i }) => ({
        ...point(r, i, axes),
        itemStyle: r.pareto ? { borderColor: p.text, borderWidth: keeps(r) ? 2 : 1 } : undefined,
      })),
    emphasis: { scale: 1.7, itemStyle: { borderColor: p.accent, borderWidth: 3 } },
    z: 3,
  }))
}

/**
 * Nothing is less than nothing, so no axis goes below 0.
 *
 * @param {{ min: number, max: number }} range
 */
const lowest = ({ min, max }) => (min - 0.04 * (max - min) <= 0 ? Math.min(0, min) : null)

const wide = 100 // times the least: so far apart, values of one scale would press each other flat

/**
 * Whether values are so far apart that only a logarithmic axis tells them apart.
 *
 * @param {number[]} values
 */
const spread = (values) => {
  const least = Math.min(...values)
  return least > 0 && Math.max(...values) > wide * least
}

/**
 * @param {Palette} p
 * @param {Measure} measure
 * @param {Result[]} results
 * @param {ChartOption} more
 */
const valueAxis = (p, { head, cell, whole, of }, results, more) =>
  spread(results.map(of))
    ? axis(p, {
        type: 'log',
        name: `${head} (logarithmic)`,
        nameLocation: 'middle',
        ...more,
        axisLabel: { formatter: cell },
      })
    : axis(p, {
        type: 'value',
        scale: true,
        boundaryGap: ['4%', '4%'],
        min: lowest,
        minInterval: whole ? 1 : 0,
        name: head,
        nameLocation: 'middle',
        ...more,
        axisLabel: { formatter: cell },
      })

/**
 * @param {Palette} p
 * @param {number} width
 * @param {Result[]} results
 * @param {Axes} axes
 */
function option(p, width, results, axes) {
  const [x, y] = [measures[axes.x], measures[axes.y]]
  const { head, cell, of } = measures[axes.colour]
  const third = results.map(of).filter((v) => v !== null)
  const [least, most] = [Math.min(...third), Math.max(...third)]
  const roomy = width >= 640
  const series = scatter(results, axes, p)
  return {
    grid: { left: 8, right: roomy ? 110 : 14, top: 46, bottom: roomy ? 34 : 92, containLabel: true },
    legend: {
      top: 0,
      left: 0,
      type: 'scroll',
      icon: undefined,
      itemWidth: 12,
      itemHeight: 12,
      itemStyle: { color: p.muted },
      data: series.map((s) => ({ name: s.name, icon: s.symbol })),
      selectedMode: false,
    },
    xAxis: valueAxis(p, x, results, { nameGap: 26 }),
    yAxis: valueAxis(p, y, results, {
      nameLocation: 'end',
      nameGap: 10,
      nameTextStyle: { color: p.muted, align: 'left' },
    }),
    visualMap: {
      type: 'continuous',
      dimension: 2,
      min: least,
      max: most > least ? most : least + (Math.abs(least) || 1) * 1e-9,
      seriesIndex: series.map((_, i) => i),
      calculable: false,
      hoverLink: false,
      inRange: { color: [0, 1, 2, 3].map((i) => colour(`whatif-ramp-${i}`)) },
      text: [cell(most), roomy ? cell(least) : `${head}  ${cell(least)}`],
      textStyle: { color: p.muted },
      itemWidth: 10,
      itemHeight: roomy ? 140 : 120,
      ...(roomy ? { right: 4, top: 70 } : { orient: 'horizontal', left: 'center', bottom: 0 }),
    },
    graphic: roomy
      ? [
          {
            type: 'text',
            right: 4,
            top: 46,
            silent: true,
            style: { text: head, fill: p.muted, fontSize: 12, fontFamily: 'system-ui, sans-serif' },
          },
        ]
      : [],
    tooltip: {
      trigger: 'item',
      formatter: (/** @type {{ data: { index?: number } }} */ { data }) =>
        data.index === undefined ? '' : tooltip(results[data.index]),
    },
    series: [
      ...series,
      {
        type: 'line',
        silent: true,
        symbol: 'none',
        z: 1,
        lineStyle: { color: p.muted, width: 1.5, type: 'dashed' },
        tooltip: { show: false },
        data: front(results, axes),
      },
    ],
  }
}

/**
 * @param {Result[]} results
 * @param {Axes} axes
 */
function sentence(results, axes) {
  const [x, y, third] = [axes.x, axes.y, axes.colour].map((name) => lower(measures[name].head))
  const best = results.filter((r) => r.pareto)
  const text = (/** @type {string} */ name, /** @type {Result} */ r) => measures[name].text(measures[name].of(r))
  const examples = best.slice(0, 3).map((r) => `${titleOf(r)} (${text(axes.y, r)}, ${text(axes.x, r)})`)
  return [
    `${counted(results.length, 'plan')} by ${x} and ${y}, coloured by ${third}.`,
    `${best.length === 1 ? 'One is' : `${best.length} are`} on the Pareto front` +
      `${examples.length > 0 ? `, such as ${examples.join('; ')}` : ''}.`,
    'The table of results has the same figures.',
  ].join(' ')
}

/** @param {{ name: keyof Axes, label: string, axes: Axes }} props */
const Axis = ({ name, label, axes }) =>
  choose(
    label,
    axes[name],
    Object.entries(measures).map(([id, { head }]) => [id, head]),
    (id) => setQuery({ [name]: id }),
  )

/**
 * The chart. results are those that are shown; handle gets the chart; onHover is told
 * which result is pointed at, and onOpen which is chosen.
 *
 * @param {object} props
 * @param {Result[]} props.results
 * @param {Query} props.query
 * @param {Handle} props.handle
 * @param {(result: Result | null) => void} props.onHover
 * @param {(result: Result) => void} props.onOpen
 */
export function Plot({ results, query, handle, onHover, onOpen }) {
  const axes = axesOf(query)
  const plotted = results.filter((r) => Object.values(axes).every((name) => measures[name].of(r) !== null))
  const left = results.length - plotted.length
  const line = front(plotted, axes).length
  const name = JSON.stringify([axes, plotted.map((r) => [r.strategy, r.parameters, r.theta.after, r.timing])])
  return html`
    <div class="row whatif-axes">
      <${Axis} name="y" label="Up" axes=${axes} />
      <${Axis} name="x" label="Across" axes=${axes} />
      <${Axis} name="colour" label="Colour" axes=${axes} />
    </div>
    ${
      plotted.length > 0 &&
      html`<${Chart}
        height=${400}
        label=${sentence(plotted, axes)}
        handle=${handle}
        depends=${[name]}
        option=${(p, width) => option(p, width, plotted, axes)}
        on=${{
          click: (/** @type {Hit} */ { data }) => data?.index !== undefined && onOpen(plotted[data.index]),
          mouseover: (/** @type {Hit} */ { data }) => data?.index !== undefined && onHover(plotted[data.index]),
          mouseout: () => onHover(null),
        }}
      />`
    }
    <p class="hint">
      Large and outlined: on the Pareto front of θ after, migrated state and table
      size. ${
        line < 2
          ? 'One of them is best on both axes shown.'
          : 'The dashed line joins those of them that none beats on both axes shown.'
      } Hollow:
      unbalanced, or the table exceeds its limit.
      ${
        left > 0 &&
        ` Not shown ${left === 1 ? 'is one plan' : `are ${counted(left, 'plan')}`} without a gap:` +
          ` nothing is proven of ${left === 1 ? 'it' : 'them'}, or it breaks a limit.`
      }
    </p>
  `
}

/**
 * Points at a result in the chart, or at none.
 *
 * @param {Handle['current']} chart
 * @param {Result[]} results
 * @param {Result | null} result
 * @param {Query} query
 */
export function pointAt(chart, results, result, query) {
  if (!chart) return
  chart.dispatchAction({ type: 'downplay' })
  const axes = axesOf(query)
  const plotted = results.filter((r) => Object.values(axes).every((name) => measures[name].of(r) !== null))
  const seriesIndex = strategiesIn(plotted).indexOf(result?.strategy ?? '')
  const dataIndex = plotted.filter((r) => r.strategy === result?.strategy).findIndex((r) => r === result)
  if (seriesIndex < 0 || dataIndex < 0) chart.dispatchAction({ type: 'hideTip' })
  else chart.dispatchAction({ type: 'highlight', seriesIndex, dataIndex })
}
