// One result, planned again with all its lists, and what can be done with it.

import { change, useResource } from '../../api.js'
import { count, percent } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { announce, Card, Code, Dialog, Empty, Loading, PlainTable, Stats, Trouble, useSend } from '../../parts.js'
import { link, setQuery } from '../../route.js'
import { certificate } from '../../words.js'
import { gridOf, nameOf, planOf, requestOf } from './ask.js'
import { curlOf } from './curl.js'
import { keeps, measures, titleOf, varied, verdict } from './figures.js'

const ended = ['rejected', 'aborted', 'superseded', 'expired']

/** A part of the plan's page, loaded when it is needed; null until then, and where there is none. */
function usePart(load) {
  const [part, setPart] = useState({ part: null, done: false })
  useEffect(() => {
    let gone = false
    load().then((found) => !gone && setPart({ part: found ?? null, done: true }), () => !gone && setPart({ part: null, done: true }))
    return () => { gone = true }
  }, [])
  return part
}

const loadFigures = () => import('../plan/figures.js').then((module) => module.PlanFigures)
const loadMigrations = () => import('../plan/migrations.js').then((module) => module.Migrations)

/** The result as the parts of a plan's page take one. */
const asPlan = (result) => ({ ...result, routing_table: { ...result.routing_table, ...result.plan.routing_table }, migrations: result.plan.migrations })

function Lists({ result }) {
  const figures = usePart(loadFigures)
  const migrations = usePart(loadMigrations)
  if (!figures.done || !migrations.done) return html`<${Loading} />`
  const plan = asPlan(result)
  return html`
    ${figures.part ? html`<${figures.part} plan=${plan} />` : html`<${Figures} result=${result} />`}
    ${migrations.part ? html`<${migrations.part} plan=${plan} local=${result.plan.migrations} />` : html`<${Moves} moves=${result.plan.migrations} />`}`
}

function Figures({ result: r }) {
  return html`<${Stats} items=${[
    { label: 'θ', value: percent(r.theta.after), note: `was ${percent(r.theta.before)}; ${verdict(r)}`, tone: keeps(r) ? 'good' : 'warn' },
    { label: 'Migration', value: measures.migration.text(r.migration.state), note: `${count(r.migration.keys)} keys, ${percent(r.migration.fraction)} of all state` },
    { label: 'Routing table', value: count(r.routing_table.size_after), note: `entries; ${count(r.routing_table.size_before)} before` },
  ]} /><p>${certificate(r).join(' ')}</p>`
}

function Moves({ moves }) {
  const most = 200
  return html`<h3>Migrations</h3>${moves.length === 0 ? html`<p>Nothing moves.</p>` : html`<${PlainTable} caption="The first migrations" rows=${moves.slice(0, most)} columns=${[
    { head: 'Key', of: (m) => m.key }, { head: 'From', of: (m) => m.from, number: true }, { head: 'To', of: (m) => m.to, number: true }, { head: 'State', of: (m) => measures.migration.cell(m.state), number: true }]} />`}
    ${moves.length > most && html`<p class="hint">… and ${count(moves.length - most)} more</p>`}`
}

/** Makes a result a plan of the operator, which is then reviewed as any other. */
function Propose({ result, source, title, onClose }) {
  const [reason, setReason] = useState('')
  const { send, busy, problem } = useSend((key) => change(requestOf(source, gridOf(result, source)).path,
    { ...requestOf(source, gridOf(result, source)).body, propose: true, ...(reason.trim() && { reason: reason.trim() }) }, { key }))
  const submit = async (event) => {
    event.preventDefault()
    const answer = await send()
    if (!answer) return
    announce('The plan is proposed.')
    location.hash = link(['plans', answer.data.id])
  }
  const { plan } = source
  return html`<${Dialog} title="Propose this plan" onClose=${onClose}><form onSubmit=${submit}>
    <p>${title} becomes a plan of <strong>${plan.operator}</strong> for interval ${count(plan.interval)}, in place of the one that was ${plan.status}. It needs the role <code>approver</code>, and is approved or rejected as any other plan.</p>
    <div class="field"><label for="whatif-reason">Reason</label><textarea id="whatif-reason" rows="3" maxlength="1024" value=${reason} onInput=${(e) => setReason(e.currentTarget.value)}></textarea><p class="hint">Kept with the plan; may be left out.</p></div>
    ${problem && html`<${Trouble} problem=${problem} />`}
    <footer class="form-foot"><button type="button" onClick=${onClose}>Cancel</button><button type="submit" class="primary" disabled=${busy}>Propose</button></footer>
  </form><//>`
}

/** The opened result of an answer: the one that the link names. */
export function Opened({ answer, source, query }) {
  const result = answer.results.find((r) => nameOf(r) === query.open)
  const heading = useRef(null)
  useEffect(() => {
    heading.current?.scrollIntoView({ block: 'start' })
    heading.current?.focus({ preventScroll: true })
  }, [query.open])
  return html`<div ref=${heading} tabindex="-1" class="whatif-open" role="region" aria-label="The opened plan">${result ? html`<${One} key=${query.open} result=${result} answer=${answer} source=${source} />`
    : html`<${Card} title="Opened plan"><${Empty} title="No such plan is among these results"><p>The link names a combination that was not planned. <button type="button" onClick=${() => setQuery({ open: null })}>Close</button></p><//><//>`}</div>`
}

function One({ result, answer, source }) {
  const [proposing, propose] = useState(false)
  const name = nameOf(result)
  const found = useResource(name, { load: async (signal) => ({ data: await planOf(result, source, signal) }) })
  const title = titleOf(result, [...new Set(['theta_max', 'table_limit', ...varied(answer.results).differ])])
  const may = source.kind === 'interval' && ended.includes(source.plan.status)
  return html`<${Card} title=${title} aside=${html`
      ${may && html`<button type="button" class="primary" onClick=${() => propose(true)}>Propose this plan</button>`}
      <button type="button" onClick=${() => setQuery({ open: null })}>Close</button>`}>
    ${found.data ? html`<${Lists} result=${found.data} />` : found.problem ? html`<${Trouble} problem=${found.problem} retry=${found.reload} />` : html`<${Loading} />`}
    <details><summary>This plan by curl</summary><${Code} label="Command for this plan" text=${curlOf(requestOf(source, gridOf(result, source), true), source)} /></details>
  <//>
  ${proposing && html`<${Propose} result=${result} source=${source} title=${title} onClose=${() => propose(false)} />`}`
}
