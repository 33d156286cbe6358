// The form that changes the resources of an operator, and what its instances have of them.

import { request, Problem, useResource } from '../../api.js'
import { count } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { announce, Dialog, Field, selectField, Trouble, useSend } from '../../parts.js'
import { link } from '../../route.js'
import { forGood } from '../../storage.js'
import { wordsOf } from '../operator/changes.js'
import { kindsOf, someOf } from './instances.js'
import { Resources } from './resources.js'
import { signed } from './request.js'

/**
 * A resource as it is typed: the tolerance is in percent, capacities are by the place of their group of instances.
 * bound is the tolerance that the row began with.
 *
 * @typedef {{ id: number, name: string, from: string, limit: boolean, tolerance: string, bound: number,
 *   capacities: string[] }} Row
 */

/** @typedef {Pick<API['Operator'], 'resources' | 'instances' | 'theta_max'>} Target */

const most = 8 // resources
const few = 12 // instances that have fields of their own

/** @param {API['Operator']} operator */
const pathOf = ({ name }) => `v1/operators/${encodeURIComponent(name)}`

/**
 * The resources of an operator, and the button that changes them where the scheme and the role of the visitor allow it.
 *
 * @param {{ operator: API['Operator'], reload: () => void }} props
 */
export function ResourcesAndForm({ operator, reload }) {
  const [open, setOpen] = useState(/** @type {API['Operator'] | null} */ (null))
  /** @type {Watched<API['Caller']>} */
  const { data: caller } = useResource('v1/caller')
  const may = caller && operator.scheme === 'table' && (!caller.access || caller.role === 'admin')
  const button = may && html`<button type="button" onClick=${() => setOpen(operator)}>Change…</button>`
  return html`
    <${Resources} operator=${operator} button=${button} />
    ${
      open && html`<${Edit} operator=${open} named=${caller?.access} reload=${reload} onClose=${() => setOpen(null)} />`
    }
  `
}

/** @param {number} share */
const inPercent = (share) => String(Number((100 * share).toPrecision(14)))

/**
 * As a text that is the same whatever the order of members is.
 *
 * @param {unknown} x
 */
const canonical = (x) =>
  JSON.stringify(x, (_, value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort())
      : value,
  )

/**
 * The instances that have a field together: each its own where they are few, else those that are alike, or all.
 *
 * @param {API['Operator']} operator
 * @returns {{ ids: number[] }[]}
 */
function groupsOf({ instances }) {
  if (instances.length <= few) return instances.map(({ id }) => ({ ids: [id] }))
  const kinds = kindsOf(instances)
  return kinds.length <= few ? kinds : [{ ids: instances.map(({ id }) => id) }]
}

/**
 * What the form begins with.
 *
 * @param {API['Operator']} operator
 * @param {{ ids: number[] }[]} groups
 * @returns {Row[]}
 */
function rowsOf({ resources = [{ name: 'cost', limit: false }], theta_max: own, instances }, groups) {
  return resources.map(({ name, from = '', limit = false, theta_max: bound }, id) => {
    const has = (/** @type {API['Instance']} */ d) => (id === 0 ? (d.capacity ?? 1) : d.capacities?.[name])
    const share = id === 0 ? own : (bound ?? 0)
    return {
      id,
      name,
      from,
      limit,
      tolerance: limit ? '' : inPercent(share),
      bound: share,
      // A group that has several fields of one value shows it; a group of all that has many begins empty.
      capacities: groups.map(({ ids }) => {
        const values = new Set(instances.filter((d) => ids.includes(d.id)).map(has))
        return values.size === 1 ? String([...values][0] ?? '') : ''
      }),
    }
  })
}

/**
 * What the rows make of the operator. A capacity that is left empty is as it was where the resource had one.
 *
 * @param {API['Operator']} operator
 * @param {{ ids: number[] }[]} groups
 * @param {Row[]} before
 * @param {Row[]} rows
 * @returns {Target}
 */
