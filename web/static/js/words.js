// What coded values mean, in words.

import { amount, count, counted, levelText, percent, state } from './format.js'
import { fits } from './judge.js'

/** @type {Record<string, string>} */
export const statusWords = {
  no_action: 'no action',
  proposed: 'waits for approval',
  approved: 'approved',
  applying: 'being applied',
  aborting: 'being aborted',
  committed: 'committed',
  rejected: 'rejected',
  aborted: 'aborted',
  superseded: 'superseded',
  expired: 'expired',
}

/** The statuses that a plan can be asked for by, in the order of its life. */
export const statuses = Object.keys(statusWords)

/**
 * Whether a plan of a status can still become another one.
 *
 * @param {string | undefined} status
 */
export const movesOn = (status) => ['proposed', 'approved', 'applying', 'aborting'].includes(status ?? '')

/** @type {Record<string, string>} */
const causeWords = {
  balanced: 'Nothing to do: everything is within its limits, or within those of the policy.',
  cooldown: 'Too soon after the last plan that moved keys.',
  improbable: 'The tolerance is not likely enough to be exceeded in the next interval.',
  little_gain: 'The plan would have moved too much for what it improves.',
  operator_frozen: 'Somebody froze the operator, so nothing was planned.',
  pending_approval: 'Another plan waited for approval, so nothing was planned.',
  plan_in_flight: 'Another plan was being carried out, so nothing was planned.',
  statistics_too_small: 'Too little was reported to act upon: a source of statistics may have failed.',
  hot_key: 'A single key costs more than any instance may carry.',
  unnamed_keys:
    'Keys that are too costly for any instance have no names in the statistics: with names they could be split.',
  parts_limit: 'A single key would have to be split over more instances than the operator allows.',
  nothing_movable: 'Some instance stays above its bound, and no key that could leave it fits elsewhere.',
  table_limit: 'No plan was found within the table limit.',
  unfinished: 'The time or the work budget was up before any plan was complete: everything stays where it is.',
  frozen: 'Nothing is known about some instances in this interval: their keys stay, and nothing is placed on them.',
  carried: 'Earlier reports were used again for missing ones.',
  queue_lengths:
    'The plan was made of queue lengths alone: it is not known which keys move, nor what the loads will be. The' +
    ' queues of the next intervals show it.',
  within_threshold: 'No instance is overloaded by the policy, so no further round was tried.',
  exhausted: 'The overloaded instance has one token left.',
  token_limit: 'There would be too many tokens.',
  max_rounds: 'The overloaded instance was relieved as often as it may be.',
  no_improvement: 'Planning ended, as a further step would not have lowered θ.',
  state_lost: 'An instance is lost, and so is the next one, which had the copy: the state of some ranges is gone.',
  granularity: 'Some instance stays above its bound, because keys are whole and the number of ranges is limited.',
}

/**
 * What the phase of an operator of key ranges means.
 *
 * @type {Record<string, string>}
 */
export const phaseWords = { put: 'nobody answers yet', get: 'the owners of ranges answer' }

/**
 * Whether a plan was made of queue lengths alone: what moves, and what comes of it, is not known.
 *
 * @param {Pick<AnyPlan, 'causes'>} plan
 */
export const ofQueues = (plan) => plan.causes.includes('queue_lengths')

/** What is said of a cause after the resources that it is about: their names, and words. */
/** @type {Record<string, [of: (plan: Partial<AnyPlan>) => (string | undefined)[], words: string]>} */
const causesInResources = {
  hot_key: [
    ({ resources, hot_keys: keys = [] }) => keys.map(({ resource = resources?.[0].name }) => resource),
    'a single key takes more than any instance may carry.',
  ],
  nothing_movable: [
    ({ resources = [] }) => resources.filter(({ balanced }) => !balanced).map(({ name }) => name),
    'some instance stays above its bound, and no key that could leave it fits elsewhere.',
  ],
}

/**
 * A cause, with the resources that it is about where the plan has several. One that a newer server knows is still told.
 *
 * @param {string} code
 * @param {Partial<AnyPlan>} [plan]
 */
export function cause(code, plan) {
  const [of, words] = (plan?.resources && causesInResources[code]) || []
  const names = [...new Set(plan && of?.(plan))].filter(Boolean)
  return names.length > 0 ? `${names.join(', ')}: ${words}` : (causeWords[code] ?? `Cause: ${code}.`)
}

/** @type {Record<string, string>} */
const waitWords = {
  statistics_too_small: 'it was made of suspiciously small statistics',
  approval_required: 'every plan of this operator does',
  table_limit: 'its table exceeds the limit',
  theta_worse: 'it leaves θ above its limit and worse',
  max_migration: 'it moves more than may move without approval',
}

