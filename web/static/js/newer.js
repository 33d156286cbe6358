// What newer statistics say about a plan that is not committed yet.

import { useResource } from './api.js'
import { count, percent } from './format.js'
import { html } from './html.js'
import { judge } from './judge.js'
import { link } from './route.js'

/**
 * The figures that a plan has under newer statistics; figures are null where they cannot
 * be known, as of classes. plan is the record of these statistics.
 *
 * @typedef {object} Newer
 * @property {string} plan
 * @property {number} interval
 * @property {string} at
 * @property {API['PendingFigures'] | null} figures
 */

/**
 * What the newest plan of an operator says about another one.
 *
 * @param {PlanSummary | undefined} newest
 * @param {string | null} id
 * @returns {Newer | null}
 */
export const newerOf = (newest, id) =>
  newest?.pending && newest.pending.plan === id
    ? { plan: newest.id, interval: newest.interval, at: newest.created_at, figures: newest.pending.figures }
    : null

/**
 * The same, asked for as long as the plan is on its way.
 *
 * @param {Plan | null} plan
 * @returns {Newer | null}
 */
export function useNewer(plan) {
  const open = plan && ['proposed', 'applying', 'aborting'].includes(plan.status)
  /** @type {import('./api.js').Resource<API['PlanList']>} */
  const newest = useResource(open ? `v1/operators/${encodeURIComponent(plan.operator)}/plans` : null, {
    query: { page_size: 1 },
    every: 5_000,
  })
  return plan && newerOf(/** @type {PlanSummary | undefined} */ (newest.data?.plans[0]), plan.id)
}

/**
 * In a few words: "newer data: 16.9 %, above".
 *
 * @param {{ newer: Newer, bound: number }} props
 */
export function NewerShort({ newer: { figures }, bound }) {
  if (!figures) return html`<span class="muted">newer data: not known</span>`
  const { within, course, tone } = judge(figures.theta, bound)
  return html`<span class="toned ${tone}">
    newer data: ${percent(figures.theta.after)}
    , ${within ? (course === 'worse' ? 'within, but worse' : 'within') : 'above'}
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
    and ${than} without it; it would move ${percent(figures.migration.fraction)} of all state.
  </p>`
}
