// What a plan moves: a list of its migrations, of any length, and beside it what that does
// to the routing table.

import { address, download, request, useResource } from '../../api.js'
import { count, counted, exactly, useStateUnit } from '../../format.js'
import { html, useMemo, useState } from '../../html.js'
import { Card, Empty, tabs } from '../../parts.js'
import { here, setQuery, useRoute } from '../../route.js'
import { VirtualTable } from '../../table.js'
import { TableChanges } from './migrations/changes.js'
import { Downloads } from './migrations/downloads.js'
import { Filters, filtersOf, Wrong } from './migrations/filters.js'
import { kinds, sortName } from './migrations/kinds.js'
import { fileOf, select } from './migrations/local.js'

/**
 * @import { Make } from './migrations/downloads.js'
 * @import { Kind, Row } from './migrations/kinds.js'
 */

/**
 * What sorting is called in the address; a what-if has other lists on its page.
 *
 * @typedef {{ sort: string, order: string }} Sorting
 */

/**
 * The migrations of a plan of the API; or local ones, an array as the API writes it, of a
 * result of a what-if, which the plan then is. Sorting and filters stand in the address.
 *
 * @param {{ plan: AnyPlan, local?: API['Migrations'] }} props
 */
export function Migrations({ plan, local }) {
  const { query } = useRoute()
  const changes = !local && query.list === 'table-changes'
  const name = local ? `what-if-${plan.strategy}` : `${plan.operator}-interval-${plan.interval}`
  return html`<${Card} title=${local ? 'Migrations' : 'What this plan moves'} class="migrations">
    ${
      !local &&
      tabs('Lists of this plan', [
        ['Migrations', listLink(null), !changes],
        ['Table changes', listLink('table-changes'), changes],
      ])
    }
    ${
      changes
        ? html`<${TableChanges} plan=${plan} query=${query} name=${name} />`
        : local
          ? html`<${Local} plan=${plan} migrations=${local} query=${query} name="${name}-migrations" />`
          : html`<${Listed} plan=${plan} query=${query} name="${name}-migrations" />`
    }
  <//>`
}

/** @param {string | null} list */
function listLink(list) {
  const { query } = here()
  return address(location.hash.split('?')[0] || '#/', { ...query, list })
}

const sorting = { sort: 'sort', order: 'order' }
const localSorting = { sort: 'migrations_sort', order: 'migrations_order' }

/**
 * What the address says of sorting, if the kind can be sorted so.
 *
 * @param {Query} query
 * @param {Kind} kind
 * @param {Sorting} names
 * @returns {Sorted}
 */
function sortedBy(query, kind, names) {
  const column = kind.columns.find((c) => c.sort && c.id === (query[names.sort] ?? kind.first))
  const order = query[names.order]
  return {
    by: column?.id ?? kind.first,
    order: order === 'asc' || order === 'desc' ? order : (column?.sort ?? 'desc'),
  }
}

/**
 * @param {string} by
 * @param {'asc' | 'desc'} order
 * @param {Kind} kind
 * @param {Sorting} names
 */
function sortBy(by, order, kind, names) {
  const first = kind.columns.find((c) => c.id === by)?.sort
  setQuery({ [names.sort]: by === kind.first ? null : by, [names.order]: order === first ? null : order })
}

/**
 * Migrations that the API lists.
 *
 * @param {{ plan: Plan, query: Query, name: string }} props
 */
function Listed({ plan, query, name }) {
  const kind = kinds[plan.migrates]
  const path = `v1/plans/${encodeURIComponent(plan.id)}/migrations`
  const { filters } = filtersOf(query, kind.filters, plan)
  const sorted = sortedBy(query, kind, sorting)
  const asked = { sort: sortName(sorted.by), order: sorted.order, ...filters }
  const source = address(path, asked)
  const load = useMemo(
    () => async (/** @type {number} */ skip, /** @type {number} */ size, /** @type {AbortSignal} */ signal) => {
      /** @type {{ data: API['MigrationList'] }} */
      const { data } = await request('GET', path, { query: { ...asked, page_size: size, skip: skip || null }, signal })
      return { rows: data.migrations.map((m) => kind.of(m, data.key_encoding)), total: data.total_size }
    },
    [source],
  )
  const filtered = Object.keys(filters).length > 0
  const [all, setAll] = useState(/** @type {number | null} */ (null))
  // Asked for once, by who comes with filters.
  /** @type {Watched<API['MigrationList']>} */
  const whole = useResource(filtered && all === null ? path : null, { query: { page_size: 1 } })
  /**
   * @param {string} type
   * @param {{ signal: AbortSignal, onBytes: (bytes: number) => void }} how
   */
  const make = (type, how) => download(path, { query: asked, accept: type, ...how })
  return html`<${List}
    ...${{ plan, kind, query, sorted }}
    names=${sorting}
    name=${name}
    make=${make}
    rows=${{ source, load }}
    all=${all ?? whole.data?.total_size ?? null}
    onAll=${setAll}
  />`
}

