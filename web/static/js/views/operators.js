// All operators, those with something to decide first.

import { useList } from '../api.js'
import { Bars } from '../bars.js'
import { count, counted, percent } from '../format.js'
import { html, useMemo } from '../html.js'
import { isWithin, outlook } from '../judge.js'
import { Card, choose, Code, Empty, loaded, Status, Time, useTitle } from '../parts.js'
import { aboveOf } from '../resources.js'
import { link, setQuery } from '../route.js'
import { commandOf } from '../shell.js'
import { strategyTitle } from '../strategies.js'
import { column, VirtualTable } from '../table.js'
import { firstStatistics } from './operator/first.js'
import { Outcome } from './plan/headline.js'

/** @typedef {API['Operator'] & { recent: API['OperatorRecent'] }} Operator */

const most = 5_000 // operators on one page

/** @param {Operator} o */
const currentOf = (o) => /** @type {PlanSummary[]} */ (o.recent.plans).find((p) => p.id === o.current_plan)

/** @param {Operator} o */
const waits = (o) => o.current_plan_status === 'proposed' || currentOf(o)?.limits_changed === true

/** What needs somebody comes first: approval, then what is on its way, then by name. */
/** @type {Record<string, number>} */
const urgency = { approved: 1, applying: 1, aborting: 1 }

/** @param {Operator} o */
const urgencyOf = (o) => (waits(o) ? 0 : (urgency[o.current_plan_status ?? ''] ?? 2))

/** @param {Operator} o */
const thetaOf = (o) => o.recent.thetas.at(-1) ?? -1

/**
 * What waiting for a plan costs that is better than none: by how many doublings θ exceeds its limit without it.
 *
 * @param {Operator} o
 */
function harmOf(o) {
  const plan = waits(o) && currentOf(o)
  const { theta, course } = plan ? outlook(plan) : { theta: null, course: '' }
  return theta && course === 'better' ? Math.max(0, Math.floor(Math.log2(theta.before / o.theta_max))) : 0
}

/** @param {Operator} o */
const expiryOf = (o) => Date.parse((waits(o) && currentOf(o)?.expires_at) || '9999-12-31')

/** @param {Operator} o */
const isThetaOver = (o) => !isWithin(thetaOf(o), o.theta_max)

/** @param {Operator} o */
const isOver = (o) => isThetaOver(o) || aboveOf(o) !== ''

/** @type {Record<string, (a: Operator, b: Operator) => number>} */
const orders = {
  name: (a, b) => (a.name < b.name ? -1 : 1),
  theta: (a, b) => thetaOf(a) - thetaOf(b),
  plan: (a, b) => urgencyOf(a) - urgencyOf(b) || harmOf(b) - harmOf(a) || expiryOf(a) - expiryOf(b),
}

/** @type {Record<string, [words: string, keep: (o: Operator) => boolean]>} */
const statuses = {
  '': ['Any plan', () => true],
  proposed: ['Waits for approval', waits],
  approved: ['Approved', (o) => o.current_plan_status === 'approved'],
  applying: ['Being applied', (o) => o.current_plan_status === 'applying'],
  aborting: ['Being aborted', (o) => o.current_plan_status === 'aborting'],
  none: ['No plan under way', (o) => o.current_plan === null],
}

/** @type {Record<string, [words: string, keep: (o: Operator) => boolean]>} */
const thetas = {
  '': ['Any load', () => true],
  above: ['Above a limit', isOver],
  within: ['Within all limits', (o) => o.recent.thetas.length > 0 && !isOver(o)],
}

/** @param {{ query: Query }} props */
export default function Operators({ query }) {
  useTitle('Operators · plannerd')
  /** @type {Watched<Items<Operator>>} */
  const operators = useList('v1/operators', 'operators', { query: recent, every: 10_000, limit: most })
  return html`
    <h1>Operators</h1>
    ${loaded(
      operators,
      (data) => (data.items.length === 0 ? html`<${FirstSteps} />` : html`<${List} ...${data} query=${query} />`),
      6,
    )}
  `
}

const recent = { include: 'recent' }

/**
 * What the address asks for, of what there is.
 *
 * @template T
 * @param {Record<string, T>} choices
 * @param {string | undefined} asked
 * @param {string} otherwise
 */
