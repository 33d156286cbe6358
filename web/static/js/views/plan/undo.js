// Undoing a committed plan: what that would move, and the button that makes a plan of it.

import { change, useResource } from '../../api.js'
import { count, counted, percent, state } from '../../format.js'
import { html, useState } from '../../html.js'
import { announce, Dialog, Field, loaded, Trouble, useSend } from '../../parts.js'
import { link } from '../../route.js'
import { forGood } from '../../storage.js'

/**
 * The button; nothing where there is no way back, or whose role may not ask for it.
 *
 * @param {{ plan: Plan }} props
 */
export function Undo({ plan }) {
  const [open, setOpen] = useState(false)
  /** @type {Watched<API['Caller']>} */
  const { data: caller } = useResource('v1/caller')
  const may = caller && (!caller.access || caller.role === 'admin' || caller.role === 'approver')
  if (!may || plan.status !== 'committed' || plan.parameters.table_limit === undefined) return null
  return html`
    <button type="button" onClick=${() => setOpen(true)}>Undo…</button>
    ${open && html`<${Ask} plan=${plan} named=${caller.access} onClose=${() => setOpen(false)} />`}
  `
}

/** @param {{ plan: Plan, named: boolean, onClose: () => void }} props */
function Ask({ plan, named, onClose }) {
  const [reason, setReason] = useState('')
  const path = `v1/operators/${encodeURIComponent(plan.operator)}/undo`
  /** @type {Watched<API['UndoPreview']>} */
  const preview = useResource(path, { query: { to_version: plan.base_version } })
  const { send, busy, problem } = useSend((key) => {
    const actor = !named && forGood.get('plannerd.actor')
    const said = { ...(reason.trim() && { reason: reason.trim() }), ...(actor && { actor }) }
    return change(path, { to_version: plan.base_version, ...said }, { key })
  })
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    const answer = busy ? undefined : await send()
    if (!answer) return
    announce('The undo is a plan now.')
    location.hash = link(['plans', answer.data.id])
  }
  const title = `Undo the plan of interval ${count(plan.interval)} of ${plan.operator}`
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${loaded(preview, (would) => html`<${Would} ...${would} />`, 3)}
      <${Field} label="Reason (optional)" hint="It is kept in the history of the new plan.">
        ${(/** @type {string} */ id) =>
          html`<textarea
            id=${id}
            rows="3"
            maxlength="1024"
            value=${reason}
            onInput=${(/** @type {any} */ e) => setReason(e.currentTarget.value)}
          ></textarea>`}
      <//>
      ${problem && html`<${Trouble} problem=${problem} itself=${false} />`}
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${!preview.data} aria-disabled=${busy}>
          ${busy ? 'Sending…' : 'Make the plan'}
        </button>
      </footer>
    </form>
  <//>`
}

/** @param {API['UndoPreview']} would */
const Would = ({ to_version: to, base_version: base, left_keys: left, interval, migration, theta }) => html`
  <p>
    Brings back table version ${count(to)} in place of ${count(base)}:
    moves <strong>${counted(migration.keys, 'key')}</strong> with <strong>${state(migration.state)}</strong>,
    ${percent(migration.fraction)} of all. The largest overload goes
    from ${percent(theta.before)} to ${percent(theta.after)} by the statistics of interval ${count(interval)}, the
    newest that are kept.
  </p>
  ${
    to + 1 < base &&
    html`<p>Everything that was committed since version ${count(to)} is undone with it, not this plan alone.</p>`
  }
  ${
    left > 0 &&
    html`<p>${counted(left, 'key')} cannot be brought back, because instances were removed: they keep their routes.</p>`
  }
  <p>Nothing moves yet: this makes a plan, which is approved, started and committed as any other.</p>
`
