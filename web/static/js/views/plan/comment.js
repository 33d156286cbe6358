// Saying something of a plan without deciding.

import { change, useResource } from '../../api.js'
import { count } from '../../format.js'
import { html, useState } from '../../html.js'
import { announce, Dialog, Field, Trouble, useSend } from '../../parts.js'
import { forGood } from '../../storage.js'

/** @param {{ plan: Plan, onSaid: () => void }} props */
export function Comment({ plan, onSaid }) {
  const [open, setOpen] = useState(false)
  /** @type {Watched<API['Caller']>} */
  const { data: caller } = useResource('v1/caller')
  if (!caller || (caller.access && caller.role !== 'admin' && caller.role !== 'approver')) return null
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Comment…</button>
    ${open && html`<${Say} plan=${plan} named=${caller.access} onSaid=${onSaid} onClose=${() => setOpen(false)} />`}
  `
}

/** @param {{ plan: Plan, named: boolean, onSaid: () => void, onClose: () => void }} props */
function Say({ plan, named, onSaid, onClose }) {
  const [text, setText] = useState('')
  const { send, busy, problem } = useSend((key) => {
    const actor = !named && forGood.get('plannerd.actor')
    const body = { comment: text.trim(), ...(actor && { actor }) }
    return change(`v1/plans/${encodeURIComponent(plan.id)}/comments`, body, { key })
  })
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    if (busy || text.trim() === '' || !(await send())) return
    announce('The comment is kept.')
    onSaid()
    onClose()
  }
  return html`<${Dialog} title=${`Comment on the plan of interval ${count(plan.interval)}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>It decides nothing: the plan stays as it is.</p>
      <${Field} label="Comment" hint="It is kept in the history of the plan, with your name.">
        ${(/** @type {string} */ id) =>
          html`<textarea
            id=${id}
            rows="3"
            required
            maxlength="1024"
            value=${text}
            onInput=${(/** @type {any} */ e) => setText(e.currentTarget.value)}
          ></textarea>`}
      <//>
      ${problem && html`<${Trouble} problem=${problem} itself=${false} />`}
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" aria-disabled=${busy}>Comment</button>
      </footer>
    </form>
  <//>`
}
