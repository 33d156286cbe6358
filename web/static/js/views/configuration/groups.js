// The settings of an operator in words, by what they are for.

import { amount, count, counted, exactly, percent } from '../../format.js'
import { strategyWords } from '../../words.js'
import { methodOf, schemeWords } from '../operator/page.js'

/** What the contract gives to what is left out. Other defaults follow from other settings, and are told in place. */
const defaults = {
  scheme: 'table', strategy: 'mixed', theta_max: 0.08, table_limit: null, beta: 1.5, key_overhead: 0, certificate: 'fast', objective: 'min_migration', work_budget: 0, deadline: null,
  'hash.function': 'ring', 'hash.tokens_per_instance': 128, 'hash.max_parallelism': 128, 'hash.key_type': 'string',
  'ring.method': 'halving', 'ring.tau': 0.2, 'ring.max_rounds': 1, 'ranges.method': 'min_movement', 'ranges.max_intervals': 32,
  'trigger.cooldown_intervals': 0, require_approval: false, 'approval.on_pending': 'keep', 'approval.ttl': '10m0s', table_owner: 'planner',
  'reports.missing': 'fail', 'reports.max_age': 3, 'retention.inputs': 20, 'retention.plans': 10_000, 'retention.versions': 1000, store_inputs: true, 'compact.degree': 0,
}

/** The groups that the scheme of an operator knows: {title, rows of {label, value, note, usual}}. */
export function groupsOf(operator) {
  const get = (name) => name.split('.').reduce((x, part) => x?.[part], operator)
  // What the scheme does not know is not there; what is null is not limited.
  const setting = (name, label, words, note, usual = name in defaults && get(name) === defaults[name]) =>
    (get(name) === undefined ? null : { label, value: words(get(name)), note: typeof note === 'function' ? note(get(name)) : note, usual })
  return [placement, strategy, limits, trigger, approval, reports, retention, versions]
    .map((group) => group(setting, operator)).map(({ title, rows }) => ({ title, rows: rows.filter(Boolean) })).filter(({ rows }) => rows.length > 0)
}

const hashWords = {
  ring: 'Token ring, murmur3_x86_32', modulo: 'Modulo, murmur3_x64_128', reported: 'Reported by the engine with every row', flink: 'Flink', kafka: 'Kafka',
}
const hashNotes = {
  ring: 'A key goes to the instance of the first token at or after its position.', modulo: 'Modulo the number of instances, in the order of their ids.',
  flink: 'Java’s hashCode, Flink’s murmur, key groups in contiguous ranges.', kafka: 'murmur2, positive, modulo the number of partitions.',
}

const placement = (setting) => ({ title: 'Placement', rows: [
  setting('scheme', 'Scheme', (x) => schemeWords[x], schemeNotes),
  setting('hash.function', 'Hash function', (x) => hashWords[x] ?? x, (x) => hashNotes[x]),
  setting('hash.tokens_per_instance', 'Tokens per instance', count, 'Of instances that name no number of their own.'),
  setting('hash.max_parallelism', 'Maximum parallelism', (x) => counted(x, 'key group')),
  setting('hash.key_type', 'Java type of the keys', (x) => x),
  setting('hash.partitions', 'Partitions', (x) => counted(x, 'partition')),
  setting('hash.assignment', 'Assignment', (x) => `${counted(x.length, 'partition')} to instances`, (x) => runs(x)),
  setting('table_owner', 'The table is held by', (x) => ({ planner: 'this service', engine: 'the engine' })[x] ?? x, (x) => (x === 'engine' ? 'This service counts its versions, and cannot say where a key goes.' : undefined)),
] })

const schemeNotes = (x) => ({ table: 'Entries for some keys, over a hash function for all others.', ring: 'Plans add and remove tokens.', ranges: 'Plans hand over intervals of the key space.' })[x]

/** The instances of the first partitions; the whole is in the JSON. */
const runs = (assignment) => `${assignment.slice(0, 24).join(', ')}${assignment.length > 24 ? ' …' : ''}`

const certificateNotes = { off: 'Plans have none.', fast: 'No longer than the strategy itself on large inputs.', tight: 'Takes longer, and proves smaller gaps.' }

