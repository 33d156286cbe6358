// What a result is read by: its figures, its parameters, and whether it keeps to its limits.

import { count, duration, percent, state, stateOnly } from '../../format.js'
import { strategyWords } from '../../words.js'
import { noLimit } from './values.js'

/** The figures that results are compared by; of all of them less is better. */
export const measures = {
  migration: { head: 'Migrated state', of: (r) => r.migration.state, text: state, cell: stateOnly },
  fraction: { head: 'Share of state', of: (r) => r.migration.fraction, text: percent, cell: percent },
  keys: { head: 'Keys moved', of: (r) => r.migration.keys, text: count, cell: count, whole: true },
  table: { head: 'Table size', of: (r) => r.routing_table.size_after, text: (n) => `${count(n)} ${n === 1 ? 'entry' : 'entries'}`, cell: count, whole: true },
  theta: { head: 'θ after', of: (r) => r.theta.after, text: percent, cell: percent },
  gap: { head: 'Gap', of: (r) => r.certificate?.gap ?? null, text: percent, cell: percent },
  time: { head: 'Time', of: (r) => r.timing.plan_ms, text: duration, cell: duration },
}

const objectives = { min_migration: 'migration', min_imbalance: 'imbalance' }

const limit = (l) => (l === null ? 'none' : l.fraction !== undefined ? percent(l.fraction) : l.keys !== undefined ? `${count(l.keys)} keys` : state(l.state))

const entries = (n) => (n === null || n === noLimit ? 'none' : count(n))

/** The parameters that results differ in. */
export const settings = {
  theta_max: { head: 'θ_max', of: (p) => p.theta_max, text: percent },
  table_limit: { head: 'Table limit', of: (p) => p.table_limit, text: entries },
  beta: { head: 'β', of: (p) => p.beta, text: String },
  degree: { head: 'R', of: (p) => p.compact?.degree ?? 0, text: String },
  objective: { head: 'Objective', of: (p) => objectives[p.objective] ?? p.objective, text: String, words: true },
  migration_limit: { head: 'Migration limit', of: (p) => p.migration_limit, text: limit },
  deadline: { head: 'Deadline', of: (p) => p.deadline, text: (d) => d ?? 'none', words: true },
  certificate: { head: 'Certificate', of: (p) => p.certificate, text: String, words: true },
}

/** The names of the settings in which results differ, and of those that all share. */
export function varied(results) {
  const differ = (name) => new Set(results.map((r) => JSON.stringify(settings[name].of(r.parameters)))).size > 1
  return { differ: Object.keys(settings).filter(differ), same: Object.keys(settings).filter((name) => !differ(name)) }
}

export const settingText = (name, r) => settings[name].text(settings[name].of(r.parameters))

/** A head within a sentence: symbols stay as they are. */
export const lower = (head) => (/^[A-Z][a-z]/.test(head) ? head[0].toLowerCase() + head.slice(1) : head)

/** A result in words: "Mixed, θ_max 5 %, table limit 100". */
export function titleOf(r, names = ['theta_max', 'table_limit']) {
  return [strategyWords[r.strategy] ?? r.strategy, ...names.map((name) => `${lower(settings[name].head)} ${settingText(name, r)}`)].join(', ')
}

export const keeps = (r) => r.balanced && r.table_within_limit

/** Whether a result keeps to its limits, in words. */
export function verdict(r) {
  const broken = [!r.balanced && 'unbalanced', !r.table_within_limit && 'table too large'].filter(Boolean)
  if (broken.length === 0) return 'within its limits'
  return `${broken.join(', ')}${r.certificate?.infeasible ? '; proven: no plan can' : ''}`
}
