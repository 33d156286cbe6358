// The life of a plan: what can be done with it, how far it is, and what became of it.

import { useResource } from '../../api.js'
import { count, counted, duration, percent, some, state } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { Instance, named } from '../../instances.js'
import { Card, loaded, plainTable, Status, Time, useNow } from '../../parts.js'
import { link } from '../../route.js'
import { movesOn, statusWords, tableOf, waitReasons } from '../../words.js'

/** @typedef {Watched<API['TransitionList']>} Steps */

const quietly = 10_000 // milliseconds between two reports of progress that are read out

/**
 * What a plan waits for, or what became of it.
 *
 * @param {{ plan: Plan, steps: Steps }} props
 */
export function Standing({ plan, steps }) {
  return html`<p class="plan-standing">${standings[plan.status]?.(plan, steps)}</p>`
}

/**
 * Who approved a plan, and since when nobody has carried it out.
 *
 * @param {{ steps: Steps }} props
 */
export function Approved({ steps }) {
  const step = steps.data?.transitions.findLast((t) => t.to === 'approved' && t.kind === 'step')
  if (!step) return 'Approved.'
  const by =
    step.from === null ? 'by the configuration of the operator' : html`by <strong>${step.actor || 'somebody'}</strong>`
  return html`Approved ${by} <${Time} at=${step.at} />; no engine has started it since.`
}

/** @type {Record<string, string>} */
const did = { approved: 'approved', rejected: 'rejected', applying: 'started', aborting: 'began to abort' }

/**
 * Who changed a plan last, how and when.
 *
 * @param {{ plan: Plan }} props
 */
export function LastStep({ plan }) {
  /** @type {Steps} */
  const steps = useResource(`v1/plans/${encodeURIComponent(plan.id)}/transitions`)
  const step = steps.data?.transitions.at(-1)
  if (!step) return null
  const { actor, kind, to, at, reason } = step
  const verb = { comment: 'commented on', approval: did.approved, step: did[to] ?? to }[kind]
  return html`
    ${actor || 'Somebody'} ${verb} it <${Time} at=${at} />${reason && ` (“${reason}”)`}.
  `
}

/** @param {Plan} plan */
const runsOn = (plan) =>
  (plan.status === 'aborting' ? 'The' : 'Until it is committed, the') +
  ` operator runs on table version ${count(plan.base_version)}.`
/** @param {Plan} plan */
const unresolved = (plan) => plan.migrates === 'classes' && plan.resolved_keys === null

const whenResolved = ', after it has said which keys its classes are, unless it holds the table itself'

/**
 * Who has approved a plan that several people have to approve, after a comma.
 *
 * @param {API['PlanApprovals']} approvals
 */
export const approvalsSoFar = ({ needed, by }) =>
  `, ${count(by.length)} of ${counted(needed, 'approval')}${by.length > 0 ? ` so far, by ${by.join(', ')}` : ''}`

/** @type {Record<string, (plan: Plan, steps: Steps) => Children>} */
const standings = {
  no_action: (plan) => `Nothing moves, and table version ${count(plan.base_version)} stays. It is kept as history.`,
  proposed: (plan) =>
    html`
      Waits for somebody to approve it${
        plan.waits_for.length > 0 && `, as ${waitReasons(plan.waits_for)}`
      }${plan.approvals && approvalsSoFar(plan.approvals)}${
        plan.expires_at && html`; <${Countdown} until=${plan.expires_at} />`
      }.
    `,
  approved: (plan, steps) => html`
    <${Approved} steps=${steps} />
    ${`${unresolved(plan) ? ` It can be started${whenResolved}.` : ''} ${runsOn(plan)}`}
    ${plan.expires_at && html`${' '}Unless it is started, <${Countdown} until=${plan.expires_at} />.`}
    ${plan.limits_changed && html`<strong class="toned bad">${' '}It cannot be started as it is.</strong>`}
  `,
  applying: (plan) => html`<strong>${plan.executor}</strong> carries it out. ${runsOn(plan)}`,
  aborting: (plan) => html`<strong>${plan.executor}</strong> takes the state back. ${runsOn(plan)}`,
  committed: (plan) => (plan.version === null ? 'Committed.' : `Committed as table version ${count(plan.version)}.`),
  rejected: (plan) =>
    `Rejected: table version ${count(plan.base_version)} stayed, and its interval may have another plan.`,
  aborted: (plan) => `Given up: the entries of table version ${count(plan.base_version)} stayed.`,
  superseded: (plan) =>
    plan.superseded_by
      ? html`<a href=${link(['plans', plan.superseded_by])}>A newer plan</a> took its place.`
      : 'The routing table became another one, so it was given up.',
  expired: (plan) => html`Nobody approved or started it before <${Time} at=${plan.expires_at} />.`,
}