const chosen = (choices, asked, otherwise) => (asked !== undefined && Object.hasOwn(choices, asked) ? asked : otherwise)

/** @param {{ items: Operator[], more: boolean, query: Query }} props */
function List({ items, more, query }) {
  const { search = '' } = query
  const status = chosen(statuses, query.status, '')
  const theta = chosen(thetas, query.theta, '')
  const by = chosen(orders, query.sort, 'plan')
  const order = query.order === 'asc' || query.order === 'desc' ? query.order : firstOrder(by)
  const found = useMemo(() => {
    const sign = order === 'desc' ? -1 : 1
    return items
      .filter(
        (o) => o.name.toLowerCase().includes(search.toLowerCase()) && statuses[status][1](o) && thetas[theta][1](o),
      )
      .sort((a, b) => sign * orders[by](a, b) || orders.name(a, b))
  }, [items, search, status, theta, by, order])
  return html`
    <div class="row bar">
      <${Summary} items=${items} />
      <div class="row operators-filters">
        ${chooser('Plan', 'status', status, statuses)} ${chooser('Load', 'theta', theta, thetas)}
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
    </div>
    ${more && html`<p class="stale">Only the first ${count(most)} operators are shown.</p>`}
    <div class="operators">
      <${VirtualTable}
        label="Operators"
        columns=${columns}
        rows=${found}
        keyOf=${(o) => o?.name}
        source=${JSON.stringify([search, status, theta, by, order])}
        room=${found.length}
        rowHeight=${92}
        cardHeight=${252}
        height=${2_000}
        sorted=${{ by, order }}
        onSort=${(sort, way) =>
          setQuery({ sort: sort === 'plan' ? null : sort, order: way === firstOrder(sort) ? null : way })}
        empty=${html`<${Empty} title="No operator is like that">
          <button type="button" onClick=${() => setQuery({ search: null, status: null, theta: null })}>Show all</button>
        <//>`}
      />
    </div>
  `
}

/** @param {string} by */
const firstOrder = (by) => columns.find((c) => c.id === by)?.sort ?? 'asc'

/** @param {{ items: Operator[] }} props */
function Summary({ items }) {
  const waiting = items.filter(statuses.proposed[1]).length
  const over = items.filter(isOver).length
  return html`<p role="status">
    <span class=${waiting > 0 ? 'waiting' : 'muted'}>
      ${
        waiting > 0
          ? `${counted(waiting, 'plan')} wait${waiting === 1 ? 's' : ''} for approval`
          : 'Nothing waits for approval'
      }
    </span>
    <span class="muted"> · </span>
    <span class=${over > 0 ? 'toned bad' : 'muted'}>
      ${over > 0 ? `${counted(over, 'operator')} above a limit` : 'no operator above a limit'}
    </span>
  </p>`
}

/**
 * Chooses what the query says under a name.
 *
 * @param {string} label
 * @param {string} name
 * @param {string} value
 * @param {Record<string, [string, unknown]>} choices
 */
const chooser = (label, name, value, choices) =>
  choose(
    label,
    value,
    Object.entries(choices).map(([id, [words]]) => [id, words]),
    (to) => setQuery({ [name]: to }),
    { hidden: true },
  )

/** @type {Record<string, [one: string, many: string]>} */
const sizeUnit = {
  table: ['entry', 'entries'],
  ring: ['instance', 'instances'],
  ranges: ['range', 'ranges'],
  pkg: ['key in the head', 'keys in the head'],
}

/** @param {{ of: Operator }} props */
function Name({ of: o }) {
  const limit = o.table_limit ?? null
  return html`<div class="operators-name">
    <div>
      <a href=${link(['operators', o.name])}>${o.name}</a>
      ${o.freeze && html`${' '}<span class="toned warn">frozen: ${o.freeze.reason}</span>`}
    </div>
    <span class="muted">
      ${counted(o.instances.length, 'instance')} · ${o.scheme === 'table' ? strategyTitle(o.strategy ?? '') : o.scheme}
    </span>
    <span class="muted">
      ${o.scheme === 'ring' ? '' : counted(o.table_size, ...sizeUnit[o.scheme])}
      ${
        limit !== null &&
        html` <span class=${o.table_size > limit ? 'toned bad' : ''}>of ${count(limit)} allowed</span>`
      }
    </span>
  </div>`
}

/**
 * The bars in a sentence.
 *
 * @param {Operator} o
 */
function thetaWords({ recent: { thetas: values }, theta_max: bound }) {
  const over = values.length === 1 ? 'one interval' : `the last ${counted(values.length, 'interval')}`
  return (
    `θ before planning over ${over}: ${percent(values.at(-1))} in the newest,` +
    ` ${percent(Math.max(...values))} at most; θ_max is ${percent(bound)}`
  )
}

/**
 * What came true, beside what was planned.
 *
 * @param {Operator} o
 */
function realisedWords({ recent: { realised: r }, theta_max: bound }) {
  /** @param {API['ThetaSpread'] | null} of */
  const spread = (of) => (of === null ? 'unknown' : `${percent(of.median)} in the median, p95 ${percent(of.p95)}`)
  return (
    `Above θ_max, ${percent(bound)}, in ${percent(r.above)} of ${counted(r.intervals, 'interval')}.` +
    ` θ realised: ${spread(r.theta)}; planned: ${spread(r.theta_planned)}.` +
    ` ${counted(r.plans, 'plan')} moved ${percent(r.moved)} of all state.`
  )
}

/** @param {{ of: Operator }} props */
const Theta = ({ of: o }) =>
  o.recent.thetas.length === 0
    ? html`<span class="muted">no interval yet</span>`
    : html`<div class="operators-theta">
        <${Bars} thetas=${o.recent.thetas} bound=${o.theta_max} label=${thetaWords(o)} />
        <span class="operators-now">
          <strong class="toned ${isThetaOver(o) ? 'bad' : 'good'}">${percent(thetaOf(o))}</strong>
          <span class="muted nowrap">${isThetaOver(o) ? 'above' : 'within'} ${percent(o.theta_max)}</span>
          <span class="muted nowrap operators-above" title=${realisedWords(o)}>
            above in ${percent(o.recent.realised.above)}
          </span>
          <span class="toned bad" title=${aboveOf(o)}>${aboveOf(o)}</span>
        </span>
      </div>`

/**
 * The plan that is under way, or else the newest.
 *
 * @param {{ of: Operator }} props
 */
function LastPlan({ of: o }) {
  const plan = currentOf(o) ?? /** @type {PlanSummary[]} */ (o.recent.plans)[0]
  if (!plan) return html`<span class="muted">none yet</span>`
  return html`<div class="operators-plan">
    <div>
      <a href=${link(['plans', plan.id])}>interval ${count(plan.interval)}</a>
      ${' '}<${Status} status=${plan.status} />${' '}
      <span class="muted">
        ${
          ['proposed', 'approved'].includes(plan.status) && plan.expires_at
            ? html`expires <${Time} at=${plan.expires_at} brief />`
            : html`<${Time} at=${plan.created_at} brief />`
        }
      </span>
    </div>
    <div>
      <${Outcome} plan=${plan} approval=${o.approval} brief />
    </div>
  </div>`
}

/** @param {{ of: Operator }} props */
function Do({ of: o }) {
  if (!o.current_plan) return null
  const runs = o.current_plan_status === 'applying' || o.current_plan_status === 'aborting'
  return html`<div class="operators-do">
    <a class="button ${waits(o) ? 'primary' : ''}" href=${link(['plans', o.current_plan])}>
      ${waits(o) ? 'Review' : runs ? 'Watch' : 'See plan'}
      <span class="visually-hidden"> of ${o.name}</span>
    </a>
  </div>`
}

/** @type {TableColumn<Operator>[]} */
const columns = [
  column('name', 'Operator', 'minmax(130px, 1.2fr)', (o) => html`<${Name} of=${o} />`, { sort: 'asc' }),
  column('theta', 'θ', 'minmax(150px, 1.3fr)', (o) => html`<${Theta} of=${o} />`, { sort: 'desc', bare: true }),
  column('plan', 'Plan', 'minmax(230px, 2.4fr)', (o) => html`<${LastPlan} of=${o} />`, { sort: 'asc', bare: true }),
  column('do', html`<span class="visually-hidden">What to do</span>`, '92px', (o) => html`<${Do} of=${o} />`, {
    bare: true,
  }),
]

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