/** @param {API['MigrationLimit'] | undefined} limit */
export function limitWords(limit) {
  if (!limit) return 'none'
  if (limit.state !== undefined) return state(limit.state)
  return limit.keys !== undefined ? counted(limit.keys, 'key') : `${percent(limit.fraction)} of all state`
}

/**
 * Why plans wait for a person, or which limits they break, within a sentence.
 *
 * @param {string[]} codes
 * @param {API['MaxMigration']} [most] what may move without approval, where that is known
 */
export const waitReasons = (codes, most) =>
  codes
    .map((code) => waitWords[code] ?? code.replaceAll('_', ' '))
    .join('; ')
    .replace('without approval', most ? `$& (${limitWords(most)})` : '$&')

/**
 * What whoever decides must know of a plan beside its figures, in a part of a sentence; empty if there is nothing.
 * said are the reasons that are told already, most is what may move without approval.
 *
 * @param {Partial<Pick<PlanSummary, 'status' | 'waits_for' | 'limits_changed' | 'latest'>>} plan
 * @param {string[]} [said]
 * @param {API['MaxMigration']} [most]
 */
export function concern({ status, waits_for: reasons = [], limits_changed: changed, latest }, said = [], most) {
  if (changed) return `has to be approved again: by newer data ${waitReasons(latest?.breaks ?? [], most)}`
  const own = reasons.filter((code) => code !== 'approval_required' && !said.includes(code))
  return status === 'proposed' && own.length > 0 ? `waits as ${waitReasons(own, most)}` : ''
}

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)

/** @type {Record<string, string>} */
export const reasonWords = {
  drain: 'drain: its instance was removed',
  placement: 'placement: a rule keeps it from its instance',
  rehash: 'rehash: it follows the changed hash',
  fill: 'fill: it goes to an added instance',
  move_back: 'move back: its entry goes, back to its hash',
  overload: 'overload: its instance exceeded its bound',
  exchange: 'exchange: it makes room for another key',
  takeover: 'takeover: its instance is lost, another has a copy',
  gather: 'merge: a share of its state joins the rest',
}

export const reasons = Object.keys(reasonWords)

/** @type {Record<API['EndReason'], string>} */
export const endWords = {
  completed: 'The strategy had tried all that it tries.',
  work_budget: 'The work budget ran out: this is the best plan so far.',
  stopped: 'The deadline passed: this is the best plan so far.',
}

/** @param {string | undefined} resource */
const inResource = (resource) => (resource ? `${resource}: ` : '')

/** @type {Record<string, (unmet: API['Unmet'], parameters: Partial<API['Parameters']>) => string>} */
const unmetWords = {
  theta_max: ({ limit, at_least, resource }) =>
    `${inResource(resource)}no plan gets θ below ${levelText(at_least)}; ${percent(limit)} was asked for`,
  capacity: ({ at_least, resource }) =>
    `${inResource(resource)}no plan keeps within the capacities; at least ${levelText(at_least)} of one is taken`,
  table_limit: ({ limit, at_least }) =>
    `every plan needs ${counted(at_least, 'table entry', 'table entries')} at least; ${count(limit)} are allowed`,
  placement: ({ limit, rule, without = 0, resource = 'θ' }) =>
    `the rule “${rule}” keeps ${resource} above ${percent(limit)}: a plan without it gets ${percent(without)}`,
  migration_limit: ({ limit, at_least }, { migration_limit: asked }) => {
    /** @type {(x: number) => string} */
    const moves =
      asked?.fraction !== undefined
        ? (x) => `${percent(x)} of all state`
        : asked?.keys !== undefined
          ? (x) => counted(x, 'key')
          : state
    return `every plan moves ${moves(at_least)} at least; ${moves(limit)} may be moved`
  },
}

/**
 * The certificate of a plan in sentences, the first of which is the verdict. A plan is
 * one of the API, or a result of a what-if.
 *
 * @param {Partial<AnyPlan> & Pick<AnyPlan, 'certificate' | 'parameters' | 'migration'>} plan
 */