/**
 * Migrations in memory.
 *
 * @param {{ plan: AnyPlan, migrations: API['Migrations'], query: Query, name: string }} props
 */
function Local({ plan, migrations, query, name }) {
  const kind = kinds[plan.migrates]
  const { filters } = filtersOf(query, kind.filters, plan)
  const sorted = sortedBy(query, kind, localSorting)
  const source = address('', { ...sorted, ...filters })
  const items = useMemo(
    () => migrations.map((written) => ({ written, row: kind.of(written, plan.key_encoding) })),
    [migrations],
  )
  const found = useMemo(() => select(items, kind, filters, sorted), [items, source])
  const rows = useMemo(() => found.map(({ row }) => row), [found])
  /** @param {string} type */
  const make = async (type) =>
    fileOf(
      type,
      plan.migrates,
      found.map(({ written }) => written),
    )
  return html`<${List}
    ...${{ plan, kind, query, sorted }}
    names=${localSorting}
    name=${name}
    make=${make}
    rows=${{ source, rows }}
    all=${items.length}
  />`
}

/**
 * The list, its filters, and how much it is.
 *
 * @param {object} props
 * @param {AnyPlan} props.plan
 * @param {Kind} props.kind
 * @param {Query} props.query
 * @param {Sorted} props.sorted
 * @param {Sorting} props.names
 * @param {string} props.name of the file that downloads make
 * @param {Make} props.make
 * @param {{ source: string, rows?: Row[], load?: Load<Row> }} props.rows
 * @param {number | null} props.all how many there are without filters, null while it is not known
 * @param {(total: number) => void} [props.onAll]
 */
function List({ plan, kind, query, sorted, names, name, make, rows, all, onAll }) {
  const unit = useStateUnit()
  const { filters, wrong } = filtersOf(query, kind.filters, plan)
  const filtered = Object.keys(filters).length > 0
  const [found, setFound] = useState(/** @type {number | null} */ (null))
  const columns = useMemo(() => [...kind.columns], [kind, unit])
  /** @param {number} n */
  const total = (n) => {
    setFound(n)
    if (!filtered) onAll?.(n)
  }
  if (all === 0) return html`<${Empty} title="This plan moves nothing" />`
  return html`
    <${Filters}
      label="Filter migrations"
      names=${kind.filters}
      query=${query}
      said=${html`<${Count} ...${{ found, all, filtered }} unit=${kind.unit ?? 'migration'} /><${Wrong} of=${wrong} />`}
    >
      <${Downloads} name=${name} make=${make} disabled=${!found} />
    <//>
    <${Scales} plan=${plan} />
    ${
      kind.unit &&
      plan.migration.keys === 0 &&
      html`<p class="muted">
        These ${kind.unit}s go to another instance with the plan. No key that was counted is on them.
      </p>`
    }
    <${VirtualTable}
      label="Migrations"
      columns=${columns}
      ...${rows}
      room=${all ?? plan.migration.keys}
      sorted=${sorted}
      onSort=${(by, order) => sortBy(by, order, kind, names)}
      onTotal=${total}
      cardHeight=${kind === kinds.classes ? 76 : 64}
      empty=${html`<${Empty} title="No migration matches these filters" />`}
    />
  `
}

/** @param {{ found: number | null, all: number | null, filtered: boolean, unit: string }} props */
function Count({ found, all, filtered, unit }) {
  if (found === null) return null
  if (!filtered) return counted(found, unit)
  return all === null
    ? `${counted(found, unit)} ${found === 1 ? 'matches' : 'match'}`
    : html`<strong>${count(found)}</strong> of ${counted(all, unit)} ${found === 1 ? 'matches' : 'match'}`
}

/**
 * What 1 of the cost and state of classes stands for.
 *
 * @param {{ plan: Pick<AnyPlan, 'migrates' | 'compaction'> }} props
 */
function Scales({ plan: { migrates, compaction } }) {
  if (migrates !== 'classes') return null
  return html`<p class="muted">
    Which keys of a class move is the engine’s choice. Keys that the statistics name are listed by themselves.
    ${
      compaction &&
      (compaction.cost_scale !== 1 || compaction.state_scale !== 1) &&
      ` Cost and state are in units of the scales: 1 stands for ${exactly(compaction.cost_scale)} of cost` +
        ` and ${exactly(compaction.state_scale)} of state. Those of named keys are not scaled.`
    }
  </p>`
}
