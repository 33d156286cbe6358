// From what the form says to the request.

import { useResource } from '../../api.js'
import { valuesOf } from './parameters.js'
import { bodyOf, typeOf } from './source.js'

/**
 * @import { Draft } from './parameters.js'
 * @import { SourceOf } from './source.js'
 */

/**
 * The operator whose interval is analysed. There are no data where none is chosen.
 *
 * @param {SourceOf} source
 * @returns {Watched<API['Operator']>}
 */
export const useOperator = (source) =>
  useResource(
    source.kind === 'operator' && source.operator ? `v1/operators/${encodeURIComponent(source.operator)}` : null,
  )

/**
 * The request that a draft means. Rows and streams are sent as they are, and the parameters in the query.
 *
 * @param {string} analysis
 * @param {SourceOf} source
 * @param {Draft} draft
 * @param {API['Operator'] | null} known the operator of the source
 * @returns {Asked}
 */
export function questionOf(analysis, source, draft, known) {
  const path = `v1/analyses/${analysis}`
  const values = valuesOf(analysis, draft)
  if (source.kind !== 'operator') return { path, query: values, body: bodyOf(source), type: typeOf(source) }
  const { operator, interval, epoch } = source
  return {
    path,
    body: {
      ...(known && ownOf(analysis, known)),
      ...values,
      operator,
      interval: Number(interval),
      ...(epoch !== '' && { epoch: Number(epoch) }),
    },
  }
}

/**
 * What the operator's own configuration says, where the form says nothing.
 *
 * @param {string} analysis
 * @param {API['Operator']} operator
 */
const ownOf = (analysis, { instances, theta_max }) =>
  analysis === 'pkg'
    ? { workers: instances.length }
    : { theta_max, instances: instances.map(({ id, capacity }) => ({ id, capacity })) }