export function certificate(plan) {
  const proof = plan.certificate
  if (!proof && plan.causes?.includes('unfinished'))
    return ['Nothing is proven: planning ended before any plan was complete.']
  if (!proof && plan.unfilled?.length)
    return ['Nothing is proven of a plan that leaves instances below what they should carry.']
  if (!proof)
    return [
      plan.status === 'no_action' && plan.pending
        ? 'Nothing was planned, so nothing is proven.'
        : 'There is no proof for this plan: its strategy has none, or the certificate is off.',
    ]
  if (proof.scope === 'candidates') return [levelWords(proof)]
  const imbalance = plan.parameters.objective === 'min_imbalance'
  const hot = plan.hot_keys?.length || plan.causes?.includes('hot_key')
  const limits = hot ? 'the limits, but for hot keys,' : 'the limits'
  const out = []
  if (proof.infeasible) {
    out.push('It is proven that no plan satisfies all limits.')
  } else if (proof.gap === null && (!fits(plan) || plan.table_within_limit === false)) {
    out.push('This plan breaks a limit, so it cannot be compared with plans that satisfy them all.')
  } else if (proof.gap === null) {
    out.push(
      imbalance ? 'No plan is proven to leave more than no imbalance.' : 'Plans that move nothing are not ruled out.',
    )
  } else if (proof.gap === 0) {
    out.push(`Proven optimal: no plan that satisfies ${limits} ${imbalance ? 'is better balanced' : 'moves less'}.`)
  } else {
    const what = imbalance ? 'imbalance' : 'movement'
    out.push(`At most ${percent(proof.gap)} more ${what} than any plan that satisfies ${limits.replace(/,$/, '')}.`)
  }
  if (proof.lower_bound !== null && proof.gap !== 0) {
    out.push(
      imbalance
        ? `Every such plan leaves θ = ${percent(proof.lower_bound)} at least.`
        : `Every such plan moves ${movement(proof.lower_bound, plan)} at least${moved(plan, proof)}.`,
    )
  }
  for (const unmet of proof.unmet) {
    const words = unmetWords[unmet.constraint]?.(unmet, plan.parameters) ?? `${unmet.constraint} cannot be met`
    out.push(`Proven: with all other limits kept, ${words}${beats(unmet, plan)}.`)
  }
  if (proof.scope === 'classes') out.push('The proof is over compact records, as they were sent.')
  if (proof.scope === 'ranges')
    out.push(
      'The proof is over all divisions of the key space that satisfy the bounds, whatever the number of their ranges;' +
        ' it counts cost that changes its owner.',
    )
  return out
}

/**
 * How this plan can have what no plan has that keeps all other limits.
 *
 * @param {API['Unmet']} unmet
 * @param {Parameters<typeof certificate>[0]} plan
 */
const beats = ({ constraint, at_least: least, resource }, { theta, resources }) => {
  const level = resource ? resources?.find(({ name }) => name === resource)?.level : theta
  return ['theta_max', 'capacity'].includes(constraint) && level && level.after < least
    ? ` (this plan gets ${percent(level.after)} and breaks another limit)`
    : ''
}

/**
 * The certificate of a plan of scheme pkg: how level the candidates let loads be.
 *
 * @param {NonNullable<API['Certificate']>} proof
 */
const levelWords = ({ gap, lower_bound }) =>
  `However routers send messages to the candidates of their keys, θ is ${percent(lower_bound)} at least` +
  (gap === 0 ? ': proven, and what to expect.' : '.')

/**
 * What a plan itself moves. Its figures do not have the cost that changes its owner, but its certificate does.
 *
 * @param {Parameters<typeof certificate>[0]} plan
 * @param {NonNullable<API['Certificate']>} proof
 */
function moved(plan, proof) {
  const { scope, lower_bound: least, gap } = proof
  if (scope !== 'ranges') return `; this one moves ${movement(plan.migration.objective, plan)}`
  return gap === null || least === null ? '' : `; this one moves ${movement(least * (1 + gap), plan)}`
}

/**
 * An objective in its unit: under ranges it is cost, else state, with an overhead per key if there is one.
 *
 * @param {number} x
 * @param {Parameters<typeof certificate>[0]} plan
 */
const movement = (x, plan) =>
  plan.certificate?.scope === 'ranges'
    ? `${amount(x)} of cost`
    : plan.parameters.key_overhead
      ? `${amount(x)} (state and overhead)`
      : state(x)

/**
 * The size of what a plan routes by: entries, tokens, ranges or keys of the head.
 *
 * @param {Pick<AnyPlan, 'routing_table' | 'ring' | 'ranges' | 'pkg'>} plan
 */
export function tableOf(plan) {
  if (plan.routing_table) return { ...plan.routing_table, unit: 'entries', one: 'entry', name: 'Routing table' }
  if (plan.ring) return { ...plan.ring, unit: 'tokens', one: 'token', name: 'Tokens' }
  if (plan.pkg) return { ...plan.pkg, unit: 'head keys', one: 'head key', name: 'Head' }
  return { .../** @type {API['RangesDiff']} */ (plan.ranges), unit: 'ranges', one: 'range', name: 'Ranges' }
}
