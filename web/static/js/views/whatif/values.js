// The parameters of a what-if as they are typed: lists and ranges of values.

import { counted } from '../../format.js'

/** The most combinations that the API plans at once. */
export const mostPlans = 256

/** In a query there is no null: the greatest limit that the API takes stands for none. */
export const noLimit = Number.MAX_SAFE_INTEGER

const number = (text) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN)

/** "5%" and "5 %" are 0.05. */
const share = (text) => (text.endsWith('%') ? Number((number(text.slice(0, -1).trim()) / 100).toPrecision(12)) : number(text))

const bounded = (read, least, most, words) => (text) => {
  const x = read(text)
  if (!(x >= least && x <= most)) throw new Error(`“${text}” is not ${words}.`)
  return x
}

const whole = (text) => (Number.isInteger(number(text)) ? number(text) : NaN)

function tableLimit(text) {
  return text.toLowerCase() === 'none' ? null : bounded(whole, 0, noLimit, 'a number of entries, or “none”')(text)
}

function degree(text) {
  const x = whole(text)
  if (x !== 0 && !(x >= 1 && x <= 2 ** 30 && Number.isInteger(Math.log2(x)))) throw new Error(`“${text}” is not 0 or a power of two up to 2³⁰.`)
  return x
}

/** "5%" is a fraction of all state, "500 keys" a number of keys, any other number an amount of state. */
function migrationLimit(text) {
  const [, amount, unit] = text.match(/^(.*?)\s*(%|keys?|state)?$/i)
  const words = 'a share such as “5%”, a number such as “500 keys”, or an amount of state'
  if (unit === '%') return { fraction: bounded(share, 0, 1, words)(text) }
  if (unit?.toLowerCase().startsWith('key')) return { keys: bounded(() => whole(amount), 0, noLimit, words)(text) }
  return { state: bounded(() => number(amount), 0, 1e300, words)(text) }
}

function deadline(text) {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) throw new Error(`“${text}” is not a time such as 500ms or 1m30s.`)
  return text
}

/** Each parameter that takes typed values: its name in sentences, and how one value is read. */
export const typed = {
  theta_max: { name: 'θ_max', read: bounded(share, 0, 1e300, 'a tolerance such as 0.05 or 5%') },
  table_limit: { name: 'table limit', read: tableLimit },
  beta: { name: 'β', many: 'values of β', read: bounded(number, 0, 1e300, 'a number of 0 or more') },
  compact_degree: { name: 'R', many: 'values of R', read: degree },
  migration_limit: { name: 'migration limit', read: migrationLimit },
  deadline: { name: 'deadline', read: deadline },
}

const range = /^(\S+?)\s*\.\.\s*(\S+)(?:\s+step\s+([x×*])?\s*(\S+))?$/i

/** The values of "0.02..0.1 step 0.02", or of "1..64 step x2", whose values are multiplied. */
function* spread(text, [, first, last, times, by], read) {
  const from = read(first)
  const to = read(last)
  if (!Number.isFinite(from) || !Number.isFinite(to)) throw new Error(`“${text}”: a range is of numbers.`)
  if (by === undefined) throw new Error(`“${text}” needs a step, as in “${first}..${last} step ${times ? 'x2' : first}”.`)
  const step = share(by)
  if (!(times ? step > 1 && from > 0 : step > 0)) throw new Error(`“${text}” has a step that does not lead on.`)
  if (to < from) throw new Error(`“${text}” ends before it begins.`)
  for (let i = 0; i <= mostPlans; i++) {
    const x = Number((times ? from * step ** i : from + step * i).toPrecision(12))
    if (x > to) return
    yield read(String(x))
  }
}

/**
 * The values of a list as it is typed: {values, problem}. values is empty where nothing
 * is said, problem a sentence about the first value that is none.
 */
export function parse(text = '', read) {
  const values = []
  const seen = new Set()
  try {
    for (const part of text.split(/[,;\n]/).map((p) => p.trim()).filter(Boolean)) {
      const limits = part.match(range)
      for (const value of limits ? spread(part, limits, read) : [read(part)]) {
        const name = JSON.stringify(value)
        if (seen.has(name)) continue
        seen.add(name)
        values.push(value)
      }
    }
    if (values.length > mostPlans) throw new Error(`These are more than ${mostPlans} values.`)
  } catch (error) {
    return { values: [], problem: error.message }
  }
  return { values, problem: '' }
}

const factor = (n, one, many) => n > 1 && counted(n, one, many)

/**
 * How many plans a grid is, and how that comes about. Objectives belong to strategies:
 * only optimal knows min_imbalance, and only that one has migration limits.
 */
export function combinations(grid) {
  const { strategies, objective, migration_limit: limits } = grid
  const perStrategy = strategies.map((s) => (objective.length === 0 ? 1 : objective.reduce((n, o) => n + (o === 'min_migration' ? 1 : s === 'optimal' ? Math.max(1, limits.length) : 0), 0)))
  const mixed = objective.includes('min_imbalance')
  const pairs = perStrategy.reduce((a, b) => a + b, 0)
  const others = ['theta_max', 'table_limit', 'beta', 'compact_degree', 'deadline', 'certificate']
  const plans = others.reduce((n, name) => n * Math.max(1, grid[name].length), pairs)
  const words = [
    mixed ? counted(pairs, 'strategy with its objective and limit', 'strategies with their objectives and limits') : counted(strategies.length, 'strategy', 'strategies'),
    ...Object.entries(typed).filter(([name]) => others.includes(name)).map(([name, { name: one, many }]) => factor(grid[name].length, one, many ?? (name === 'theta_max' ? 'θ_max' : `${one}s`))),
  ].filter(Boolean)
  return { plans, words: `${words.join(' × ')} = ${counted(plans, 'plan')}` }
}
