// The policies of a backtest as a table, and what they are called.

import { count, percent } from '../../format.js'
import { html } from '../../html.js'
import { SortHead, sorted } from '../../parts.js'

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

/**
 * @param {{ report: API['BacktestReport'], entries: Entry[], by?: string, direction?: string }} props
 */
export function Table({ report, entries, by, direction }) {
  const numbers = figures(report.theta_max)
  const words = [
    { id: 'front', head: 'Front', of: (/** @type {Entry} */ e) => (e.result.pareto ? 0 : 1) },
    { id: 'forecast', head: 'Forecast', of: (/** @type {Entry} */ e) => forecastWords(e.result.policy.forecast) },
  ]
  const chosen = [...words, ...numbers].find((c) => c.id === by)
  const rows = chosen ? sorted(entries, chosen.of, direction) : entries
  const head = (/** @type {{ id: string, head: string, number?: boolean }} */ column) =>
    html`<${SortHead} key=${column.id} column=${column} by=${chosen?.id ?? null} direction=${direction} />`
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Table of policies">
    <table class="backtest-table">
      <caption class="visually-hidden">Policies, and what they came to in the judged intervals</caption>
      <thead>
        <tr>
          ${words.map((c) => head(c))} ${numbers.map((c) => head({ ...c, number: true }))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (
            entry,
          ) => html`<tr key=${entries.indexOf(entry)} class=${entry.role === 'recommended' ? 'backtest-best' : ''}>
            <td class="whatif-pareto">
              ${entry.result.pareto && html`<span aria-hidden="true">●</span><span class="visually-hidden">yes</span>`}
            </td>
            <td class="nowrap">
              ${forecastWords(entry.result.policy.forecast)}
              ${entry.role && html`${' '}<span class="whatif-own">${roleWords[entry.role]}</span>`}
            </td>
            ${numbers.map((c) => html`<td class="number nowrap" key=${c.id}>${c.cell(c.of(entry))}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}
