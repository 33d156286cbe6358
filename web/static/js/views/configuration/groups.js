// The settings of an operator in words, by what they are for.

import { count, counted, exactly, percent, state } from '../../format.js'
import { forecastWords } from '../backtest/table.js'
import { parameters, strategyTitle, textOf, valueIn, valueOf } from '../../strategies.js'
import { capital } from '../../words.js'
import { schemeWords } from '../operator/page.js'

/** @typedef {{ label: string, value: Children, note?: Children, usual?: boolean }} Setting */

/**
 * Tells a setting by the path of its name; nothing where the scheme does not know it.
 *
 * @callback Say
 * @param {string} name
 * @param {string} label
 * @param {(x: any) => Children} words
 * @param {Children | ((x: any) => Children)} [note]
 * @param {boolean} [usual]
 * @returns {Setting | null}
 */

/**
 * Makes a group of settings; null ones are left out.
 *
 * @typedef {(setting: Say, operator: API['Operator']) => { title: string, rows: (Setting | null | undefined)[] }}
 *   MakeGroup
 */

/** What the contract gives to what is left out. Other defaults follow from other settings, and are told in place. */
const defaults = /** @type {Record<string, unknown>} */ ({
  scheme: 'table',
  strategy: 'optimal',
  'hash.function': 'ring',
  'hash.tokens_per_instance': 128,
  'hash.max_parallelism': 128,
  'hash.key_type': 'string',
  'policy.target_theta': null,
  'policy.trigger.probability': null,
  'policy.trigger.theta': null,
  'policy.cooldown_intervals': 0,
  'policy.budget': null,
  'policy.minimum_benefit': 0,
  'approval.auto': 'within_limits',
  'approval.max_migration': null,
  'approval.min_statistics.keys': 1,
  'approval.min_statistics.cost_share': 0.2,
  'approval.small_intervals': 3,
  'approval.on_pending': 'keep',
  'approval.ttl': '10m0s',
  table_owner: 'planner',
  'reports.missing': 'fail',
  'reports.max_age': 3,
  'retention.inputs': 20,
  'retention.plans': 10_000,
  'retention.versions': 1000,
  entry_grace: 2,
  store_inputs: true,
})

/**
 * The groups that the scheme of an operator knows: {title, rows of {label, value, note, usual}}.
 *
 * @param {API['Operator']} operator
 */
export function groupsOf(operator) {
  /**
   * @param {string} name
   * @returns {any}
   */
  const get = (name) => name.split('.').reduce((x, part) => x?.[part], /** @type {any} */ (operator))
  // What the scheme does not know is not there; what is null is not limited.
  /** @type {Say} */
  const setting = (name, label, words, note, usual = name in defaults && get(name) === defaults[name]) =>
    get(name) === undefined
      ? null
      : { label, value: words(get(name)), note: typeof note === 'function' ? note(get(name)) : note, usual }
  const groups = [placement, planning, policy, approval, batches, reports, retention, versions]
  return groups
    .map((group) => group(setting, operator))
    .map(({ title, rows }) => ({ title, rows: rows.filter(Boolean) }))
    .filter(({ rows }) => rows.length > 0)
}

/** @type {Record<string, string>} */
const hashWords = {
  ring: 'Token ring, murmur3_x86_32',
  modulo: 'Modulo, murmur3_x64_128',
  reported: 'Reported by the engine with every row',
  flink: 'Flink',
  kafka: 'Kafka',
}
/** @type {Record<string, string>} */
const hashNotes = {
  ring: 'A key goes to the instance of the first token at or after its position.',
  modulo: 'Modulo the number of instances, in the order of their ids.',
  flink: 'Java’s hashCode, Flink’s murmur, key groups in contiguous ranges.',
  kafka: 'murmur2, positive, modulo the number of partitions.',
}

/** @type {Record<string, string>} */
const ownerWords = { planner: 'this service', engine: 'the engine' }

/** @type {MakeGroup} */
const placement = (setting) => ({
  title: 'Placement',
  rows: [
    setting(
      'scheme',
      'Scheme',
      (x) => schemeWords[x],
      (x) => schemeNotes[x],
    ),
    setting(
      'hash.function',
      'Hash function',
      (x) => hashWords[x] ?? x,
      (x) => hashNotes[x],
    ),
    setting('hash.tokens_per_instance', 'Tokens per instance', count, 'Of instances that name no number of their own.'),
    setting('hash.max_parallelism', 'Maximum parallelism', (x) => counted(x, 'key group')),
    setting('hash.key_type', 'Java type of the keys', (x) => x),
    setting('hash.partitions', 'Partitions', (x) => counted(x, 'partition')),
    setting(
      'hash.assignment',
      'Assignment',
      (x) => `${counted(x.length, 'partition')} to instances`,
      (x) => runs(x),
    ),
    setting('hash.affinity', 'Keys stay together', affinityWords, 'Plans and tables are of this part of keys.'),
    setting(
      'table_owner',
      'The table is held by',
      (x) => ownerWords[x] ?? x,
      (x) => (x === 'engine' ? 'This service counts its versions, and cannot say where a key goes.' : undefined),
    ),
  ],
})

