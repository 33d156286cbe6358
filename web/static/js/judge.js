// How a θ is judged: against its limit, and against what it would be without the plan.

import { percent, roughly } from './format.js'
import { html } from './html.js'

const grain = 1e-9 // differences below it are of arithmetic, not of load
export const seldom = 0.1 // a limit that is missed at most so often is expected to hold

/**
 * Whether θ is within its limit after a plan, and what became of it. missed is the probability that the limit is
 * missed in the next interval; null where that is not known, and the figures are of the interval that is over.
 *
 * @typedef {object} Judgement
 * @property {API['Theta']} theta
 * @property {number} bound θ_max
 * @property {(x: number) => string} text of a θ, with as many digits as are known
 * @property {number | null} missed
 * @property {boolean} within
 * @property {'better' | 'worse' | 'the same'} course
 * @property {boolean} [needed] where keys have to move, whatever comes of it
 * @property {boolean} [many] whether it is of several resources, each with a limit
 * @property {'good' | 'warn' | 'bad'} tone good is within the limit and not worse, bad is neither within nor better
 */

/** @typedef {Pick<AnyPlan, 'theta' | 'parameters'> & { forecast?: API['PlanForecast'], migration?: any }} Judged */

/**
 * Of figures that are known. Differences that rounding hides are none.
 *
 * @param {API['Theta']} theta
 * @param {number} bound
 * @returns {Judgement}
 */
export function judge(theta, bound) {
  const within = isWithin(theta.after, bound)
  const course = courseOf(theta, percent)
  const tone = !within ? 'bad' : course === 'worse' ? 'warn' : 'good'
  return { theta, bound, text: percent, missed: null, within, course, tone }
}

/**
 * Of a plan: what is expected of the next interval where there is a forecast, else its own figures. Where θ would be
 * both with it and without it what chance makes of even loads, the noise floor is what to expect either way. It is
 * about cost, whatever other resources there are.
 *
 * @param {Judged} plan
 * @returns {Judgement}
 */
export function outlook({ theta, parameters: { theta_max: bound }, forecast, migration }) {
  const { noise_floor: floor } = forecast ?? {}
  const [without, after] = [forecast?.without, forecast?.with].map((p) => p?.resources?.[0] ?? p)
  const needed = (migration?.forced?.keys ?? 0) > 0
  if (!without || !after) return { ...judge(theta, bound), needed }
  const noise = floor !== undefined && floor !== null && Math.max(without.median, after.median) <= floor.p95
  const expected = noise
    ? { before: floor.median, after: floor.median }
    : { before: without.median, after: after.median }
  const within = after.probability <= seldom
  const course = courseOf(expected, roughly)
  const idle = course === 'the same' && migration?.keys > 0
  const tone = within
    ? !needed && (course === 'worse' || idle)
      ? 'warn'
      : 'good'
    : needed || course === 'better'
      ? 'warn'
      : 'bad'
  return { theta: expected, bound, text: roughly, missed: after.probability, within, course, needed, tone }
}

/**
 * @param {API['Theta']} theta
 * @param {(x: number) => string} text
 * @returns {Judgement['course']}
 */
const courseOf = ({ before, after }, text) =>
  Math.abs(after - before) <= grain || text(before) === text(after) ? 'the same' : after < before ? 'better' : 'worse'

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
 * How often a limit is missed, in words.
 *
 * @param {number} probability
 */
const often = (probability) =>
  probability > 0 && probability < 0.005 ? 'fewer than 1 of 100' : `${Math.round(100 * probability)} of 100`

/**
 * The verdict in a few words, in its colour and with its sign.
 *
 * @param {{ of: Judgement }} props
 */
export function Marks({ of: { within, course, bound, missed, needed, tone } }) {
  const limit = html`θ<sub>max</sub> ${percent(bound)}`
  return html`
    <span class="mark ${within ? 'good' : missed !== null && missed <= 0.5 ? 'warn' : 'bad'}">
      ${missed === null ? html`${within ? 'within' : 'above'} ${limit}` : html`${limit} missed in ${often(missed)}`}
    </span>
    ${
      !(needed && missed !== null) &&
      (course !== 'the same' || (missed !== null && tone !== 'good')) &&
      html` <span class="mark ${course === 'better' ? 'good' : course === 'worse' ? 'bad' : 'warn'}">${course}</span>`
    }
  `
}

/**
 * θ from before to after, in the colour of the judgement.
 *
 * @param {{ of: Judgement }} props
 */
export const Course = ({ of: { theta, course, text, tone } }) => html`
  ${course !== 'the same' && html`<span class="muted nowrap">${text(theta.before)} →</span>${' '}`}
  <strong class="toned nowrap ${tone}">${text(theta.after)}</strong>
`

/**
 * What becomes of θ, in a sentence without its end.
 *
 * @param {Judgement} of
 */
export function thetaWords({ theta, bound, text, missed, within, course, needed }) {
  const [before, after, limit] = [text(theta.before), text(theta.after), percent(bound)]
  if (missed !== null)
    return (
      `Expected next: θ ${after} (limit ${limit}, missed in ${often(missed)})` +
      (needed ? '' : `, ${course === 'the same' ? 'the same' : before} without it`)
    )
  if (course === 'the same') return `θ stays at ${after}, ${within ? 'within' : 'above'} its limit of ${limit}`
  const goes = `from ${before} to ${after}`
  if (isWithin(theta.before, bound))
    return within
      ? `θ was within its limit of ${limit} already and gets ${course}, ${goes}`
      : `θ was within its limit of ${limit} and goes above it, ${goes}`
  if (within) return `θ gets within its limit of ${limit}, ${goes}`
  return `θ was above its limit of ${limit} and stays above it, ${course === 'worse' ? 'worse, ' : ''}${goes}`
}

/**
 * The verdict: whether the limit holds, and whether the plan is better than none.
 *
 * @param {Judgement} of
 * @param {boolean} moves
 * @param {boolean} jumped whether only the last interval was so uneven
 */
export function verdictWords({ within, course, missed, needed, many = false }, moves, jumped) {
  const expected = within
    ? `${many ? 'are' : 'is'} expected to hold`
    : missed !== null && missed <= 0.5
      ? 'may be missed'
      : 'will be missed'
  const [limits, hold] = many ? [within ? 'all limits' : 'a limit', 'hold'] : ['the limit', 'holds']
  const limit = `${limits} ${missed !== null ? expected : within ? hold : 'does not hold'}`
  if (!moves) return `Moves nothing: ${limit}`
  if (needed) return `Needed, as instances or their hash changed${within ? ': ' : ', but '}${limit}`
  const stays = jumped ? ' if the jump stays' : ''
  if (course === 'better') return `Better than without it${stays}${within ? ': ' : ', but '}${limit}`
  if (course === 'worse') return `Worse than without it: ${limit}`
  return `No better than without it: ${limit}${many ? '' : ', with it or not'}`
}
