// What a plan does in each resource: which of them decides, and its figures in words.

import { amount, endless, levelText, percent, stateOnly } from './format.js'
import { html } from './html.js'
import { named } from './instances.js'
import { Course, isWithin, judge, outlook, seldom } from './judge.js'

/** @import { Judgement } from './judge.js' */

/** @typedef {API['PlanResource']} Resource */

/** @typedef {Pick<AnyPlan, 'resources'> & Partial<AnyPlan>} Having */

/**
 * Writes amounts of a resource in its unit.
 *
 * @param {Resource | null | undefined} resource
 */
export const amountIn = (resource) => (resource?.from === 'state' ? stateOnly : amount)

/**
 * The resources of a plan beside cost, which is the first.
 *
 * @param {Having} plan
 */
export const beside = ({ resources = [] }) => resources.slice(1)

/** @typedef {Pick<Resource, 'theta_max'> & { limit?: boolean }} Bound */

/** The highest level that is allowed. */
/** @type {(of: Bound) => number} */
export const boundOf = ({ limit, theta_max: tolerance = 0 }) => (limit ? 1 : tolerance)

/** A level as a part of what it may be. */
/** @type {(of: Bound, level: number) => number} */
export const share = (resource, level) => (resource.limit ? level : (1 + level) / (1 + boundOf(resource)))

/**
 * The resources of a plan, those first whose bound was broken most before it, then by how full they are after it.
 *
 * @param {Having} plan
 */
export const worstFirst = ({ resources = [] }) => {
  const over = (/** @type {Resource} */ r) => Math.max(1, share(r, r.level.before))
  return resources.toSorted((a, b) => over(b) - over(a) || share(b, b.level.after) - share(a, a.level.after))
}

/**
 * @param {Resource} resource
 * @returns {Judgement}
 */
export const judged = (resource) => ({ ...judge(resource.level, boundOf(resource)), text: levelText })

/**
 * The judgement of a plan in all its resources: of the one that decides, and whether the bounds of all hold.
 *
 * @param {AnyPlan} plan
 * @returns {Judgement}
 */
export function overall(plan) {
  const own = outlook(plan)
  const others = beside(plan)
  if (others.length === 0) return own
  const decides = others.find(({ name }) => name === plan.decides)
  const of = decides ? judged(decides) : own
  const hold = others.every(({ balanced }) => balanced)
  const missed = own.missed === null ? null : (plan.forecast?.with?.probability ?? own.missed) // the limit of any
  const likely = missed === null || missed <= seldom
  return {
    ...of,
    needed: own.needed,
    many: true,
    missed: hold ? missed : null,
    within: own.within && hold && likely,
    tone: !hold ? 'bad' : !own.within ? own.tone : likely ? of.tone : 'warn',
  }
}

/**
 * How full an instance is in a resource, after words for whose it is: "held 112 % of what it has".
 *
 * @param {Bound} resource
 * @param {number} level
 * @param {[holds: string, is: string]} verbs
 */
const fullness = ({ limit }, level, [holds, is]) =>
  !limit
    ? `${is} ${levelText(level)} above its fair load`
    : level >= endless
      ? `${holds} some and has none`
      : `${holds} ${percent(level)} of what it has`

/** @param {API['WorstInstance']} of */
const instance = (of) => `${of.name ? '' : 'instance '}${named({ instances: [of] }, of.id)}`

/** @param {Bound} resource */
const allowed = (resource) => (resource.limit ? '' : `; ${levelText(boundOf(resource))} is allowed`)

/**
 * Which resource decides, in a sentence or two; empty where the bound of none was broken before the plan.
 *
 * @param {AnyPlan} plan
 */
export function decidesWords(plan) {
  const of = plan.resources?.find(({ name }) => name === plan.decides)
  if (!of) return ''
  /** @param {API['ResourceLoad']} i */
  const fill = ({ load, fair_load: fair = 0, max_load: most }) => load.before / (of.limit ? most : fair) || 0
  const live = of.instances.filter((_, i) => !plan.instances[i].drained)
  const fullest = live.reduce((worst, i) => (fill(i) > fill(worst) ? i : worst))
  const { before, after } = of.level
  const most = of.limit
    ? `holds more than ${levelText(after)} of what it has`
    : `is more than ${levelText(after)} above its own`
  return (
    `${of.name} decides: ${instance(fullest)} ${fullness(of, before, ['held', 'was'])}${allowed(of)}.` +
    (after < endless ? ` After the plan no instance ${most}.` : '')
  )
}

/** A resource as a plan leaves it: "w1 holds 112 % of what it has". */
/** @type {(of: Bound, level: number, worst: API['WorstInstance']) => string} */
const left = (of, level, worst) => `${instance(worst)} ${fullness(of, level, ['holds', 'is'])}${allowed(of)}`

/**
 * The bounds that a plan leaves broken, a sentence for each resource.
 *
 * @param {AnyPlan} plan
 */
export const brokenWords = (plan) =>
  (plan.resources ?? [])
    .filter(({ balanced }) => !balanced)
    .map((r) => `${r.name}: after the plan ${left(r, r.level.after, r.worst)}.`)

/**
 * Which resources beside cost a plan leaves above their bounds, each with the worst instance. Plans of lists
 * have no `resources`, but `forecast` has levels and bounds. A plan that undoes another one has no forecast, and that
 * of a plan which an earlier version stored has no bounds: then the resource cannot be named.
 *
 * @param {Partial<AnyPlan> & Pick<PlanSummary, 'theta' | 'parameters'>} plan
 */
export function lacking({ resources, balanced, theta, parameters, forecast }) {
  const above = resources
    ? beside({ resources }).flatMap((r) => (r.balanced ? [] : [{ ...r, level: r.level.after }]))
    : balanced === false
      ? (forecast?.planned ?? []).slice(1).filter((r) => !isWithin(r.level, r.limit ? 1 : (r.theta_max ?? Infinity)))
      : []
  if (above.length === 0)
    return !resources && balanced === false && isWithin(theta.after, parameters.theta_max) ? ['another resource'] : []
  return above.map((r) => (r.worst ? `${r.name}, ${left(r, r.level, r.worst)}` : r.name))
}

/**
 * The resources beside cost that came above their bounds in an operator's newest interval, the most broken first.
 *
 * @param {API['Operator'] & { recent: API['OperatorRecent'] }} operator
 */
export const aboveOf = ({ resources = [], recent: { realised } }) =>
  resources
    .map((of, i) => ({ ...of, level: realised.resources?.[i].level?.last ?? 0 }))
    .filter((of, i) => i > 0 && !isWithin(of.level, boundOf(of)))
    .toSorted((a, b) => share(b, b.level) - share(a, a.level))
    .map((of) => `${of.name} ${levelText(of.level)}`)
    .join(', ')

/**
 * The worst of the resources beside cost as a figure; nothing of a plan that has cost alone.
 *
 * @param {AnyPlan} plan
 * @returns {Stat | null}
 */
export function resourceStat(plan) {
  const of = worstFirst(plan).find((r) => r !== plan.resources?.[0])
  if (!of) return null
  const judgement = judged(of)
  const bound = of.limit ? 'what each instance has' : `θ_max ${levelText(boundOf(of))}`
  return {
    label: `${of.name}, ${of.limit ? 'of the fullest instance' : 'greatest overload'}`,
    value: html`<${Course} of=${judgement} />`,
    note: html`<span class="mark ${judgement.within ? 'good' : 'bad'}">
      ${judgement.within ? 'within' : 'above'} ${bound}
    </span>`,
    tone: judgement.tone,
  }
}