/** @param {API['Affinity']} affinity */
export function affinityWords({ tag, until, count: n = 1 }) {
  if (tag) return 'whose part between { and } is the same'
  return `whose part before ${n === 1 ? 'the first' : `occurrence ${count(n)} of`} ${until} is the same`
}

/** @type {Record<string, string>} */
const schemeNotes = {
  table: 'Entries for some keys, over a hash function for all others.',
  ring: 'Plans add and remove tokens.',
  ranges: 'Plans hand over intervals of the key space.',
  pkg: 'Each key has several candidates; plans give more to heavy keys.',
}

/**
 * The instances of the first partitions; the whole is in the JSON.
 *
 * @param {number[]} assignment
 */
const runs = (assignment) => `${assignment.slice(0, 24).join(', ')}${assignment.length > 24 ? ' …' : ''}`

/** @type {MakeGroup} */
const planning = (setting, o) => ({
  title: 'Planning',
  rows: [
    setting('strategy', 'Strategy', strategyTitle),
    ...parameters().map((p) => rowOf(p, o)),
    o.splitting?.routing && {
      label: 'Routing of parts',
      value: 'To the least loaded',
      note: 'Each router sends a message of a split key to the part whose instance it has sent the fewest.',
      usual: false,
    },
    o.splitting?.parts && {
      label: 'Parts taken away',
      value: 'Run out',
      note: 'The state of a part that a plan takes away is not moved: it stays and runs out with the window.',
      usual: false,
    },
  ],
})

/**
 * The value of a parameter that the scheme of the operator knows.
 *
 * @param {API['ParameterInfo']} p
 * @param {API['Operator']} o
 * @returns {Setting | null}
 */
function rowOf(p, o) {
  const value = valueOf(o, p)
  // The method has none of them, or they are for what is not done.
  const needless = (p.name.startsWith('ring/') || p.name.startsWith('ranges/')) && valueIn(o, p.name) === undefined
  if (!p.schemes.includes(o.scheme) || needless || (p.name.endsWith('_scale') && !o.compact?.degree)) return null
  const ofParts = p.name === 'splitting/merge_cost' || p.name === 'splitting/price'
  if (ofParts && (o.splitting?.max_parts ?? 1) < 2) return null
  const note = p.choices.find((c) => c.value === value)?.help ?? p.help
  return { label: p.label, value: exactText(p, value), note, usual: value === p.default }
}

/**
 * A value in words. What somebody set is not rounded.
 *
 * @param {API['ParameterInfo']} p
 * @param {any} value
 * @returns {string}
 */
function exactText(p, value) {
  if (value === null) return capital(p.none ?? '')
  if (p.type === 'duration') return span(value)
  if (p.type === 'number') return p.unit === 'share' ? exactPercent(value) : exactly(value)
  if (p.type !== 'migration_limit') return textOf(p, value)
  if (value.state !== undefined) return `${exactly(value.state)} of state`
  return value.keys !== undefined ? counted(value.keys, 'key') : `${exactPercent(value.fraction ?? 0)} of all state`
}

/**
 * What somebody set is not rounded.
 *
 * @param {number} x
 */
export const exactPercent = (x) => `${exactly(Number((100 * x).toPrecision(14)))} %`

/** @type {MakeGroup} */
const policy = (setting, o) => ({
  title: 'When to plan',
  rows: [
    setting(
      'policy',
      'Policy',
      (x) => (x === 'auto' ? 'Chosen by the service' : 'As said here'),
      'Added and removed instances, a changed hash and a table above its limit always lead to a plan.',
      o.policy === 'auto' || o.scheme !== 'table',
    ),
    setting('balance_worth', 'A point of θ is worth', (x = 0.0025) => `${exactPercent(x)} of all state moved`),
    setting('policy.forecast', 'Planned on', forecastWords, undefined, o.scheme !== 'table'),
    setting('policy.target_theta', 'Target θ', (x) => (x === null ? 'The tolerance' : exactPercent(x))),
    setting(
      'policy.trigger.probability',
      'Only if exceeding is as likely as',
      (x) => (x === null ? 'Anything' : exactPercent(x)),
      'That θ exceeds the tolerance in the next interval.',
    ),
    setting(
      'policy.trigger.theta',
      'Only if θ exceeds',
      (x) => (x === null ? 'The target' : exactPercent(x)),
      'Of the costs that it is planned on.',
    ),
    setting(
      'policy.cooldown_intervals',
      'Cooldown',
      (x) => (x === 0 ? 'None' : counted(x, 'interval')),
      'After an interval whose plan moved keys and was committed.',
    ),
    setting('policy.budget', 'A plan moves at most', (x) =>
      x === null ? 'Anything' : `${exactPercent(x)} of all state`,
    ),
    setting(
      'policy.minimum_benefit',
      'A plan that moves all state lowers θ by',
      (x) => (x === 0 ? 'Anything' : `${exactPercent(x)} at least`),
      'Of the excess that is expected. A plan that moves a part of the state must lower it by that part.',
    ),
  ],
})

