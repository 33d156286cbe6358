// The plans of an operator, newest first.

import { count, counted, percent, stateOnly, stateUnit, useStateUnit } from '../../format.js'
import { html, useEffect, useLayoutEffect, useRef, useState } from '../../html.js'
import { Course, outlook } from '../../judge.js'
import { Card, choose, Empty, loaded, plainTable, Status, Time } from '../../parts.js'
import { link, setQuery } from '../../route.js'
import { strategyTitle } from '../../strategies.js'
import { capital, cause, ofQueues, statuses, statusWords, tableOf } from '../../words.js'
import { usePlans } from './plans.js'

const step = 50

/** @param {{ name: string, query: Query, stamp: string }} props */
export function History({ name, query, stamp }) {
  const interval = query.interval ?? ''
  const wrong = interval !== '' && !/^\d{1,16}$/.test(interval)
  const status = statuses.find((s) => s === query.status) ?? ''
  const filter = { ...(status && { status }), ...(interval !== '' && !wrong && { interval }) }
  const sign = JSON.stringify(filter)
  const [size, setSize] = useState(step)
  useEffect(() => setSize(step), [sign])
  const plans = usePlans(name, { filter, plans: size, stamp })
  return html`<${Card}
    title="Plans"
    class="operator-history"
    aside=${html`<${Filters} status=${status} interval=${interval} wrong=${wrong} />`}
  >
    ${loaded(
      plans,
      ({ plans: rows, more }) =>
        rows.length === 0
          ? html`<${None} filtered=${sign !== '{}'} />`
          : html`
              <div aria-busy=${plans.busy}><${Table} rows=${rows} /></div>
              <${Foot} shown=${rows.length} more=${more} onMore=${() => setSize(rows.length + step)} />
            `,
      6,
    )}
  <//>`
}

/** @param {{ status: string, interval: string, wrong: boolean }} props */
function Filters({ status, interval, wrong }) {
  return html`
    ${choose('Status', status, [['', 'All'], ...statuses.map((s) => [s, capital(statusWords[s])])], (value) =>
      setQuery({ status: value }),
    )}
    <label>
      Interval <input
        type="text"
        inputmode="numeric"
        size="8"
        maxlength="16"
        placeholder="All"
        value=${interval}
        aria-invalid=${wrong ? 'true' : undefined}
        aria-describedby=${wrong ? 'operator-interval-said' : undefined}
        onInput=${(e) => setQuery({ interval: e.currentTarget.value.replace(/[\s,]/g, '') })}
      />
    </label>
    ${
      wrong &&
      html`<span id="operator-interval-said" class="toned bad" role="alert">Intervals are whole numbers.</span>`
    }
  `
}

/** @param {{ filtered: boolean }} props */
const None = ({ filtered }) => html`<${Empty} title=${filtered ? 'No plan is like that' : 'No plans are kept'}>
  ${
    filtered &&
    html`<button type="button" onClick=${() => setQuery({ status: '', interval: '' })}>Show all plans</button>`
  }
<//>`

/**
 * Asks for more; who asked with the keyboard is not left nowhere when there are no more.
 *
 * @param {{ shown: number, more: boolean, onMore: () => void }} props
 */
function Foot({ shown, more, onMore }) {
  const end = useRef(/** @type {HTMLElement | null} */ (null))
  const asked = useRef(false)
  useLayoutEffect(() => {
    if (more || !asked.current) return
    asked.current = false
    end.current?.focus()
  }, [more])
  return more
    ? html`<p class="operator-more">
        <button
          type="button"
          onClick=${() => {
            asked.current = true
            onMore()
          }}
        >
          Show more
        </button> <span class="muted" role="status">${count(shown)} shown</span>
      </p>`
    : html`<p class="operator-more muted" ref=${end} tabindex="-1">
        ${shown === 1 ? 'This is the only plan' : `All ${counted(shown, 'plan')} are shown`}.
      </p>`
}

/** @type {Record<string, string>} */
const causeShort = {
  balanced: 'within limits or policy',
  improbable: 'unlikely to be exceeded',
  little_gain: 'little gain',
  operator_frozen: 'frozen',
  pending_approval: 'another waited for approval',
  plan_in_flight: 'another was being applied',
  nothing_movable: 'nothing movable',
}

/**
 * The columns; that of sizes is called by their unit.
 *
 * @param {PlanSummary[]} rows
 * @returns {Column<PlanSummary>[]}
 */
const columnsOf = (rows) => [
  [
    'Interval',
    (p) =>
      html`
        <a href=${link(['plans', p.id])}>${count(p.interval)}</a>
        ${p.epoch > 0 && html` <span class="muted">epoch ${count(p.epoch)}</span>`}
      `,
  ],
  ['Status', (p) => html`<${Status} status=${p.status} />`],
  ['Strategy', (p) => strategyTitle(p.strategy)],
  [
    'θ before → after',
    (p) =>
      ofQueues(p)
        ? html`<span class="muted nowrap">queues alone</span>`
        : html`
        <span class="nowrap"><${Course} of=${outlook(p)} /></span>
        ${!outlook(p).within && html`<span class="visually-hidden">, above θ_max</span>`}
      `,
    'number',
  ],
  [
    'Migration',
    (p) =>
      ofQueues(p) && p.status !== 'no_action'
        ? html`<span class="muted nowrap">not known</span>`
        : p.migration.keys === 0
          ? html`<span class="muted">none</span>`
          : html`
            <span class="nowrap">
              ${stateOnly(p.migration.state)}
              ${stateUnit() === 'bytes' ? '' : ' of state'}
            </span> <span class="muted nowrap">
              ${percent(p.migration.fraction)}, ${counted(p.migration.keys, 'key')}
            </span>
          `,
    'number',
  ],
  ['Gap', (p) => gapOf(p.certificate), 'number'],
  [
    rows[0] ? capital(tableOf(rows[0]).unit) : '',
    (p) =>
      html`
        <span class="nowrap">${count(tableOf(p).size_before)} → ${count(tableOf(p).size_after)}</span>
        ${!(p.table_within_limit ?? true) && html`<span class="visually-hidden">, above its limit</span>`}
      `,
    'number',
  ],
  [
    'Causes',
    (p) =>
      p.causes.length === 0
        ? html`<span class="muted">–</span>`
        : p.causes.map(
            (c, i) =>
              html`<span key=${c} title=${cause(c)}>${i > 0 && ', '}${causeShort[c] ?? c.replaceAll('_', ' ')}</span>`,
          ),
  ],
  ['Created', (p) => html`<${Time} at=${p.created_at} />`],
]

/** @param {API['Certificate']} proof */
function gapOf(proof) {
  if (proof === null) return html`<span class="muted">no proof</span>`
  if (proof.infeasible) return 'infeasible'
  if (proof.gap === null) return html`<span class="muted">none</span>`
  return proof.gap === 0 ? 'optimal' : percent(proof.gap)
}

/**
 * A table that is a list of cards on narrow screens.
 *
 * @param {{ rows: PlanSummary[] }} props
 */
function Table({ rows }) {
  useStateUnit()
  return plainTable('Plans, newest first', rows, columnsOf(rows), { row: ({ id }) => ({ key: id }) })
}
