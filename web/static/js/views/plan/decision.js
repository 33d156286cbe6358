// Approving, rejecting and aborting a plan.

import { change, signedIn, useResource } from '../../api.js'
import { count } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { newerOf, NewerFigures } from '../../newer.js'
import { check, Dialog, Field, Trouble, useSend } from '../../parts.js'
import { forGood } from '../../storage.js'
import { concern } from '../../words.js'
import { LastStep } from './lifecycle.js'
import { Headline } from './headline.js'

/** @typedef {'approve' | 'reject' | 'abort' | 'finish'} Verb */

/** @typedef {{ take: (answer: Answer<Plan>) => void, reload: () => void }} Renew */

const actorKey = 'plannerd.actor'
const longestReason = 1024

/**
 * Reasons that were written and not sent, by plan and verb: they outlive a dialog, and a
 * page that signs in anew.
 *
 * @type {Map<string, string>}
 */
const drafts = new Map()

/**
 * What can be decided, in the order of the buttons, by the status of a plan.
 *
 * @type {Record<string, Verb[]>}
 */
const decisions = {
  proposed: ['reject', 'approve'],
  approved: ['abort'],
  applying: ['abort'],
  aborting: ['finish'],
}

/**
 * What is said of a verb, and the role that it takes; sent is the verb of the API, where that has another name.
 *
 * @typedef {{
 *   sent?: string, button: string, class: string, title: string, role: string, reason: string, required?: boolean
 * }} Saying
 */

/** @type {Record<Verb, Saying>} */
const verbs = {
  approve: {
    button: 'Approve',
    class: 'primary',
    title: 'Approve the plan',
    role: 'approver',
    reason: 'Reason (optional)',
  },
  reject: {
    button: 'Reject',
    class: 'danger',
    title: 'Reject the plan',
    role: 'approver',
    reason: 'Reason',
    required: true,
  },
  abort: { button: 'Abort', class: 'danger', title: 'Abort the plan', role: 'engine', reason: 'Reason (optional)' },
  finish: {
    sent: 'abort',
    button: 'Finish the abort',
    class: 'danger',
    title: 'Finish the abort of the plan',
    role: 'engine',
    reason: 'Reason (optional)',
  },
}

/**
 * The buttons of what can be decided, and the dialog of the one that was pressed. What
 * is sent holds for the plan as it was when its dialog was opened. take is given the
 * answer, reload asks for the plan anew.
 *
 * @param {{ plan: Plan, etag: string | null } & Renew} props
 */
export function Decision({ plan, etag, take, reload }) {
  const [asked, ask] = useState(/** @type {{ verb: Verb, plan: Plan, etag: string | null } | null} */ (null))
  /** @type {Watched<API['Caller']>} */
  const caller = useResource('v1/caller')
  const known = caller.data
  /** @param {Verb} verb */
  const may = (verb) => !known?.access || known.role === 'admin' || known.role === verbs[verb].role
  /** @type {Verb[]} */
  const again = plan.limits_changed ? ['approve'] : []
  const allowed = [...(decisions[plan.status] ?? []), ...again].filter(may)
  const refused = plan.status === 'proposed' && allowed.length === 0
  useTitleFocused(plan.status)
  return html`
    ${
      (refused || allowed.length > 0) &&
      html`<div class="row plan-decision">
        ${refused && html`<span class="muted">Deciding needs the role approver; yours is ${known?.role}.</span>`}
        ${allowed.map(
          (verb) =>
            html`<button
              type="button"
              key=${verb}
              class=${verbs[verb].class}
              onClick=${() => ask({ verb, plan, etag })}
            >
              ${verbs[verb].button}
            </button>`,
        )}
      </div>`
    }
    ${
      asked &&
      html`<${Ask}
        ...${asked}
        named=${known ? known.access : signedIn()}
        take=${take}
        reload=${reload}
        onClose=${() => ask(null)}
      />`
    }
  `
}

/**
 * Where a decision took the button away that had the focus, the title gets it.
 *
 * @param {string} status
 */
function useTitleFocused(status) {
  const known = useRef(status)
  useEffect(() => {
    if (known.current !== status && document.activeElement === document.body)
      document.getElementById('plan-title')?.focus()
    known.current = status
  }, [status])
}

/**
 * @param {{ verb: Verb, plan: Plan, etag: string | null, named: boolean, onClose: () => void } & Renew} props
 */
