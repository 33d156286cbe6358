// One result, planned again with all its lists, and what can be done with it.

import { change, useResource } from '../../api.js'
import { count, levelText, percent, state } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { Named } from '../../instances.js'
import { announce, Card, Code, Dialog, Empty, Loading, Trouble, useSend } from '../../parts.js'
import { beside } from '../../resources.js'
import { link, setQuery } from '../../route.js'
import { commandOf } from '../../shell.js'
import { PlanFigures } from '../plan/figures.js'
import { Migrations } from '../plan/migrations.js'
import { gridOf, nameOf, planOf, requestOf } from './ask.js'
import { differences, isPlan, titleOf } from './figures.js'

/** @import { Answer, OfInterval, Result, Source } from './ask.js' */

const ended = ['rejected', 'aborted', 'superseded', 'expired']

/**
 * Makes a result a plan of the operator, which is then reviewed as any other.
 *
 * @param {{ result: Result, source: OfInterval, title: string, onClose: () => void }} props
 */
function Propose({ result, source, title, onClose }) {
  const [reason, setReason] = useState('')
  const { plan } = source
  const waits = plan.status === 'proposed'
  const { send, busy, problem } = useSend((key) => {
    const { path, body } = requestOf(source, gridOf(result, source))
    const said = reason.trim() && { reason: reason.trim() }
    return change(path, { .../** @type {object} */ (body), propose: true, replace: waits, ...said }, { key })
  })
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    const answer = await send()
    if (!answer) return
    announce('The plan is proposed.')
    location.hash = link(['plans', answer.data.id])
  }
  return html`<${Dialog} title=${waits ? 'Replace the waiting plan' : 'Propose this plan'} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>
        ${title} becomes a plan of <strong>${plan.operator}</strong> for interval ${count(plan.interval)}, in place of
        the one that ${waits ? 'waits, which is superseded' : `was ${plan.status}`}. It needs the
        role <code>approver</code>, and is approved or rejected as any other plan.
      </p>
      <div class="field">
        <label for="whatif-reason">Reason</label>
        <textarea
          id="whatif-reason"
          rows="3"
          maxlength="1024"
          value=${reason}
          onInput=${(e) => setReason(e.currentTarget.value)}
        ></textarea>
        <p class="hint">Kept with the plan; may be left out.</p>
      </div>
      ${problem && html`<${Trouble} problem=${problem} />`}
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${busy}>
          ${waits ? 'Replace' : 'Propose'}
        </button>
      </footer>
    </form>
  <//>`
}

/** Closes what is opened; who did that with the keyboard goes on where it was opened from. */
function close() {
  /** @type {HTMLElement | null} */
  const opener = document.querySelector('.whatif-opened a') ?? document.getElementById('main')
  setQuery({ open: null })
  opener?.focus()
}

/**
 * The opened result of an answer: the one that the link names.
 *
 * @param {{ answer: Answer, source: Source, query: Query }} props
 */
export function Opened({ answer, source, query }) {
  const result = answer.results.find((r) => nameOf(r) === query.open)
  const heading = useRef(/** @type {HTMLElement | null} */ (null))
  useEffect(() => {
    heading.current?.scrollIntoView({ block: 'start' })
    heading.current?.focus({ preventScroll: true })
  }, [query.open])
  return html`<div ref=${heading} tabindex="-1" class="whatif-open" role="region" aria-label="The opened plan">
    ${
      result
        ? html`<${One} key=${query.open} result=${result} answer=${answer} source=${source} />`
        : html`<${Card} title="Opened plan">
            <${Empty} title="No such plan is among these results">
              <p>
                The link names a combination that was not planned. <button type="button" onClick=${close}>Close</button>
              </p>
            <//>
          <//>`
    }
  </div>`
}

/**
 * Whether a plan is of the newest interval of its operator: only that may have another plan.
 *
 * @param {string | null} operator
 * @param {Plan | null} plan
 */
function useNewest(operator, plan) {
  /** @type {Watched<API['Operator']>} */
  const found = useResource(operator && `v1/operators/${encodeURIComponent(operator)}`)
  return found.data !== null && found.data.last_epoch === plan?.epoch && found.data.last_interval === plan?.interval
}

/**
 * The levels of the resources beside cost that both have.
 *
 * @param {Result} result
 * @param {Plan} plan
 */
const againstWords = (result, plan) =>
  beside(result)
    .map(({ name, level }) => {
      const was = plan.resources?.find((r) => r.name === name)?.level.after
      return `, ${name} ${levelText(level.after)} instead of ${levelText(was)}`
    })
    .join('')

/**
 * A result beside the plan as it was made.
 *
 * @param {{ result: Result, plan: Plan, newest: boolean }} props
 */
function Against({ result, plan, newest }) {
  if (isPlan(result, plan)) return html`<p class="muted">This is the plan of the interval as it was made.</p>`
  const size = plan.routing_table?.size_after
  return html`<p>
    Against the plan as it was made: θ ${percent(result.theta.after)} instead of ${percent(plan.theta.after)}
    , ${state(result.migration.state)} moved instead of ${state(plan.migration.state)}
    , ${count(result.routing_table?.size_after)} table entries instead of
    ${' '}${count(size)}${againstWords(result, plan)}.
    ${
      !newest &&
      html` <span class="muted">
        A newer interval has come, so it cannot replace the plan that waits: reject that, and the next interval is
        planned anew.
      </span>`
    }
  </p>`
}

/** @param {{ result: Result, answer: Answer, source: Source }} props */
function One({ result, answer, source }) {
  const [proposing, propose] = useState(false)
  const name = nameOf(result)
  const found = useResource(name, { load: async (signal) => ({ data: await planOf(result, source, signal) }) })
  const title = titleOf(result, [...new Set(['theta_max', 'table_limit', ...differences(answer.results).differ])])
  const plan = source.kind === 'interval' ? source.plan : null
  const waits = plan?.status === 'proposed'
  const newest = useNewest(waits ? plan.operator : null, plan)
  const may =
    plan !== null &&
    (waits ? newest : ended.includes(plan.status)) &&
    !isPlan(result, plan) &&
    !result.target_instances &&
    !result.ruled
  return html`
    <header class="row title">
      <h2 class="whatif-title">${title}</h2>
      <div class="row title-aside">
        ${
          may &&
          html`<button type="button" class="primary" onClick=${() => propose(true)}>
          ${waits ? 'Replace the waiting plan' : 'Propose this plan'}
        </button>`
        }
        <button type="button" onClick=${close}>Close</button>
      </div>
    </header>
    ${plan && html`<${Against} result=${result} plan=${plan} newest=${!waits || newest} />`}
    ${
      found.data
        ? html`<${Named.Provider} value=${found.data}>
            <${PlanFigures} plan=${found.data} />
            <${Migrations} plan=${found.data} local=${found.data.plan?.migrations} />
          <//>`
        : found.problem
          ? html`<${Trouble} problem=${found.problem} retry=${found.reload} />`
          : html`<${Loading} />`
    }
    <details class="whatif-again">
      <summary>This plan by curl</summary>
      <${Code}
        label="Command for this plan"
        text=${commandOf(requestOf(source, gridOf(result, source), true), source.name)}
      />
    </details>
    ${
      proposing && html`<${Propose} result=${result} source=${source} title=${title} onClose=${() => propose(false)} />`
    }
  `
}