function targetOf(operator, groups, before, rows) {
  const instances = operator.instances.map((was) => {
    const at = groups.findIndex(({ ids }) => ids.includes(was.id))
    const { capacities: had = {}, ...rest } = was
    /** @type {Record<string, number>} */
    const capacities = {}
    for (const { id, name, capacities: said } of rows.slice(1)) {
      const old = before.find((row) => row.id === id)
      const value = said[at] !== '' ? Number(said[at]) : old?.capacities[at] === '' ? had[old.name] : undefined
      if (value !== undefined) capacities[name] = value
    }
    const own = rows[0]?.capacities[at] ?? ''
    return {
      ...rest,
      ...(own !== '' && { capacity: Number(own) }),
      ...(Object.keys(capacities).length > 0 && { capacities }),
    }
  })
  // What somebody set is not rounded as long as its text stays.
  const share = (/** @type {Row} */ { bound, tolerance }) =>
    tolerance === inPercent(bound) ? bound : Number(tolerance) / 100
  const resources = rows.map((row, i) => ({
    name: row.name,
    ...(i > 0 && row.from !== '' && { from: /** @type {'state' | 'count'} */ (row.from) }),
    ...(i > 0 && (row.limit ? { limit: true } : { theta_max: share(row) })),
  }))
  const same = operator.resources === undefined && rows.length === 1 && rows[0].name === 'cost'
  return {
    resources: rows.length === 0 || same ? undefined : /** @type {API['Resource'][]} */ (resources),
    instances,
    theta_max: rows.length === 0 ? operator.theta_max : share(rows[0]),
  }
}

/**
 * The members that differ, as the trail of configurations has them.
 *
 * @param {Target} was
 * @param {Target} is
 * @returns {API['MemberChange'][]}
 */
const changesOf = (was, is) =>
  /** @type {const} */ (['theta_max', 'resources', 'instances']).flatMap((member) => {
    const [from, to] = [was[member] ?? null, is[member] ?? null]
    return canonical(from) === canonical(to)
      ? []
      : [/** @type {API['MemberChange']} */ (/** @type {unknown} */ ({ member, from, to }))]
  })

/**
 * Sends a patch for the configuration that the form began with. Statistics that come meanwhile are no other
 * configuration, though they change the ETag.
 *
 * @param {API['Operator']} operator
 * @param {string} body
 * @param {string | null | undefined} actor
 */
async function sendPatch(operator, body, actor) {
  for (let left = 3; ; left--) {
    const { data, etag } = await request('GET', pathOf(operator))
    if (data.config_version !== operator.config_version)
      throw new Problem({ status: 412, title: 'Somebody else changed the configuration', code: 'precondition_failed' })
    try {
      return await request('PATCH', pathOf(operator), {
        query: { actor },
        body,
        type: 'application/merge-patch+json',
        match: etag,
      })
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status !== 412 || left === 0) throw problem
    }
  }
}

