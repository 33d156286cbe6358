// From what the form says to the request.

import { request, useResource } from '../../api.js'
import { Records } from '../../csv.js'
import { valuesOf } from './parameters.js'
import { bodyOf, typeOf } from './source.js'

/**
 * @import { Draft } from './parameters.js'
 * @import { SourceOf } from './source.js'
 */

/**
 * What is known of an operator; tokens, owners and keyEncoding are of the ring or the
 * ranges that are committed.
 *
 * @typedef {object} Context
 * @property {API['Operator']} operator
 * @property {API['RingTokens'][]} [tokens]
 * @property {API['RangeOwner'][]} [owners]
 * @property {'base64'} [keyEncoding]
 */

/** By which name a request has those that share the keys. */
/** @type {Record<string, string>} */
const membersName = { ring: 'nodes', pkg: 'workers', ranges: 'followers', schemes: 'instances' }

const tooMany = 65_537 // nodes: the API says so

/**
 * What is known of the operator whose interval is analysed. There are no data where no
 * operator is chosen.
 *
 * @param {SourceOf} source
 * @param {string} analysis
 * @returns {Watched<Context>}
 */
export function useContext(source, analysis) {
  const path =
    source.kind === 'operator' && source.operator ? `v1/operators/${encodeURIComponent(source.operator)}` : null
  return useResource(path && `${path}#${analysis}`, {
    load: async (signal) => {
      /** @type {{ data: API['Operator'] }} */
      const { data: operator } = await request('GET', path ?? '', { signal })
      /** @type {Context} */
      const known = { operator }
      if (operator.scheme !== analysis) return { data: known }
      /** @type {{ data: API['RoutingTable'] }} */
      const { data: table } = await request('GET', `${path}/routing-table`, { signal })
      return {
        data: {
          ...known,
          tokens: table.tokens,
          owners: table.owners?.length ? table.owners : undefined,
          keyEncoding: table.key_encoding,
        },
      }
    },
  })
}

/**
 * The request that a draft means. Rows and streams are sent as
 * they are and the parameters in the query, unless these say more than a query can.
 *
 * @param {string} analysis
 * @param {SourceOf} source
 * @param {Draft} draft
 * @param {Context | null} context
 * @returns {Promise<Asked>}
 */
export async function questionOf(analysis, source, draft, context) {
  const path = `v1/analyses/${analysis}`
  const values = valuesOf(analysis, draft)
  if (source.kind === 'operator') {
    const { operator, interval, epoch } = source
    return {
      path,
      body: {
        ...ownParameters(analysis, context),
        ...ownMembers(analysis, values, context),
        ...values,
        ...changes(analysis, draft, values, context),
        operator,
        interval: Number(interval),
        ...(epoch !== '' && { epoch: Number(epoch) }),
      },
    }
  }
  const nested = changes(analysis, draft, values, null)
  const body = bodyOf(source)
  if (Object.keys(nested).length === 0) return { path, query: values, body, type: typeOf(source) }
  const text = typeof body === 'string' ? body : await body.text()
  return {
    path,
    body: {
      ...values,
      ...nested,
      ...(typeOf(source) === 'text/csv'
        ? { columns: columnsOf(text) }
        : { stream: text.split(/\r?\n/).filter(Boolean) }),
    },
  }
}

/**
 * What the operator's own configuration says, where the form says nothing.
 *
 * @param {string} analysis
 * @param {Context | null} context
 */
function ownParameters(analysis, context) {
  if (!context?.operator || analysis === 'pkg') return {}
  const { theta_max, ring, ranges } = context.operator
  return {
    theta_max,
    ...(analysis === 'ring' && ring?.method && { method: ring.method }),
    ...(analysis === 'ranges' && ranges?.max_intervals && { max_intervals: ranges.max_intervals }),
  }
}

/**
 * The operator's own instances, where the form does not say how many there are.
 *
 * @param {string} analysis
 * @param {Record<string, any>} values
 * @param {Context | null} context
 * @returns {Record<string, any>}
 */
function ownMembers(analysis, values, context) {
  const name = membersName[analysis]
  if (values[name] !== undefined || !context?.operator) return {}
  const instances = context.operator.instances.map(({ id, capacity }) => ({ id, capacity }))
  if (analysis === 'pkg') return { workers: instances.length }
  if (analysis === 'ring' && context.tokens && values.tokens_per_instance === undefined) {
    const tokens = new Map(context.tokens.map((t) => [t.instance, t.tokens]))
    return { nodes: instances.filter(({ id }) => tokens.has(id)).map((n) => ({ ...n, tokens: tokens.get(n.id) })) }
  }
  if (analysis === 'ranges' && context.owners && (values.event ?? 'drift') !== 'create') {
    return {
      followers: instances,
      owners: context.owners.map((o) => ({ low: o.from, follower: o.instance })),
      ...(context.keyEncoding && { key_encoding: context.keyEncoding }),
    }
  }
  return { [name]: instances }
}

/**
 * Nodes of a ring that join and leave: these have to be told one by one.
 *
 * @param {string} analysis
 * @param {Draft} draft
 * @param {Record<string, any>} values
 * @param {Context | null} context
 */
function changes(analysis, draft, values, context) {
  const joining = Math.min(Number(draft.join ?? 0), tooMany)
  const leaving = (draft.leave ?? '')
    .split(',')
    .filter((x) => x.trim() !== '')
    .map(Number)
  if (analysis !== 'ring' || (joining === 0 && leaving.length === 0)) return {}
  const own = ownMembers(analysis, values, context).nodes
  /** @type {{ id: number }[]} */
  const nodes = own ?? Array.from({ length: Math.min(values.nodes ?? 4, tooMany) }, (_, id) => ({ id }))
  const next = 1 + Math.max(-1, ...nodes.map((n) => n.id), ...leaving)
  return {
    nodes: [
      ...nodes.map((n) => (leaving.includes(n.id) ? { ...n, leaves: true } : n)),
      ...Array.from({ length: joining }, (_, i) => ({ id: next + i, joins: true })),
    ],
  }
}

/**
 * The rows of a CSV text as columns.
 *
 * @param {string} text
 */
function columnsOf(text) {
  const records = [...new Records().take(text, true)].map(({ cells }) => cells)
  const [head = [], ...rows] = records.filter((cells) => cells.length > 1 || cells[0] !== '')
  return Object.fromEntries(
    head.map((name, i) => [
      name.trim(),
      rows.map((cells) => (name.trim() === 'key' ? (cells[i] ?? '') : Number(cells[i]))),
    ]),
  )
}