function Ask({ verb, plan, etag, named, take, reload, onClose }) {
  const { sent = verb, title, button, class: look, reason: label, required } = verbs[verb]
  const draft = `${plan.id} ${verb}`
  const newer = newerOf(plan)
  const [reason, setReason] = useState(drafts.get(draft) ?? '')
  const [actor, setActor] = useState(forGood.get(actorKey) ?? '')
  const [rolledBack, setRolledBack] = useState(false)
  const { send, busy, problem } = useSend((key) =>
    change(
      `v1/plans/${encodeURIComponent(plan.id)}/${sent}`,
      {
        ...(reason.trim() && { reason: reason.trim() }),
        ...(!named && actor.trim() && { actor: actor.trim() }),
        ...(verb === 'finish' && { rolled_back: rolledBack }),
        ...(sent === 'abort' && plan.executor_epoch !== null && { executor_epoch: plan.executor_epoch }),
      },
      { key, match: etag },
    ),
  )
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    if (busy) return
    if (!named) forGood.set(actorKey, actor.trim())
    const answer = await send()
    if (answer === undefined) return
    drafts.delete(draft)
    take(answer)
    onClose()
  }
  /** @param {string} text */
  const write = (text) => {
    drafts.set(draft, text)
    setReason(text)
  }
  const again = () => {
    reload()
    onClose()
  }
  return html`<${Dialog} title=${`${title} of interval ${count(plan.interval)} of ${plan.operator}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Consequence} verb=${verb} plan=${plan} />
      ${sent !== 'abort' && newer && html`<${NewerFigures} newer=${newer} bound=${plan.parameters.theta_max} />`}
      ${
        verb === 'finish' &&
        html`<p>
          ${check(rolledBack, setRolledBack, 'The engine has taken all state back to where it was before the start', {
            required: true,
          })}
        </p>`
      }
      <${Field} label=${label} hint="It is kept in the history of the plan.">
        ${(id) =>
          html`<textarea
            id=${id}
            rows="3"
            maxlength=${longestReason}
            required=${required}
            value=${reason}
            onInput=${(e) => write(e.currentTarget.value)}
          ></textarea>`}
      <//>
      ${
        !named &&
        html`<${Field}
          label="Your name"
          hint="This server uses no tokens, so it does not check the name. This browser remembers it."
        >
          ${(id) =>
            html`<input
              id=${id}
              type="text"
              autocomplete="username"
              maxlength="256"
              value=${actor}
              onInput=${(e) => setActor(e.currentTarget.value)}
            />`}
        <//>`
      }
      ${problem && html`<${Refused} plan=${plan} problem=${problem} again=${again} />`}
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class=${look} disabled=${outdated(problem)} aria-disabled=${busy}>
          ${busy ? 'Sending…' : button}
        </button>
      </footer>
    </form>
  <//>`
}

/**
 * Whether trying the same again cannot succeed, as the plan is another one by now.
 *
 * @param {Problem | null} problem
 */
const outdated = (problem) =>
  problem !== null && (problem.status === 412 || problem.status === 409 || problem.code === 'idempotency_key_reused')

/**
 * What is decided, in words.
 *
 * @param {{ verb: Verb, plan: Plan }} props
 */
function Consequence({ verb, plan }) {
  if (verb === 'approve')
    return html`
      <${Headline} plan=${plan} />
      <p>
        ${concern(plan) ? 'Approving it accepts this, and the' : 'The'} engine may then carry it out.
        ${' '}Nothing is computed anew: what you see is what runs.
      </p>
    `
  if (verb === 'reject')
    return html`<p>
      Nothing moves: table version ${count(plan.base_version)} stays. The next statistics are planned anew, and this
      interval may be.
    </p>`
  if (plan.status === 'approved')
    return html`<p>
      The plan is given up before it was started. Nothing has moved, and table
      version ${count(plan.base_version)} stays.
    </p>`
  if (verb === 'abort')
    return html`<p>
      State is on its way. No acknowledgement counts from now on, so the plan cannot be committed any more, and its
      engine takes all state back to where table version ${count(plan.base_version)} says. The abort is finished once
      the engine says that it has. Usually the engine does this itself.
    </p>`
  return html`<p>
    Routers then send keys where table version ${count(plan.base_version)} says: keys whose state is still elsewhere
    would start empty there. The table gets a new version with the same entries, so that statistics which were taken
    meanwhile are known to be older. Usually the engine does this itself.
  </p>`
}

/** @param {{ plan: Plan, problem: Problem, again: () => void }} props */
function Refused({ plan, problem, again }) {
  if (!outdated(problem)) {
    return html`
      <${Trouble} problem=${problem} itself=${false} />
      ${
        (problem.status === 0 || problem.status >= 500) &&
        html`<p>It is not known whether it took effect. Send it again: it takes effect only once.</p>`
      }
    `
  }
  return html`<div class="trouble" role="alert">
    <p class="trouble-title">
      ${
        problem.status === 412
          ? 'The plan changed while you looked at it'
          : problem.status === 409
            ? 'The plan does not allow this'
            : 'An earlier try was taken'
      }
    </p>
    <p>
      ${
        problem.status === 409
          ? problem.detail
          : problem.status === 412
            ? html`<${LastStep} plan=${plan} /> Your decision was not accepted; your text is still here.`
            : 'Your first decision counts. Look at the plan as it is now.'
      }
    </p>
    <p class="row trouble-foot">
      <button type="button" onClick=${again}>Look again</button>
      <span class="muted">${problem.status} · ${problem.code}</span>
    </p>
  </div>`
}
