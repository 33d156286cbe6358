// The parameters of a what-if as they are typed: lists and ranges of values.

import { counted } from '../../format.js'
import { knows, many, mostPlans, varied } from '../../strategies.js'

/** @import { Grid } from './ask.js' */

/** @param {string} text */
const number = (text) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN)

/**
 * "5%" and "5 %" are 0.05.
 *
 * @param {string} text
 */
const share = (text) =>
  text.endsWith('%') ? Number((number(text.slice(0, -1).trim()) / 100).toPrecision(12)) : number(text)

/**
 * "5%" is a fraction of all state, "500 keys" a number of keys, any other number an amount of state.
 *
 * @param {string} text
 * @returns {NonNullable<API['MigrationLimit']> | undefined}
 */
function migrationLimit(text) {
  const [, amount = '', unit] = text.match(/^(.*?)\s*(%|keys?|state)?$/i) ?? []
  const x = number(amount)
  if (!(x >= 0 && x <= 1e300)) return undefined
  if (unit === '%') return x <= 100 ? { fraction: share(text) } : undefined
  if (unit?.toLowerCase().startsWith('key')) return Number.isSafeInteger(x) ? { keys: x } : undefined
  return { state: x }
}

/** How the text of a value is read, by the type of the parameter; undefined is no such value. */
/** @type {Record<API['ParameterInfo']['type'], (text: string, p: API['ParameterInfo']) => any>} */
const readers = {
  number: (text, p) => {
    if (p.unit !== 'share') return bounded(number(text), p)
    const x = bounded(share(text), p)
    if (x === undefined || x < 1) return x
    return text.endsWith('%') ? text : undefined // 5 may be meant as 5 %
  },
  integer: (text, p) => {
    const x = bounded(number(text), p)
    return Number.isInteger(x) && (!p.powers_of_two || Number.isInteger(Math.log2(x || 1))) ? x : undefined
  },
  choice: (text, p) => p.choices.find((c) => c.value === text)?.value,
  migration_limit: migrationLimit,
  duration: (text) => (/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text) ? text : undefined),
}

/**
 * @param {number} x
 * @param {API['ParameterInfo']} p
 */
const bounded = (x, { minimum = -Infinity, maximum = Infinity }) => (x >= minimum && x <= maximum ? x : undefined)

/**
 * What reads one value of a parameter; null is none.
 *
 * @param {API['ParameterInfo']} p
 * @returns {(text: string) => any}
 */
export const readerOf = (p) => (text) => {
  if (p.none !== undefined && text.toLowerCase() === p.none) return null
  const value = readers[p.type](text, p)
  if (value === undefined) throw new Error(`“${text}” is not ${p.range}.`)
  return value
}

const range = /^(\S+?)\s*\.\.\s*(\S+)(?:\s+step\s+([x×*])?\s*(\S+))?$/i

/**
 * The values of "0.02..0.1 step 0.02", or of "1..64 step x2", whose values are multiplied.
 *
 * @template T
 * @param {string} text
 * @param {RegExpMatchArray} limits
 * @param {(text: string) => T} read
 * @returns {Generator<T, void>}
 */
function* spread(text, [, first, last, times, by], read) {
  const from = read(first)
  const to = read(last)
  if (typeof from !== 'number' || typeof to !== 'number') throw new Error(`“${text}”: a range must be of numbers.`)
  if (by === undefined)
    throw new Error(`“${text}” needs a step, as in “${first}..${last} step ${times ? 'x2' : first}”.`)
  const step = share(by)
  if (!(times ? step > 1 && from > 0 : step > 0)) throw new Error(`“${text}” has a step that does not lead on.`)
  if (to < from) throw new Error(`“${text}” ends before it begins.`)
  for (let i = 0; i <= mostPlans(); i++) {
    const x = Number((times ? from * step ** i : from + step * i).toPrecision(12))
    if (x > to) return
    yield read(String(x))
  }
}

/**
 * The values of a list as it is typed: {values, problem}. values is empty where nothing
 * is said, problem a sentence about the first value that is none.
 *
 * @template T
 * @param {string | undefined} text
 * @param {(text: string) => T} read
 * @returns {{ values: T[], problem: string }}
 */
export function parse(text = '', read) {
  /** @type {T[]} */
  const values = []
  const seen = new Set()
  try {
    for (const part of text
      .split(/[,;\n]/)
      .map((p) => p.trim())
      .filter(Boolean)) {
      const limits = part.match(range)
      for (const value of limits ? spread(part, limits, read) : [read(part)]) {
        const name = JSON.stringify(value)
        if (seen.has(name)) continue
        seen.add(name)
        values.push(value)
      }
    }
    if (values.length > mostPlans()) throw new Error(`These are more than ${mostPlans()} values.`)
  } catch (error) {
    return { values: [], problem: error instanceof Error ? error.message : String(error) }
  }
  return { values, problem: '' }
}

/**
 * How many plans a grid is, and how that comes about. Objectives belong to the strategies
 * that know them, and migration limits to min_imbalance.
 *
 * @param {Grid} grid
 */
export function combinations({ strategies, values }) {
  const { objective = [], migration_limit: limits = [] } = values
  /** @param {string} strategy */
  const goals = (strategy) =>
    objective
      .filter((o) => knows(strategy, o))
      .reduce((n, o) => n + (o === 'min_migration' ? 1 : Math.max(1, limits.length)), 0)
  const pairs = strategies.reduce((n, s) => n + (objective.length === 0 ? 1 : goals(s)), 0)
  const others = varied().filter(({ grid }) => grid !== 'objective' && grid !== 'migration_limit')
  /** @param {{ grid: string }} p */
  const length = ({ grid }) => values[grid]?.length ?? 0
  const plans = others.reduce((n, p) => n * Math.max(1, length(p)), pairs)
  const words = [
    objective.includes('min_imbalance')
      ? counted(pairs, 'strategy with its objective and limit', 'strategies with their objectives and limits')
      : counted(strategies.length, 'strategy', 'strategies'),
    ...others.filter((p) => length(p) > 1).map((p) => many(length(p), p)),
  ]
  return { plans, words: `${words.join(' × ')} = ${counted(plans, 'plan')}` }
}
