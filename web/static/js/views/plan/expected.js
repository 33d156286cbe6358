// What a plan expects of the interval in which it takes effect.

import { count, counted, levelText, percent } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable } from '../../parts.js'
import { policyWords } from '../backtest/table.js'

/** @typedef {NonNullable<API['Prediction']>} Prediction */

/** @typedef {[name: string, of: (p: Prediction) => string]} Row */

/** @type {Row[]} */
const rows = [
  ['θ if loads come as expected', (p) => percent(p.expected)],
  ['θ, median', (p) => percent(p.median)],
  ['θ, in 95 of 100 cases at most', (p) => percent(p.p95)],
  ['Probability that θ exceeds the tolerance', (p) => percent(p.probability)],
]

/**
 * The rows of several resources: all of them together, then each.
 *
 * @param {API['ResourcePrediction'][]} resources
 * @returns {Row[]}
 */
const rowsOf = (resources) => [
  ['Probability that any bound is broken', (p) => percent(p.probability)],
  ...resources.flatMap(({ name }, i) => {
    const of = (/** @type {Prediction} */ p) => /** @type {API['ResourcePrediction']} */ (p.resources?.[i])
    return /** @type {Row[]} */ ([
      [`${name}, median`, (p) => levelText(of(p).median)],
      [`${name}, in 95 of 100 cases at most`, (p) => levelText(of(p).p95)],
      [`Probability that the bound of ${name} is broken`, (p) => percent(of(p).probability)],
    ])
  }),
]

/**
 * What to expect of the next interval, with the plan and without it, and by which policy it was made.
 *
 * @param {{ forecast?: API['PlanForecast'], thetaMax: number }} props
 */
export function Expected({ forecast, thetaMax }) {
  if (!forecast) return null
  const { policy, chosen, without, with: after, noise_floor: floor } = forecast
  const on = (/** @type {API['WorstInstance'] | undefined} */ d) => d && ` on ${d.name ?? `instance ${d.id}`}`
  const levels = forecast.realised
    ?.map(({ name, level, worst }) => `${name} came to ${levelText(level)}${on(worst) ?? ''}`)
    .join(', ')
  const came = levels ?? `θ was ${percent(forecast.realised_theta)}`
  const next = `A plan takes effect in the next one${
    policy.forecast.method === 'last' ? '.' : ', for whose expected costs this one was made.'
  }`
  return html`<${Card} title="The next interval" class="half">
    <p>${`In this interval ${came} under the tables that were in effect. ${next}`}</p>
    ${
      without && after
        ? html`<div class="plan-expected">
            ${plainTable('What to expect of the next interval', without.resources ? rowsOf(without.resources) : rows, [
              ['Expected', ([name]) => name, 'row'],
              ['if nothing moves', ([, of]) => of(without), 'number'],
              ['with the plan', ([, of]) => of(after), 'number'],
            ])}
          </div>`
        : html`<p class="muted">Too few intervals were seen to say what to expect.</p>`
    }
    ${
      floor &&
      html`<p>
        Noise floor: were all expected loads even, θ would still be ${percent(floor.median)} in the median, and up
        to ${percent(floor.p95)} in 95 of 100
        intervals.${floor.median > thetaMax ? ` A tolerance of ${percent(thetaMax)} is below it.` : ''}
      </p>`
    }
    <p>Policy: ${policyWords(policy, thetaMax)}.</p>
    ${
      chosen &&
      html`<p class="muted">
        Chosen by the service ${chosen.age === 0 ? 'for this plan' : `${counted(chosen.age, 'plan')} ago`}${
          chosen.intervals > 0 && `, by ${counted(chosen.intervals, 'interval')} up to ${count(chosen.interval)}`
        }: ${chosen.reason}.
      </p>`
    }
  <//>`
}