/**
 * The time that is left, ticking.
 *
 * @param {{ until: string }} props
 */
function Countdown({ until }) {
  const now = useNow(1_000)
  const left = Math.max(0, Math.floor((Number(new Date(until)) - now) / 1000))
  return html`<time class=${left < 60 ? 'toned bad' : ''} datetime=${until} title=${new Date(until).toString()}>
    ${left === 0 ? 'its time is up' : `it expires in ${remaining(left)}`}
  </time>`
}

/** @param {number} seconds */
function remaining(seconds) {
  const days = Math.floor(seconds / 86_400)
  const hours = Math.floor((seconds % 86_400) / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (days > 0) return `${counted(days, 'day')} ${hours} h`
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`
  return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`
}

/**
 * When a plan became something, in milliseconds; null if it did not.
 *
 * @param {Steps} steps
 * @param {(to: string) => boolean} what
 */
function timeOf({ data }, what) {
  const step = data?.transitions.find((t) => what(t.to))
  return step ? Number(new Date(step.at)) : null
}

/**
 * How far a plan that is being applied is, whom it waits for, and how long it took.
 *
 * @param {{ plan: Plan, steps: Steps }} props
 */
export function Progress({ plan, steps }) {
  const begun = timeOf(steps, (to) => to === 'applying')
  if (begun === null && !plan.executor) return null
  const ended = timeOf(steps, (to) => to === 'committed' || to === 'aborted')
  /** @param {string | number} at */
  const took = (at) => (begun === null ? '–' : duration(Math.max(0, Number(new Date(at)) - begun)))
  const acked = new Map(plan.acked.map((a) => [a.instance, a]))
  const missing = plan.awaits.filter((id) => !acked.has(id))
  const done = plan.awaits.length - missing.length
  const words =
    plan.awaits.length === 0
      ? 'It moves nothing and waits for nobody: the engine commits it.'
      : `${count(done)} of ${counted(plan.awaits.length, 'instance')} ${done === 1 ? 'has' : 'have'} acknowledged` +
        (ended === null ? '' : `, ${took(ended)} after the start it was ${plan.status}`)
  /** @type {(Partial<API['Ack']> & { instance: number })[]} */
  const rows = [
    ...missing.map((instance) => ({ instance })),
    ...[...acked.values()].sort((a, b) => (a.at < b.at ? 1 : -1)),
  ]
  return html`<${Card}
    title=${movesOn(plan.status) ? 'Progress' : 'Hand-over'}
    aside=${
      plan.status === 'applying' &&
      missing.length > 0 &&
      `waits for ${some(
        missing.map((id) => named(plan, id)),
        6,
      )}`
    }
  >
    <div class="row plan-progress">
      <progress max=${plan.awaits.length || 1} value=${done} aria-label="Acknowledged instances"></progress>
      <strong>${words}</strong>
    </div>
    ${movesOn(plan.status) && html`<${Aloud} words=${words} />`}
    <${Routers} routers=${plan.routers} />
    <${Batches} plan=${plan} />
    ${
      rows.length > 0 &&
      html`<details class="plan-acks" open=${rows.length <= 12}>
        <summary>Instances</summary>
        ${plainTable('Instances that the plan awaits', rows, [
          ['Instance', (r) => html`<${Instance} id=${r.instance} />`],
          [
            'Acknowledged',
            (r) =>
              r.at
                ? html`<${Time} at=${r.at} />`
                : plan.status === 'applying'
                  ? html`<span class="waiting">awaited</span>`
                  : 'no',
          ],
          ['After the start', (r) => (r.at ? took(r.at) : '–')],
          ['By', (r) => r.actor || '–'],
        ])}
      </details>`
    }
  <//>`
}

/**
 * The batches in which a plan is handed over, if it has several.
 *
 * @param {{ plan: Plan }} props
 */
function Batches({ plan }) {
  if (plan.batches.length === 0) return null
  const done = plan.batches.filter((b) => b.version !== null).length
  const last = plan.stopped_after_batch ?? (plan.stopping ? plan.batch : null)
  const ends =
    last === null ? '' : `; it ${plan.stopped_after_batch === null ? 'ends' : 'ended'} with batch ${count(last)}`
  return html`<details class="plan-acks" open=${movesOn(plan.status) && plan.batches.length <= 12}>
    <summary>${`${count(done)} of ${counted(plan.batches.length, 'batch', 'batches')} committed${ends}`}</summary>
    <p class="muted">${tablePeak(plan)}</p>
    ${plainTable(
      'Batches in which the plan is handed over',
      plan.batches.map((b, i) => ({ ...b, n: i + 1 })),
      [
        ['Batch', (b) => count(b.n), 'number'],
        ['Keys', (b) => count(b.keys), 'number'],
        ['State', (b) => state(b.state), 'number'],
        ['Busiest instance', (b) => (b.seconds === null ? state(b.busiest) : duration(1000 * b.seconds)), 'number'],
        ['θ after', (b) => percent(b.theta), 'number'],
        ['Table', (b) => count(b.table_size), 'number'],
        ['Version', (b) => (b.version !== null ? count(b.version) : b.n === plan.batch ? 'handed over' : '–')],
      ],
    )}
  </details>`
}

/**
 * How large the table is while the batches are under way.
 *
 * @param {Plan} plan
 */
function tablePeak(plan) {
  const { name, one, unit } = tableOf(plan)
  const peak = plan.table_peak ?? 0
  const above = peak - (plan.parameters.table_limit ?? Infinity)
  const words = `${name} between batches: ${counted(peak, one, unit)} at most`
  return above > 0 ? `${words}, ${count(above)} above its limit.` : `${words}.`
}

/**
 * The routers whose markers instances wait for.
 *
 * @param {{ routers: Plan['routers'] }} props
 */
function Routers({ routers }) {
  const names = Object.keys(routers).sort()
  if (names.length === 0) return null
  return html`<details class="plan-acks">
    <summary>${counted(names.length, 'router')}</summary>
    ${plainTable('Routers whose markers the instances wait for', names, [
      ['Router', (name) => name],
      ['Epoch at the start', (name) => count(routers[name]), 'number'],
    ])}
  </details>`
}

/**
 * Reads out words that change often, not more often than one can listen.
 *
 * @param {{ words: string }} props
 */
function Aloud({ words }) {
  const [said, say] = useState('')
  const newest = useRef(words)
  newest.current = words
  useEffect(() => {
    const timer = setInterval(() => say(newest.current), quietly)
    return () => clearInterval(timer)
  }, [])
  return html`<p class="visually-hidden" role="status">${said}</p>`
}

/**
 * Who did what to the plan, oldest first. It is asked for anew when the plan has changed.
 *
 * @param {(PlanSummary & { batch?: Plan['batch'] }) | Plan | null} plan
 * @returns {Steps}
 */
export function useSteps(plan) {
  const step =
    plan &&
    [plan.status, plan.resolved_keys, plan.batch, plan.stopping, plan.limits_changed, plan.approvals?.by.length].join(
      '.',
    )
  return useResource(plan && `v1/plans/${encodeURIComponent(plan.id)}/transitions#${step}`)
}

/** @param {{ steps: Steps }} props */
export function History({ steps }) {
  return html`<${Card} title="History">
    ${loaded(
      steps,
      ({ transitions }) =>
        plainTable('Steps of the plan, oldest first', transitions, [
          ['What', stepOf],
          ['Who', (t) => t.actor || html`<span class="muted">not said</span>`],
          ['Why', (t) => (t.reason ? html`<span class="plan-reason">${t.reason}</span>` : '–')],
          ['When', (t) => html`<${Time} at=${t.at} />`],
        ]),
      2,
    )}
  <//>`
}

/** @param {API['PlanTransition']} step */
function stepOf({ from, to, kind }) {
  if (kind === 'comment') return 'comment'
  if (kind === 'approval') return 'approved; others have to, too'
  if (from === null) return html`made, <${Status} status=${to} />`
  // A plan that goes on being applied has gone on to its next batch, or was asked to stop.
  return from === to && to !== 'applying'
    ? 'resolved: the engine said which keys its classes are'
    : html`<${Status} status=${to} />`
}

/**
 * What is read out when a plan has become something else.
 *
 * @param {Plan} plan
 */
export function became(plan) {
  const name = `The plan of interval ${count(plan.interval)}`
  if (plan.status === 'committed' && plan.version !== null)
    return `${name} is committed: ${tableOf(plan).name.toLowerCase()} version ${count(plan.version)}.`
  return `${name}: ${statusWords[plan.status] ?? plan.status}.`
}
