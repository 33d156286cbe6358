// Approving, rejecting and aborting a plan.

import { change, signedIn, useResource } from '../../api.js'
import { count, counted, percent, state } from '../../format.js'
import { html, useRef, useState } from '../../html.js'
import { Dialog, Field, Trouble, useSend } from '../../parts.js'

const actorKey = 'plannerd.actor'
const longestReason = 1024

/** What can be decided, in the order of the buttons, by the status of a plan. */
const decisions = {
  proposed: ['reject', 'approve'],
  approved: ['abort'],
  applying: ['abort'],
}

const verbs = {
  approve: { button: 'Approve', class: 'primary', title: 'Approve the plan', role: 'approver', reason: 'Reason (optional)' },
  reject: { button: 'Reject', class: 'danger', title: 'Reject the plan', role: 'approver', reason: 'Reason', required: true },
  abort: { button: 'Abort', class: 'danger', title: 'Abort the plan', role: 'engine', reason: 'Reason (optional)' },
}

/**
 * The buttons of what can be decided, and the dialog of the one that was pressed. What
 * is sent holds for the plan as it was when its dialog was opened. take is given the
 * answer, reload asks for the plan anew.
 */
export function Decision({ plan, etag, take, reload }) {
  const [open, setOpen] = useState(null) // {verb, plan, etag}
  const drafts = useRef({}) // what was written is kept while the page is
  const caller = useResource('v1/caller')
  const known = caller.data
  const may = (verb) => !known?.access || known.role === 'admin' || known.role === verbs[verb].role
  const allowed = (decisions[plan.status] ?? []).filter(may)
  const refused = (decisions[plan.status] ?? []).filter((verb) => !may(verb))
  return html`
    ${refused.length > 0 && plan.status === 'proposed' && html`<span class="muted">Deciding needs the role ${verbs[refused[0]].role}; yours is ${known.role}.</span>`}
    ${allowed.map((verb) => html`<button type="button" key=${verb} class=${verbs[verb].class} onClick=${() => setOpen({ verb, plan, etag })}>${verbs[verb].button}</button>`)}
    ${open && html`<${Ask} ...${open} named=${known ? known.access : signedIn()} draft=${drafts.current} take=${take} reload=${reload} onClose=${() => setOpen(null)} />`}`
}

function Ask({ verb, plan, etag, named, draft, take, reload, onClose }) {
  const { title, button, class: look, reason: label, required } = verbs[verb]
  const [reason, setReason] = useState(draft.reason ?? '')
  const [actor, setActor] = useState(localStorage.getItem(actorKey) ?? '')
  const [rolledBack, setRolledBack] = useState(false)
  const { send, busy, problem } = useSend((key) => change(`v1/plans/${encodeURIComponent(plan.id)}/${verb}`, {
    ...(reason.trim() && { reason: reason.trim() }), ...(!named && actor.trim() && { actor: actor.trim() }), ...(verb === 'abort' && { rolled_back: rolledBack }),
  }, { key, match: etag }))
  const submit = async (event) => {
    event.preventDefault()
    if (!named) localStorage.setItem(actorKey, actor.trim())
    const answer = await send()
    if (answer === undefined) return
    draft.reason = ''
    take(answer)
    onClose()
  }
  const write = (text) => {
    draft.reason = text
    setReason(text)
  }
  const again = () => {
    reload()
    onClose()
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Consequence} verb=${verb} plan=${plan} />
      ${verb === 'abort' && plan.status === 'applying' && html`<p><label class="check"><input type="checkbox" required checked=${rolledBack} onChange=${(e) => setRolledBack(e.currentTarget.checked)} /> The engine has taken all state back to where it was before the start</label></p>`}
      <${Field} label=${label} hint="It is kept in the history of the plan.">${(id) => html`<textarea id=${id} rows="3" maxlength=${longestReason} required=${required} value=${reason} onInput=${(e) => write(e.currentTarget.value)}></textarea>`}<//>
      ${!named && html`<${Field} label="Your name" hint="This server asks for no token, so it takes your word for it. This browser remembers it.">${(id) => html`<input id=${id} type="text" autocomplete="username" maxlength="256" value=${actor} onInput=${(e) => setActor(e.currentTarget.value)} />`}<//>`}
      ${problem && html`<${Refused} problem=${problem} again=${again} />`}
      <footer class="form-foot"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class=${look} disabled=${busy || stale(problem)}>${busy ? 'Sending…' : button}</button></footer>
    </form>
  <//>`
}

/** Whether trying the same again cannot succeed, as the plan is another one by now. */
const stale = (problem) => problem !== null && (problem.status === 412 || problem.status === 409)

/** What is decided, in words. */
function Consequence({ verb, plan }) {
  const moves = `${counted(plan.migration.keys, 'key')} with ${state(plan.migration.state)}`
  if (verb === 'approve') return html`<p>The engine may then move ${moves}, and θ goes from ${percent(plan.theta.before)} to ${percent(plan.theta.after)}. Nothing is computed anew: what you see is what runs.</p>
    ${!plan.balanced && html`<p class="plan-broken">Some instance stays above its bound all the same.</p>`}`
  if (verb === 'reject') return html`<p>Nothing moves: table version ${count(plan.base_version)} stays. The interval may then be planned again.</p>`
  if (plan.status === 'approved') return html`<p>The plan is given up before it was started. Nothing has moved, and table version ${count(plan.base_version)} stays.</p>`
  return html`<p>State is on its way. A plan that is being applied can only be given up when its engine has taken all of it back: routers then send keys where table version ${count(plan.base_version)} says, and keys whose state is elsewhere would start empty there.</p>
    <p>Reports of instances that came since the start are removed, and their instances report again. Usually the engine does this itself.</p>`
}

function Refused({ problem, again }) {
  if (!stale(problem)) return html`<${Trouble} problem=${problem} />`
  return html`<div class="trouble" role="alert">
    <p class="trouble-title">${problem.status === 412 ? 'The plan changed while you looked' : 'The plan does not allow this any more'}</p>
    <p>${problem.status === 412 ? 'Nothing was done. Look at it as it is now, and decide again; what you wrote is kept.' : problem.detail}</p>
    <p class="trouble-foot"><button type="button" onClick=${again}>Look again</button><span class="muted">${problem.status} · ${problem.code}</span></p>
  </div>`
}
