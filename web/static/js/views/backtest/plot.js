// The trade-off of policies: the θ that came true against the state that moved.

import { axis, boundMark, Chart, descending } from '../../chart.js'
import { counted, percent } from '../../format.js'
import { html } from '../../html.js'
import { policyWords, roleWords } from './table.js'

/** @import { Entry } from './table.js' */

/** @typedef {API['BacktestReport']} Report */

/** @param {Entry} entry */
const point = ({ result: { judged } }) => [judged.moved, judged.theta_median]

/**
 * The marks of policies with one role, the labelled ones larger.
 *
 * @param {Palette} p
 * @param {Entry[]} entries
 * @param {Entry['role']} role
 * @param {ChartOption} more
 */
const marks = (p, entries, role, more) => ({
  type: 'scatter',
  name: roleWords[role] || 'policy',
  z: role ? 4 : 3,
  label: {
    show: role !== '',
    formatter: roleWords[role],
    position: role === 'recommended' ? 'top' : 'bottom',
    color: p.text,
    fontWeight: 600,
  },
  data: entries
    .map((entry, index) => ({ entry, index }))
    .filter(({ entry }) => entry.role === role)
    .map(({ entry, index }) => ({
      value: point(entry),
      index,
      symbolSize: role ? 18 : entry.result.pareto ? 14 : 9,
      itemStyle: entry.result.pareto ? { borderColor: p.text, borderWidth: 2 } : undefined,
    })),
  ...more,
})

/**
 * @param {Entry} entry
 * @param {number} most
 */
const tip = ({ result: { policy, judged, pareto, cost }, role }, most) =>
  [
    role === 'auto' ? 'auto: chosen again and again' : `${policyWords(policy, most)}${role && `: ${roleWords[role]}`}`,
    `θ median ${percent(judged.theta_median)}, p95 ${percent(judged.theta_p95)}`,
    `${percent(judged.moved)} of all state moved by ${counted(judged.plans, 'plan')}`,
    `cost ${percent(cost)} of θ an interval`,
    ...(pareto ? ['on the Pareto front'] : []),
  ].join('\n')

/**
 * The ends of the line of results that are as good as one by what balance is worth, were θ above θ_max all the time.
 *
 * @param {Entry | undefined} entry
 * @param {number} worth
 */
function asGood(entry, worth) {
  if (!entry) return []
  const [moved, theta] = point(entry)
  const slope = 0.01 / worth / entry.result.judged.intervals
  return [
    [0, theta + slope * moved],
    [moved + theta / slope / 2, theta / 2],
  ]
}

/**
 * @param {Palette} p
 * @param {Report} report
 * @param {Entry[]} entries
 * @param {number | undefined} bound
 */
function option(p, { theta_max: most, balance_worth: worth }, entries, bound) {
  const aside = { position: 'end', rotate: 0, align: 'left', offset: [-8, 0] }
  const lines = [
    { yAxis: most, name: 'θ_max' },
    ...(bound === undefined ? [] : [{ xAxis: bound, name: 'hindsight bound', label: aside }]),
  ]
  const quiet = { type: 'line', silent: true, symbol: 'none', tooltip: { show: false } }
  const percents = (/** @type {ChartOption} */ more) =>
    axis(p, { type: 'value', min: 0, axisLabel: { formatter: percent }, nameLocation: 'middle', ...more })
  return {
    grid: { left: 24, right: 24, top: 64, bottom: 34, containLabel: true },
    legend: {
      top: 0,
      left: 0,
      icon: undefined,
      selectedMode: false,
      data: ['policy', 'median to p95', 'Pareto front', 'as good as recommended'],
    },
    xAxis: percents({ name: 'Moved state, of all state', nameGap: 26 }),
    yAxis: percents({
      name: 'Realised θ',
      max: (/** @type {{ max: number }} */ { max }) => 1.05 * Math.max(max, most) || 1,
      axisLabel: { formatter: percent, showMaxLabel: false },
      nameGap: 46,
    }),
    tooltip: {
      trigger: 'item',
      formatter: (/** @type {{ data: { index?: number } }} */ { data }) =>
        data.index === undefined ? '' : tip(entries[data.index], most),
    },
    series: [
      marks(p, entries, '', { symbol: 'circle', color: p.realised }),
      marks(p, entries, 'paper', { symbol: 'triangle', color: p.before }),
      marks(p, entries, 'recommended', { symbol: 'diamond', color: p.accent }),
      marks(p, entries, 'auto', { symbol: 'rect', color: p.accent }),
      {
        ...quiet,
        name: 'median to p95',
        color: p.muted,
        lineStyle: { width: 1 },
        // A gap ends each line.
        data: entries.flatMap((e) => [point(e), [e.result.judged.moved, e.result.judged.theta_p95], ['-', '-']]),
        markLine: boundMark(p, lines),
      },
      {
        ...quiet,
        name: 'Pareto front',
        color: p.text,
        lineStyle: { width: 1.5, type: 'dotted' },
        data: descending(entries.filter(({ result }) => result.pareto).map(point)),
      },
      {
        ...quiet,
        name: 'as good as recommended',
        color: p.accent,
        lineStyle: { width: 1.5, type: 'dashed' },
        data: asGood(
          entries.find((e) => e.role === 'recommended'),
          worth,
        ),
      },
    ],
  }
}

/** @param {{ report: Report, entries: Entry[] }} props */
export function Plot({ report, entries }) {
  const { theta_max: most, recommended } = report
  const bound = recommended === null ? undefined : report.results[recommended].hindsight?.bound
  const named = entries.filter((e) => e.role).map((e) => tip(e, most).replaceAll('\n', '; '))
  return html`
    <${Chart}
      height=${420}
      label=${[
        `${counted(entries.length, 'policy', 'policies')} by the state that moved and the θ that came true.`,
        `${named.join('. ')}.`,
        ...(bound === undefined ? [] : [`Hindsight bound of the recommended one: ${percent(bound)}.`]),
        'The table of policies has the same figures.',
      ].join(' ')}
      depends=${[report]}
      option=${(p) => option(p, report, entries, bound)}
    />
    <p class="hint">
      Each mark is a policy at its median θ, the thin line above it reaches to its p95. Outlined: no other policy beats
      it in both how far θ exceeded θ_max and what moved. The dotted line joins those of them that none beats in what is
      drawn. Below the dashed line a point of θ is had for less moved state than it is worth
      (balance_worth ${percent(report.balance_worth)}). ${
        bound !== undefined &&
        'Even knowing the judged intervals in advance, nobody could have moved less than the hindsight bound.'
      }
    </p>
  `
}