/** @type {Record<string, string>} */
const pendingWords = { keep: 'The waiting plan stays', replace: 'A plan that changes something replaces it' }

/** @type {Record<string, string>} */
const autoWords = {
  within_limits: 'Wait for approval if they break a limit',
  always: 'Need no approval',
  never: 'Wait until somebody approves them',
}

const migrationLimit = /** @type {API['ParameterInfo']} */ ({ type: 'migration_limit' })

/** @type {MakeGroup} */
const approval = (setting) => ({
  title: 'Approval',
  rows: [
    setting('approval.auto', 'Plans', (x) => autoWords[x] ?? x),
    setting('approval.max_migration', 'Without approval a plan moves', (x) =>
      x === null ? 'Any amount' : `At most ${textOf(migrationLimit, x)}`,
    ),
    setting('approval.min_statistics.keys', 'Statistics name at least', (x) => counted(x, 'key')),
    setting('approval.min_statistics.cost_share', 'Their cost is at least', (x) => `${percent(x)} of the last`),
    setting('approval.small_intervals', 'Smaller ones are acted upon after', (x) => counted(x, 'interval')),
    setting('approval.on_pending', 'New statistics while one waits', (x) => pendingWords[x] ?? x),
    setting('approval.approvers', 'Who approves', (x) => `${count(x)} different people`),
    setting('approval.start_windows', 'Plans start', (x) => x.map(windowWords).join('; ')),
    setting('approval.ttl', 'A plan waits', (x) => (x === '0s' ? 'For ever' : `${span(x)}, then it expires`)),
  ],
})

/** @param {API['StartWindow']} window */
export const windowWords = ({ from, to, days }) => `${from}–${to} UTC${days ? ` on ${days.join(', ')}` : ''}`

/** @type {Record<string, string>} */
const missingWords = {
  fail: 'There is no plan',
  carry: 'Its last report is used',
  freeze: 'What is on it stays there',
}

/** @type {MakeGroup} */
const reports = (setting, o) => ({
  title: 'Reports of instances',
  rows: [
    setting('reports.missing', 'When one is missing', (x) => missingWords[x] ?? x),
    setting(
      'reports.max_age',
      'A report is used again',
      (x) => `For ${counted(x, 'interval')} at most`,
      o.reports.missing === 'carry' ? undefined : 'Counts where earlier reports are used for missing ones.',
    ),
  ],
})

/** @type {MakeGroup} */
const batches = (setting) => ({
  title: 'Handing over in batches',
  rows: [
    setting('batches.keys', 'Keys of a batch', (x) => `At most ${count(x)}`),
    setting('batches.state', 'State of a batch', (x) => `At most ${state(x)}`),
    setting('batches.pause', 'Transfers of an instance in a batch', (x) => `At most ${span(x)}`),
    setting('transfer_rate', 'An instance sends and receives', (x) => `${state(x)} of state in a second`),
  ],
})

/** @type {(one: string) => (x: number) => string} */
const kept = (one) => (x) => (x === 0 ? 'All' : `The newest ${counted(x, one)}`)

/** @type {MakeGroup} */
const retention = (setting) => ({
  title: 'What is kept',
  rows: [
    setting('store_inputs', 'Statistics', (x) =>
      x ? 'Stored beside their plans' : 'Not stored: intervals cannot be analysed later',
    ),
    setting('retention.inputs', 'Statistics of plans', kept('plan')),
    setting('retention.plans', 'Plans', kept('plan')),
    setting('retention.versions', 'Versions of the table', kept('version')),
    setting('entry_grace', 'Table entries of absent keys', (x) =>
      x === 0 ? 'Until another plan is made' : `Until they were absent for ${counted(x, 'interval')}`,
    ),
    setting('window', 'State of a key', (x = 1) =>
      x === 1 ? 'What its rows tell' : `What the rows of ${counted(x, 'interval')} have added`,
    ),
  ],
})

/** @type {MakeGroup} */
const versions = (_, o) => ({
  title: 'Versions',
  rows: [
    { label: 'Configuration', value: `Version ${count(o.config_version)}` },
    {
      label: 'Committed table',
      value: `Version ${count(o.table_version)}`,
      note: o.table_version === 0 ? 'That of a new operator: nothing was committed yet.' : undefined,
    },
    {
      label: 'The table pins',
      value: `Configuration version ${count(o.table_config_version)}`,
      note: o.table_config_version === o.config_version ? undefined : 'An older one than this.',
    },
  ],
})

/**
 * A duration of the API, "12h0m0s", without its zeros.
 *
 * @param {string} text
 */
const span = (text) =>
  [...text.matchAll(/([\d.]+)(ms|µs|us|ns|h|m|s)/g)]
    .filter(([, n]) => Number(n) !== 0)
    .map(([, n, unit]) => `${n} ${unit === 'm' ? 'min' : unit}`)
    .join(' ') || '0 s'
