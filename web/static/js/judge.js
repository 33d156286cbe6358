// How a θ is judged: against its limit, and against what it was before.

import { percent } from './format.js'
import { html } from './html.js'

const grain = 1e-9 // differences below it are of arithmetic, not of load

/**
 * Whether θ is within its limit after a plan, and what became of it.
 *
 * @typedef {object} Judgement
 * @property {boolean} within
 * @property {boolean} withinBefore
 * @property {'better' | 'worse' | 'the same'} course
 * @property {'good' | 'warn' | 'bad'} tone above the limit is bad, and worse within it to be thought about
 */

/**
 * @param {API['Theta']} theta
 * @param {number} bound θ_max
 * @returns {Judgement}
 */
export function judge({ before, after }, bound) {
  const within = isWithin(after, bound)
  const course = Math.abs(after - before) <= grain ? 'the same' : after < before ? 'better' : 'worse'
  return {
    within,
    withinBefore: isWithin(before, bound),
    course,
    tone: !within ? 'bad' : course === 'worse' ? 'warn' : 'good',
  }
}

/**
 * @param {number} theta
 * @param {number} bound
 */
export const isWithin = (theta, bound) => theta <= bound + grain

/**
 * Whether a plan leaves every instance within its bound: as it says, or where it claims
 * nothing, as loads are expectations, by these.
 *
 * @param {Pick<AnyPlan, 'parameters'> & Partial<AnyPlan>} plan
 */
export const fits = ({ balanced, theta, parameters }) =>
  balanced ?? (theta !== undefined && isWithin(theta.after, parameters.theta_max))

/**
 * Both judgements as words in their colours.
 *
 * @param {{ theta: API['Theta'], bound: number }} props
 */
export function Marks({ theta, bound }) {
  const { within, course } = judge(theta, bound)
  return html`
    <span class="mark ${within ? 'good' : 'bad'}">
      ${within ? 'within' : 'above'} θ<sub>max</sub> ${percent(bound)}
    </span>
    ${course !== 'the same' && html` <span class="mark ${course === 'better' ? 'good' : 'bad'}">${course}</span>`}
  `
}

/**
 * θ from before to after, in the colour of the judgement.
 *
 * @param {{ theta: API['Theta'], bound: number }} props
 */
export const Course = ({ theta, bound }) =>
  theta.before === theta.after
    ? html`<strong class="toned ${judge(theta, bound).tone}">${percent(theta.after)}</strong>`
    : html`<span class="muted nowrap">${percent(theta.before)} →</span>
        ${' '}<strong class="toned nowrap ${judge(theta, bound).tone}">${percent(theta.after)}</strong>`

/**
 * What becomes of θ, in a sentence without its end.
 *
 * @param {API['Theta']} theta
 * @param {number} bound
 */
export function thetaWords(theta, bound) {
  const { within, withinBefore, course } = judge(theta, bound)
  const [before, after, limit] = [theta.before, theta.after, bound].map(percent)
  if (course === 'the same') return `θ stays at ${after}, ${within ? 'within' : 'above'} its limit of ${limit}`
  const goes = `from ${before} to ${after}`
  if (withinBefore)
    return within
      ? `θ was within its limit of ${limit} already and gets ${course}, ${goes}`
      : `θ was within its limit of ${limit} and goes above it, ${goes}`
  if (within) return `θ gets within its limit of ${limit}, ${goes}`
  return `θ was above its limit of ${limit} and stays above it, ${course === 'worse' ? 'worse, ' : ''}${goes}`
}