/** @param {{ operator: API['Operator'], named: boolean, reload: () => void, onClose: () => void }} props */
function Edit({ operator, named, reload, onClose }) {
  const [groups] = useState(() => groupsOf(operator))
  const [before] = useState(() => rowsOf(operator, groups))
  const [rows, setRows] = useState(before)
  const adder = useRef(/** @type {HTMLButtonElement | null} */ (null))
  const target = targetOf(operator, groups, before, rows)
  const changes = changesOf(operator, target)
  const patch = Object.fromEntries(changes.map(({ member, to }) => [member, to]))
  const { send, busy, problem, clear } = useSend(() =>
    sendPatch(operator, JSON.stringify(patch, signed), named ? null : forGood.get('plannerd.actor')),
  )
  const taken = problem?.status === 412
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    const answer = busy || changes.length === 0 ? undefined : await send()
    if (!answer) return
    announce(`Configuration version ${count(answer.data.config_version)} is set.`)
    reload()
    onClose()
  }
  /** @param {Row[]} next */
  const change = (next) => {
    if (problem) clear()
    setRows(next)
  }
  const add = () => {
    if (rows.length >= most) return
    const id = Math.max(0, ...before.map((r) => r.id), ...rows.map((r) => r.id)) + 1
    const bound = rows.length === 0 ? operator.theta_max : 0.25
    const begin = { name: '', from: '', limit: false, tolerance: inPercent(bound), bound }
    change([...rows, { ...begin, id, capacities: groups.map(() => '') }])
  }
  const told = wrongOf(problem, rows, groups, operator)
  const known = before.filter((row) => row.from === '').map(({ name }) => name)
  const fromRows = rows.filter(({ name, from }, i) => i > 0 && from === '' && name !== '' && !known.includes(name))
  return html`<${Dialog} title=${`Resources of ${operator.name}`} onClose=${onClose}>
    <form class="operator-edit" onSubmit=${submit}>
      <p class="hint">Nothing moves by itself: plans keep to other resources and capacities from the next one on.</p>
      ${rows.map(
        (row, i) =>
          html`<${One}
            key=${row.id}
            row=${row}
            place=${i}
            fresh=${!before.includes(row) && row.name === ''}
            groups=${groups.map(({ ids }) => someOf(operator, ids))}
            wrong=${told.of[i]}
            set=${(/** @type {Partial<Row>} */ of) => change(rows.with(i, { ...row, ...of }))}
            remove=${() => {
              change(rows.toSpliced(i, 1))
              adder.current?.focus()
            }}
            alone=${rows.length === 1}
            given=${operator.resources !== undefined}
          />`,
      )}
      <p>
        <button type="button" ref=${adder} aria-disabled=${rows.length >= most} onClick=${add}>
          Add a resource
        </button>
      </p>
      <${Preview} operator=${operator} target=${target} changes=${changes} />
      ${
        changes.length > 0 &&
        fromRows.length > 0 &&
        html`<p>
          From then on statistics in which no row has ${fromRows.map(({ name }) => `costs.${name}`).join(' or ')} are
          refused.
        </p>`
      }
      ${
        taken
          ? html`<div class="trouble" role="alert">
              <p class="trouble-title">Somebody changed the configuration while you looked at it</p>
              <p>Nothing was set. Close this and begin with the configuration as it is now.</p>
            </div>`
          : problem && told.rest && html`<${Trouble} problem=${told.rest} itself=${false} />`
      }
      <footer class="row form-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${taken} aria-disabled=${busy || changes.length === 0}>
          ${busy ? 'Sending…' : `Set version ${count(operator.config_version + 1)}`}
        </button>
      </footer>
    </form>
  <//>`
}

/**
 * What the form would set, in words, and the way to try it where capacities stay as they are.
 *
 * @param {{ operator: API['Operator'], target: Target, changes: API['MemberChange'][] }} props
 */
function Preview({ operator: { name, config_version: version, last_interval: interval }, target, changes }) {
  const members = changes.map(({ member }) => member)
  const query = { operator: name, resources: JSON.stringify(target.resources ?? [], signed) }
  return html`<div role="status">
      ${
        changes.length === 0
          ? html`<p class="muted">Nothing is changed yet.</p>`
          : html`<p><strong>Version ${count(version + 1)} of the configuration:</strong></p>
              <ul>
                ${changes.flatMap(wordsOf).map((words) => html`<li key=${words}>${words}</li>`)}
              </ul>`
      }
    </div>
    ${
      members.includes('resources') &&
      !members.includes('instances') &&
      interval !== null &&
      html`<p><a href=${link(['what-if'], query)}>Try these resources on the newest interval</a></p>`
    }`
}

/**
 * What is wrong by the fields that it stands beside, as the server says, and the rest.
 *
 * @param {Problem | null} problem
 * @param {Row[]} rows
 * @param {{ ids: number[] }[]} groups
 * @param {API['Operator']} operator
 */
function wrongOf(problem, rows, groups, operator) {
  const of = rows.map(() => /** @type {Record<string, string>} */ ({}))
  const rest = problem?.errors.filter(({ pointer = '', detail }) => {
    const [, list, at, member = 'name', named = ''] = pointer.split('/')
    const words = `${detail[0].toUpperCase()}${detail.slice(1)}.`
    if (pointer === '/theta_max' && of[0]) of[0].theta_max = words
    else if (list === 'resources' && of[Number(at)]) of[Number(at)][member] = words
    else if (list === 'instances' && at !== undefined) {
      const id = operator.instances[Number(at)]?.id
      const i =
        member === 'capacity'
          ? 0
          : rows.findIndex(({ name }, n) => n > 0 && (named ? name === named : detail.split(/\W/).includes(name)))
      const group = groups.findIndex(({ ids }) => ids.includes(id))
      if (!of[i] || group < 0) return true
      of[i][`capacity ${group}`] = words
    } else return true
    return false
  })
  // What stands beside the fields is not said again.
  return { of, rest: problem === null || (problem.errors.length > 0 && rest?.length === 0) ? null : problem }
}

