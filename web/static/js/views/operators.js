// All operators, those with something to decide first.

import { request, useList, useResource } from '../api.js'
import { Sparkline } from '../chart.js'
import { count, counted, percent } from '../format.js'
import { html, useEffect, useRef, useState } from '../html.js'
import { Card, Code, Empty, Resource, Status, Time } from '../parts.js'
import { link, setQuery } from '../route.js'
import { commandOf } from '../shell.js'
import { strategyTitle } from '../strategies.js'
import { firstStatistics } from './operator/first.js'

/** @import { Items, Resource as Watched } from '../api.js' */

/** @typedef {API['Operator']} Operator */

const most = 5_000 // operators on one page
const shown = 40 // intervals of a sparkline
const eagerly = 25 // operators whose plans are asked for at once, the others when they come into view

/** What needs somebody comes first: approval, then what is on its way, then by name. */
/** @type {Record<string, number>} */
const urgency = { proposed: 0, approved: 1, applying: 1, aborting: 1 }
/**
 * @param {Operator} a
 * @param {Operator} b
 */
const order = (a, b) =>
  (urgency[a.current_plan_status ?? ''] ?? 2) - (urgency[b.current_plan_status ?? ''] ?? 2) ||
  (a.name < b.name ? -1 : 1)

/** @param {{ query: Query }} props */
export default function Operators({ query }) {
  useEffect(() => {
    document.title = 'Operators · plannerd'
  }, [])
  /** @type {Watched<Items<Operator>>} */
  const operators = useList('v1/operators', 'operators', { every: 10_000, limit: most })
  return html`
    <h1>Operators</h1>
    <${Resource}
      of=${operators}
      rows=${6}
      render=${(/** @type {Items<Operator>} */ data) =>
        data.items.length === 0 ? html`<${FirstSteps} />` : html`<${List} ...${data} search=${query.search ?? ''} />`}
    />
  `
}

/** @param {{ items: Operator[], more: boolean, search: string }} props */
function List({ items, more, search }) {
  const found = items.filter((o) => o.name.toLowerCase().includes(search.toLowerCase())).sort(order)
  const waiting = items.filter((o) => o.current_plan_status === 'proposed').length
  return html`
    <div class="bar">
      <p class=${waiting > 0 ? 'waiting' : 'muted'} role="status">
        ${
          waiting > 0
            ? `${counted(waiting, 'plan')} wait${waiting === 1 ? 's' : ''} for approval`
            : 'Nothing waits for approval'
        }
      </p>
      <label class="search">
        <span class="visually-hidden">Search operators</span>
        <input
          type="search"
          placeholder="Search operators"
          value=${search}
          onInput=${(e) => setQuery({ search: e.currentTarget.value })}
        />
      </label>
    </div>
    ${more && html`<p class="stale">Only the first ${count(most)} operators are shown.</p>`}
    ${
      found.length === 0
        ? html`<${Empty} title="No operator has such a name" />`
        : html`
            <div class="operators" role="table" aria-label="Operators">
              <div role="rowgroup">
                <div role="row" class="operators-head">
                  ${['Operator', 'θ over the last intervals', 'Table', 'Last plan', ''].map(
                    (head) =>
                      html`<div role="columnheader" key=${head}>
                        ${head || html`<span class="visually-hidden">What to do</span>`}
                      </div>`,
                  )}
                </div>
              </div>
              <div role="rowgroup">
                ${found.map((o, i) => html`<${OperatorRow} key=${o.name} operator=${o} eager=${i < eagerly} />`)}
              </div>
            </div>
          `
    }
  `
}

/**
 * Whether an element has been in view.
 *
 * @returns {[{ current: HTMLElement | null }, boolean]}
 */
function useSeen() {
  const place = useRef(/** @type {HTMLElement | null} */ (null))
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setSeen(true), {
      rootMargin: '200px',
    })
    if (place.current) observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  return [place, seen]
}

/** @type {Record<string, [one: string, many: string]>} */
const sizeUnit = { table: ['entry', 'entries'], ring: ['instance', 'instances'], ranges: ['range', 'ranges'] }

/**
 * The sparkline in a sentence.
 *
 * @param {number[]} thetas
 * @param {number} bound
 */
function thetaWords(thetas, bound) {
  const over = thetas.length === 1 ? 'one interval' : `the last ${counted(thetas.length, 'interval')}`
  return (
    `θ before planning over ${over}: ${percent(thetas.at(-1))} in the newest,` +
    ` ${percent(Math.max(...thetas))} at most; θ_max is ${percent(bound)}`
  )
}

