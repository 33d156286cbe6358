// Freezes: who holds an operator until when and why, the way out, and the form that begins one.

import { request, useResource } from './api.js'
import { absolute } from './format.js'
import { html, useState } from './html.js'
import { Dialog, Field, selectField, Trouble, useSend } from './parts.js'
import { forGood } from './storage.js'

/** @param {{ freeze: API['Freeze'] }} props */
const FrozenWords = ({ freeze }) => html`
  <strong>${freeze.all ? 'All operators are frozen' : 'Frozen'}</strong>
  ${' '}until ${absolute(freeze.until)}${freeze.actor && ` by ${freeze.actor}`}: ${freeze.reason}
`

/** @param {string} operator */
const pathOf = (operator) => `v1/operators/${encodeURIComponent(operator)}/freeze`

/**
 * Who holds an operator, or the button that has it held.
 *
 * @param {{ operator: API['Operator'], reload: () => void }} props
 */
export function Freeze({ operator: { name, freeze }, reload }) {
  const [asking, ask] = useState(false)
  /** @type {Watched<API['Caller']>} */
  const { data: caller } = useResource('v1/caller')
  const may = caller && (!caller.access || caller.role === 'admin' || caller.role === 'approver')
  const { send, busy, problem } = useSend(() => request('DELETE', freeze?.all ? 'v1/freeze' : pathOf(name)))
  const end = async () => {
    if (await send()) reload()
  }
  const open = () => ask(true)
  if (!freeze)
    return html`
      ${may && html`<p class="row operator-freeze"><button type="button" onClick=${open}>Freeze…</button></p>`}
      ${asking && html`<${Ask} name=${name} named=${caller?.access} reload=${reload} onClose=${() => ask(false)} />`}
    `
  return html`<div class="row operator-now waits" role="status">
    <p><${FrozenWords} freeze=${freeze} />. No plan is made or started; what is under way goes on.</p>
    ${may && html`<button type="button" aria-disabled=${busy} onClick=${end}>Unfreeze</button>`}
    ${problem && html`<${Trouble} problem=${problem} itself=${false} />`}
  </div>`
}

/**
 * That a plan which waits is kept back, by a freeze or by the windows of its operator.
 *
 * @param {{ plan: Plan }} props
 */
export function KeptBack({ plan: { operator: name, status } }) {
  const waits = status === 'proposed' || status === 'approved'
  /** @type {Watched<API['Operator']>} */
  const { data: o } = useResource(waits ? `v1/operators/${encodeURIComponent(name)}` : null, { every: 5_000 })
  if (!waits || !o?.starts_at) return null
  return html`<p class="row operator-now waits plan-kept" role="status">
    <span>
      ${o.freeze && html`<${FrozenWords} freeze=${o.freeze} />. `}
      ${status === 'approved' ? 'The plan' : 'An approved plan'} is started from ${absolute(o.starts_at)} on.
    </span>
  </p>`
}

/** @param {{ name: string, named?: boolean, reload: () => void, onClose: () => void }} props */
function Ask({ name, named, reload, onClose }) {
  const [hours, setHours] = useState('8')
  const [reason, setReason] = useState('')
  const actor = !named && forGood.get('plannerd.actor')
  const { send, busy, problem } = useSend(() => {
    const until = new Date(Date.now() + Number(hours) * 3_600_000).toISOString()
    return request('PUT', pathOf(name), { body: { until, reason: reason.trim(), ...(actor && { actor }) } })
  })
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    if (busy || !(await send())) return
    reload()
    onClose()
  }
  const lengths = Object.entries({ 1: 'an hour', 8: '8 hours', 24: 'a day', 72: '3 days', 168: 'a week' })
  return html`<${Dialog} title=${`Freeze ${name}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>No plan is made or started. What is under way goes on to its end.</p>
      ${selectField('For', hours, lengths, setHours)}
      <${Field} label="Reason" hint="It is shown to people whose start of a plan is refused.">
        ${(/** @type {string} */ id) =>
          html`<input
            id=${id}
            type="text"
            required
            maxlength="1024"
            value=${reason}
            onInput=${(/** @type {any} */ e) => setReason(e.currentTarget.value)}
          />`}
      <//>
      ${problem && html`<${Trouble} problem=${problem} itself=${false} />`}
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" aria-disabled=${busy}>Freeze</button>
      </footer>
    </form>
  <//>`
}
