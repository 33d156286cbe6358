// The request that configures an operator.

/** What the service adds to a configuration. */
/** @type {(keyof API['Operator'])[]} */
const added = [
  'name',
  'config_version',
  'table_version',
  'table_config_version',
  'table_size',
  'last_epoch',
  'last_interval',
  'current_plan',
  'current_plan_status',
  'created_at',
  'updated_at',
]

/**
 * The configuration of an operator, without what the service adds to it, and without what is null: that is not
 * limited.
 *
 * @param {API['Operator']} operator
 * @returns {Record<string, unknown>}
 */
export function configurationOf(operator) {
  const said = Object.entries(operator).filter(([name, value]) => !added.some((a) => a === name) && value !== null)
  return {
    ...Object.fromEntries(said.map(([name, value]) => [name, withoutNulls(value)])),
    instances: short(operator.instances),
  }
}

/** @param {unknown} x */
const withoutNulls = (x) =>
  typeof x !== 'object' || x === null || Array.isArray(x)
    ? x
    : Object.fromEntries(Object.entries(x).filter(([, value]) => value !== null))

/**
 * Instances 0 to n−1 that nothing is said about are a number.
 *
 * @param {API['Instance'][]} instances
 */
const short = (instances) =>
  instances.every(
    ({ id, name, capacity = 1, ...rest }, i) => id === i && !name && capacity === 1 && Object.keys(rest).length === 0,
  )
    ? instances.length
    : instances

/**
 * The request that configures an operator so; its JSON stands on few lines.
 *
 * @param {string} name
 * @param {Record<string, unknown>} configuration
 */
export function putRequest(name, configuration) {
  const lines = Object.entries(configuration).map(
    ([key, value]) => ` ${JSON.stringify(key)}: ${JSON.stringify(signed(key, value), signed)}`,
  )
  return { method: 'PUT', path: `v1/operators/${encodeURIComponent(name)}`, body: `{\n${lines.join(',\n')}\n}` }
}

/**
 * Tolerances as requests have them: from 1 on with the sign.
 *
 * @param {string} key
 * @param {unknown} value
 */
export const signed = (key, value) =>
  (key === 'theta_max' || key === 'theta_min') && typeof value === 'number' && value >= 1
    ? `${Number((100 * value).toPrecision(12))}%`
    : value
