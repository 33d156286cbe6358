// The policies of a backtest as a table, and what they are called.

import { count, percent } from '../../format.js'
import { html } from '../../html.js'
import { paretoMark, plainTable, sorted } from '../../parts.js'

/**
 * A result, and what it is among the others: the paper's way, the recommended one, or one of them.
 *
 * @typedef {{ result: API['BacktestResult'], role: '' | 'paper' | 'recommended' }} Entry
 */

/**
 * @param {API['BacktestReport']} report
 * @returns {Entry[]}
 */
export const entriesOf = ({ baseline, results, recommended }) => [
  { result: baseline, role: 'paper' },
  ...results.map((result, i) => /** @type {Entry} */ ({ result, role: i === recommended ? 'recommended' : '' })),
]

/** @type {Record<Entry['role'], string>} */
export const roleWords = { '': '', paper: "the paper's way", recommended: 'recommended' }

/** @type {Record<API['ForecastMethod']['method'], string>} */
const methodWords = { last: 'Last interval', ewma: 'Moving average', level: 'Adaptive average', seasonal: 'Season' }

/** @param {API['ForecastMethod']} forecast */
export const forecastWords = ({ method, alpha, period }) =>
  `${methodWords[method] ?? method}${alpha ? `, α ${alpha}` : ''}${period ? `, period ${period}` : ''}`

/**
 * @param {API['Policy']} policy
 * @param {number} most the tolerance, which is the target of a policy that names none
 */
export const policyWords = (policy, most) =>
  `${forecastWords(policy.forecast)}, target θ ${percent(policy.target_theta ?? most)}`

/** @typedef {{ id: string, head: string, of: (entry: Entry) => any, cell: (value: any) => Children }} Figure */

/**
 * The columns of numbers.
 *
 * @param {number} most
 * @returns {Figure[]}
 */
const figures = (most) => [
  { id: 'target', head: 'Target θ', of: ({ result }) => result.policy.target_theta ?? most, cell: percent },
  { id: 'above', head: 'Above θ_max', of: ({ result }) => result.judged.above, cell: percent },
  { id: 'median', head: 'θ median', of: ({ result }) => result.judged.theta_median, cell: percent },
  { id: 'p95', head: 'θ p95', of: ({ result }) => result.judged.theta_p95, cell: percent },
  { id: 'moved', head: 'Moved state', of: ({ result }) => result.judged.moved, cell: percent },
  { id: 'returned', head: 'Returned', of: ({ result }) => result.judged.returned, cell: percent },
  { id: 'plans', head: 'Plans', of: ({ result }) => result.judged.plans, cell: count },
  { id: 'bound', head: 'Hindsight bound', of: ({ result }) => result.hindsight?.bound ?? null, cell: percent },
]

/** @param {Entry} entry */
const forecastOf = ({ result }) => forecastWords(result.policy.forecast)

/**
 * @param {{ report: API['BacktestReport'], entries: Entry[], by?: string, direction?: string }} props
 */
export function Table({ report, entries, by = '', direction }) {
  const numbers = figures(report.theta_max)
  /** @type {Record<string, (entry: Entry) => any>} */
  const orders = {
    front: (e) => (e.result.pareto ? 0 : 1),
    forecast: forecastOf,
    ...Object.fromEntries(numbers.map((c) => [c.id, c.of])),
  }
  return plainTable(
    'Policies, and what they came to in the judged intervals',
    orders[by] ? sorted(entries, orders[by], direction) : entries,
    [
      ['Front', ({ result }) => result.pareto && paretoMark('yes'), 'whatif-pareto', 'front'],
      [
        'Forecast',
        (e) => html`${forecastOf(e)} ${e.role && html`<span class="whatif-own">${roleWords[e.role]}</span>`}`,
        'nowrap',
        'forecast',
      ],
      ...numbers.map(
        ({ id, head, of, cell }) => /** @type {Column<Entry>} */ ([head, (e) => cell(of(e)), 'number nowrap', id]),
      ),
    ],
    {
      frame: { class: 'backtest-table' },
      row: (entry) => ({
        key: entries.indexOf(entry),
        class: entry.role === 'recommended' ? 'backtest-best' : '',
      }),
      sort: { by, direction },
    },
  )
}
