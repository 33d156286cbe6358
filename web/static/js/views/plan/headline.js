// What a plan does, in one sentence.

import { count, counted, percent, some, state } from '../../format.js'
import { html } from '../../html.js'
import { judge, thetaWords } from '../../judge.js'
import { newerOf, NewerShort } from '../../newer.js'
import { capital, concern, tableOf } from '../../words.js'

/** @param {number[]} ids */
const instances = (ids) => `${ids.length === 1 ? 'instance' : 'instances'} ${some(ids, 4)}`

/**
 * Which instances a plan fills and empties.
 *
 * @param {AnyPlan} plan
 */
export function rescaling(plan) {
  const added = plan.instances.filter((i) => i.added).map((i) => i.id)
  const drained = plan.instances.filter((i) => i.drained).map((i) => i.id)
  return [
    added.length > 0 && `adds ${instances(added)}`,
    drained.length > 0 && `empties ${instances(drained)}, to be removed`,
  ].filter(Boolean)
}

/** @param {string | undefined} status */
const cameToNothing = (status) => ['rejected', 'aborted', 'superseded', 'expired'].includes(status ?? '')

/** @param {AnyPlan} plan */
function movement({ migration: { keys, state: moved, fraction }, ranges, status, parameters }) {
  if (ranges?.size_before === 0) return 'gives every key its first owner'
  if (keys === 0 && moved === 0)
    return ranges && status && status !== 'no_action' && parameters.ranges?.phase === 'get'
      ? 'moves nothing; with it, the owners of ranges answer'
      : 'moves nothing'
  return moved === 0
    ? `moves ${counted(keys, 'key')} without state`
    : `moves ${percent(fraction)} of all state (${counted(keys, 'key')}, ${state(moved)})`
}

/**
 * The headline of a plan: what it does to instances, state, θ and the table, and what
 * newer statistics say of it.
 *
 * @param {{ plan: AnyPlan }} props
 */
export function Headline({ plan }) {
  const newer = newerOf(plan)
  const bound = plan.parameters.theta_max
  const does = [...rescaling(plan), movement(plan)].filter(Boolean)
  const table = plan.table_within_limit === false && tableOf(plan)
  const waits = concern(plan, ['theta_worse', 'table_limit'])
  return html`<p class="plan-headline">
    ${capital(`${cameToNothing(plan.status) ? 'not carried out: ' : ''}${does.join('; ')}`)};${' '}
    <span class="toned ${judge(plan.theta, bound).tone}">${thetaWords(plan.theta, bound)}</span>
    ${
      table &&
      html`; <span class="toned bad">
        the table exceeds its limit: ${counted(table.size_after, 'entry', 'entries')}
        , ${count(plan.parameters.table_limit)} allowed
      </span>`
    }
    ${newer && html`; <${NewerShort} newer=${newer} bound=${bound} />`}
    ${waits && html`; <span class="toned warn">${waits}</span>`}.
  </p>`
}