const strategy = (setting, o) => ({ title: 'Planning', rows: [
  o.strategy !== undefined ? setting('strategy', 'Strategy', (x) => strategyWords[x] ?? x) : setting(`${o.scheme}.method`, 'Method', () => strategyWords[methodOf(o)] ?? methodOf(o)),
  setting('objective', 'Objective', (x) => ({ min_migration: 'Least migration', min_imbalance: 'Least imbalance' })[x] ?? x, (x) => ({ min_migration: 'The state that migrates, with every instance within its bound.', min_imbalance: 'θ, within the migration limit.' })[x]),
  setting('ring.tau', 'Threshold τ', percent, 'An instance is overloaded when it carries so much more than the second greatest.'),
  setting('ring.max_rounds', 'Rounds', (x) => `${count(x)} for each instance at most`),
  setting('ranges.max_intervals', 'Ranges', (x) => `${count(x)} for each instance at most`),
  setting('beta', 'β', exactly, 'In γ(k) = cost^β / state, by which keys to move are chosen.'),
  setting('key_overhead', 'Overhead per key', (x) => (x === 0 ? 'None' : `${exactly(x)} units of state`), 'Added to the state of each key that migrates.'),
  setting('certificate', 'Certificate', (x) => ({ off: 'Off', fast: 'Fast', tight: 'Tight' })[x] ?? x, (x) => certificateNotes[x]),
  setting('compact.degree', 'Compaction', (x) => (x === 0 ? 'None' : `Degree ${count(x)}`), (x) => (x === 0 ? undefined : `Scales: cost ${scale(o.compact.cost_scale, 'cost')}, state ${scale(o.compact.state_scale, 'state')}.`)),
] })

const scale = (x, what) => (x === null ? `the smallest positive ${what} of the interval` : exactly(x))

const limits = (setting, o) => ({ title: 'Limits', rows: [
  setting('theta_max', 'θ_max', exactPercent, (x) => `An instance may carry ${exactly(1 + x)} times its fair load.`),
  setting('table_limit', 'Size of the table', (x) => (x === null ? 'No limit' : counted(x, 'entry', 'entries'))),
  o.migration_limit && setting('migration_limit', 'Migration of a plan', migrationLimit),
  setting('work_budget', 'Work of a plan', (x) => (x === 0 ? 'No limit' : counted(x, 'work unit')), (x) => (x === 0 ? undefined : `About ${amount(x)}; the same budget gives the same plan on every machine.`)),
  setting('deadline', 'Time of a plan', (x) => (x === null ? 'The server’s own bound' : span(x))),
] })

function migrationLimit(x) {
  if (x.state !== undefined) return `${exactly(x.state)} of state`
  return x.keys !== undefined ? counted(x.keys, 'key') : `${exactPercent(x.fraction)} of all state`
}

/** What somebody set is not rounded. */
const exactPercent = (x) => `${exactly(Number((100 * x).toPrecision(14)))} %`

const trigger = (setting, o) => ({ title: 'When to plan', rows: [
  setting('trigger.theta', 'Trigger θ', exactPercent, 'Imbalance up to it is left alone. Added and removed instances, a changed hash and a table above its limit always lead to a plan.', o.trigger.theta === o.theta_max),
  setting('trigger.cooldown_intervals', 'Cooldown', (x) => (x === 0 ? 'None' : counted(x, 'interval')), 'After an interval whose plan moved keys and was committed.'),
] })

const approval = (setting) => ({ title: 'Approval', rows: [
  setting('require_approval', 'Plans', (x) => (x ? 'Wait until somebody approves them' : 'Need no approval')),
  setting('approval.on_pending', 'New statistics while one waits', (x) => ({ keep: 'The waiting plan stays', replace: 'A plan that changes something replaces it' })[x] ?? x),
  setting('approval.ttl', 'A plan waits', (x) => (x === '0s' ? 'For ever' : `${span(x)}, then it expires`)),
] })

const missingWords = { fail: 'There is no plan', carry: 'Its last report stands in', freeze: 'What is on it stays there' }

const reports = (setting, o) => ({ title: 'Reports of instances', rows: [
  setting('reports.missing', 'When one is missing', (x) => missingWords[x] ?? x),
  setting('reports.max_age', 'A report is carried', (x) => `For ${counted(x, 'interval')} at most`, o.reports.missing === 'carry' ? undefined : 'Counts where missing reports are carried.'),
] })

const kept = (one) => (x) => (x === 0 ? 'All' : `The newest ${counted(x, one)}`)

const retention = (setting) => ({ title: 'What is kept', rows: [
  setting('store_inputs', 'Statistics', (x) => (x ? 'Stored beside their plans' : 'Not stored: intervals cannot be analysed later')),
  setting('retention.inputs', 'Statistics of plans', kept('plan')),
  setting('retention.plans', 'Plans', kept('plan')),
  setting('retention.versions', 'Versions of the table', kept('version')),
] })

const versions = (_, o) => ({ title: 'Versions', rows: [
  { label: 'Configuration', value: `Version ${count(o.config_version)}` },
  { label: 'Committed table', value: `Version ${count(o.table_version)}`, note: o.table_version === 0 ? 'That of a new operator: nothing was committed yet.' : undefined },
  { label: 'The table pins', value: `Configuration version ${count(o.table_config_version)}`, note: o.table_config_version === o.config_version ? undefined : 'An older one than this.' },
] })

/** A duration of the API, "12h0m0s", without its zeros. */
const span = (text) => [...text.matchAll(/([\d.]+)(ms|µs|us|ns|h|m|s)/g)].filter(([, n]) => Number(n) !== 0).map(([, n, unit]) => `${n} ${unit === 'm' ? 'min' : unit}`).join(' ') || '0 s'
