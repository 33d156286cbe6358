// What a plan does to the routing table, entry by entry.

import { address, download, Problem, request } from '../../../api.js'
import { count, counted } from '../../../format.js'
import { html, useContext, useMemo, useState } from '../../../html.js'
import { Instance, Named } from '../../../instances.js'
import { Empty } from '../../../parts.js'
import { column, VirtualTable } from '../../../table.js'
import { Downloads } from './downloads.js'
import { Filters, filtersOf, Wrong } from './filters.js'
import { partsText } from '../splits.js'
import { Key, keyOf } from './key.js'

/** @import { KeyText } from './key.js' */

/** @typedef {Omit<API['TableChange'], 'key'> & { key: KeyText }} Change */

/** @param {{ of: Change }} props */
function Destination({ of: { parts, instance } }) {
  const plan = useContext(Named)
  return parts ? partsText(parts, plan) : html`<${Place} id=${instance} />`
}

/** @param {{ id: number | null }} props */
const Place = ({ id }) => (id === null ? none : html`<${Instance} id=${id} />`)

const names = ['key_prefix', 'instance']

const none = html`<span class="muted">no entry</span>`
const arrow = html`<span class="migrations-arrow muted" aria-hidden="true">→ </span>`

/** @type {TableColumn<Change>[]} */
const columns = [
  column('key', 'Key', 'minmax(140px, 3fr)', (c) => html`<${Key} of=${c.key} />`),
  column('previous', 'Before', 'minmax(80px, 1fr)', (c) => html`<${Place} id=${c.previous} />`, {
    number: true,
    bare: true,
  }),
  column('instance', 'After', 'minmax(96px, 1fr)', (c) => html`${arrow}<${Destination} of=${c} />`, { bare: true }),
  column(
    'what',
    'Change',
    'minmax(96px, 1.5fr)',
    (c) => (c.previous === null ? 'new entry' : c.instance === null ? 'entry removed' : 'entry changed'),
    { bare: true },
  ),
]

/**
 * By what keys are found where there is no routing table.
 *
 * @type {Record<string, string>}
 */
const foundBy = {
  ring: 'the tokens of the ring',
  ranges: 'the ranges that they lie in',
  pkg: 'their numbers of candidates',
}

/** @param {Plan} plan */
const schemeOf = (plan) => (plan.ring ? 'ring' : plan.ranges ? 'ranges' : plan.pkg ? 'pkg' : 'table')

/**
 * Why there is no such list, and where to look.
 *
 * @type {Record<string, (plan: Plan) => Children>}
 */
const refusals = {
  resolution_required: ({ id }) => html`<${Empty} title="It is not known yet which keys these are">
    <p>
      This plan moves classes of keys. Its table entries are known once the engine has said which keys it moves,
      by <code>PUT v1/plans/${id}/resolution</code>.
    </p>
  <//>`,
  table_not_held: () =>
    html`<${Empty} title="The engine holds the routing table">
      <p>This server counts its versions only. Which entries a plan changes is known to the engine.</p>
    <//>`,
  no_routing_table: (plan) => html`<${Empty} title="Under the scheme ${schemeOf(plan)} there is no routing table">
    <p>
      Keys are found by ${foundBy[schemeOf(plan)]}. What the plan changes of them, in
      full: <code>GET v1/plans/${plan.id}?include=routing_table</code>.
    </p>
  <//>`,
  purged: () =>
    html`<${Empty} title="The changes of this plan are no longer kept">
      <p>
        Retention, or the deletion of its operator, removed them. How long plans are kept is part of the operator’s
        configuration.
      </p>
    <//>`,
}

/** @param {{ plan: Plan, query: Query, name: string }} props */
export function TableChanges({ plan, query, name }) {
  const path = `v1/plans/${encodeURIComponent(plan.id)}/routing-table`
  const { filters, wrong } = filtersOf(query, names, plan)
  const source = `${address(path, filters)}#${plan.status}.${plan.resolved_keys}`
  const [refused, refuse] = useState(() => (schemeOf(plan) in foundBy ? { source, code: 'no_routing_table' } : null))
  const [found, setFound] = useState(/** @type {number | null} */ (null))
  const load = useMemo(
    () => async (/** @type {number} */ skip, /** @type {number} */ size, /** @type {AbortSignal} */ signal) => {
      try {
        /** @type {{ data: API['TableChangeList'] }} */
        const { data } = await request('GET', path, {
          query: { ...filters, page_size: size, skip: skip || null },
          signal,
        })
        return {
          rows: data.changes.map((c) => ({ ...c, key: keyOf(c.key, data.key_encoding) })),
          total: data.total_size,
        }
      } catch (problem) {
        if (problem instanceof Problem && problem.code in refusals) refuse({ source, code: problem.code })
        throw problem
      }
    },
    [source],
  )
  if (refused?.source === source) return refusals[refused.code](plan)

  const filtered = Object.keys(filters).length > 0
  const said =
    found !== null &&
    (filtered
      ? `${count(found)} ${found === 1 ? 'change matches' : 'changes match'}`
      : counted(found, 'change of the routing table', 'changes of the routing table'))
  return html`
    <${Filters}
      label="Filter table changes"
      names=${names}
      query=${query}
      said=${html`${said}<${Wrong} of=${wrong} />`}
    >
      <${Downloads}
        name="${name}-table-changes"
        disabled=${!found}
        make=${
          /** @type {import('./downloads.js').Make} */ (
            (type, how) => download(path, { query: filters, accept: type, ...how })
          )
        }
      />
    <//>
    <p class="muted">A key without an entry goes to its hash instance.</p>
    <${VirtualTable}
      label="Table changes"
      ...${{ columns, source, load }}
      onTotal=${setFound}
      empty=${html`<${Empty}
        title=${filtered ? 'No change matches these filters' : 'This plan changes no entry of the routing table'}
      />`}
    />
  `
}
