// What a plan does, and what comes of it: the same words wherever it can be decided on.

import { useResource } from '../../api.js'
import { count, counted, percent, roughly, some, state } from '../../format.js'
import { html } from '../../html.js'
import { named } from '../../instances.js'
import { isWithin, outlook, thetaWords, verdictWords } from '../../judge.js'
import { newerOf, NewerShort } from '../../newer.js'
import { decidesWords, lacking, overall } from '../../resources.js'
import { capital, concern, tableOf } from '../../words.js'

/**
 * @param {AnyPlan} plan
 * @param {number[]} ids
 */
const instances = (plan, ids) => {
  const names = ids.map((id) => named(plan, id))
  return `${ids.length === 1 ? 'instance' : 'instances'} ${some(names, 4)}`
}

/**
 * Which instances a plan fills and empties.
 *
 * @param {AnyPlan} plan
 */
export function rescaling(plan) {
  const added = plan.instances.filter((i) => i.added).map((i) => i.id)
  const drained = plan.instances.filter((i) => i.drained).map((i) => i.id)
  return [
    added.length > 0 && `adds ${instances(plan, added)}`,
    drained.length > 0 && `empties ${instances(plan, drained)}, to be removed`,
  ].filter(Boolean)
}

/** @param {string | undefined} status */
const cameToNothing = (status) => ['rejected', 'aborted', 'superseded', 'expired'].includes(status ?? '')

/** @typedef {AnyPlan | PlanSummary} Told */

/** @param {Told} plan */
const movesNothing = ({ migration: { keys, state: moved } }) => keys === 0 && moved === 0

/**
 * @param {Told} plan
 * @param {boolean} brief
 */
function movement(plan, brief) {
  const { migration, ranges, status, parameters } = plan
  const { keys, state: moved, fraction } = migration
  const unit = plan.affinity ? 'group' : 'key'
  if (ranges?.size_before === 0) return 'gives every key its first owner'
  if (movesNothing(plan))
    return ranges && status && status !== 'no_action' && parameters.ranges?.phase === 'get'
      ? 'moves nothing; with it, the owners of ranges answer'
      : 'moves nothing'
  return moved === 0
    ? `moves ${counted(keys, unit)} without state`
    : `moves ${percent(fraction)} of all state${brief ? '' : ` (${counted(keys, unit)}, ${state(moved)})`}`
}

/**
 * What a plan moves and what comes of it, in a sentence or two, with what newer statistics say of it and what it
 * waits for. approval is that of its operator, before is what stands before what moves.
 *
 * @param {{ plan: Told, approval?: API['Approval'], before?: string[], brief?: boolean }} props
 */
export function Outcome({ plan, approval, before = [], brief = false }) {
  const newer = newerOf(plan)
  const bound = plan.parameters.theta_max
  const table = plan.table_within_limit === false && tableOf(plan)
  const waits = concern(plan, ['theta_worse', 'table_limit'], approval?.max_migration)
  const judged = outlook(plan)
  const full = lacking(plan)
  const does = [...before, movement(plan, brief)].join('; ')
  return html`
    ${capital(`${cameToNothing(plan.status) ? 'not carried out: ' : ''}${does}`)}.${' '}
    <span class="toned ${judged.tone}">${thetaWords(judged)}</span>
    ${full.length > 0 && html`; <span class="toned bad">above its bound: ${full.join('; ')}</span>`}
    ${
      table &&
      html`; <span class="toned bad">
        the table exceeds its limit: ${counted(table.size_after, 'entry', 'entries')}
        , ${count(plan.parameters.table_limit)} allowed
      </span>`
    }
    ${newer && html`; <${NewerShort} newer=${newer} bound=${bound} />`}
    ${waits && html`; <span class="toned warn">${waits}</span>`}.
  `
}

const intervals = 12 // of which a headline says how they went

/**
 * The headline of a plan: its verdict, and what comes of it.
 *
 * @param {{ plan: AnyPlan }} props
 */
export function Headline({ plan }) {
  const path = `v1/operators/${encodeURIComponent(plan.operator ?? '')}?include=recent&window=${intervals + 1}`
  /** @type {Watched<API['Operator']>} */
  const operator = useResource(plan.status === 'proposed' ? path : null)
  const judged = outlook(plan)
  const before = operator.data?.recent ? earlier(plan, operator.data.recent) : null
  const floor = plan.forecast?.noise_floor?.median ?? 0
  const verdict = overall(plan)
  const decides = decidesWords(plan)
  return html`<div class="plan-headline ${verdict.tone}">
    <p class="plan-first mark ${verdict.tone}">
      ${verdictWords(verdict, !movesNothing(plan), before?.jumped === true)}.
    </p>
    ${decides && html`<p>${decides}</p>`}
    <p><${Outcome} plan=${plan} approval=${operator.data?.approval} before=${rescaling(plan)} /></p>
    ${before?.words}
    ${
      judged.missed !== null &&
      floor > judged.bound &&
      html`<p>No plan can hold this limit: loads vary by themselves, which alone makes θ ${roughly(floor)}.</p>`
    }
  </div>`
}

/**
 * How the intervals before that of the newest plan went; null of other plans. A jump is half again as far from their
 * median as any of them: no forecast knows whether it passes or stays.
 *
 * @param {AnyPlan} plan
 * @param {API['OperatorRecent']} recent
 */
function earlier(plan, { plans, thetas }) {
  const { bound, needed } = outlook(plan)
  const inOrder = thetas.slice(0, -1)
  const sorted = inOrder.toSorted((a, b) => a - b)
  const [median = 0, most = 0] = [sorted[sorted.length >> 1], sorted.at(-1)]
  if (plans[0]?.id !== plan.id || sorted.length < 2) return null
  const now = plan.forecast?.realised_theta ?? plan.theta.before
  const jumped = !needed && !isWithin(now, bound) && now - median > 1.5 * (most - median)
  const last = inOrder.length - 1 - inOrder.findLastIndex((theta) => isWithin(theta, bound))
  const words = html`<p>
    In this interval θ was ${roughly(now)}; in the ${count(sorted.length)} before it, ${roughly(median)} in the median
    and ${roughly(most)} at most${last > 0 && `, above its limit in the last ${last === 1 ? 'one' : count(last)}`}.
    ${
      jumped &&
      html` <strong>The jump is new</strong>: a peak passes without a plan, a change stays. The next interval will show
        which it is.`
    }
  </p>`
  return { jumped, words }
}
