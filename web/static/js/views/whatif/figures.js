// What a result is read by: its figures, its parameters, and whether it keeps to its limits.

import { count, duration, levelText, percent, state, stateOnly } from '../../format.js'
import { fits } from '../../judge.js'
import { beside } from '../../resources.js'
import { lower, strategies, strategyTitle, textOf, valueOf, varied } from '../../strategies.js'

/** @import { Result } from './ask.js' */

/**
 * A figure of results: text writes it in a sentence, cell in a column. It is whole where
 * nothing is between two of its values.
 *
 * @typedef {object} Measure
 * @property {string} head
 * @property {(r: Result) => any} of
 * @property {(x: any) => string} text
 * @property {(x: any) => string} cell
 * @property {boolean} [whole]
 */

/**
 * A parameter of results; words says that it is no number.
 *
 * @typedef {{ head: string, of: (p: API['Parameters']) => any, text: (x: any) => string, words?: boolean }} Setting
 */

/** The figures that results are compared by; of all of them less is better. */
/** @type {Record<string, Measure>} */
export const measures = {
  migration: { head: 'Migrated state', of: (r) => r.migration.state, text: state, cell: stateOnly },
  fraction: { head: 'Share of state', of: (r) => r.migration.fraction, text: percent, cell: percent },
  keys: { head: 'Keys moved', of: (r) => r.migration.keys, text: count, cell: count, whole: true },
  table: {
    head: 'Table size',
    of: (r) => r.routing_table.size_after,
    text: (n) => `${count(n)} ${n === 1 ? 'entry' : 'entries'}`,
    cell: count,
    whole: true,
  },
  theta: { head: 'θ after', of: (r) => r.theta.after, text: percent, cell: percent },
  gap: { head: 'Gap', of: (r) => r.certificate?.gap ?? null, text: percent, cell: percent },
  time: { head: 'Time', of: (r) => r.timing.plan_ms, text: duration, cell: duration },
}

/**
 * The figures of results, with a level after the plan for each resource beside cost.
 *
 * @param {Result[]} results
 * @returns {Record<string, Measure>}
 */
export function measuresOf([first]) {
  const { gap, time, ...outcome } = measures
  const levels = beside(first).map(({ name, limit }, i) => {
    const head = limit ? `${name} taken` : `θ of ${name} after`
    const of = (/** @type {Result} */ r) => beside(r)[i]?.level.after ?? null
    return [`resource-${name}`, { head, of, text: levelText, cell: levelText }]
  })
  return { ...outcome, ...Object.fromEntries(levels), gap, time }
}

/**
 * The parameters that results differ in, by their names in a what-if.
 *
 * @returns {Record<string, Setting>}
 */
export const settings = () =>
  Object.fromEntries(
    varied().map((p) => [
      p.grid,
      {
        head: p.label,
        of: (parameters) => valueOf(parameters, p),
        text: (value) => textOf(p, value),
        words: p.type === 'choice' || p.type === 'duration',
      },
    ]),
  )

/**
 * The strategies of results, in the order in which they are listed.
 *
 * @param {Result[]} results
 * @returns {string[]}
 */
export const strategiesIn = (results) =>
  strategies()
    .map((s) => s.name)
    .filter((name) => results.some((r) => r.strategy === name))

/**
 * The names of the settings in which results differ, and of those that all share, if
 * somebody may have chosen them.
 *
 * @param {Result[]} results
 */
export function differences(results) {
  /** @param {API['ParameterInfo']} p */
  const values = (p) => new Set(results.map((r) => JSON.stringify(valueOf(r.parameters, p))))
  const all = varied()
  return {
    differ: all.filter((p) => values(p).size > 1).map((p) => p.grid),
    same: all
      .filter((p) => values(p).size <= 1 && (p.first || !values(p).has(JSON.stringify(p.default))))
      .filter((p) => p.none !== undefined || !values(p).has('null'))
      .map((p) => p.grid),
  }
}

/**
 * @param {string} name
 * @param {Result} r
 */
export function settingText(name, r) {
  const { of, text } = settings()[name]
  return text(of(r.parameters))
}

/**
 * A result in words: "Mixed, θ_max 5 %, table limit 100".
 *
 * @param {Result} r
 * @param {string[]} [names]
 */
export function titleOf(r, names = ['theta_max', 'table_limit']) {
  return [
    strategyTitle(r.strategy),
    ...names.map((name) => `${lower(settings()[name].head)} ${settingText(name, r)}`),
  ].join(', ')
}

/**
 * Whether a result is planned as a plan was, so that it is that plan again.
 *
 * @param {Result} r
 * @param {Pick<Plan, 'strategy' | 'parameters'>} plan
 */
export const isPlan = (r, plan) =>
  !r.ruled &&
  r.strategy === plan.strategy &&
  varied().every((p) => JSON.stringify(valueOf(r.parameters, p)) === JSON.stringify(valueOf(plan.parameters, p)))

/**
 * The results of different outcomes, the first of each, with the others of the same outcome.
 *
 * @param {Result[]} results
 */
export function merged(results) {
  const outcomes = Map.groupBy(results, (r) =>
    JSON.stringify([
      ...[r.theta.after, r.migration, r.routing_table.size_after, r.balanced, r.table_within_limit],
      ...beside(r).map(({ level }) => level.after),
    ]),
  )
  return new Map([...outcomes.values()].map(([first, ...others]) => [first, others]))
}

/** @param {Result} r */
export const keeps = (r) => fits(r) && r.table_within_limit

/**
 * Whether a result keeps to its limits, in words.
 *
 * @param {Result} r
 */
export function verdict(r) {
  const broken = [!fits(r) && 'unbalanced', !r.table_within_limit && 'table too large'].filter(Boolean)
  if (broken.length === 0) return 'within its limits'
  return `${broken.join(', ')}${r.certificate?.infeasible ? '; proven: no plan can' : ''}`
}
