// What newer statistics say about a plan that is not committed yet.

import { count, percent } from './format.js'
import { html } from './html.js'
import { judge } from './judge.js'
import { link } from './route.js'
import { movesOn } from './words.js'

/** @typedef {NonNullable<API['Latest']>} Newer */

/**
 * What the newest statistics say of a plan, as long as that may still matter.
 *
 * @param {Pick<AnyPlan, 'status' | 'latest'>} plan
 */
export const newerOf = ({ status, latest }) => (latest && movesOn(status) ? latest : null)

/**
 * In a few words: "newer data: 16.9 %, above".
 *
 * @param {{ newer: Newer, bound: number }} props
 */
export function NewerShort({ newer: { figures }, bound }) {
  if (!figures) return html`<span class="muted">newer data: not known</span>`
  const { within, course, tone } = judge(figures.theta, bound)
  const than = { better: '', worse: ', worse than without it', 'the same': ', the same without it' }[course]
  return html`<span class="toned ${tone}">
    newer data: ${percent(figures.theta.after)}
    , ${within ? 'within' : 'above'}${than}
  </span>`
}

/**
 * In a sentence, with what to look at.
 *
 * @param {{ newer: Newer, bound: number }} props
 */
export function NewerFigures({ newer: { plan, interval, figures }, bound }) {
  const of = html`<a href=${link(['plans', plan])}>interval ${count(interval)}</a>`
  if (!figures)
    return html`<p class="newer">
      Newer statistics came, of ${of}. What this plan would do under them is not known: its moves or these statistics
      are of classes.
    </p>`
  const { within, course, tone } = judge(figures.theta, bound)
  const than = course === 'the same' ? 'the same as' : `${course} than`
  return html`<p class="newer ${tone}">
    <strong>Newer data</strong>, of ${of}: with this plan θ would go from ${percent(figures.theta.before)}
    ${' '}to <strong class="toned ${tone}">${percent(figures.theta.after)}</strong>
    , ${within ? 'within' : 'above'} its limit of ${percent(bound)}
    ${' '}and ${than} without it; it would move ${percent(figures.migration.fraction)} of all state.
  </p>`
}
