// The policies of a backtest as a table, and what they are called.

import { count, percent } from '../../format.js'
import { html } from '../../html.js'
import { paretoMark, sortedTable } from '../../parts.js'

/**
 * A result, and what it is among the others: the paper's way, the recommended one, what choosing again and again
 * comes to, or one of them.
 *
 * @typedef {{ result: API['BacktestResult'], role: '' | 'paper' | 'recommended' | 'auto' }} Entry
 */

/**
 * @param {API['BacktestReport']} report
 * @returns {Entry[]}
 */
export const entriesOf = ({ baseline, results, recommended, auto }) => [
  { result: baseline, role: 'paper' },
  ...results.map((result, i) => /** @type {Entry} */ ({ result, role: i === recommended ? 'recommended' : '' })),
  ...(auto
    ? [
        /** @type {Entry} */ ({
          result: { ...results[auto.next], ...auto, hindsight: null, pareto: false },
          role: 'auto',
        }),
      ]
    : []),
]

/** @type {Record<Entry['role'], string>} */
export const roleWords = { '': '', paper: "the paper's way", recommended: 'recommended', auto: 'auto' }

/** @type {Record<API['ForecastMethod']['method'], string>} */
const methodWords = {
  last: 'Last interval',
  ewma: 'Moving average',
  level: 'Adaptive average',
  seasonal: 'Season',
  combined: 'Combined',
}

/** @param {API['ForecastMethod']} forecast */
export const forecastWords = ({ method, alpha, period }) =>
  `${methodWords[method] ?? method}${alpha ? `, α ${alpha}` : ''}${period ? `, period ${period}` : ''}`

/**
 * @param {API['Policy']} policy
 * @param {number} most the tolerance, which is the target of a policy that names none
 */
export const policyWords = (policy, most) =>
  `${forecastWords(policy.forecast)}, target θ ${percent(policy.target_theta ?? most)}`

/** @param {Entry} entry */
const forecastOf = ({ result, role }) =>
  role === 'auto' ? 'Chosen again and again' : forecastWords(result.policy.forecast)

/** @type {(most: number) => Sortable<Entry>[]} */
const columns = (most) => [
  {
    id: 'front',
    head: 'Front',
    of: ({ result }) => (result.pareto ? 0 : 1),
    show: ({ result }) => result.pareto && paretoMark('yes'),
    kind: 'whatif-pareto',
  },
  {
    id: 'forecast',
    head: 'Forecast',
    of: forecastOf,
    show: (e) => html`${forecastOf(e)} ${e.role && html`<span class="whatif-own">${roleWords[e.role]}</span>`}`,
    kind: 'nowrap',
  },
  {
    id: 'target',
    head: 'Target θ',
    of: ({ result, role }) => (role === 'auto' ? null : (result.policy.target_theta ?? most)),
    cell: percent,
  },
  {
    id: 'benefit',
    head: 'Least benefit',
    of: ({ result, role }) => (role === 'auto' ? null : (result.policy.minimum_benefit ?? 0)),
    cell: (x) => (x === null ? '–' : x.toFixed(2)),
  },
  { id: 'above', head: 'Above θ_max', of: ({ result }) => result.judged.above, cell: percent },
  { id: 'median', head: 'θ median', of: ({ result }) => result.judged.theta_median, cell: percent },
  { id: 'p95', head: 'θ p95', of: ({ result }) => result.judged.theta_p95, cell: percent },
  { id: 'moved', head: 'Moved state', of: ({ result }) => result.judged.moved, cell: percent },
  { id: 'cost', head: 'Cost of an interval', of: ({ result }) => result.cost, cell: percent },
  { id: 'plans', head: 'Plans', of: ({ result }) => result.judged.plans, cell: count },
  { id: 'bound', head: 'Hindsight bound', of: ({ result }) => result.hindsight?.bound ?? null, cell: percent },
]

/**
 * @param {{ report: API['BacktestReport'], entries: Entry[], by?: string, direction?: string }} props
 */
export const Table = ({ report, entries, by, direction }) =>
  sortedTable(
    'Policies, and their results in the judged intervals',
    entries,
    columns(report.theta_max),
    { rank: by, ranked: direction },
    {
      frame: { class: 'backtest-table' },
      row: (entry) => ({
        key: entries.indexOf(entry),
        class: entry.role === 'recommended' ? 'backtest-best' : '',
      }),
    },
  )