/** @param {{ operator: Operator, eager: boolean }} props */
function OperatorRow({ operator: o, eager }) {
  const [place, came] = useSeen()
  const seen = eager || came
  // Asked for again when the operator has changed, not before.
  const stamp = `${o.last_epoch}.${o.last_interval}.${o.table_version}.${o.current_plan}.${o.current_plan_status}`
  const path = `v1/operators/${encodeURIComponent(o.name)}/plans`
  /** @type {Watched<API['PlanList']>} */
  const plans = useResource(seen ? `${path}#${stamp}` : null, {
    load: (signal) => request('GET', path, { query: { page_size: shown }, signal }),
  })
  const history = plans.data?.plans ?? []
  const [last] = history
  const thetas = history.map((p) => p.theta.before).reverse()
  const waits = o.current_plan_status === 'proposed'
  const runs = o.current_plan_status === 'applying' || o.current_plan_status === 'aborting'
  return html`<div role="row" ref=${place} class="operators-row ${waits ? 'waits' : ''}">
    <div role="cell" class="operators-name">
      <a href=${link(['operators', o.name])}>${o.name}</a>
      <span class="muted">
        ${counted(o.instances.length, 'instance')} ·
        ${o.scheme === 'table' ? strategyTitle(o.strategy ?? '') : o.scheme}
      </span>
    </div>
    <div role="cell" class="operators-theta">
      ${
        plans.loading || !seen
          ? html`<span class="skeleton"></span>`
          : history.length === 0
            ? html`<span class="muted">no interval yet</span>`
            : html`
                <${Sparkline}
                  values=${thetas}
                  bound=${o.theta_max}
                  label=${thetaWords(thetas, o.theta_max)}
                  format=${(/** @type {number} */ i) =>
                    `interval ${history[history.length - 1 - i].interval}: θ ${percent(thetas[i])}`}
                />
                <span class="operators-now">
                  <strong>${percent(last.theta.before)}</strong> <span class="muted">
                    <span class="nowrap">→ ${percent(last.theta.after)},</span> <span class="nowrap">
                      θ<sub>max</sub> ${percent(o.theta_max)}
                    </span>
                  </span>
                </span>
              `
      }
    </div>
    <div role="cell">
      <span class="cell-head">Table </span>
      ${counted(o.table_size, ...sizeUnit[o.scheme])}
      ${
        o.table_limit !== null &&
        o.table_limit !== undefined &&
        html`<span class="muted"> of ${count(o.table_limit)}</span>`
      }
    </div>
    <div role="cell">
      <span class="cell-head">Last plan </span>
      ${
        history.length === 0 && !plans.data
          ? html`<span class="skeleton"></span>`
          : last
            ? html`
                <a href=${link(['plans', last.id])}>interval ${count(last.interval)}</a> <${Status}
                  status=${last.status}
                />
                <div class="muted"><${Time} at=${last.created_at} /></div>
                ${
                  o.current_plan &&
                  o.current_plan !== last.id &&
                  html`<${Current} operator=${o} plan=${history.find((p) => p.id === o.current_plan)} />`
                }
              `
            : html`<span class="muted">none yet</span>`
      }
    </div>
    <div role="cell" class="operators-do">
      ${
        o.current_plan &&
        html`<a class="button ${waits ? 'primary' : ''}" href=${link(['plans', o.current_plan ?? ''])}>
          ${waits ? 'Review' : runs ? 'Watch' : 'See plan'}
          <span class="visually-hidden"> of ${o.name}</span>
        </a>`
      }
    </div>
  </div>`
}

/**
 * The plan that is under way, where a newer interval has one that came to nothing.
 *
 * @param {{ operator: Operator, plan?: PlanSummary }} props
 */
const Current = ({ operator: o, plan }) =>
  html`<div>
    <a href=${link(['plans', o.current_plan ?? ''])}>
      ${plan ? `interval ${count(plan.interval)}` : 'an earlier plan'}
    </a> <${Status} status=${o.current_plan_status} />
  </div>`

/** What fills an empty server. */
function FirstSteps() {
  const create = {
    method: 'PUT',
    path: 'v1/operators/clicks',
    body: '{"instances": 4, "theta_max": 0.08, "require_approval": true}',
  }
  return html`<${Card} title="This server has no operators yet">
    <p>An operator is a partitioned, stateful step of a stream job. Create one with four instances:</p>
    <${Code} label="Create an operator" text=${commandOf(create)} />
    <p>
      Then send what each key cost in an interval, and how large its state is. The answer is a plan, and it appears
      here:
    </p>
    <${Code}
      label="Send the statistics of an interval"
      text=${commandOf(firstStatistics({ name: 'clicks', instances: [] }))}
    />
    <p class="muted">
      No engine at hand? <a href="#/what-if">Ask what if</a> on a file of your own, or read <a href="docs">the API</a>.
    </p>
  <//>`
}