/**
 * @param {{ row: Row, place: number, fresh: boolean, groups: string[], wrong: Record<string, string>, alone: boolean,
 *   given: boolean, set: (of: Partial<Row>) => void, remove: () => void }} props
 */
function One({ row, place, fresh, groups, wrong, alone, given, set, remove }) {
  const { name, from, limit, tolerance, capacities } = row
  const named = useRef(/** @type {HTMLElement | null} */ (null))
  useEffect(() => {
    if (fresh) named.current?.querySelector('input')?.focus()
  }, [])
  /**
   * @param {Children} label
   * @param {string} value
   * @param {string} told the key of what is wrong with it
   * @param {(value: string) => void} onInput
   * @param {Record<string, unknown>} more
   */
  const input = (label, value, told, onInput, more) =>
    html`<${Field} label=${label} hint=${wrong[told] && html`<span role="alert" class="bad">${wrong[told]}</span>`}>
      ${(/** @type {string} */ id) =>
        html`<input
          id=${id}
          value=${value}
          aria-invalid=${wrong[told] ? 'true' : undefined}
          aria-describedby=${wrong[told] ? `${id}-hint` : undefined}
          onInput=${(/** @type {any} */ e) => onInput(e.currentTarget.value)}
          ...${more}
        />`}
    <//>`
  const bounds = [
    ['tolerance', 'Evenly, with a tolerance'],
    ['limit', 'At most what instances have'],
  ]
  const amounts = [
    ['', 'Costs of the rows'],
    ['state', 'The state of each key'],
    ['count', '1 for each key'],
  ]
  const needs = wrong.limit ?? wrong.from
  return html`<fieldset ref=${named}>
    <legend>${name || 'New resource'}</legend>
    <div class="fields">
      ${input('Name', name, 'name', (x) => set({ name: x.trim() }), {
        type: 'text',
        required: true,
        pattern: '[A-Za-z][A-Za-z0-9_]{0,31}',
        title: 'A letter, then up to 31 letters, digits and _',
        autocomplete: 'off',
        spellcheck: false,
      })}
      ${
        place > 0
          ? html`${selectField('Amounts', from, amounts, (x) => set({ from: x }))}
            ${selectField('Bound', limit ? 'limit' : 'tolerance', bounds, (x) => set({ limit: x === 'limit' }))}`
          : html`<p class="hint operator-first">The first resource is the cost of rows.</p>`
      }
      ${
        !limit &&
        input('Percent above its fair load', tolerance, 'theta_max', (x) => set({ tolerance: x }), {
          type: 'number',
          required: true,
          min: 0,
          step: 'any',
        })
      }
    </div>
    ${needs && html`<p role="alert" class="hint bad">${needs}</p>`}
    <details open=${limit || Object.keys(wrong).some((told) => told.startsWith('capacity'))}>
      <summary>Capacities${name && ` in ${name}`}</summary>
      <div class="fields">
        ${groups.map((instances, g) =>
          input(
            instances.match(/^\d/) ? `Instance ${instances}` : instances,
            capacities[g],
            `capacity ${g}`,
            (x) => set({ capacities: capacities.with(g, x) }),
            {
              key: g,
              type: 'number',
              required: limit && groups.length > 1,
              min: limit ? 0 : 1e-6,
              step: 'any',
              placeholder: limit ? undefined : 'As in cost',
            },
          ),
        )}
      </div>
      ${!limit && html`<p class="hint">Relative sizes; left empty, ${place === 0 ? 'as now' : 'as in the first'}.</p>`}
    </details>
    ${
      (place > 0 || (alone && given)) &&
      html`<p>
        <button type="button" onClick=${remove}>
          ${place === 0 ? 'Let cost alone count' : `Remove ${name || 'this resource'}`}
        </button>
      </p>`
    }
  </fieldset>`
}
